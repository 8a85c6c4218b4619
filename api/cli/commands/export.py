"""export: events and their proof, for an auditor."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, BearerToken, Url, given, ledger_of

if TYPE_CHECKING:
    from api.export import ExportSelection, Manifest
    from api.service.ledger import LedgerService


def export(
    context: typer.Context,
    *,
    output: Annotated[Path, typer.Option(help="A folder, or a file that ends in .zip; neither may be there.")],
    since: Annotated[str | None, typer.Option(help="Happened then or later.", metavar="TIME")] = None,
    until: Annotated[str | None, typer.Option(help="Happened then or earlier.", metavar="TIME")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Only these types, separated by commas.")] = None,
    subject: Annotated[str | None, typer.Option(help="Only these streams, separated by commas.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only this agent's.")] = None,
    format_: Annotated[str | None, typer.Option("--format", help="ndjson, csv or parquet.")] = None,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the events.")] = False,
    evidence: Annotated[bool, typer.Option("--evidence", help="With the evidence that the events name.")] = False,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Export events with all that proves them, to be verified without this ledger, and without Tallystick.

    The export explains itself: its README.md says what is in it, and has a program that verifies it.

    Example: tallystick export --output audit.zip
    """
    import asyncio

    from api.cli.output import print_json, progress
    from api.client.download import download_export
    from api.export import parse_selection
    from api.export.output_path import check_output

    parameters = given(
        since=since, until=until, type=type_, subject=subject, agent=agent, format=format_,
        gzip="true" if gzip else None, evidence="true" if evidence else None,
    )  # fmt: skip
    check_output(output)
    if url is not None:
        with progress("receiving", "bytes") as report:
            manifest = asyncio.run(download_export(url, token, parameters, output, report))
    else:
        manifest = asyncio.run(_export(context, parse_selection(parameters), output))
    if as_json:
        print_json(manifest)
    else:
        _tell(manifest, output)


async def _export(context: typer.Context, selection: "ExportSelection", output: Path) -> "Manifest":
    from api.cli.output import progress
    from api.export import open_export, write_export

    async with _house(ledger_of(context)) as service, open_export(service, selection) as export:
        with progress("exporting", "events") as report:
            return await write_export(export, output, report)


@asynccontextmanager
async def _house(ledger: Path) -> "AsyncIterator[LedgerService]":
    """The ledger, opened to sign it where no other process writes it, else beside that one."""
    from api.cli.output import say
    from api.service.ledger import LedgerService
    from ledger.errors import LedgerLocked

    try:
        service = await LedgerService.open(ledger, writable=ledger.exists(), views=False)
    except LedgerLocked:
        service = await LedgerService.open(ledger, writable=False, views=False)
        say("Another process writes this ledger: the export goes up to what that has signed. --url asks it for all.")
    try:
        yield service
    finally:
        await service.close()


def _tell(manifest: "Manifest", output: Path) -> None:
    from api.cli.output import say
    from api.text import many

    what = "all" if manifest.complete else "chosen by their filters"
    typer.echo(f"{output}: {many(manifest.events, 'event')}, {what}, under a checkpoint of {manifest.size:,}.")
    if manifest.evidence is not None:
        say(f"{many(manifest.evidence.files, 'piece')} of evidence with them, {manifest.evidence.bytes:,} bytes.")
        if manifest.evidence.absent:
            lost = many(len(manifest.evidence.absent), "piece")
            say(f"{lost} that the log keeps could not be read: the manifest names them.")
    say(f"Its README.md says how to verify it without Tallystick; with it: tallystick verify {output}")
    say(f"Give who verifies it the ledger's key by another way: {manifest.verifier}")
