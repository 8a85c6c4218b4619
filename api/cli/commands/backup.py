"""backup and restore: make a verified copy of a ledger, and restore a ledger from one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import show
from api.cli.options import argument, flag
from api.cli.output import print_note, show_progress
from api.text_format import pluralize
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from api.service.backup import BackupResult, RestoreResult


@verb()
def backup(
    target: LedgerTarget,
    file: Annotated[Path, argument("The file of the backup. It must not exist.", "FILE")],
    with_key: Annotated[
        bool, flag("--with-key", "Copy the private key too. Anyone who has it can sign as this log.")
    ] = False,
    without_evidence: Annotated[
        bool, flag("--without-evidence", "Back up a ledger in PostgreSQL even if this machine lacks some evidence.")
    ] = False,
) -> None:
    """Copy a ledger while it is in use, and verify the copy.

    FILE appears only after the whole copy, with its evidence, is verified. A ledger in PostgreSQL is copied into a
    ledger file; if its address names only standbys, up to the newest event that is signed there. Exit code 1: the
    ledger is damaged. Exit code 2: no backup could be made.

    Example: tallystick backup backups/2026-11-22.db
    """
    result = _back_up(target, file, with_key=with_key, without_evidence=without_evidence)
    show(target, result, lambda made: _print_backed_up(made, with_key=with_key))


def _back_up(target: LedgerTarget, file: Path, *, with_key: bool, without_evidence: bool) -> "BackupResult":
    if target.place.database is not None:
        from api.importers.database_backup import back_up_database

        return back_up_database(
            target.place, file, with_key=with_key, without_evidence=without_evidence, progress=show_progress
        )
    from api.service.backup import back_up

    if without_evidence:
        detail = f"{target.place} is a file, and its evidence is beside it."
        raise InvalidQuery("without-evidence", detail, "Leave it out.")
    return back_up(target.place.path, file, with_key=with_key, progress=show_progress)


def _contents(result: "BackupResult | RestoreResult") -> str:
    evidence = f", {pluralize(result.evidence, 'piece')} of evidence" if result.evidence else ""
    return f"{pluralize(result.events, 'event')}{evidence}, root {result.root}"


def _print_backed_up(result: "BackupResult", *, with_key: bool) -> None:
    typer.echo(
        f"Backed up and verified: {_contents(result)}, in {result.file}"
        f" ({result.size_bytes / 1e6:,.1f} MB, {result.elapsed_s:,.1f} s)."
    )
    if result.standby is not None:
        print_note(f"Read from the standby {result.standby}, up to the newest event that is signed there.")
    if result.missing:
        pieces = pluralize(len(result.missing), "piece")
        print_note(f"{pieces} of evidence are not on this machine: {', '.join(result.missing)}.")
    if not with_key:
        print_note("The backup does not contain the private key: keep a copy elsewhere, or use --with-key.")


@verb()
def restore(
    target: LedgerTarget,
    file: Annotated[Path, argument("A backup, or any ledger file.", "FILE")],
    replace: Annotated[
        bool, flag("--replace", "Replace an existing ledger. Its files are moved to a folder named by the date.")
    ] = False,
    without_evidence: Annotated[bool, flag("--without-evidence", "Restore even if the backup lacks evidence.")] = False,
) -> None:
    """Restore a verified copy of a backup.

    The file that --ledger names becomes the restored ledger. No server may be writing it. An existing key, tokens and
    a newer checkpoint are kept.
    Exit code 1: the backup is damaged.

    Example: tallystick --ledger team.db restore backups/2026-11-22.db
    """
    from api.service import backup as service
    from ledger.clock import system_clock

    instead = (
        "Restore a file, then move it: tallystick import ledger FILE --to PLACE. "
        "Or restore the cluster with PostgreSQL's own programs."
    )
    result = service.restore(
        target.place.require_file("tallystick restore", instead),
        file,
        system_clock(),
        replace=replace,
        without_evidence=without_evidence,
        progress=show_progress,
    )
    show(target, result, _print_restored)


def _print_restored(result: "RestoreResult") -> None:
    typer.echo(f"Restored and verified: {_contents(result)}, in {result.ledger} ({result.elapsed_s:,.1f} s).")
    if result.aside is not None:
        print_note(f"The previous files are in {result.aside}.")
    if result.missing:
        pieces = pluralize(len(result.missing), "piece")
        print_note(f"{pieces} of evidence could not be restored: {', '.join(result.missing)}.")
    if result.lost and result.signed is not None:
        print_note(
            f"The last signed checkpoint covers {pluralize(result.signed, 'event')}, the backup has"
            f" {result.events:,}: {result.lost:,} are lost."
        )
    if result.forked:
        print_note("The last signed checkpoint covers other events than the backup has.")
    if result.lost or result.forked:
        print_note(
            "This ledger cannot be signed. Restore a newer backup, or begin a new identity, which everyone who has"
            " the old key will notice: tallystick key make --replace."
        )
    if not result.key and not (result.lost or result.forked):
        print_note(
            f"The key {result.ledger}.key is missing: copy yours there before you serve, or begin a new identity:"
            " tallystick key make --replace."
        )
