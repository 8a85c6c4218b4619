"""The command line: `tallystick [--ledger PLACE] VERB`.

Exit codes: 0 success; 1 the answer is no, or the command cannot be done now; 2 wrong usage or input; 130 interrupted.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from api.cli.commands import VERBS
from api.cli.lazy_group import CONTEXT_SETTINGS, lazy_group
from api.cli.ledger_target import wants_json, with_common_options
from api.cli.output import print_note
from api.cli.standard_streams import (
    drop_standard_output,
    escape_standard_output,
    name_standard_output,
    prepare_standard_streams,
)

COLLECTED_OBJECTS_MIN = 50_000
"""New objects between two garbage collections. A verb imports many objects that stay; Python looks through them every
700 otherwise, in a tenth of the time of a short verb.
"""

app = typer.Typer(
    name="tallystick",
    cls=lazy_group(VERBS),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT_SETTINGS,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"tallystick {version('tallystick')}")
        raise typer.Exit


@contextmanager
def _name_assumed_utc() -> Iterator[None]:
    """Name, after the command, the times without a zone that were taken as UTC."""
    try:
        yield
    finally:
        parameters = sys.modules.get("api.parameters")  # a command without it has read no time
        assumed: dict[str, str] = {} if parameters is None else parameters.ASSUMED_UTC
        named = list(assumed.items())
        assumed.clear()
    for name, time in named:
        print_note(f"{name}: a time without a zone was read as UTC: {time}. Write Z or an offset to say which it is.")


@app.callback()
@with_common_options
def _options(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A ledger for AI agents: what they decided, how confident they were, how it turned out, and the proof."""
    context.with_resource(_name_assumed_utc())


def main() -> None:
    """Run the command of this process, on its own standard streams, and end the process."""
    gc.set_threshold(COLLECTED_OBJECTS_MIN, *gc.get_threshold()[1:])
    prepare_standard_streams()
    name_standard_output()
    escape_standard_output()
    sys.exit(run())


def run() -> int:
    """Run the command that `sys.argv` has; return its exit code.

    It reads and writes the standard streams that `sys` has. Each error is on standard error: one or two plain lines, or
    JSON.
    """
    try:
        try:
            code = app(prog_name="tallystick", standalone_mode=not wants_json())
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        drop_standard_output()
        return 1
    except Exception as error:
        from api.cli.errors import explain, print_error

        explained = explain(error)
        if explained is None:
            raise
        drop_standard_output()
        return print_error(explained)
    return code or 0


if __name__ == "__main__":
    main()
