"""Build a Markdown comment of limited size, and say what was left out."""

from collections import Counter
from collections.abc import Iterable, Sequence

from api.reports.format import count_noun

COMMENT_MAX = 65_536
"""The most characters of a comment on a hosted repository."""

RESERVED = 600
"""Characters kept free for the note on what was left out, and for a line that the poster adds."""

FIGURES = {"attempt", "attempts passed", "before", "change", "now", "points"}
"""Columns that are aligned right."""

MARKER = "<!-- tallystick eval -->"
"""The first line, by which a later run finds the comment."""


class SizedMarkdown:
    """Blocks in order, as many as fit; the others are counted by their noun."""

    def __init__(self) -> None:
        self._blocks = [MARKER]
        self._left = COMMENT_MAX - RESERVED - len(MARKER)
        self._left_out: Counter[str] = Counter()

    def add(self, block: str, noun: str = "section") -> None:
        """Add a block if it fits."""
        if len(block) + 2 > self._left:
            self._left_out[noun] += 1
            return
        self._left -= len(block) + 2
        self._blocks.append(block)

    def table(self, title: str, head: Sequence[str], rows: Iterable[str], noun: str, *, fold: bool = False) -> None:
        """Add a table with as many of its rows as fit; no table for no rows."""
        top = [f"|{'|'.join(head)}|", f"|{'|'.join('-:' if one in FIGURES else '-' for one in head)}|"]
        kept, size = [], len(folded(title, "")) + len("\n".join(top)) + 4
        for row in rows:
            if size + len(row) + 1 > self._left:
                self._left_out[noun] += 1
            else:
                size += len(row) + 1
                kept.append(row)
        if kept:
            table = "\n".join([*top, *kept])
            self.add(folded(title, table) if fold else f"#### {title}\n\n{table}")

    def text(self) -> str:
        """Return the comment, at most COMMENT_MAX characters."""
        blocks = list(self._blocks)
        if self._left_out:
            counts = ", ".join(count_noun(number, noun) for noun, number in self._left_out.items())
            blocks.append(f"Left out to fit into a comment: {counts}. The HTML report has everything.")
        return "\n\n".join(blocks) + "\n"


def folded(title: str, body: str) -> str:
    """Return a body that is folded below a title, which is HTML."""
    return f"<details>\n<summary>{title}</summary>\n\n{body.rstrip()}\n\n</details>"
