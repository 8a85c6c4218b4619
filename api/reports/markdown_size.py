"""A comment in Markdown that holds what fits into it, and says what did not."""

from collections import Counter
from collections.abc import Iterable, Sequence

from api.reports.format import counted

COMMENT_MAX = 65_536
"""Characters that a comment of a hosted repository holds."""

RESERVED = 600
"""Of them, for what is said of the rest, and for a line of whoever posts it."""

FIGURES = {"attempt", "attempts passed", "before", "change", "now", "points"}
"""Columns that stand on the right."""

MARKER = "<!-- tallystick eval -->"
"""The first line, by which a comment is found again."""


class SizedMarkdown:
    """Blocks in their order, as many as fit; those that do not are counted by their noun."""

    def __init__(self) -> None:
        self._blocks = [MARKER]
        self._room = COMMENT_MAX - RESERVED - len(MARKER)
        self._left_out: Counter[str] = Counter()

    def add(self, block: str, noun: str = "section") -> None:
        """Add a block, where it fits."""
        if len(block) + 2 > self._room:
            self._left_out[noun] += 1
            return
        self._room -= len(block) + 2
        self._blocks.append(block)

    def table(self, title: str, head: Sequence[str], rows: Iterable[str], noun: str, *, fold: bool = False) -> None:
        """Add a table with as many of its rows as fit, where there are any."""
        top = [f"|{'|'.join(head)}|", f"|{'|'.join('-:' if one in FIGURES else '-' for one in head)}|"]
        kept, size = [], len(folded(title, "")) + len("\n".join(top)) + 4
        for row in rows:
            if size + len(row) + 1 > self._room:
                self._left_out[noun] += 1
            else:
                size += len(row) + 1
                kept.append(row)
        if kept:
            table = "\n".join([*top, *kept])
            self.add(folded(title, table) if fold else f"#### {title}\n\n{table}")

    def text(self) -> str:
        """The comment, at most COMMENT_MAX characters."""
        blocks = list(self._blocks)
        if self._left_out:
            told = ", ".join(counted(number, noun) for noun, number in self._left_out.items())
            blocks.append(f"Left out, to fit into a comment: {told}. The HTML report has all of it.")
        return "\n\n".join(blocks) + "\n"


def folded(title: str, body: str) -> str:
    """A body that opens when its title, which is HTML, is clicked."""
    return f"<details>\n<summary>{title}</summary>\n\n{body.rstrip()}\n\n</details>"
