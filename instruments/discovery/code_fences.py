"""Split an answer into blocks: plain text, and the contents of code fences."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_opening = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*([^\n]*)")
_data_labels = frozenset({"", "json", "jsonc", "json5", "markdown", "md", "plaintext", "text", "txt", "yaml", "yml"})
"""Labels of fences that end where another opens: they seldom contain fences, so the closing line was forgotten."""


class CodeBlock(NamedTuple):
    """A piece of an answer: plain text, or the content of one code fence."""

    text: str
    """The content, without the fence lines."""
    label: str | None = None
    """The first word after the opening fence in lower case, empty if there is none; None for text outside fences."""


class _Fence(NamedTuple):
    """An open fence."""

    indent: int
    marker: str
    label: str

    def closes(self, line: str) -> bool:
        """Whether a line closes this fence: the same characters, at least as many, and nothing else."""
        bare = line.strip()
        return len(bare) >= len(self.marker) and not bare.strip(self.marker[0])

    def content(self, line: str) -> str:
        """Return a line without the indentation of the fence itself."""
        line_indent = len(line) - len(line.lstrip(" \t"))
        return line[min(line_indent, self.indent) :]


def split_blocks(answer: str) -> list[CodeBlock]:
    """Split an answer at its code fences, in order; leave out blank blocks. Linear in the answer's length.

    A fence is a run of three or more backticks or tildes, at any indentation, with or without a label. A fence that is
    never closed extends to the end of the answer.
    """
    return [block for block in _split(answer) if block.text.strip()]


def _split(answer: str) -> Iterator[CodeBlock]:
    fence: _Fence | None = None
    lines: list[str] = []
    for line in answer.splitlines(keepends=True):
        if fence is not None and fence.closes(line):
            yield CodeBlock("".join(lines), fence.label)
            fence, lines = None, []
            continue
        opening = _parse_opening(line) if fence is None or fence.label in _data_labels else None
        if opening is not None and (fence is None or opening[0].label):
            yield CodeBlock("".join(lines), None if fence is None else fence.label)
            fence, content = opening
            lines = [content] if content else []
        else:
            lines.append(line if fence is None else fence.content(line))
    text = "".join(lines)
    if fence is None:
        yield CodeBlock(text)
    else:
        yield CodeBlock(text.rstrip().removesuffix(fence.marker), fence.label)


def _parse_opening(line: str) -> tuple[_Fence, str] | None:
    """Return the fence that a line opens, and any content on the same line, as in `json {"a": 1}`."""
    match = _opening.match(line) if "```" in line or "~~~" in line else None
    if match is None:
        return None
    indent, marker, info = match[1], match[2], match[3].strip()
    if marker[0] == "`" and "`" in info:
        return None
    label, _, content = info.partition(" ")
    if label.startswith("{"):
        label, content = "", info
    return _Fence(len(indent), marker, label.lower()), content if content.lstrip().startswith("{") else ""
