"""A pattern that is a regular expression, compiled as it is searched, and refused where it could not be.

The compiler writes a repeated part out as often as it must at least stand, so that counts within counts would take all
memory: how much that comes to is worked out before. Its time for searching is bounded where it is searched.
"""

import re
from functools import lru_cache

import regex

PATTERN_NODES_MAX = 10_000
"""Characters, classes and groups of a pattern with its counts written out: `(?:ab){100}` comes to 200 and a bit."""

DEPTH_MAX = 50
"""Groups within groups."""

PROBE_TIMEOUT_S = 1.0
"""For searching a text of one character; only a pattern that never ends takes so long."""

FLAGS = regex.IGNORECASE | regex.DOTALL

_count = re.compile(r"\{(\d*)(?:,\d*)?\}")
_POSIX = r"\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]"
_bracketed = re.compile(rf"\[\^?\]?(?:{_POSIX}|[^\]\\]|\\.)*\]", re.DOTALL)
_calls = re.compile(r"\(\?(?:R\)|[+-]?\d+\)|&|P>)")
_obscure = re.compile(rf"\(\?#|\(\?[a-zA-Z0-9]*[xV]|(?!{_POSIX})\[:\^?\w+:\]")
_place = re.compile(r" at position (\d+).*", re.DOTALL)
_ALPHABET = ("a", "Q", "0", " ", "-", ".", "\n", "é", "界")


class BadPattern(ValueError):
    """A pattern that cannot be searched for, or that everything fits; `what` says why, `advice` what to do."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(f"{what}. {advice}")
        self.what = what
        self.advice = advice


@lru_cache(maxsize=16_384)
def compiled(pattern: str) -> "regex.Pattern[str]":
    """The pattern as the scorer searches it: whatever the case, and `.` is any character. Errors: BadPattern."""
    nodes = _nodes(pattern)
    if nodes > PATTERN_NODES_MAX:
        raise BadPattern(
            f"repeats so much that it comes to {nodes:,} characters, and {PATTERN_NODES_MAX:,} are the most",
            "Count less, or write * or +.",
        )
    try:
        return regex.compile(pattern, FLAGS)
    except regex.error as error:
        said = _place.sub(lambda place: f" at character {int(place[1]) + 1}", str(error))
        raise BadPattern(
            f"is no regular expression: {said}",
            "Correct it; a character that only stands for itself needs a backslash.",
        ) from None
    except Exception as error:  # noqa: BLE001 - whatever the compiler trips over, the pattern is what is wrong
        raise BadPattern(f"is no regular expression: {type(error).__name__}", "Correct it.") from None


def discerning(pattern: str) -> "regex.Pattern[str]":
    """The pattern, where there are texts that do not fit it. Errors: BadPattern."""
    found = compiled(pattern)
    try:
        if found.search("", timeout=PROBE_TIMEOUT_S) is not None:
            raise BadPattern("fits the empty text, and so every text", "Say what must stand there.")
        if all(found.search(letter, timeout=PROBE_TIMEOUT_S) is not None for letter in _ALPHABET):
            raise BadPattern("fits every text", "Say what must stand there.")
    except (TimeoutError, MemoryError):
        raise BadPattern("takes for ever to search even in a text of one character", "Write it simpler.") from None
    return found


def _nodes(pattern: str) -> int:
    """About how many nodes the compiler makes of a pattern, and never much fewer. Errors: BadPattern.

    Where comments or sets of sets make it hard to say what a bracket is, each count is taken to be within the others.
    """
    sizes, last, at = [0], 0, 0
    while at < len(pattern):
        sign, step, more = pattern[at], 1, 1
        if sign == "(":
            _check_group(pattern, at, len(sizes))
            sizes.append(0)
        elif sign == ")":
            last = more = sizes.pop() + 1 if len(sizes) > 1 else sizes[0] + 1
        elif sign == "{" and (found := _count.match(pattern, at)) is not None:
            step, least = found.end() - at, _least(found[1])
            last, more = last * least, last * (least - 1)
        elif sign == "[" and (found := _bracketed.match(pattern, at)) is not None:
            step, last = found.end() - at, 1
        else:
            step, last = 2 if sign == "\\" else 1, 1
        sizes[-1] += more
        at += step
    if _obscure.search(pattern) is None:
        return sum(sizes)
    product = max(1, len(pattern))
    for digits in _count.findall(pattern):
        product *= _least(digits)
    return product


def _least(digits: str) -> int:
    """How often a part must stand, of the first number of its count; a number of 10 digits is as good as any longer."""
    return max(1, int(digits[:10] or 0))


def _check_group(pattern: str, at: int, depth: int) -> None:
    if _calls.match(pattern, at) is not None:
        raise BadPattern(
            f"calls a group again at character {at + 1}, which can go on for ever", "Write the group out where it is."
        )
    if depth > DEPTH_MAX:
        raise BadPattern(f"has groups more than {DEPTH_MAX} deep", "Write it flatter.")
