"""Make pieces of Markdown: escaped text, tables, code."""

import re
from collections.abc import Iterable, Sequence

_code = re.compile(r"(`+[^`]*`+)")
_special = re.compile(r"([\\*_<>\[\]{}#|~$])")


def prose(text: str) -> str:
    """Escape plain text for Markdown; text in backticks stays code."""
    parts = _code.split(" ".join(text.replace("\\[", "[").split()))  # Rich's escape of a bracket
    return "".join(part if part.startswith("`") else _special.sub(r"\\\1", part) for part in parts)


def code(text: str) -> str:
    """Make a code span."""
    return f"`{text}`"


def cell(text: str) -> str:
    """Make a cell of a table: one line, with its bars escaped."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Make a table; empty without rows."""
    lines = [f"|{'|'.join(map(cell, row))}|" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"|{'|'.join(heads)}|", "|-" * len(heads) + "|", *lines])


def block(language: str, text: str) -> str:
    """Make a block of code."""
    return f"```{language}\n{text}\n```"


def joined(parts: Iterable[str]) -> str:
    """Join parts with blank lines; empty ones are left out."""
    return "\n\n".join(part for part in parts if part)
