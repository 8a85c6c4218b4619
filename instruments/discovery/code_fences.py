"""An answer as blocks: the texts in it, and what stands in code fences, however they are written."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_opening = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*([^\n]*)")
_loose = frozenset({"", "json", "jsonc", "json5", "markdown", "md", "plaintext", "text", "txt", "yaml", "yml"})
"""Labels of fences that another fence ends: their closing line is more likely forgotten than nested."""


class CodeBlock(NamedTuple):
    """A piece of an answer."""

    text: str
    """What stands in it, fence lines excluded."""
    label: str | None = None
    """The first word after the fence in lower case, empty where there is none; None for text outside of fences."""


class _Fence(NamedTuple):
    """An open fence."""

    indent: int
    marker: str
    label: str

    def closes(self, line: str) -> bool:
        """Whether a line is its end: the same characters, as many or more, and nothing else."""
        bare = line.strip()
        return len(bare) >= len(self.marker) and not bare.strip(self.marker[0])

    def content(self, line: str) -> str:
        """A line without the indentation that the fence itself has."""
        within = len(line) - len(line.lstrip(" \t"))
        return line[min(within, self.indent) :]


def blocks(answer: str) -> list[CodeBlock]:
    """The answer cut at its fences, in order. Linear in its length; a fence without an end goes to the end.

    Fences are runs of three or more backticks or tildes, at any indentation, with any label or none.
    """
    return [block for block in _cut(answer) if block.text.strip()]


def _cut(answer: str) -> Iterator[CodeBlock]:
    fence: _Fence | None = None
    lines: list[str] = []
    for line in answer.splitlines(keepends=True):
        if fence is not None and fence.closes(line):
            yield CodeBlock("".join(lines), fence.label)
            fence, lines = None, []
            continue
        opened = _opened(line) if fence is None or fence.label in _loose else None
        if opened is not None and (fence is None or opened[0].label):
            yield CodeBlock("".join(lines), None if fence is None else fence.label)
            fence, begun = opened
            lines = [begun] if begun else []
        else:
            lines.append(line if fence is None else fence.content(line))
    text = "".join(lines)
    if fence is None:
        yield CodeBlock(text)
    else:
        yield CodeBlock(text.rstrip().removesuffix(fence.marker), fence.label)


def _opened(line: str) -> tuple[_Fence, str] | None:
    """The fence that a line opens, and what of the content stands on that line already: `json {"a": 1}`."""
    found = _opening.match(line) if "```" in line or "~~~" in line else None
    if found is None:
        return None
    indent, marker, info = found[1], found[2], found[3].strip()
    if marker[0] == "`" and "`" in info:
        return None
    label, _, content = info.partition(" ")
    if label.startswith("{"):
        label, content = "", info
    return _Fence(len(indent), marker, label.lower()), content if content.lstrip().startswith("{") else ""
