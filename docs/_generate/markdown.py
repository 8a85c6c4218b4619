"""Pieces of Markdown: text without accidents, tables, code."""

import re
from collections.abc import Iterable, Sequence

_code = re.compile(r"(`+[^`]*`+)")
_special = re.compile(r"([\\*_<>\[\]{}#|~$])")


def prose(text: str) -> str:
    """Plain text as Markdown: what stands in backticks is code, and nothing else is markup."""
    parts = _code.split(" ".join(text.replace("\\[", "[").split()))  # Rich's escape of a bracket
    return "".join(part if part.startswith("`") else _special.sub(r"\\\1", part) for part in parts)


def code(text: str) -> str:
    """A code span."""
    return f"`{text}`"


def cell(text: str) -> str:
    """A table's cell: on one line, with the bars inside it escaped."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; none where there is no row."""
    lines = [f"|{'|'.join(map(cell, row))}|" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"|{'|'.join(heads)}|", "|-" * len(heads) + "|", *lines])


def block(language: str, text: str) -> str:
    """A block of code."""
    return f"```{language}\n{text}\n```"


def joined(parts: Iterable[str]) -> str:
    """Parts as one text, a blank line between any two; empty ones are left out."""
    return "\n\n".join(part for part in parts if part)
