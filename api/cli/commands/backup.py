"""backup and restore: a verified copy of a ledger, and putting one in its place."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, ledger_of

if TYPE_CHECKING:
    from api.service.backup import RestoreResult


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The backup's file; nothing of its name may be there.", metavar="FILE")],
    with_key: Annotated[
        bool, typer.Option("--with-key", help="Copy the private key, too: who has it can sign in the log's name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a ledger while it is served, with its evidence, and verify the copy before it has its name.

    Exit code 1 says that the ledger is not whole, 2 that no backup could be made.

    Example: tallystick backup backups/2026-11-22.db
    """
    from api.cli.output import print_json, progress, say
    from api.service.backup import back_up
    from api.text import many

    made = back_up(ledger_of(context), file, with_key=with_key, progress=progress)
    if as_json:
        print_json(made)
        return
    evidence = f", {many(made.evidence, 'piece')} of evidence" if made.evidence else ""
    typer.echo(
        f"Backed up and verified: {many(made.events, 'event')}{evidence}, root {made.root}, in {made.file}"
        f" ({made.size_bytes / 1e6:,.1f} MB, {made.elapsed_s:,.1f} s)."
    )
    if not with_key:
        say("The private key is not in it: keep a copy of it elsewhere, or back up with --with-key.")


def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A backup, or any ledger file.", metavar="FILE")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Restore where a ledger is; that is kept in a folder with a date.")
    ] = False,
    without_evidence: Annotated[
        bool, typer.Option("--without-evidence", help="Restore although evidence is missing from the backup.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put a verified copy of a backup where --ledger names. No server may be writing there.

    A key, tokens and a newer checkpoint that are there stay. Exit code 1 says that the backup is not whole.

    Example: tallystick --ledger team.db restore backups/2026-11-22.db
    """
    from api.cli.output import print_json, progress
    from api.service.backup import restore as put
    from ledger import system_clock

    restored = put(
        ledger_of(context),
        file,
        system_clock(),
        replace=replace,
        without_evidence=without_evidence,
        progress=progress,
    )
    if as_json:
        print_json(restored)
    else:
        _tell(restored)


def _tell(restored: "RestoreResult") -> None:
    from api.cli.output import say
    from api.text import many

    evidence = f", {many(restored.evidence, 'piece')} of evidence" if restored.evidence else ""
    typer.echo(
        f"Restored and verified: {many(restored.events, 'event')}{evidence}, root {restored.root},"
        f" in {restored.ledger} ({restored.elapsed_s:,.1f} s)."
    )
    if restored.aside is not None:
        say(f"What was there is in {restored.aside}.")
    if restored.missing:
        say(f"{many(len(restored.missing), 'piece')} of evidence could not be restored: {', '.join(restored.missing)}.")
    if restored.lost and restored.signed is not None:
        say(
            f"The checkpoint that was signed last covers {many(restored.signed, 'event')}, the backup has"
            f" {restored.events:,}: {restored.lost:,} are lost."
        )
    if restored.forked:
        say("The checkpoint that was signed last is of other events than these.")
    if restored.lost or restored.forked:
        say(
            "Nothing will be signed for this ledger. Restore a newer backup; or begin a new identity, which everyone"
            " who holds the old key will see: tallystick key make --replace."
        )
    if not restored.key and not (restored.lost or restored.forked):
        say(
            f"There is no key {restored.ledger}.key: put your copy of it there before you serve, or begin a new"
            " identity: tallystick key make --replace."
        )
