"""Lines that report a CSTP import: the events written, and the warnings that users should check."""

from collections.abc import Iterator

from api.cli.output import format_speed
from api.importers.cstp.report import (
    HALF_CONFIDENCE,
    OTHER_TIME,
    ZERO_CONFIDENCE,
    CstpImportResult,
    Loss,
    SourceConflict,
)
from api.text_format import one_line, pluralize

LISTED_MAX = 20
"""Losses that are listed, and contradictions. Of the others, only the number is printed."""

SKIPPED_MAX = 5
"""Skipped files that are named."""


def import_summary_lines(report: CstpImportResult) -> Iterator[str]:
    """Yield two or three lines: the decisions found, the links if there are any, and the events written."""
    yield (
        f"{pluralize(report.yaml_files, 'decision file')}, {pluralize(report.sqlite_stores, 'SQLite store')}: "
        f"{pluralize(report.decisions, 'decision')} ({report.in_both:,} in both, {report.with_confidence:,} with a "
        f"confidence), {report.reviews:,} reviewed."
    )
    if report.links:
        graphs = f" ({pluralize(report.graph_files, 'graph file')})" if report.graph_files else ""
        yield f"{pluralize(report.links, 'link')}{graphs}."
    counts = {
        "recorded": report.recorded, "reviewed": report.reviewed, "amended": report.amended,
        "thoughts": report.thoughts, "preserved": report.preserved, "linked": report.linked,
    }  # fmt: skip
    new = sum(counts.values())
    parts = [f"{number:,} {kind}" for kind, number in counts.items() if number]
    written = (
        f"{pluralize(new, 'event')} would be appended"
        if report.dry_run
        else f"{pluralize(report.appended, 'event')} appended"
    )
    kinds = f" ({', '.join(parts)})" if parts else ""
    yield (
        f"{written}{kinds}, {pluralize(report.unchanged, 'decision')} there already; "
        f"{format_speed(report.decisions, report.elapsed_ms, 'decisions')}."
    )


def warning_lines(report: CstpImportResult) -> Iterator[str]:
    """Yield lines about values that could not be imported, and about values that may be misleading."""
    if report.losses:
        yield f"{len(report.losses):,} not imported:"
        yield from _listed([_loss(loss) for loss in report.losses[:LISTED_MAX]], len(report.losses))
    if report.contradictions:
        yield f"{pluralize(len(report.contradictions), 'contradiction')}; the later change counts:"
        lines = [_contradiction(conflict) for conflict in report.contradictions[:LISTED_MAX]]
        yield from _listed(lines, len(report.contradictions))
    if report.no_place:
        fields = ", ".join(f"{one_line(name)} ({number:,})" for name, number in report.no_place.items())
        yield f"Fields that no event has, and their number: {fields}."
    for subject, number in (
        (
            "Confidences of exactly 0.5, which CSTP also writes if none was stated",
            report.doubtful.get(HALF_CONFIDENCE, 0),
        ),
        (
            "Confidences of 0 in SQLite alone, which it also writes if none was stated",
            report.doubtful.get(ZERO_CONFIDENCE, 0),
        ),
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
    id_in_name = loss.decision_id is None or f"-decision-{loss.decision_id}." in loss.file
    decision = "" if id_in_name else f"{loss.decision_id} in "
    left_out = "" if loss.left_out == loss.field else f"; left out: {one_line(loss.left_out)}"
    source = f"{decision}{one_line(loss.file)}"
    return f"  {source}: {one_line(loss.field)} is {value}; allowed: {one_line(loss.allowed)}{left_out}"


def _contradiction(conflict: SourceConflict) -> str:
    kept_value, other_value = (repr(one_line(value)) for value in (conflict.taken, conflict.other))
    places = f"{one_line(conflict.taken_from)} says {kept_value}, {one_line(conflict.other_from)} says {other_value}"
    return f"  {conflict.decision_id}: {conflict.field}: {places}"


def _listed(lines: list[str], total: int) -> Iterator[str]:
    yield from lines
    if total > len(lines):
        yield f"  and {total - len(lines):,} more; --json prints all"


def _few(names: list[str]) -> str:
    listed = ", ".join(one_line(name) for name in names[:SKIPPED_MAX])
    return listed if len(names) <= SKIPPED_MAX else f"{listed} and {len(names) - SKIPPED_MAX:,} more"
