"""Print errors for people, as one or two plain lines on standard error, and choose the exit code."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from api.escaped_text import escape_controls
from events.errors import TallystickError

UNUSABLE = 2
"""The exit code for unusable input."""


def print_error(error: TallystickError) -> int:
    """Print the reason and the advice on standard error. Return the exit code."""
    from api.errors import error_codes

    print(escape_controls(f"error: {_with_option(error)}"), file=sys.stderr)
    if error.advice:
        print(escape_controls(error.advice), file=sys.stderr)
    return error_codes(error).exit


@contextmanager
def exit_2_on_error() -> Iterator[None]:
    """End with exit code 2 on every error, for verbs whose exit code 1 means "failed" or "worse"."""
    try:
        yield
    except TallystickError as error:
        print_error(error)
        raise typer.Exit(UNUSABLE) from None


def _with_option(error: TallystickError) -> str:
    """Return the error's text. If the user typed the option that it is about, name the option, as `--group-by`."""
    field = str(getattr(error, "field", ""))
    option = f"--{field.replace('_', '-')}"
    typed = any(argument.partition("=")[0] == option for argument in sys.argv)
    return f"{option}{error.detail[len(field) :]}" if typed and error.detail.startswith(f"{field}:") else error.detail
