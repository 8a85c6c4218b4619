"""A refusal as people read it: one or two plain lines on standard error, and the exit code that says what it was."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from events.errors import TallystickError

UNJUDGED = 2


def refuse(error: TallystickError) -> int:
    """Tell why, and what to do; the exit code."""
    from api.errors import error_codes

    print(f"error: {_as_typed(error)}", file=sys.stderr)
    if error.advice:
        print(error.advice, file=sys.stderr)
    return error_codes(error).exit


@contextmanager
def judging() -> Iterator[None]:
    """End every refusal with exit code 2: where 1 says that something failed or got worse, it is no judgement."""
    try:
        yield
    except TallystickError as error:
        refuse(error)
        raise typer.Exit(UNJUDGED) from None


def _as_typed(error: TallystickError) -> str:
    """The detail, with the option in place of the parameter it stands for: `--group-by` for `group_by`."""
    field = str(getattr(error, "field", ""))
    option = f"--{field.replace('_', '-')}"
    typed = any(argument.partition("=")[0] == option for argument in sys.argv)
    return f"{option}{error.detail[len(field) :]}" if typed and error.detail.startswith(f"{field}:") else error.detail
