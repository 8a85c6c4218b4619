"""Print a rescoring: new scores beside those before, for each model and each answer."""

import typer
from rich.console import Console

from api.cli.output import figure, format_speed, make_table, open_console, print_note, table_of
from api.service.rescore_comparison import AnswerRow, RescoreResult, ScoreSummary
from api.text_format import format_count, format_figure, one_line, pluralize

ANSWERS_MAX = 20
"""Answers that are listed; those whose score changed most come first. `--json` has all."""


def print_rescored(result: RescoreResult) -> None:
    """Print what was scored, the scorers by model, the scores by answer, and which answers could not be scored."""
    scored = "would be scored" if result.dry_run else "scored"
    typer.echo(
        f"{pluralize(result.outputs, 'output')}: {result.appended:,} {scored} by {result.scorer}, {result.known:,} "
        f"scored before; {format_speed(result.appended, result.elapsed_ms, 'outputs')}."
    )
    if result.erased:
        print_note(f"{pluralize(result.erased, 'output')} skipped: the evidence was erased.")
    if result.lost:
        print_note(f"{pluralize(result.lost, 'output')} skipped: the evidence is missing or damaged.")
    for reason, number in sorted(result.unscored.items()):
        print_note(f"{pluralize(number, 'output')} not scored: {one_line(reason)}.")
    if not result.models:
        return
    console = open_console()
    _print_models(console, result)
    for name in result.scorers:
        typer.echo(f"{name}: {result.discrimination[name].says}")
    if result.before is not None or result.unscored or result.erased or result.lost:
        _print_answers(console, result)


def _print_models(console: Console, result: RescoreResult) -> None:
    change = ["change"] if result.before is not None else []
    columns = [column for name in result.scorers for column in (name, "values", "invalid")] + change
    drop = ("values", "outputs", "invalid")
    table = make_table("model", "outputs", *columns, right=("outputs", *columns), wrap=("model",), drop=drop)
    for row in result.models:
        cells = [*_cells(row.scorers, result.scorers), *([_signed(row.change)] if change else [])]
        table.add_row(one_line(row.model), format_count(row.outputs), *cells)
    cells = [*_cells(result.total, result.scorers), *([_signed(result.change)] if change else [])]
    table.add_row("all", format_count(result.outputs), *cells)
    console.print(table)


def _cells(summaries: dict[str, ScoreSummary], scorers: list[str]) -> list[str]:
    return [
        cell
        for summary in (summaries[name] for name in scorers)
        for cell in (format_figure(summary.counted_mean), format_count(summary.distinct), format_count(summary.invalid))
    ]


def _print_answers(console: Console, result: RescoreResult) -> None:
    listed = sorted(result.answers, key=_importance)
    table = table_of(
        listed[:ANSWERS_MAX],
        {"run": "run_id", "attempt": "attempt", "model": "model", result.before or "before": figure("before"),
         result.scorer: lambda row: format_figure(row.after) if row.unscored is None else "not scored",
         "change": lambda row: _signed(row.change)},
        right=("attempt", result.before or "before", result.scorer, "change"), wrap=("run", "model"), drop=("model",),
    )  # fmt: skip
    console.print()
    console.print(table)
    if len(listed) > ANSWERS_MAX:
        console.print(f"{pluralize(len(listed) - ANSWERS_MAX, 'more answer')}: --json lists all.")


def _importance(row: AnswerRow) -> tuple[bool, float, str, int]:
    """Return the place of an answer: those without a new score first, then the largest change."""
    return row.unscored is None, -abs(row.change or 0.0), row.run_id, row.attempt


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"
