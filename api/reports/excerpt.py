"""Show what a pattern matched within the answer's text, if the answer is available."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from api.reports.escape import ELLIPSIS
from events.evaluation import PatternFinding
from projections.evaluation.view_types import ScoreRow

AROUND = 80
"""Characters of the text that are shown on either side of a match."""

SCORED = ("rca.root_cause", "decision.label", "decision.why", "rca.remediation", "decision.next", "verdict.next_steps")
"""Paths of the scored texts in an answer, besides its hypotheses."""

_step = re.compile(r"([a-z_0-9]+)((?:\[\d+\])*)")


class Excerpt(NamedTuple):
    """A match and the text around it; an ellipsis marks where it was cut."""

    before: str
    found: str
    after: str


def excerpt_finder(row: ScoreRow) -> Callable[[PatternFinding], Excerpt | None]:
    """Return a function that finds the excerpt of a pattern in one answer; None for a pattern that did not match."""
    answer = _decoded(row)
    return lambda finding: _excerpt(finding, answer)


def scored_texts(row: ScoreRow) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each scored part of an answer; the items of a list are one text."""
    answer = _decoded(row)
    for where in SCORED:
        if text := _text_at(answer, where):
            yield where, text
    hypotheses = answer.get("hypotheses") if isinstance(answer, dict) else None
    for number in range(len(hypotheses) if isinstance(hypotheses, list) else 0):
        if text := _text_at(answer, f"hypotheses[{number}].title"):
            yield f"hypotheses[{number}]", text


def _decoded(row: ScoreRow) -> object:
    try:
        answer: object = msgspec.json.decode(row.analysis) if row.analysis else None
    except msgspec.DecodeError:
        return None
    if isinstance(answer, dict) and isinstance(answer.get("analysis"), dict):
        answer = answer["analysis"]
    return answer


def _excerpt(finding: PatternFinding, answer: object) -> Excerpt | None:
    if not finding.matched or finding.text is None:
        return None
    text = _text_at(answer, finding.where or "")
    if text is None or finding.start is None or finding.end is None:
        return Excerpt("", finding.text, "")
    start, end = finding.start, min(finding.end, finding.start + len(finding.text))
    if text[start:end] != finding.text:
        return Excerpt("", finding.text, "")
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    return Excerpt(
        f"{ELLIPSIS}{before}" if start > AROUND else before,
        finding.text,
        f"{after}{ELLIPSIS}" if len(text) > end + AROUND else after,
    )


def _text_at(answer: object, where: str) -> str | None:
    """Return the text at a path such as `decision.why[1]`; the items of a list are joined by line feeds."""
    for step in where.split("."):
        parsed = _step.fullmatch(step)
        if parsed is None or not isinstance(answer, dict):
            return None
        answer = answer.get(parsed[1])
        for index in map(int, re.findall(r"\d+", parsed[2])):
            if not isinstance(answer, list) or index >= len(answer):
                return None
            answer = answer[index]
    if isinstance(answer, list) and all(isinstance(item, str) for item in answer):
        return "\n".join(answer)
    return answer if isinstance(answer, str) else None
