"""export: write events with everything that proves them, for an auditor."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import note_standby, show
from api.cli.options import choice, flag, given, option
from api.cli.output import print_note, show_progress
from api.text_format import pluralize

if TYPE_CHECKING:
    from api.export import ExportSelection, Manifest
    from ledger.place import Place

FORMATS = ("ndjson", "csv", "parquet")


@verb(server=True, reads=True)
def export(
    target: LedgerTarget,
    *,
    output: Annotated[Path, option("A folder, or a file that ends in .zip. It must not exist.")],
    since: Annotated[str | None, option("Only events that happened then or later.", "TIME")] = None,
    until: Annotated[str | None, option("Only events that happened then or earlier.", "TIME")] = None,
    type_: Annotated[str | None, flag("--type", "Only these types, separated by commas.")] = None,
    subject: Annotated[str | None, option("Only these streams, separated by commas.")] = None,
    agent: Annotated[str | None, option("Only this agent.")] = None,
    format_: Annotated[str | None, choice("The format of the events.", FORMATS, "--format")] = None,
    gzip: Annotated[bool, flag("--gzip", "Compress the events.")] = False,
    evidence: Annotated[bool, flag("--evidence", "Include the evidence that the events name.")] = False,
) -> None:
    """Export events with everything that proves them.

    An export can be verified without this ledger and without Tallystick. Its README.md explains its files, and
    contains a program that verifies it. The export appears only once it is complete, and never overwrites a file.

    Example: tallystick export --output audit.zip
    """
    import asyncio

    from api.client.download import download_export
    from api.export import parse_selection
    from api.export.output_path import check_output

    parameters = given(
        since=since, until=until, type=type_, subject=subject, agent=agent, format=format_,
        gzip="true" if gzip else None, evidence="true" if evidence else None,
    )  # fmt: skip
    check_output(output)
    if target.url is not None:
        with show_progress("receiving", "bytes") as report:
            manifest = asyncio.run(download_export(target.url, target.token, parameters, output, report))
    else:
        manifest = asyncio.run(_export(target.place, parse_selection(parameters), output))
    show(target, manifest, lambda exported: _print_manifest(exported, output))


async def _export(ledger: "Place", selection: "ExportSelection", output: Path) -> "Manifest":
    from api.export import open_export, write_export
    from api.service.ledger import open_for_signing

    async with open_for_signing(ledger) as service:
        note_standby(service)
        if service.log is None and not service.standby:
            print_note(
                "Another process writes this ledger: the export ends with the events it has signed. Use --url for all."
            )
        async with open_export(service, selection) as export:
            with show_progress("exporting", "events") as report:
                return await write_export(export, output, report)


def _print_manifest(manifest: "Manifest", output: Path) -> None:
    scope = "all" if manifest.complete else "a selection"
    typer.echo(f"{output}: {pluralize(manifest.events, 'event')}, {scope}, under a checkpoint of {manifest.size:,}.")
    if manifest.evidence is not None:
        included = pluralize(manifest.evidence.files, "piece")
        print_note(f"{included} of evidence included, {manifest.evidence.bytes:,} bytes.")
        if manifest.evidence.absent:
            missing = pluralize(len(manifest.evidence.absent), "piece")
            print_note(f"{missing} of evidence could not be read: the manifest names them.")
    print_note(f"Verify it with tallystick verify {output}, or without Tallystick as its README.md explains.")
    print_note(f"Send the verifier the ledger's key by another channel: {manifest.verifier}")
