"""Texts of agents, shortened so that a page has a bounded size: the JSON has them whole."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import structs

from api.reports.escape import cut, escape_html, one_line
from api.reports.html.report_page import ANSWER_CHARS_MAX
from api.reports.match_excerpt import scored_texts
from api.reports.report import failed_patterns, is_forbidden
from events.evaluation import Component, PatternFinding
from projections.evaluation.view_types import ScenarioResult, ScoreRow

TEXT_MAX = 1_500
"""The most characters of an output, a reason or a pattern."""

PAGE_BYTES = 90_000
"""About as many bytes of patterns and outputs are on a page, escaped."""

FINDING_BYTES = 400
"""The bytes of a pattern's markup."""

MISSED_MAX, MISSED_CHARS = 2, 60


class ShortRows(NamedTuple):
    """Attempts with their first patterns, and the number of patterns left out."""

    rows: Sequence[ScoreRow]
    left_out: int


def shorten_rows(rows: Iterable[ScoreRow]) -> ShortRows:
    """Return attempts with at most about PAGE_BYTES of texts; patterns that cost points are kept first."""
    left, left_out, short = PAGE_BYTES, 0, []
    for row in rows:
        said = None if row.said is None else cut(row.said, TEXT_MAX)
        detail = None if row.detail is None else cut(row.detail, TEXT_MAX)
        components: list[Component] = []
        left -= _size(said) + _size(detail)
        for component in row.components:
            kept, left = _first_findings(component.findings, left)
            left_out += len(component.findings) - len(kept)
            components.append(structs.replace(component, findings=kept))
        left -= 0 if row.passed else sum(_size(cut(words, ANSWER_CHARS_MAX)) for _, words in scored_texts(row))
        analysis = row.analysis if left > 0 else None
        short.append(structs.replace(row, said=said, detail=detail, components=tuple(components), analysis=analysis))
    return ShortRows(short, left_out)


def _first_findings(findings: Sequence[PatternFinding], left: int) -> tuple[tuple[PatternFinding, ...], int]:
    """Return the findings that fit into so many bytes, in their order, and the bytes that are left."""
    fits: set[int] = set()
    for number in sorted(range(len(findings)), key=lambda each: not _costs_points(findings[each])):
        finding = findings[number]
        left -= FINDING_BYTES + _size(cut(finding.pattern, TEXT_MAX)) + _size(finding.text) + _size(finding.note)
        if left < 0:
            break
        fits.add(number)
    kept = (findings[number] for number in sorted(fits))
    return tuple(structs.replace(each, pattern=cut(each.pattern, TEXT_MAX)) for each in kept), left


def _costs_points(finding: PatternFinding) -> bool:
    return finding.matched == is_forbidden(finding)


def _size(text: str | None) -> int:
    return 0 if text is None else len(escape_html(text).encode(errors="replace"))


def describe_missed(result: ScenarioResult) -> str:
    """Say what cost the first attempt that did not pass its points: an error, or the first patterns."""
    row = next((row for row in result.rows if row.state == "error" or row.passed is False), None)
    if row is None:
        return ""
    if row.state == "error":
        return one_line(": ".join(filter(None, (row.failure or "error", row.detail))), MISSED_MAX * MISSED_CHARS)
    failed = list(failed_patterns(row))
    shown = [
        f"{'said' if is_forbidden(each) else 'not found:'} {one_line(each.pattern, MISSED_CHARS)}"
        for each in failed[:MISSED_MAX]
    ]
    more = len(failed) - len(shown)
    return "; ".join([*shown, *([f"{more:,} more"] if more else [])])
