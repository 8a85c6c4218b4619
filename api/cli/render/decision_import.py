"""Print the result of an import of decisions: counts on standard output, remarks and conflicts on standard error."""

from collections.abc import Iterator

import typer

from api.cli.output import format_speed, print_note
from api.importers.decisions import DecisionImportResult, bad_row_lines
from api.importers.decisions.report import SHOWN, WARNINGS
from api.importers.decisions.row_comparison import RowConflict
from api.text_format import one_line, pluralize

VALUE_CHARS_MAX = 60
"""Characters of a value that a conflict or a change quotes."""


def stopped_line(kept: int) -> str:
    """Return the line that an interrupted import ends with."""
    return f"Stopped: kept {pluralize(kept, 'row')}; run the same command again to continue."


def print_import(result: DecisionImportResult) -> None:
    """Print the counts and every remark. If rows contradict the ledger, print only these."""
    if not result.usable:
        print_note(f"error: none of the {pluralize(result.rows, 'row')} of {result.file} can be imported.")
        _print_notes(bad_row_lines(result))
        return
    if result.refused and not result.dry_run:
        _print_refusal(result)
        return
    for line in (*_summary_lines(result), *_change_lines(result)):
        typer.echo(line)
    _print_remarks(result)


def _print_remarks(result: DecisionImportResult) -> None:
    if result.skipped:
        print_note(f"{pluralize(result.skipped, 'bad row')} skipped:")
        _print_notes(bad_row_lines(result))
    if result.refused:
        _print_refusal(result)
    elif result.conflicts:
        print_note(f"{_contradictions(result)}; the ledger's values were kept:")
        _print_notes(_conflict_lines(result))
    for warning in result.warnings:
        rows = f"{pluralize(warning.count, 'row')}, the first on {result.format.unit} {warning.line}"
        print_note(f"Warning: {WARNINGS[warning.kind]}: {rows}.")
    if result.unused_columns:
        print_note(f"Columns not used: {', '.join(result.unused_columns)}.")


def _summary_lines(result: DecisionImportResult) -> Iterator[str]:
    yield (
        f"{pluralize(result.rows, 'row')}: {pluralize(result.decisions, 'decision')} "
        f"({result.with_confidence:,} with a confidence), {pluralize(result.reviews, 'review')}."
    )
    new = result.new_decisions + result.new_questions + result.new_reviews
    written = f"{pluralize(new, 'event')} would be" if result.dry_run else f"{pluralize(result.appended, 'event')}"
    yield (
        f"{written} appended, {result.duplicates:,} there already; "
        f"{format_speed(result.rows, result.elapsed_ms, 'rows')}."
    )
    if result.duplicates or result.dry_run or result.conflicting or result.retracted:
        counts = (
            (result.new_decisions, pluralize(result.new_decisions, "new decision")),
            (result.new_reviews, pluralize(result.new_reviews, "new review")),
            (result.new_questions, pluralize(result.new_questions, "new question")),
            (result.unchanged, f"{result.unchanged:,} unchanged"),
            (result.matched, f"{result.matched:,} matched by content"),
            (result.conflicting, f"{result.conflicting:,} in conflict"),
            (result.retracted, f"{result.retracted:,} of retracted decisions"),
        )
        yield f"Compared: {', '.join(text for number, text in counts if number)}."
    if not result.format.is_plain:
        yield result.format.describe()


def _change_lines(result: DecisionImportResult) -> Iterator[str]:
    """Yield a line for each event that would be written, and how many more there are."""
    for change in result.changes[:SHOWN]:
        value = one_line(change.value)[:VALUE_CHARS_MAX]
        yield f"  {result.format.unit} {change.line}: {change.change} {change.decision_id}: {value}"
    if len(result.changes) > SHOWN:
        yield f"  and {len(result.changes) - SHOWN:,} more; --json prints all"


def _print_refusal(result: DecisionImportResult) -> None:
    print_note(f"error: {_contradictions(result)}; nothing was written.")
    _print_notes(_conflict_lines(result))
    print_note("Correct the file, or keep the ledger's values and import the rest with --skip-conflicts.")


def _contradictions(result: DecisionImportResult) -> str:
    verb = "contradicts" if result.conflicting == 1 else "contradict"
    return f"{pluralize(result.conflicting, 'row')} of {result.file} {verb} the ledger"


def _conflict_lines(result: DecisionImportResult) -> Iterator[str]:
    for conflict in result.conflicts[:SHOWN]:
        yield _conflict_line(conflict, result.format.unit)
    if len(result.conflicts) > SHOWN:
        yield f"  and {len(result.conflicts) - SHOWN:,} more; --json prints all"


def _conflict_line(conflict: RowConflict, unit: str) -> str:
    place = f"  {unit} {conflict.line}: {conflict.field}"
    values = [repr(one_line(value)[:VALUE_CHARS_MAX]) for value in (conflict.file, conflict.ledger or "")]
    if not conflict.decision_id:
        return f"{place} is {values[0]}: {conflict.reason}: {conflict.ledger}"
    known = f"decision {conflict.decision_id} of the ledger has {values[1] if conflict.ledger is not None else 'none'}"
    return f"{place} is {values[0]}, but {known}{f' ({conflict.reason})' if conflict.reason else ''}"


def _print_notes(lines: Iterator[str]) -> None:
    for line in lines:
        print_note(line)
