"""The standard streams of the command: prepared, named in errors, and escaped.

The command may be started with some of them closed or full. A descriptor that the caller has closed (`>&-`) would be
given to the next file that is opened, such as a ledger, and what is printed would go into that file. So each closed one
is opened on /dev/null: standard error for writing, which drops what is written; standard input and output the wrong way
round, so that reading and writing fail, as they do for a closed descriptor.
"""

import errno
import io
import os
import re
import sys
from typing import Any

from api.escaped_text import escape_controls


class _NamedOutput(io.FileIO):
    """File descriptor 1. Its errors have its name, which those of the operating system lack."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - anything with a buffer
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            error.filename = "standard output"
            raise


def name_standard_output() -> None:
    """Replace the standard output of the process, unless something has replaced it already."""
    own = sys.stdout
    if isinstance(own, io.TextIOWrapper) and sys.__stdout__ in {own, None}:
        raw = _NamedOutput(own.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), own.encoding, own.errors, line_buffering=own.line_buffering
        )


def drop_standard_output() -> None:
    """Write what is left for standard output; if that fails, drop it, so that Python does not fail when it exits."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


class _TolerantOutput(io.FileIO):
    """Standard error: what cannot be written is dropped, so that a remark or error message ends no command."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - anything with a buffer
        try:
            return super().write(data)
        except OSError:
            return len(data)


def prepare_standard_streams() -> None:
    """Open the standard streams that are closed, and let no command fail on a full or broken standard error."""
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        if _is_closed(descriptor):
            opened = os.open(os.devnull, flags)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as above
    encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
    if sys.stderr is sys.__stderr__:
        raw = io.BufferedWriter(_TolerantOutput(2, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=True)


def _is_closed(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError as error:
        return error.errno == errno.EBADF
    return False
