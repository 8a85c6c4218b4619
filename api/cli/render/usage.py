"""Print what answers used: a table by scenario, run or version, and totals and medians."""

from collections.abc import Sequence

from rich.console import Console

from api.cli.output import make_table
from api.reports.escape import one_line
from api.reports.usage_text import (
    SCENARIO_USAGE_COLUMNS,
    USAGE_COLUMNS,
    has_costs,
    known_columns,
    scenario_cells,
    usage_cells,
    usage_lines,
)
from projections.evaluation.usage_figures import UsageFigures
from projections.evaluation.view_types import ScenarioResult


def print_scenario_usage(console: Console, results: Sequence[ScenarioResult]) -> None:
    """Print a line for each scenario, if an answer names a model, tokens or a cost."""
    cells = {result.scenario_id: scenario_cells(result) for result in results}
    if not (has_costs(result.usage for result in results) or any(row.model for r in results for row in r.rows)):
        return
    table = make_table(
        "scenario",
        *SCENARIO_USAGE_COLUMNS,
        right=SCENARIO_USAGE_COLUMNS[1:],
        wrap=("model",),
        drop=("tokens out", "tokens in", "model", "latency"),
    )
    for scenario_id, (model, *figures) in cells.items():
        table.add_row(scenario_id, one_line(model), *figures)
    console.print(table)
    console.print()


def print_usage_lines(console: Console, usage: UsageFigures | None) -> None:
    """Print totals and medians, a line for each quantity that is known."""
    for line in usage_lines(usage):
        console.print(line, soft_wrap=True)


def print_usage_table(
    console: Console, names: tuple[str, ...], rows: Sequence[tuple[tuple[str, ...], UsageFigures | None]]
) -> None:
    """Print the figures of each row that has any, if there are some; `names` are the headings of its names."""
    shown = [(cells, usage) for cells, usage in rows if usage is not None]
    if not shown:
        return
    columns = known_columns([usage for _, usage in shown])
    titles = [USAGE_COLUMNS[column] for column in columns]
    drop = [title for title in ("tokens out", "tokens in", "95% latency", "median cost") if title in titles]
    table = make_table(*names, *titles, right=titles, wrap=names, drop=drop)
    for cells, usage in shown:
        figures = usage_cells(usage)
        table.add_row(*cells, *(figures[column] for column in columns))
    console.print(table)
