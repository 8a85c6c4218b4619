r"""The parts of a match that a regex spells out itself, so that the words between them are read as those of the text.

`image\b.*\bmissing` spells "image" and "missing": in "the image is not missing", the negation is not one of the
pattern. `image\b.*\b(?:not found|missing)` spells "not found", and so asks for the negation in "image was not found".
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise

from instruments.evals.scoring.mention_context import CONTEXT_CHARS_MAX

LITERAL_CHARS_MIN = 2
"""The shortest run of literal characters that is used: shorter ones occur in nearly every text."""

NEGATIONS_MAX = 4
"""The most negations of a match that are examined."""

_negation = re.compile(
    r"\b(?:not|never|no|nobody|none|nothing|neither|nor|without|cannot|\w+n['\N{RIGHT SINGLE QUOTATION MARK}]t)\b",
    re.IGNORECASE,
)

Span = tuple[int, int]

_not_literal = re.compile(
    r"\(\?<?[=!][^()]*\)|\(\?(?:P?<\w+>|[\w-]*:?)|\[\^?\]?(?:[^\[\]\\]|\\.)*\]|\\.|\{\d*,?\d*\}|[(){}|^$.*+?]",
    re.DOTALL,
)
"""Syntax of regular expressions. A look-around is none of a match, so that its words are left out as well."""


_one_phrase = re.compile(r"\W*|\S*")
"""What may be between two literals of one phrase: signs, or the rest of a word."""


def negation_words(text: str, start: int, end: int) -> list[Span]:
    """Return the first words of a match that negate, without saying what."""
    return list(islice(_spans(_negation, text, start, end), NEGATIONS_MAX))


def stated_spans(pattern: str, text: str, start: int, end: int, others: Sequence[Span] = ()) -> tuple[Span, ...]:
    """Return the spans of characters `start` to `end` of a text that a regex spells, those side by side as one.

    `others` has negations without which the regex matches as well. They are none of its own, even if it spells the
    word: `(?:not|never) pushed|missing` in "not missing".
    """
    literals = _literals(pattern)
    if literals is None:
        return ()
    found = [
        span
        for span in _spans(literals, text, start, end)
        if not any(span[0] < other[1] and other[0] < span[1] for other in others)
    ]
    if not found:
        return ()
    spans = [found[0]]
    for before, after in pairwise(found):
        if _one_phrase.fullmatch(text, before[1], after[0]):
            spans[-1] = spans[-1][0], after[1]
        else:
            spans.append(after)
    return tuple(spans)


def _spans(wanted: re.Pattern[str], text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the spans of an expression in a match; in a long one only near both ends, where a context is read."""
    gap = max(0, end - start - 2 * CONTEXT_CHARS_MAX)
    parts = [(start, start + CONTEXT_CHARS_MAX), (end - CONTEXT_CHARS_MAX, end)] if gap else [(start, end)]
    return (found.span() for part in parts for found in wanted.finditer(text, *part))


@lru_cache(maxsize=4_096)
def _literals(pattern: str) -> re.Pattern[str] | None:
    """Return an expression for the literal runs of a regex, the longest first; None if it has none."""
    runs = {run for run in _not_literal.split(pattern) if len(run.strip()) >= LITERAL_CHARS_MIN}
    ordered = sorted(runs, key=lambda run: (-len(run), run))
    return re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE) if ordered else None
