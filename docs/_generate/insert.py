"""Generated parts of pages: `<!-- generated: NAME -->` in a page becomes what NAME generates."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from docs._generate import command_line, events, glossary, http, tables

if TYPE_CHECKING:
    from sphinx.application import Sphinx

GENERATORS: dict[str, Callable[[], str]] = {
    "verbs": command_line.overview,
    "command line": command_line.reference,
    "variables": tables.variables,
    "routes": http.overview,
    "http": http.reference,
    "http shapes": http.shapes,
    "events": events.reference,
    "errors": tables.errors,
    "glossary": glossary.terms,
    "limits": tables.limits_table,
}
"""What can be generated, by the name that a page uses."""

_mark = re.compile(r"^<!-- generated: (.+) -->$", re.MULTILINE)


def inserted(text: str) -> str:
    """Insert the generated parts into a page. Errors: KeyError for a name that nothing generates."""
    return _mark.sub(lambda mark: GENERATORS[mark[1]](), text)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Tell Sphinx to generate when it reads a page."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _read(app: "Sphinx", page: str, source: list[str]) -> None:
    source[0] = inserted(source[0])
