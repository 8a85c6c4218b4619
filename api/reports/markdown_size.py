"""Build a Markdown comment of limited size, with a note on the omitted parts."""

from collections import Counter
from collections.abc import Iterable, Sequence

from api.text_format import pluralize

COMMENT_MAX = 65_536
"""The most characters that a hosted repository accepts in a comment."""

RESERVED = 600
"""Characters reserved for the note on omitted parts, and for a line that the program that posts it may add."""

FIGURE_COLUMNS = {"attempt", "attempts passed", "before", "change", "now", "points"}
"""Titles of columns that are aligned right."""

SEPARATOR = "\n\n"

MARKER = "<!-- tallystick eval -->"
"""The first line, by which a later run finds the comment."""


class SizedMarkdown:
    """Blocks in order, as many as fit; of the others, their number by noun."""

    def __init__(self) -> None:
        self._blocks = [MARKER]
        self._chars_left = COMMENT_MAX - RESERVED - len(MARKER)
        self._omitted: Counter[str] = Counter()

    def add(self, block: str, noun: str = "section") -> None:
        """Add a block if it fits."""
        if len(block) + len(SEPARATOR) > self._chars_left:
            self._omitted[noun] += 1
            return
        self._chars_left -= len(block) + len(SEPARATOR)
        self._blocks.append(block)

    def table(self, title: str, head: Sequence[str], rows: Iterable[str], noun: str, *, fold: bool = False) -> None:
        """Add a table with as many of its rows as fit; no table for no rows."""
        top = [f"|{'|'.join(head)}|", f"|{'|'.join('-:' if name in FIGURE_COLUMNS else '-' for name in head)}|"]
        kept, size = [], len(folded(title, "")) + len("\n".join(top)) + 4
        for row in rows:
            if size + len(row) + 1 > self._chars_left:
                self._omitted[noun] += 1
            else:
                size += len(row) + 1
                kept.append(row)
        if kept:
            table = "\n".join([*top, *kept])
            self.add(folded(title, table) if fold else f"#### {title}\n\n{table}")

    def text(self) -> str:
        """Return the comment, at most COMMENT_MAX characters."""
        blocks = list(self._blocks)
        if self._omitted:
            counts = ", ".join(pluralize(number, noun) for noun, number in self._omitted.items())
            blocks.append(f"Left out to fit into a comment: {counts}. The HTML report has everything.")
        return SEPARATOR.join(blocks) + "\n"


def folded(title: str, body: str) -> str:
    """Return a body as a block that is folded below a title in HTML."""
    return f"<details>\n<summary>{title}</summary>\n\n{body.rstrip()}\n\n</details>"
