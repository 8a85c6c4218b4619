"""Find excerpts of an answer: the text that a pattern matched, with the text around it."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from api.reports.escape import ELLIPSIS
from events.evaluation import PatternFinding
from projections.evaluation.view_types import ScoreRow

CONTEXT_CHARS = 80
"""Characters of context on each side of a match."""

PATHS = ("rca.root_cause", "decision.label", "decision.why", "rca.remediation", "decision.next", "verdict.next_steps")
"""Paths of the scored texts in an answer, except its hypotheses."""

_step = re.compile(r"([a-z_0-9]+)((?:\[\d+\])*)")


class Excerpt(NamedTuple):
    """A match and the text around it. An ellipsis marks a cut."""

    before: str
    found: str
    after: str


def excerpt_finder(row: ScoreRow) -> Callable[[PatternFinding], Excerpt | None]:
    """Return a function that returns the excerpt of a finding in one answer, or None if the pattern did not match."""
    answer = _decode_answer(row)
    return lambda finding: _excerpt(finding, answer)


def scored_texts(row: ScoreRow) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each scored part of an answer; the items of a list are one text."""
    answer = _decode_answer(row)
    for path in PATHS:
        if text := _text_at(answer, path):
            yield path, text
    hypotheses = answer.get("hypotheses") if isinstance(answer, dict) else None
    for number in range(len(hypotheses) if isinstance(hypotheses, list) else 0):
        if text := _text_at(answer, f"hypotheses[{number}].title"):
            yield f"hypotheses[{number}]", text


def _decode_answer(row: ScoreRow) -> object:
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
    before, after = text[max(0, start - CONTEXT_CHARS) : start], text[end : end + CONTEXT_CHARS]
    return Excerpt(
        f"{ELLIPSIS}{before}" if start > CONTEXT_CHARS else before,
        finding.text,
        f"{after}{ELLIPSIS}" if len(text) > end + CONTEXT_CHARS else after,
    )


def _text_at(answer: object, path: str) -> str | None:
    """Return the text at a path such as `decision.why[1]`; the items of a list are joined by line feeds."""
    for step in path.split("."):
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
