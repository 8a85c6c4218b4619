"""Standard output whose errors name it, so that a full disk behind it is not taken for a fault of another file."""

import io
import os
import sys
from typing import Any

NAME = "standard output"


class _NamedOutput(io.FileIO):
    """File descriptor 1. Its errors have its name, which those of the operating system lack."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - anything with a buffer
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            error.filename = NAME
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
