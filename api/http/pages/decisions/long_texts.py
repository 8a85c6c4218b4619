"""Long texts on a page: the beginning is shown, the rest is folded, and all of them together stay below a size."""

from typing import NamedTuple

from api.reports.escape import escape_html, one_line

SHOWN_CHARS = 700
"""A text with more characters is folded."""

BEGINNING_CHARS = 280
"""Characters of a folded text that are shown."""

TEXT_BYTES_MAX = 24_000
PAGE_BYTES_MAX = 70_000
"""Bytes of HTML that one text, and all texts of a page, may take."""

ITEMS_SHOWN = 30
"""Items of a list that a page shows."""

_STEP = 200
_LEAST = 200
"""Bytes that a text may take on a page that is full."""


class PageText(NamedTuple):
    """A text of a page: its beginning if it is folded, what is shown of it in all, and how long it is."""

    beginning: str | None
    shown: str
    characters: int

    @property
    def is_cut(self) -> bool:
        """Whether the page has less than the whole text."""
        return len(self.shown) < self.characters


class TextBudget:
    """Hands out texts of a page. When they have taken so many bytes, further ones are cut to their beginning."""

    def __init__(self, size: int = PAGE_BYTES_MAX) -> None:
        self._left = size

    def take(self, text: str, most: int = TEXT_BYTES_MAX) -> PageText:
        """Return a text, cut if it would take more than `most` bytes, or if the page is full."""
        beginning = None
        if len(text) > SHOWN_CHARS and self._left > _LEAST:
            beginning = one_line(text[: 2 * BEGINNING_CHARS], BEGINNING_CHARS)
            self._left -= _size(beginning)
        shown = _fitting(text, min(most, max(self._left, _LEAST)))
        self._left -= _size(shown)
        return PageText(beginning, shown, len(text))


def _fitting(text: str, size: int) -> str:
    """Return the longest beginning of a text, in steps, whose HTML has at most `size` bytes."""
    if _size(text[:size]) <= size and len(text) <= size:
        return text
    taken = 0
    for start in range(0, len(text), _STEP):
        taken += _size(text[start : start + _STEP])
        if taken > size:
            return text[: start or size // 8]
    return text


def _size(text: str) -> int:
    return len(escape_html(text).encode())
