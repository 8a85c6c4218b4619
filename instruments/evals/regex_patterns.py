"""Compile the regular expressions of scenarios, and refuse those that cannot be searched safely.

The compiler of `regex` copies a repeated part as often as its minimum count, so that nested counts could exhaust
memory: the resulting size is estimated first. The time of a search is limited elsewhere (`scoring/regex_budget.py`).
"""

import re
from functools import lru_cache

import regex

PATTERN_NODES_MAX = 10_000
"""The most characters, classes and groups with all counts expanded: `(?:ab){100}` has a little over 200."""

DEPTH_MAX = 50
"""The deepest nesting of groups."""

PROBE_TIMEOUT_S = 1.0
"""Seconds for a search in one character; only a pattern that never terminates needs more."""

FLAGS = regex.IGNORECASE | regex.DOTALL

_count = re.compile(r"\{(\d*)(?:,\d*)?\}")
_POSIX = r"\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]"
_bracketed = re.compile(rf"\[\^?\]?(?:{_POSIX}|[^\]\\]|\\.)*\]", re.DOTALL)
_calls = re.compile(r"\(\?(?:R\)|[+-]?\d+\)|&|P>)")
_ambiguous_syntax = re.compile(rf"\(\?#|\(\?[a-zA-Z0-9]*[xV]|(?!{_POSIX})\[:\^?\w+:\]")
_position = re.compile(r" at position (\d+).*", re.DOTALL)
_SAMPLE_CHARS = ("a", "Q", "0", " ", "-", ".", "\n", "é", "界")
"""A pattern that matches each of these characters matches every text."""

_DIGITS_MAX = 10
"""Digits of a count that are read: enough to exceed any limit."""


class BadPattern(ValueError):
    """A pattern that cannot be searched, or that matches every text; `advice` gives the remedy."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"{problem}. {advice}")
        self.problem = problem
        self.advice = advice


@lru_cache(maxsize=16_384)
def compile_pattern(pattern: str) -> "regex.Pattern[str]":
    """Compile a pattern as the scorer searches it: ignoring case, `.` matches any character. Errors: BadPattern."""
    nodes = _count_nodes(pattern)
    if nodes > PATTERN_NODES_MAX:
        raise BadPattern(
            f"repeats so much that it comes to {nodes:,} characters; at most {PATTERN_NODES_MAX:,} are allowed",
            "Count less, or write * or +.",
        )
    try:
        return regex.compile(pattern, FLAGS)
    except regex.error as error:
        reason = _position.sub(lambda match: f" at character {int(match[1]) + 1}", str(error))
        raise BadPattern(
            f"is not a regular expression: {reason}",
            "Correct it; a special character that is meant literally needs a backslash.",
        ) from None
    except Exception as error:  # noqa: BLE001 - any exception of the compiler means a bad pattern
        raise BadPattern(f"is not a regular expression: {type(error).__name__}", "Correct it.") from None


def compile_selective(pattern: str) -> "regex.Pattern[str]":
    """Compile a pattern, and refuse one that matches every text. Errors: BadPattern."""
    compiled = compile_pattern(pattern)
    try:
        if compiled.search("", timeout=PROBE_TIMEOUT_S) is not None:
            raise BadPattern("matches the empty text, and so every text", "Say what must be there.")
        if all(compiled.search(letter, timeout=PROBE_TIMEOUT_S) is not None for letter in _SAMPLE_CHARS):
            raise BadPattern("matches every text", "Say what must be there.")
    except (TimeoutError, MemoryError):
        raise BadPattern("does not terminate even in a text of one character", "Write it simpler.") from None
    return compiled


def _count_nodes(pattern: str) -> int:
    """Estimate the number of nodes of a compiled pattern; the estimate is rarely too low. Errors: BadPattern.

    If comments or nested sets make brackets ambiguous, all counts are multiplied as if nested.
    """
    sizes, last, at = [0], 0, 0
    while at < len(pattern):
        sign, step, added = pattern[at], 1, 1
        if sign == "(":
            _check_group(pattern, at, len(sizes))
            sizes.append(0)
        elif sign == ")":
            last = added = sizes.pop() + 1 if len(sizes) > 1 else sizes[0] + 1
        elif sign == "{" and (match := _count.match(pattern, at)) is not None:
            step, minimum = match.end() - at, _min_repeats(match[1])
            last, added = last * minimum, last * (minimum - 1)
        elif sign == "[" and (match := _bracketed.match(pattern, at)) is not None:
            step, last = match.end() - at, 1
        else:
            step, last = 2 if sign == "\\" else 1, 1
        sizes[-1] += added
        at += step
    if _ambiguous_syntax.search(pattern) is None:
        return sum(sizes)
    total_size = max(1, len(pattern))
    for digits in _count.findall(pattern):
        total_size *= _min_repeats(digits)
    return total_size


def _min_repeats(digits: str) -> int:
    """Return the minimum count of a repeated part, at least 1."""
    return max(1, int(digits[:_DIGITS_MAX] or 0))


def _check_group(pattern: str, at: int, depth: int) -> None:
    if _calls.match(pattern, at) is not None:
        raise BadPattern(
            f"calls a group again at character {at + 1}, which may never end", "Write the group out where it is."
        )
    if depth > DEPTH_MAX:
        raise BadPattern(f"has groups more than {DEPTH_MAX} deep", "Write it flatter.")
