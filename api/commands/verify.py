"""verify: whether a ledger is what was signed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.commands.options import AsJson, ledger_of

if TYPE_CHECKING:
    from api.verifying import Report


def verify(
    context: typer.Context,
    ledger: Annotated[Path | None, typer.Option(help="A ledger file, beside its server or without one.")] = None,
    key: Annotated[
        str | None, typer.Option(help="The log's verifier key, from somebody you trust.", metavar="NAME+ID+KEY")
    ] = None,
    since: Annotated[
        Path | None, typer.Option(help="A checkpoint from before, which must be continued.", metavar="FILE")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out SQLite's own check of a ledger file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Verify a ledger file: everything is worked out again from the events' lines.

    Prints what was checked, and the first position that is wrong. Exit code 0 says that nothing is wrong, 1 that
    something is, 2 that it could not be verified.

    Example: tallystick verify
    """
    from api.printing import print_json, progress
    from api.verifying import verify_ledger

    with progress("verifying", "events") as told:
        report = verify_ledger(ledger or ledger_of(context), key, since, quick=quick, progress=told)
    if as_json:
        print_json(report)
    else:
        _tell(report)
    if not report.right:
        raise typer.Exit(1)


def _tell(report: "Report") -> None:
    """The checks as a table, what is wrong, what must be said beside it, and the first position that is wrong."""
    from base64 import b64encode

    from api.printing import count, many, out, table

    shown = table("check", "how many", "of what", "verdict", right=("how many",))
    for check in report.checks:
        if check.count or check.wrong:
            verdict = "right" if check.right else f"WRONG: {many(check.wrong, 'fault')}"
            shown.add_row(check.name, count(check.count), check.unit, verdict)
    out().print(shown)
    for fault in (fault for check in report.checks for fault in check.faults):
        typer.echo(f"{fault.check}: {fault.detail}")
    for note in report.notes:
        typer.echo(note)
    if report.right:
        root = b64encode(report.root).decode()
        typer.echo(f"Nothing is wrong: {many(report.events, 'event')}, root {root}.")
    elif report.first is not None and report.first.position is not None:
        typer.echo(f"First at position {report.first.position:,}: {report.first.detail}")
    else:
        typer.echo("Wrong, at no position that could be named.")
