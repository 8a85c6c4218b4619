"""Find the words that a text must contain for a regex to match: most texts do not, and need no search."""

import re
from functools import lru_cache

CHARS_MIN = 2
"""The shortest word that is used: shorter ones occur in nearly every text."""

Words = tuple[str, ...]
"""A group of words: one of them must occur, ignoring case."""

_SPECIAL_I = "İı"
"""Letters that a regex matches with i, and `casefold` does not."""

_class = re.compile(r"\[\^?\]?(?:[^\[\]\\]|\\.)*\]", re.DOTALL)
_opening = re.compile(r"\((?:\?(?::|P<\w+>|[ims-]+:))?(?!\?)")
_flags = re.compile(r"\(\?[ims]+\)")
_count = re.compile(r"[*+?]|\{\d*,?\d*\}")
_escapes = re.compile(r"\\(?:([^\w\s])|[AbBdDsSwWZ])")


class _Unsupported(Exception):
    """The pattern uses syntax that this module does not parse."""


@lru_cache(maxsize=16_384)
def required_words(pattern: str) -> tuple[Words, ...]:
    """Return the words that must occur; empty if they are unknown. A word too many would hide a match."""
    try:
        words, end = _alternatives(pattern, 0)
    except _Unsupported:
        return ()
    return words if end == len(pattern) else ()


def can_match(pattern: str, text: str, folded: str) -> bool:
    """Whether a pattern can match in a text; `folded` is the text's casefold."""
    required = required_words(pattern)
    if not required or any(letter in text for letter in _SPECIAL_I):
        return True
    return all(any(word in folded for word in words) for words in required)


def _alternatives(pattern: str, at: int) -> tuple[tuple[Words, ...], int]:
    """Parse alternatives: a word of any of them must occur; if one requires no word, no word is required."""
    branches = []
    while True:
        words, at = _sequence(pattern, at)
        branches.append(words)
        if at == len(pattern) or pattern[at] != "|":
            break
        at += 1
    if len(branches) == 1:
        return branches[0], at
    return (tuple(word for branch in branches for word in branch[0]),) if all(branches) else (), at


def _sequence(pattern: str, at: int) -> tuple[tuple[Words, ...], int]:
    words: list[Words] = []
    run = ""
    while at < len(pattern) and pattern[at] not in "|)":
        inner, letter, at = _atom(pattern, at)
        count = _count.match(pattern, at)
        if count is not None:
            at = count.end() + (pattern[count.end() : count.end() + 1] in {"?", "+"})
        if letter is not None and (count is None or count[0] == "+"):
            run += letter
        # what follows a repeated letter need not follow the letters before it directly
        if letter is None or count is not None:
            words += [(run,)] * (len(run) >= CHARS_MIN)
            run = ""
        if count is None or count[0] == "+":
            words += inner
    words += [(run,)] * (len(run) >= CHARS_MIN)
    return tuple(words), at


def _atom(pattern: str, at: int) -> tuple[tuple[Words, ...], str | None, int]:
    """Parse one part: the words that it requires, or its letter, and its end. Errors: _Unsupported."""
    sign = pattern[at]
    if sign == "(":
        flags = _flags.match(pattern, at)
        if flags is not None:
            return (), None, flags.end()
        opening = _opening.match(pattern, at)
        # such as a look-ahead: what it has need not occur
        if opening is None:
            raise _Unsupported
        inner, end = _alternatives(pattern, opening.end())
        if pattern[end : end + 1] != ")":
            raise _Unsupported
        return inner, None, end + 1
    if sign == "[":
        char_class = _class.match(pattern, at)
        if char_class is None:
            raise _Unsupported
        return (), None, char_class.end()
    if sign == "\\":
        escape = _escapes.match(pattern, at)
        if escape is None:
            raise _Unsupported
        return (), _plain(escape[1]), escape.end()
    if sign in "*+?{":
        raise _Unsupported
    return (), None if sign in ".^$" else _plain(sign), at + 1


def _plain(letter: str | None) -> str | None:
    """Return a letter that `casefold` and a regex compare in the same way; None for others."""
    return letter.casefold() if letter is not None and letter.isascii() else None
