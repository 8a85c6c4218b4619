"""Rebuild a ledger from a complete export, after verifying the export."""

from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from api.export.manifest import CHECKPOINT, EVIDENCE
from api.progress import ReportProgress
from api.service.open_log import needing_extra
from api.verify import VerifyReport
from api.verify.export import read_manifest, verify_export
from api.verify.package import Package, open_package
from api.verify.verification import read_options, run_verification
from events.limits import EVIDENCE_BYTES_MAX, NOTE_BYTES_MAX
from ledger.atomic_file import replace_whole
from ledger.errors import UnusableExport
from ledger.evidence_store import EvidenceStore
from ledger.place import Place
from ledger.transparency.keys import path_beside
from ledger.verify.ledger_rebuild import LedgerRebuild

if TYPE_CHECKING:
    from ledger.verify.database_rebuild import DatabaseRebuild


class LedgerImportResult(msgspec.Struct, frozen=True):
    """The verification of the export, and whether the ledger was written: only if the export is right."""

    ledger: str
    placed: bool
    evidence: int
    """Pieces of evidence that came along."""
    report: VerifyReport
    sealed: str | None = None
    """The place that accepts no more events, because its ledger was moved; None for an export, or a copy."""
    missing: tuple[str, ...] = ()
    """Digests of the evidence that the old place lacks."""
    complete_before: bool = False
    """Whether an earlier attempt had moved the ledger already, so that there was nothing left to do."""
    standby: str | None = None
    """The server that a ledger in a database was read from, if it is a standby."""


def begin_rebuild(place: Place) -> "AbstractContextManager[LedgerRebuild | DatabaseRebuild]":
    """Begin to rebuild a ledger in a file or in a database. Errors: LedgerLocked, LedgerUnusable, LedgerFull.

    Add every page of its lines, then call `verify`, then `open`.
    """
    if place.database is None:
        return LedgerRebuild.begin(place.path)
    with needing_extra():
        from ledger.verify.database_rebuild import DatabaseRebuild  # noqa: PLC0415 - the extra postgres
    place.make_folder()
    return DatabaseRebuild.begin(place)


def rebuild_ledger(
    export: Path, ledger: Path | Place, key: str | None, *, progress: ReportProgress = lambda done, total: None
) -> LedgerImportResult:
    """Rebuild a ledger at a path without one.

    Errors: UnusableExport, for a filtered export, or if it is not an export; LedgerUnusable, LedgerLocked, LedgerFull,
            InvalidQuery.
    """
    given, place = read_options(key, None, ()), Place.of(ledger)
    with open_package(export) as package:
        manifest, _ = read_manifest(package, export)
        if not manifest.complete:
            raise UnusableExport(
                f"{export} is a filtered export: it has {manifest.events:,} of {manifest.size:,} events.",
                "A ledger needs all of them: export without filters.",
            )
        with begin_rebuild(place) as rebuild:
            check = partial(verify_export, path=export, key=given.key, progress=progress, on_page=rebuild.add)
            report = run_verification(str(export), "export", check, given)
            if not report.right:
                rebuild.discard()
                return LedgerImportResult(str(place), False, 0, report)
            rebuild.verify(report.root)
            pieces = _put_evidence(package, place.path)
            with package.open(CHECKPOINT) as file:
                replace_whole(path_beside(place.path, IMPORTED), file.read(NOTE_BYTES_MAX))
            rebuild.open()
    return LedgerImportResult(str(place), True, pieces, report)


IMPORTED = "imported"
"""The end of the file name of the checkpoint that a ledger was rebuilt from."""


def _put_evidence(package: Package, ledger: Path) -> int:
    """Store verified evidence beside a ledger; return the number of pieces. Errors: LedgerFull, LedgerUnavailable."""
    store, pieces = EvidenceStore(ledger), 0
    for name in package.names():
        digest = name.removeprefix(f"{EVIDENCE}/")
        if digest != name:
            with package.open(name) as file:
                store.write_pending({digest: file.read(EVIDENCE_BYTES_MAX + 1)})
            store.publish(digest)
            pieces += 1
    return pieces
