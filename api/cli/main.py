"""The command line: `tallystick [--ledger FILE] VERB`.

Exit codes: 0 success; 1 the answer is no, or the command cannot be done now; 2 wrong usage or input; 130 interrupted.
"""

import os
import sys
from typing import Annotated

import typer

from api.cli.commands import VERBS
from api.cli.escaped_output import escape_standard_output
from api.cli.lazy_group import CONTEXT_SETTINGS, lazy_group
from api.cli.ledger_target import (
    DEFAULT_LEDGER,
    JsonOption,
    LedgerOption,
    TokenOption,
    UrlOption,
    store_options,
)
from api.escaped_text import escape_controls

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


@app.callback()
def _options(
    context: typer.Context,
    ledger: LedgerOption = DEFAULT_LEDGER,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A ledger for AI agents: what they decided, how confident they were, how it turned out, and the proof."""
    store_options(context, ledger, url, token, as_json)


def main() -> None:
    """Run the command. Print every error as one or two plain lines on standard error."""
    escape_standard_output()
    try:
        app(prog_name="tallystick")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        print(escape_controls(f"error: {error.filename or 'input'}: {error.strerror or error}"), file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        from api.cli.errors import print_error
        from events.errors import TallystickError

        if not isinstance(error, TallystickError):
            raise
        sys.exit(print_error(error))


if __name__ == "__main__":
    main()
