"""Build regular expressions that find a benchmark's words in the spellings of people and programs.

Every text of a benchmark is escaped, and never interpreted as an expression.
"""

import re
from collections.abc import Iterable
from typing import Any

from instruments.evals.benchmarks.case import CaseError

PATTERN_CHARS_MAX = 600
"""Characters of a pattern; its denials, which are longer, must fit as well."""

NAME_CHARS_MAX = 253
"""Characters of an object's name, as in Kubernetes."""

_word = re.compile(r"[^\W_]+")
_camel = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINED = r"[\s_-]*"
_BEGINS = r"(?<![^\W_])"
_ENDS = r"s?(?![^\W_])"

_OWNERS = frozenset(
    {"app", "cronjob", "daemonset", "deployment", "job", "pod", "replicaset", "service", "statefulset", "workload"}
)
"""Kinds of objects with pods whose names begin with the object's name."""

_random = "[b-df-hj-np-tv-xz24-9]"
_POD_SUFFIX = rf"(?:-{_random}{{6,10}}(?:-{_random}{{5}})?|-\d{{1,3}})?"
"""The suffix of replica set and pod names after the workload's name."""

_DENIAL_BEFORE = (
    r"(?:\b(?:no|not|cannot|never|without|ruled\s+out|excluded?|rather\s+than|instead\s+of)|n['\u2019]t)\s+"
    r"(?:(?:an?|any|the|be|been|being|by|caused|due|to|because|of|case|evidence|signs?)\s+){0,6}[\"'`*(]*"
)
_DENIAL_AFTER = (
    r"[\"'`*)]*(?:\s+(?:of|for|on|in|at)\s+[\w./`*-]+){0,2}\s+"
    r"(?:(?:is|was|are|were)(?:\s+not|n['\u2019]t)\s+(?:an?\s+|the\s+)?(?:\w+\s+)?(?:cause|reason|problem|issue)"
    r"|(?:is|was|are|were|be|been)\s+(?:ruled\s+out|excluded))\b"
)


def split_words(text: str) -> tuple[str, ...]:
    """Split an identifier into words: `missing_service_account`, `MissingServiceAccount`, `OOMKilled`."""
    return tuple(word for run in _word.findall(text) for word in _camel.split(run))


def phrase_pattern(key: str, text: str) -> str:
    """Return a pattern for an identifier's words in order, joined by blanks, `_`, `-` or nothing. Errors: CaseError."""
    words = split_words(text)
    if not words:
        raise CaseError(key, f"has no word: {text[:80]!r}", "Name the cause in words, as in missing_service_account.")
    pattern = f"{_BEGINS}{_JOINED.join(map(_escape, words))}{_ENDS}"
    if len(pattern) > PATTERN_CHARS_MAX:
        raise CaseError(key, f"has {len(words)} words in one name", "Name it in a few.")
    return pattern


def name_pattern(key: str, name: str, kind: str | None = None) -> str:
    """Return a pattern for an object's whole name, or that of its pods or replica sets. Errors: CaseError."""
    name = name.strip()
    if not 1 <= len(name) <= NAME_CHARS_MAX:
        problem = f"has {len(name)} characters, and an object's name has 1..{NAME_CHARS_MAX}"
        raise CaseError(key, problem, "Write it as in app/adservice.")
    suffix = _POD_SUFFIX if kind is None or kind.lower() in _OWNERS else ""
    return rf"(?<!\w)(?<!\w-){_escape(name)}{suffix}(?!-?\w)"


def denial_patterns(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return patterns for a denial directly before or after a match: `not due to X`, `X of Y is ruled out`."""
    return tuple(denial for term in patterns for denial in (f"{_DENIAL_BEFORE}{term}", f"{term}{_DENIAL_AFTER}"))


def regex_matcher(patterns: Iterable[str]) -> dict[str, Any]:
    """Return a matcher, in the form of `scenario.yaml`, that needs a match of one pattern."""
    return {"patterns": list(patterns), "match_type": "regex"}


def _escape(text: str) -> str:
    return re.escape(text).replace("\\-", "-")
