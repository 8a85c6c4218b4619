"""backup and restore: a verified copy of a ledger, and back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb

if TYPE_CHECKING:
    from api.service.backup import RestoreResult


@verb()
def backup(
    target: LedgerTarget,
    file: Annotated[Path, typer.Argument(help="The file of the backup. It must not exist.", metavar="FILE")],
    with_key: Annotated[
        bool, typer.Option("--with-key", help="Copy the private key too. Anyone who has it can sign as this log.")
    ] = False,
) -> None:
    """Copy a ledger while it is in use, and verify the copy.

    The copy gets its name once it is verified, evidence included. Exit code 1: the ledger is damaged. Exit code 2: no
    backup could be made.

    Example: tallystick backup backups/2026-11-22.db
    """
    from api.cli.output import print_json, print_note, show_progress
    from api.service.backup import back_up
    from api.text import many

    made = back_up(target.ledger, file, with_key=with_key, progress=show_progress)
    if target.json:
        print_json(made)
        return
    evidence = f", {many(made.evidence, 'piece')} of evidence" if made.evidence else ""
    typer.echo(
        f"Backed up and verified: {many(made.events, 'event')}{evidence}, root {made.root}, in {made.file}"
        f" ({made.size_bytes / 1e6:,.1f} MB, {made.elapsed_s:,.1f} s)."
    )
    if not with_key:
        print_note("The backup does not contain the private key: keep a copy elsewhere, or use --with-key.")


@verb()
def restore(
    target: LedgerTarget,
    file: Annotated[Path, typer.Argument(help="A backup, or any ledger file.", metavar="FILE")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the ledger that is there. It is kept in a folder with a date.")
    ] = False,
    without_evidence: Annotated[
        bool, typer.Option("--without-evidence", help="Restore even if the backup lacks evidence.")
    ] = False,
) -> None:
    """Restore a verified copy of a backup.

    --ledger names the place. No server may be writing there. An existing key, tokens and a newer checkpoint are kept.
    Exit code 1: the backup is damaged.

    Example: tallystick --ledger team.db restore backups/2026-11-22.db
    """
    from api.cli.output import print_json, show_progress
    from api.service import backup as service
    from ledger import system_clock

    restored = service.restore(
        target.ledger,
        file,
        system_clock(),
        replace=replace,
        without_evidence=without_evidence,
        progress=show_progress,
    )
    if target.json:
        print_json(restored)
    else:
        _print_restored(restored)


def _print_restored(restored: "RestoreResult") -> None:
    from api.cli.output import print_note
    from api.text import many

    evidence = f", {many(restored.evidence, 'piece')} of evidence" if restored.evidence else ""
    typer.echo(
        f"Restored and verified: {many(restored.events, 'event')}{evidence}, root {restored.root},"
        f" in {restored.ledger} ({restored.elapsed_s:,.1f} s)."
    )
    if restored.aside is not None:
        print_note(f"The previous files are in {restored.aside}.")
    if restored.missing:
        pieces = many(len(restored.missing), "piece")
        print_note(f"{pieces} of evidence could not be restored: {', '.join(restored.missing)}.")
    if restored.lost and restored.signed is not None:
        print_note(
            f"The last signed checkpoint covers {many(restored.signed, 'event')}, the backup has"
            f" {restored.events:,}: {restored.lost:,} are lost."
        )
    if restored.forked:
        print_note("The last signed checkpoint is of other events than these.")
    if restored.lost or restored.forked:
        print_note(
            "This ledger cannot be signed. Restore a newer backup, or begin a new identity, which everyone who holds"
            " the old key will see: tallystick key make --replace."
        )
    if not restored.key and not (restored.lost or restored.forked):
        print_note(
            f"The key {restored.ledger}.key is missing: copy yours there before you serve, or begin a new identity:"
            " tallystick key make --replace."
        )
