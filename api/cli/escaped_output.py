"""Standard output whose texts cannot command a terminal: texts in a ledger come from agents and from other programs."""

import io
import re
import sys

from api.escaped_text import escape_controls

_COLOUR = re.compile("(\x1b\\[[0-9;]*m)")
"""The sequences that set a colour. Only tables and help write them, and only on a terminal."""


class EscapedOutput(io.TextIOWrapper):
    """A text stream that writes control characters and changes of direction as codes; bytes to `buffer` stay as is."""

    def write(self, text: str) -> int:
        if self.isatty():
            parts = _COLOUR.split(text)
            parts[::2] = map(escape_controls, parts[::2])
            super().write("".join(parts))
        else:
            super().write(escape_controls(text))
        return len(text)


def escape_standard_output() -> None:
    """Let everything that is printed from now on pass through `EscapedOutput`.

    A character that the encoding does not have is written as an escape, as on standard error.
    """
    stdout = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):
        stdout.flush()
        encoding, line_buffering = stdout.encoding, stdout.line_buffering
        errors = "backslashreplace" if stdout.errors == "strict" else stdout.errors
        # an abandoned stream closes its buffer; Python keeps only the one that the process began with
        buffer = stdout.buffer if stdout is sys.__stdout__ else stdout.detach()
        sys.stdout = EscapedOutput(buffer, encoding=encoding, errors=errors, line_buffering=line_buffering)
