"""Back up a ledger in PostgreSQL: a ledger file with its companions, as the backup of a file.

The copy is read from the primary server; if none can be reached, from a standby, as far as it is signed. All files are
written while FILE does not exist, FILE last. The next attempt removes the files of a killed one.
"""

import time
from pathlib import Path

from api.importers.ledger_move import move_ledger
from api.progress import OpenProgress, no_progress
from api.service.backup import PARTS, BackupResult, remember_backup, reserve_name
from ledger.atomic_file import PART
from ledger.errors import LedgerDamaged
from ledger.place import Place
from ledger.sqlite.lock import lock_path
from ledger.transparency.checkpoints import checkpoint_path, read_checkpoint
from ledger.transparency.signed_note import encode_base64


def back_up_database(
    source: Place,
    file: Path,
    *,
    with_key: bool,
    without_evidence: bool = False,
    progress: OpenProgress = no_progress,
) -> BackupResult:
    """Copy a ledger in PostgreSQL into a file that does not exist, and verify the copy. Nodes may write meanwhile.

    Errors: Occupied, for a name that exists; LedgerUnusable; LedgerDamaged, for a ledger that is not right (no backup
    is made); Damaged, for missing evidence without `without_evidence`; LedgerLocked, while another process makes the
    same backup; LedgerFull, LedgerUnavailable.
    """
    began = time.monotonic()
    part = file.with_name(file.name + PART)
    with reserve_name(file, part):
        try:
            with progress("copying", "events") as show:
                copied = move_ledger(
                    source, Place(file), keep=True, with_key=with_key, without_evidence=without_evidence, progress=show
                )
        finally:
            lock_path(file).unlink(missing_ok=True)
        report = copied.report
        if not copied.placed:
            faults = [fault.detail for check in report.checks for fault in check.faults]
            raise LedgerDamaged(str(source), faults, "See all that is wrong: tallystick verify.")
    signed = read_checkpoint(checkpoint_path(file))
    remember_backup(source.path, file, report.events, report.root)
    files = [path for ending in PARTS if (path := file.with_name(file.name + ending)).exists()]
    return BackupResult(
        file=str(file),
        events=report.events,
        root=encode_base64(report.root),
        size_bytes=file.stat().st_size,
        evidence=copied.evidence,
        checkpoint=signed.size if signed else None,
        files=sorted(map(str, files)),
        elapsed_s=time.monotonic() - began,
        missing=list(copied.missing),
        standby=copied.standby,
    )
