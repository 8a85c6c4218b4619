"""Print errors on standard error: one or two plain lines for people, a JSON problem for programs; and exit codes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from api.cli.ledger_target import wants_json
from api.escaped_text import escape_controls, escape_json
from events.errors import TallystickError

UNUSABLE = 2
"""The exit code for unusable input."""


def print_error(error: TallystickError) -> int:
    """Print an error on standard error; with --json as a problem of RFC 9457, as HTTP does. Return the exit code."""
    from api.errors import error_codes, make_problem
    from api.text_format import to_json

    if wants_json():
        print(escape_json(to_json(make_problem(error))).decode(), file=sys.stderr)
        return error_codes(error).exit
    print(escape_controls(f"error: {_with_option(error)}"), file=sys.stderr)
    if error.full_advice:
        print(escape_controls(error.full_advice), file=sys.stderr)
    return error_codes(error).exit


def explain(error: Exception) -> TallystickError | None:
    """Return the error of Tallystick for its own, the operating system's and the parser's errors; None for a bug."""
    if isinstance(error, TallystickError):
        return error
    if isinstance(error, OSError):
        return _explain_os_error(error)
    return _explain_usage(error) if hasattr(error, "format_message") else None


def _explain_usage(error: Any) -> TallystickError:  # noqa: ANN401 - Typer exports no class that all of its errors have
    from ledger.errors import InvalidQuery

    options = getattr(getattr(error, "param", None), "opts", None) or ["command"]
    name = str(getattr(error, "option_name", None) or options[0]).lstrip("-").replace("-", "_")
    return InvalidQuery(name, error.format_message(), "See --help.")


def _explain_os_error(error: OSError) -> TallystickError:
    from api.errors import FileUnusable

    return FileUnusable(f"{error.filename or 'input'}: {error.strerror or error}")


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
    option = f"--{(error.field or '').replace('_', '-')}"
    typed = any(argument.partition("=")[0] == option for argument in sys.argv)
    return error.detail_for(option) if typed else error.detail
