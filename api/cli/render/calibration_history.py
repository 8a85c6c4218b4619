"""Print calibration over time: windows, drift with its date, and agents side by side."""

from rich.console import Console

from api.cli.output import make_table
from api.reports.history_text import (
    describe_drift,
    describe_drift_further,
    describe_pair,
    describe_ranks,
)
from api.reports.plots.tables import TREND_COLUMNS, trend_rows
from api.text_format import pluralize
from tallystick.shapes.calibration import CalibrationAnswer
from tallystick.shapes.comparison import AgentComparison
from tallystick.shapes.history import Drift, Trend


def print_history(console: Console, answer: CalibrationAnswer) -> None:
    """Print those of trend, drift and comparison that the answer has."""
    if answer.trend:
        _print_trend(console, answer.trend)
    if answer.drift:
        _print_drift(console, answer.drift)
    if answer.comparison:
        _print_comparison(console, answer.comparison)


def _print_trend(console: Console, trend: Trend) -> None:
    table = make_table(*TREND_COLUMNS, right=TREND_COLUMNS[2:], drop=("Brier", "stated", "success"))
    for row in trend_rows(trend):
        table.add_row(*row)
    console.print()
    console.print(table)
    if trend.step_days < trend.days and len(trend.windows) > 1:
        shared = 1 - trend.step_days / trend.days
        console.print(f"Windows overlap: each has {shared:.0%} of its time in common with the next.")


def _print_drift(console: Console, drift: Drift) -> None:
    console.print()
    first, *others = describe_drift(drift)
    console.print(first, style="yellow" if drift.change is not None else "")
    for line in (*others, *describe_drift_further(drift)):
        console.print(line)


def _print_comparison(console: Console, comparison: AgentComparison) -> None:
    console.print()
    if not comparison.pairs:
        console.print("There are fewer than two agents to compare.")
    for pair in comparison.pairs:
        first, *others = describe_pair(pair, comparison)
        console.print(first)
        for line in others:
            console.print(f"  {line}")
    for line in describe_ranks(comparison):
        console.print(line)
    if comparison.left_out:
        console.print(f"{pluralize(comparison.left_out, 'agent')} with fewer reviews left out.")
