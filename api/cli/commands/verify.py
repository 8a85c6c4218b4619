"""verify: whether an export, a ledger or what a server serves is what was signed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, BearerToken, ledger_of

if TYPE_CHECKING:
    from api.verify import VerifyReport


def verify(  # noqa: PLR0917 - the command line hands them over by name
    context: typer.Context,
    path: Annotated[Path | None, typer.Argument(metavar="[EXPORT]", help="An export: its folder or its ZIP.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="A ledger file, beside its server or without one.")] = None,
    url: Annotated[str | None, typer.Option(help="What the server at this address serves.")] = None,
    token: BearerToken = None,
    key: Annotated[
        str | None, typer.Option(help="The log's verifier key, from somebody you trust.", metavar="NAME+ID+KEY")
    ] = None,
    since: Annotated[
        Path | None, typer.Option(help="A checkpoint from before, which must be continued.", metavar="FILE")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out SQLite's own check of a ledger file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Verify an export, a ledger file or a server: everything is worked out again from the events' lines.

    Without an export and --url it is the ledger. Prints what was checked, and the first position that is wrong. Exit
    code 0 says that nothing is wrong, 1 that something is, 2 that it could not be verified.

    Example: tallystick verify export.zip --key "$(cat auditor/log.vkey)"
    """
    from api.cli.output import print_json

    report = _verified(path, ledger, ledger_of(context), url, token, key, since, quick=quick)
    if as_json:
        print_json(report)
    else:
        tell(report)
    if not report.right:
        raise typer.Exit(1)


def _verified(
    path: Path | None,
    ledger: Path | None,
    default: Path,
    url: str | None,
    token: str | None,
    key: str | None,
    since: Path | None,
    *,
    quick: bool,
) -> "VerifyReport":
    from api.cli.output import progress
    from api.verify import verify_ledger, verify_package, verify_server
    from ledger.errors import InvalidQuery

    if sum(one is not None for one in (path, ledger, url)) > 1:
        raise InvalidQuery("verify", "an export, --ledger and --url are three things.", "Name one of them.")
    with progress("verifying", "events") as report:
        if path is not None:
            return verify_package(path, key, since, progress=report)
        if url is not None:
            return verify_server(url, token, key, since, progress=report)
        return verify_ledger(ledger or default, key, since, quick=quick, progress=report)


def tell(report: "VerifyReport") -> None:
    """The checks as a table, what is wrong, what must be said beside it, and the first position that is wrong."""
    from base64 import b64encode

    from api.cli.output import out, table
    from api.text import count, many

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
