"""Print the result of a CSTP import: what was written, and what users should check."""

from collections.abc import Iterator

from api.importers.cstp.report import HALF, OTHER_TIME, ZERO, CstpImportResult, Loss, SourceConflict
from api.text import many, one_line

LISTED_MAX = 20
"""Losses, and contradictions, that are listed. The rest is counted."""


def summary_lines(report: CstpImportResult) -> Iterator[str]:
    """Yield two lines: what was found, and what was written."""
    elapsed_s = max(report.elapsed_ms / 1000, 0.001)
    yield (
        f"{many(report.yaml_files, 'decision file')}, {many(report.sqlite_stores, 'SQLite store')}: "
        f"{many(report.decisions, 'decision')} ({report.in_both:,} in both, {report.with_confidence:,} with a "
        f"confidence), {report.reviews:,} reviewed."
    )
    new = report.recorded + report.reviewed + report.amended + report.thoughts
    counts = (("recorded", report.recorded), ("reviewed", report.reviewed), ("amended", report.amended))
    parts = [f"{number:,} {kind}" for kind, number in (*counts, ("thoughts", report.thoughts)) if number]
    written = (
        f"{many(new, 'event')} would be appended" if report.dry_run else f"{many(report.appended, 'event')} appended"
    )
    kinds = f" ({', '.join(parts)})" if parts else ""
    yield (
        f"{written}{kinds}, {many(report.unchanged, 'decision')} there already; "
        f"{elapsed_s:.1f} s, {report.decisions / elapsed_s:,.0f} decisions/s."
    )


def warning_lines(report: CstpImportResult) -> Iterator[str]:
    """Yield what could not be imported, and what may be misleading."""
    if report.losses:
        yield f"{len(report.losses):,} not imported:"
        yield from _listed([_loss(loss) for loss in report.losses[:LISTED_MAX]], len(report.losses))
    if report.contradictions:
        yield f"{many(len(report.contradictions), 'contradiction')}; the later change counts:"
        shown = [_contradiction(one) for one in report.contradictions[:LISTED_MAX]]
        yield from _listed(shown, len(report.contradictions))
    if report.no_place:
        counts = ", ".join(f"{one_line(name)} ({number:,})" for name, number in report.no_place.items())
        yield f"Fields that no event has, and their number: {counts}."
    for subject, number in (
        ("Confidences of exactly 0.5, which CSTP also writes if none was stated", report.doubtful.get(HALF, 0)),
        ("Confidences of 0 in SQLite alone, which it also writes if none was stated", report.doubtful.get(ZERO, 0)),
        (
            "Decisions with another time in the store than in their file, which counts",
            report.doubtful.get(OTHER_TIME, 0),
        ),
        ("Decisions without an agent, imported as anonymous", report.without_agent),
        ("Reviews without a reviewer, imported as anonymous", report.without_reviewer),
        ("Decisions without a time, imported with the current time", report.without_time),
    ):
        if number:
            yield f"{subject}: {number:,}."
    if report.passed_over:
        yield f"{len(report.passed_over):,} files skipped, which are not CSTP decisions: {_few(report.passed_over)}."


def _loss(loss: Loss) -> str:
    value = repr(one_line(loss.value)) if loss.value else "missing"
    named = loss.decision_id is None or f"-decision-{loss.decision_id}." in loss.file
    decision = "" if named else f"{loss.decision_id} in "
    left_out = "" if loss.left_out == loss.field else f"; left out: {one_line(loss.left_out)}"
    place = f"{decision}{one_line(loss.file)}"
    return f"  {place}: {one_line(loss.field)} is {value}; allowed: {one_line(loss.allowed)}{left_out}"


def _contradiction(one: SourceConflict) -> str:
    taken, other = (repr(one_line(value)) for value in (one.taken, one.other))
    places = f"{one_line(one.taken_from)} says {taken}, {one_line(one.other_from)} says {other}"
    return f"  {one.decision_id}: {one.field}: {places}"


def _listed(lines: list[str], total: int) -> Iterator[str]:
    yield from lines
    if total > len(lines):
        yield f"  and {total - len(lines):,} more; --json prints all"


def _few(names: list[str]) -> str:
    shown = ", ".join(one_line(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5:,} more"
