"""Print the result of an import of others' results."""

from collections.abc import Iterator

import typer

from api.cli.output import figure, format_speed, open_console, print_note, table_of
from api.importers.results.report import ImportedFileReport, ImportedRunReport, ResultsImport
from api.text_format import format_figure, one_line, pluralize

OUTCOMES = {"new": "new", "there": "there already", "continued": "continued", "conflict": "in conflict"}


def print_results_import(result: ResultsImport) -> None:
    """Print each file with its runs and what was not kept, the totals, and the faults."""
    for file in result.files:
        _print_file(file)
    if result.usable:
        for line in _total_lines(result):
            typer.echo(line)
    for fault in result.faults:
        print_note(f"error: {fault.detail}\n{fault.advice}".rstrip())
    if result.faults and not result.usable:
        print_note("Nothing was imported.")


def _print_file(file: ImportedFileReport) -> None:
    typer.echo(f"{file.file}: {one_line(file.imported_from)}")
    table = table_of(
        file.runs,
        {"run": "run_id", "suite": "suite", "agent": "agent", "scorer": "scorer_id", "scenarios": "scenarios",
         "scored": "scored", "passed": "passed", "errors": "errors", "skipped": "skipped",
         "points": figure("mean_scored"), "ledger": lambda run: OUTCOMES[run.outcome]},
        right=("scenarios", "scored", "passed", "errors", "skipped", "points"), wrap=("suite", "agent", "scorer"),
        drop=("agent", "suite", "skipped", "passed", "scenarios", "scorer"),
    )  # fmt: skip
    if file.runs:
        open_console().print(table)
    for line in _lines_not_kept(file):
        typer.echo(line)
    for run in file.runs:
        if run.agrees is False:
            print_note(f"Warning: {_disagreement(run)}")


def _lines_not_kept(file: ImportedFileReport) -> Iterator[str]:
    if file.not_kept:
        yield "Not kept:"
    for each in file.not_kept:
        example = "" if each.example is None else f", the first: {one_line(each.example)}"
        yield f"  {each.what}: {each.count:,}{example}"


def _disagreement(run: ImportedRunReport) -> str:
    return (
        f"the mean of {run.scorer_id} is {format_figure(run.mean_scored)} points here and "
        f"{format_figure(run.stated_mean)} in the file."
    )


def _total_lines(result: ResultsImport) -> Iterator[str]:
    stated = [run for file in result.files for run in file.runs if run.agrees is not None]
    if stated:
        agree = sum(run.agrees is True for run in stated)
        yield f"Means: {agree:,} of {len(stated):,} that files state are equal to ours."
    verb = "would be " if result.dry_run else ""
    read = sum(run.scored + run.errors + run.skipped for file in result.files for run in file.runs)
    yield (
        f"{pluralize(result.runs, 'run')} with {pluralize(result.scores, 'score')} {verb}imported, "
        f"{result.there:,} there already; {pluralize(result.appended, 'event')} {verb}appended; "
        f"{format_speed(read, result.elapsed_ms, 'scores')}."
    )
