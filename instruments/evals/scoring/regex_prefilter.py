"""What a text must hold for a regex to stand in it: most texts hold none of it, and need not be searched."""

import re
from functools import lru_cache

CHARS_MIN = 2
"""Shorter words stand nearly everywhere, and tell nothing."""

Words = tuple[str, ...]
"""Words of which one must be there, whatever the case."""

_ODD = "İı"
"""What a regex takes for an i, and `casefold` does not."""

_class = re.compile(r"\[\^?\]?(?:[^\[\]\\]|\\.)*\]", re.DOTALL)
_opening = re.compile(r"\((?:\?(?::|P<\w+>|[ims-]+:))?(?!\?)")
_flags = re.compile(r"\(\?[ims]+\)")
_count = re.compile(r"[*+?]|\{\d*,?\d*\}")
_escapes = re.compile(r"\\(?:([^\w\s])|[AbBdDsSwWZ])")


class _Unread(Exception):
    """The pattern says something that is not read here."""


@lru_cache(maxsize=16_384)
def needs(pattern: str) -> tuple[Words, ...]:
    """What must be there; nothing, where that cannot be said. A pattern that is read wrongly here would be missed."""
    try:
        found, end = _alternatives(pattern, 0)
    except _Unread:
        return ()
    return found if end == len(pattern) else ()


def possible(pattern: str, text: str, folded: str) -> bool:
    """Whether a pattern can stand in a text, which is `folded` without its case."""
    wanted = needs(pattern)
    if not wanted or any(letter in text for letter in _ODD):
        return True
    return all(any(word in folded for word in words) for words in wanted)


def _alternatives(pattern: str, at: int) -> tuple[tuple[Words, ...], int]:
    """Of alternatives, one word of each must be there, and where one needs none, none."""
    branches = []
    while True:
        found, at = _sequence(pattern, at)
        branches.append(found)
        if at == len(pattern) or pattern[at] != "|":
            break
        at += 1
    if len(branches) == 1:
        return branches[0], at
    return (tuple(word for branch in branches for word in branch[0]),) if all(branches) else (), at


def _sequence(pattern: str, at: int) -> tuple[tuple[Words, ...], int]:
    found: list[Words] = []
    run = ""
    while at < len(pattern) and pattern[at] not in "|)":
        inner, letter, at = _atom(pattern, at)
        count = _count.match(pattern, at)
        if count is not None:
            at = count.end() + (pattern[count.end() : count.end() + 1] in {"?", "+"})
        if letter is not None and (count is None or count[0] == "+"):
            run += letter
        if letter is None or count is not None:
            found += [(run,)] * (len(run) >= CHARS_MIN)
            run = ""
        if count is None or count[0] == "+":
            found += inner
    found += [(run,)] * (len(run) >= CHARS_MIN)
    return tuple(found), at


def _atom(pattern: str, at: int) -> tuple[tuple[Words, ...], str | None, int]:
    """What one part needs, or which letter it is, and where it ends. Errors: _Unread."""
    sign = pattern[at]
    if sign == "(":
        flags = _flags.match(pattern, at)
        if flags is not None:
            return (), None, flags.end()
        opening = _opening.match(pattern, at)
        if opening is None:
            raise _Unread
        inner, end = _alternatives(pattern, opening.end())
        if pattern[end : end + 1] != ")":
            raise _Unread
        return inner, None, end + 1
    if sign == "[":
        found = _class.match(pattern, at)
        if found is None:
            raise _Unread
        return (), None, found.end()
    if sign == "\\":
        escape = _escapes.match(pattern, at)
        if escape is None:
            raise _Unread
        return (), _plain(escape[1]), escape.end()
    if sign in "*+?{":
        raise _Unread
    return (), None if sign in ".^$" else _plain(sign), at + 1


def _plain(letter: str | None) -> str | None:
    """A letter that `casefold` and a regex take for the same."""
    return letter.casefold() if letter is not None and letter.isascii() else None
