"""From the words of a benchmark to regular expressions that find them as people and programs write them.

Every text of a benchmark is escaped: nothing that it holds is ever read as an expression.
"""

import re
from collections.abc import Iterable
from typing import Any

from instruments.evals.benchmarks.case import CaseError

PATTERN_CHARS_MAX = 600
"""Characters of a pattern made here: there is room for what finds its denial around it."""

NAME_CHARS_MAX = 253
"""Characters of an object's name: what Kubernetes allows."""

_word = re.compile(r"[^\W_]+")
_camel = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINED = r"[\s_-]*"
_BEGINS = r"(?<![^\W_])"
_ENDS = r"s?(?![^\W_])"

_OWNERS = frozenset(
    {"app", "cronjob", "daemonset", "deployment", "job", "pod", "replicaset", "service", "statefulset", "workload"}
)
"""Kinds whose objects own pods that are named after them."""

_random = "[b-df-hj-np-tv-xz24-9]"
_MADE = rf"(?:-{_random}{{6,10}}(?:-{_random}{{5}})?|-\d{{1,3}})?"
"""What is added to the name of a workload in those of its replica sets and pods."""

_NEVER = (
    r"(?:\b(?:no|not|cannot|never|without|ruled\s+out|excluded?|rather\s+than|instead\s+of)|n['\u2019]t)\s+"
    r"(?:(?:an?|any|the|be|been|being|by|caused|due|to|because|of|case|evidence|signs?)\s+){0,6}[\"'`*(]*"
)
_NO_CAUSE = (
    r"[\"'`*)]*(?:\s+(?:of|for|on|in|at)\s+[\w./`*-]+){0,2}\s+"
    r"(?:(?:is|was|are|were)(?:\s+not|n['\u2019]t)\s+(?:an?\s+|the\s+)?(?:\w+\s+)?(?:cause|reason|problem|issue)"
    r"|(?:is|was|are|were|be|been)\s+(?:ruled\s+out|excluded))\b"
)


def words(text: str) -> tuple[str, ...]:
    """The words of an identifier: `missing_service_account`, `MissingServiceAccount` and `OOMKilled` are several."""
    return tuple(word for run in _word.findall(text) for word in _camel.split(run))


def phrase(key: str, text: str) -> str:
    """What finds an identifier's words in their order, joined by blanks, `_`, `-` or nothing. Errors: Wrong."""
    found = words(text)
    if not found:
        raise CaseError(key, f"has no word: {text[:80]!r}", "Name the cause in words, as in missing_service_account.")
    made = f"{_BEGINS}{_JOINED.join(map(_escape, found))}{_ENDS}"
    if len(made) > PATTERN_CHARS_MAX:
        raise CaseError(key, f"has {len(found)} words in one name", "Name it in a few.")
    return made


def named(key: str, name: str, kind: str | None = None) -> str:
    """What finds an object's name as a whole word, or that of a pod or replica set of its own. Errors: Wrong."""
    name = name.strip()
    if not 1 <= len(name) <= NAME_CHARS_MAX:
        what = f"has {len(name)} characters, and an object's name has 1..{NAME_CHARS_MAX}"
        raise CaseError(key, what, "Write it as in app/adservice.")
    made = _MADE if kind is None or kind.lower() in _OWNERS else ""
    return rf"(?<!\w)(?<!\w-){_escape(name)}{made}(?!-?\w)"


def denials(patterns: Iterable[str]) -> tuple[str, ...]:
    """What finds that something is denied, right before or after: `not due to X`, `X of Y is ruled out`."""
    return tuple(made for one in patterns for made in (f"{_NEVER}{one}", f"{one}{_NO_CAUSE}"))


def regex(patterns: Iterable[str]) -> dict[str, Any]:
    """A matcher of which one pattern is enough, as `scenario.yaml` writes it."""
    return {"patterns": list(patterns), "match_type": "regex"}


def _escape(text: str) -> str:
    return re.escape(text).replace("\\-", "-")
