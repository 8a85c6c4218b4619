"""The command line: `tallystick [--ledger FILE] VERB`.

Exit codes: 0 done; 1 the answer is no, or it could not be done now; 2 usage or unusable input; 130 interrupted.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from api.cli.commands import (
    append,
    backup,
    calibration,
    checkpoint,
    decisions,
    discover,
    eval_app,
    eval_show,
    evidence,
    export,
    import_app,
    inventory,
    key,
    log,
    model,
    probe,
    projections,
    replay,
    run,
    schema,
    serve,
    token,
    verify,
)
from api.cli.errors import refuse
from events.errors import TallystickError

app = typer.Typer(
    name="tallystick",
    help="A ledger for AI agents: what they decided, how sure they were, how it turned out, and the proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"tallystick {version('tallystick')}")
        raise typer.Exit


@app.callback()
def _global(
    context: typer.Context,
    ledger: Annotated[Path, typer.Option(help="The ledger file.", envvar="TALLYSTICK_LEDGER", show_envvar=True)] = Path(
        "tallystick.db"
    ),
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """A ledger for AI agents: what they decided, how sure they were, how it turned out, and the proof."""
    context.obj = ledger


app.command("serve")(serve.serve)
app.command("append")(append.append)
app.add_typer(import_app.app, name="import")
app.command("log")(log.log)
app.command("replay")(replay.replay)
app.command("calibration")(calibration.calibration)
app.command("advice")(calibration.advice)
app.command("decisions")(decisions.decisions)
app.command("decision")(decisions.decision)
app.command("discover")(discover.discover)
app.add_typer(run.app, name="run")
app.command("inventory")(inventory.inventory)
app.add_typer(model.app, name="model")
app.add_typer(probe.app, name="probe")
app.add_typer(eval_app.app, name="eval")
app.command("scoreboard")(eval_show.scoreboard)
app.command("projections")(projections.projections)
app.add_typer(key.app, name="key")
app.command("checkpoint")(checkpoint.checkpoint)
app.command("receipt")(checkpoint.receipt)
app.command("witness")(checkpoint.witness)
app.command("verify")(verify.verify)
app.command("export")(export.export)
app.command("schema")(schema.schema)
app.add_typer(evidence.app, name="evidence")
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.add_typer(token.app, name="token")


def main() -> None:
    """Run the command; every refusal is one or two plain lines on standard error."""
    try:
        app(prog_name="tallystick")
    except TallystickError as error:
        sys.exit(refuse(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        print(f"error: {error.filename or 'input'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
