"""verify: verify an export, a ledger file or a server against the signed checkpoints."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import show
from api.cli.options import argument, flag, option
from api.cli.output import make_table, open_console, show_progress
from api.text_format import format_count, pluralize
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from api.verify import VerifyReport


class _Options(NamedTuple):
    key: str | None
    since: Path | None
    witnesses: list[str]


@verb(server=True, reads=True)
def verify(
    target: LedgerTarget,
    path: Annotated[Path | None, argument("An export: its folder or its ZIP.", "[EXPORT]")] = None,
    *,
    ledger: Annotated[str | None, option("A ledger, with or without a running server.", "PLACE")] = None,
    url: Annotated[str | None, option("The address of a server to verify.")] = None,
    key: Annotated[str | None, option("The log's verifier key, from a source you trust.", "NAME+ID+KEY")] = None,
    since: Annotated[
        Path | None, option("An earlier checkpoint or receipt that the log must continue.", "FILE")
    ] = None,
    witness: Annotated[
        list[str] | None,
        option("The key of a witness that must have cosigned, or a file with it; may be repeated.", "VKEY"),
    ] = None,
    quick: Annotated[bool, flag("--quick", "Skip SQLite's own check of a ledger file.")] = False,
) -> None:
    """Verify an export, a ledger or a server.

    Everything is computed again from the events' lines. Without an export and a server, the ledger is verified.
    Prints the checks and the first wrong position. Exit code 0: nothing is wrong; 1: something is wrong; 2: it
    could not be verified.

    Example: tallystick verify export.zip --key "$(cat auditor/log.vkey)"
    """
    if url is None and ("url" in target.typed or (path is None and ledger is None)):
        url = target.url
    report = _verify(target, path, ledger, url, _Options(key, since, witness or []), quick=quick)
    show(target, report, print_report, code=int(not report.right))


def _verify(
    target: LedgerTarget,
    path: Path | None,
    ledger: str | None,
    url: str | None,
    given: _Options,
    *,
    quick: bool,
) -> "VerifyReport":
    from api.verify import verify_ledger, verify_package, verify_server

    if sum(source is not None for source in (path, ledger, url)) > 1:
        raise InvalidQuery("verify", "an export, --ledger and --url exclude each other.", "Name one of them.")
    key, since, witnesses = given
    with show_progress("verifying", "events") as report:
        if path is not None:
            return verify_package(path, key, since, witnesses=witnesses, progress=report)
        if url is not None:
            return verify_server(url, target.token, key, since, witnesses=witnesses, progress=report)
        place = target.place_of(ledger, "ledger") if ledger is not None else target.place
        return verify_ledger(place, key, since, witnesses=witnesses, quick=quick, progress=report)


def print_report(report: "VerifyReport") -> None:
    """Print a table of the checks, each fault, remarks, and the first wrong position."""
    from base64 import b64encode

    table = make_table("check", "how many", "of what", "verdict", right=("how many",), drop=("of what",))
    for check in report.checks:
        if check.count or check.wrong:
            verdict = "right" if check.right else f"WRONG: {pluralize(check.wrong, 'fault')}"
            table.add_row(check.name, format_count(check.count), check.unit, verdict)
    open_console().print(table)
    for fault in (fault for check in report.checks for fault in check.faults):
        typer.echo(f"{fault.check}: {fault.detail}")
    for note in report.notes:
        typer.echo(note)
    if report.right:
        root = b64encode(report.root).decode()
        typer.echo(f"Nothing is wrong: {pluralize(report.events, 'event')}, root {root}.")
    elif report.first is not None and report.first.position is not None:
        place = f"position {report.first.position:,}: "
        typer.echo(f"First at {place}{report.first.detail.removeprefix(place)}")
    else:
        typer.echo("Wrong, but at no particular position.")
