"""A takeover's report for people: what was done, and what they should look at."""

from collections.abc import Iterator

from api.importers.cstp.report import HALF, OTHER_TIME, ZERO, CstpImportResult, Loss, SourceConflict
from api.text import many, one_line

SHOWN = 20
"""Losses, and contradictions, that are listed; of the others only the number is told."""


def in_words(report: CstpImportResult) -> Iterator[str]:
    """What was found and written, in two lines."""
    elapsed_s = max(report.elapsed_ms / 1000, 0.001)
    yield (
        f"{many(report.yaml_files, 'decision file')}, {many(report.sqlite_stores, 'SQLite store')}: "
        f"{many(report.decisions, 'decision')} ({report.in_both:,} in both, {report.with_confidence:,} with a "
        f"confidence), {report.reviews:,} reviewed."
    )
    new = report.recorded + report.reviewed + report.amended + report.thoughts
    kinds = (("recorded", report.recorded), ("reviewed", report.reviewed), ("amended", report.amended))
    parts = [f"{number:,} {kind}" for kind, number in (*kinds, ("thoughts", report.thoughts)) if number]
    written = (
        f"{many(new, 'event')} would be appended" if report.dry_run else f"{many(report.appended, 'event')} appended"
    )
    kinds_said = f" ({', '.join(parts)})" if parts else ""
    yield (
        f"{written}{kinds_said}, {many(report.unchanged, 'decision')} there already; "
        f"{elapsed_s:.1f} s, {report.decisions / elapsed_s:,.0f} decisions/s."
    )


def warnings(report: CstpImportResult) -> Iterator[str]:
    """What was not taken over, and what may not be what it seems."""
    if report.losses:
        yield f"{len(report.losses):,} not taken over:"
        yield from _some([_loss(loss) for loss in report.losses[:SHOWN]], len(report.losses))
    if report.contradictions:
        yield f"{many(len(report.contradictions), 'contradiction')}; what changed later counts:"
        shown = [_contradiction(one) for one in report.contradictions[:SHOWN]]
        yield from _some(shown, len(report.contradictions))
    if report.no_place:
        counts = ", ".join(f"{one_line(name)} ({number:,})" for name, number in report.no_place.items())
        yield f"Fields that no event has, and how often: {counts}."
    for what, number in (
        ("Confidences of exactly 0.5, which CSTP also writes where none was stated", report.doubtful.get(HALF, 0)),
        ("Confidences of 0 in SQLite alone, which it writes there too", report.doubtful.get(ZERO, 0)),
        ("Decisions that the store dates otherwise than their file, which counts", report.doubtful.get(OTHER_TIME, 0)),
        ("Decisions without an agent, which are anonymous's", report.without_agent),
        ("Reviews without a reviewer, which are anonymous's", report.without_reviewer),
        ("Decisions without a time, which are dated now", report.without_time),
    ):
        if number:
            yield f"{what}: {number:,}."
    if report.passed_over:
        yield f"{len(report.passed_over):,} passed over, as no decisions of CSTP's: {_few(report.passed_over)}."


def _loss(loss: Loss) -> str:
    value = repr(one_line(loss.value)) if loss.value else "missing"
    named = loss.decision_id is None or f"-decision-{loss.decision_id}." in loss.file
    of = "" if named else f"{loss.decision_id} in "
    without = "" if loss.left_out == loss.field else f"; left out: {one_line(loss.left_out)}"
    place = f"{of}{one_line(loss.file)}"
    return f"  {place}: {one_line(loss.field)} is {value}; right would be: {one_line(loss.allowed)}{without}"


def _contradiction(one: SourceConflict) -> str:
    taken, other = (repr(one_line(value)) for value in (one.taken, one.other))
    places = f"{one_line(one.taken_from)} says {taken}, {one_line(one.other_from)} says {other}"
    return f"  {one.decision_id}: {one.field}: {places}"


def _some(lines: list[str], total: int) -> Iterator[str]:
    yield from lines
    if total > len(lines):
        yield f"  and {total - len(lines):,} more; --json prints all"


def _few(names: list[str]) -> str:
    shown = ", ".join(one_line(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5:,} more"
