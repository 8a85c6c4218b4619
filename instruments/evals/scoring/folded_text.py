"""Texts and patterns in one typography, with the place of each character in the original.

Folded are: letter case, compatibility characters and combining marks (NFKC), quotes, hyphens and dashes, runs of blanks
and line breaks (one blank), characters without width (nothing), and the marks of emphasis and code in Markdown
(nothing). A model writes these as it likes; they do not change what it says.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property, lru_cache

_SAME = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4\uff07", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\uff02", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
}
_WITHOUT_WIDTH = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_emphasis = re.compile(r"(?<!\w)(\*{1,3})(?=[\w`'\"(])[^*\n]{0,2000}?(?<=[\w`'\").,;:!?])(\1)(?![\w*])")
_plain = re.compile(r"[!-)+-_a-~]*(?: [!-)+-_a-~]+)* ?", re.ASCII)
"""ASCII with single blanks, without `*` and backtick: only its letter case is folded."""


class FoldedText:
    """A folded text, with a mapping of its characters to those of the original."""

    def __init__(self, original: str) -> None:
        self.text = original
        self._places: list[tuple[int, int]] | None = None
        if _plain.fullmatch(original) is not None:
            self.text = original.lower()
            return
        pieces = list(_pieces(original))
        self.text = "".join(piece for piece, _, _ in pieces)
        self._places = [(start, end) for piece, start, end in pieces for _ in piece]
        self._original = original

    @cached_property
    def cases(self) -> str:
        """The original with its letter case folded, and nothing else."""
        return self.text if self._places is None else self._original.casefold()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of the folded text, which is not empty, to the original text."""
        if self._places is None or start == end:
            return start, end
        return self._places[start][0], self._places[end - 1][1]


@lru_cache(maxsize=4_096)
def fold(text: str) -> str:
    """Return a folded text, such as a pattern."""
    return FoldedText(text).text


def _pieces(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the folded pieces of a text, each with the place of the characters that it is made from."""
    marks = {at for found in _emphasis.finditer(text) for group in (1, 2) for at in range(*found.span(group))}
    at, length = 0, len(text)
    while at < length:
        start, letter = at, text[at]
        at += 1
        if letter in _WITHOUT_WIDTH or letter == "`" or start in marks:
            continue
        if letter.isspace():
            while at < length and (text[at].isspace() or text[at] in _WITHOUT_WIDTH or text[at] == "`" or at in marks):
                at += 1
            yield " ", start, at
            continue
        while at < length and unicodedata.combining(text[at]):
            at += 1
        same = "".join(_SAME.get(each, each) for each in text[start:at])
        yield unicodedata.normalize("NFKC", same).casefold(), start, at
