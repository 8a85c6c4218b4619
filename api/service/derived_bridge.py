"""Derive a decision's bridge from its own words, by rule. A pure function: anyone can repeat it from the decision.

The structure is the decision in general terms: names and numbers are replaced by what they are. The function is the
decision's pattern, its first long reason of analysis, constraint or pattern, or the first sentence of its context.
"""

import re
from typing import Literal

from msgspec import structs

from api.service.deliberation_steps import line_bytes
from events.decision import Bridge, DecisionRecorded
from events.limits import LINE_BYTES_MAX

BridgeMethod = Literal["rule", "legacy"]

SIDE_CHARS_MIN = 10
"""A side of a bridge must be longer than this."""

_REASONS = ("analysis", "constraint", "pattern")

_TIME = r"(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|hours?|hrs?|h|days?|weeks?|months?|years?)"
_SUFFIX = r"(?:py|js|ts|go|rs|md|ya?ml|json|toml|sql)"
_SIZE = r"(?:bytes?|[kmgt]i?b|kilobytes?|megabytes?|gigabytes?|terabytes?)"

_GENERAL: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"`[^`]+`"), "a component"),
    (re.compile(r"\b(?:PR|pull request)\s*#?\d+", re.IGNORECASE), "a PR"),
    (re.compile(rf"(?<![\w/.])(?:[\w.-]*/)+[\w-]+\.[A-Za-z]\w*|\b[\w-]+\.{_SUFFIX}\b"), "a file"),
    (re.compile(r"\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b"), "a component"),
    (re.compile(r"\bv\d+(?:\.\d+)+\b", re.IGNORECASE), "vX.Y"),
    (re.compile(r"\b\d{4}-\d{2}-\d{2}\b"), "DATE"),
    (re.compile(rf"\b\d+(?:\.\d+)?\s*{_TIME}\b", re.IGNORECASE), "N time-units"),
    (re.compile(rf"\b\d+(?:\.\d+)?\s*{_SIZE}\b", re.IGNORECASE), "N size-units"),
    (re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])"), "N"),
)  # fmt: skip
"""What is replaced, in this order."""

_VERBS = {"fixed": "corrected", "fix": "correct", "fixing": "correcting"}
_verb = re.compile(rf"\b(?:{'|'.join(_VERBS)})\b", re.IGNORECASE)
_sentence_end = re.compile(r"(?<=[.!?])\s+|\n")


def generalise(text: str) -> str:
    """Return a text with its names, numbers and dates replaced by what they are."""
    for pattern, replacement in _GENERAL:
        text = pattern.sub(replacement, text)
    return _verb.sub(_plain_verb, text).strip()


def derive_bridge(decision: DecisionRecorded) -> tuple[Bridge, BridgeMethod] | None:
    """Return a bridge and how it was derived: by rule, or, where no rule applies, from decision and strongest reason.

    None if the decision has too few words for either.
    """
    structure, function = _long(generalise(decision.decision)), _long(_function(decision))
    if structure or function:
        return Bridge(structure=structure or function, function=function or structure), "rule"
    best = max(decision.reasons, key=lambda reason: reason.strength or 0.0, default=None)
    return (Bridge(structure=decision.decision, function=best.text), "legacy") if best is not None else None


def add_derived_bridge(decision: DecisionRecorded, source: str, key: str | None) -> DecisionRecorded:
    """Return the decision with a derived bridge, unless it states one, or the event would become too long."""
    derived = derive_bridge(decision) if decision.bridge is None else None
    if derived is None:
        return decision
    extended = structs.replace(decision, bridge=derived[0])
    measured = structs.replace(extended, decision_id=extended.decision_id or "-" * 8)
    return extended if line_bytes(measured, source, key) <= LINE_BYTES_MAX else decision


def _function(decision: DecisionRecorded) -> str:
    """Return what the decision is for, as far as its words say."""
    if decision.pattern:
        return decision.pattern
    for reason in decision.reasons:
        if reason.type in _REASONS and (text := _long(generalise(reason.text))):
            return text
    return generalise(_sentence_end.split((decision.context or "").strip(), maxsplit=1)[0])


def _long(text: str) -> str:
    return text if len(text) > SIDE_CHARS_MIN else ""


def _plain_verb(match: re.Match[str]) -> str:
    verb = _VERBS[match[0].lower()]
    return verb.capitalize() if match[0][0].isupper() else verb
