"""Rebuild a ledger from a complete export, after verifying the export."""

from functools import partial
from pathlib import Path

import msgspec

from api.export.manifest import CHECKPOINT, EVIDENCE
from api.progress import ReportProgress
from api.verify import VerifyReport
from api.verify.export import read_manifest, verify_export
from api.verify.package import Package, open_package
from api.verify.verification import read_options, run_verification
from events.limits import EVIDENCE_BYTES_MAX, NOTE_BYTES_MAX
from ledger import EvidenceStore
from ledger.atomic_file import replace_whole
from ledger.errors import UnusableExport
from ledger.transparency.keys import path_beside
from ledger.verify.ledger_rebuild import LedgerRebuild


class LedgerImportResult(msgspec.Struct, frozen=True):
    """The verification of the export, and whether the ledger was written: only if the export is right."""

    ledger: str
    placed: bool
    evidence: int
    """Pieces of evidence in the export."""
    report: VerifyReport


def rebuild_ledger(
    export: Path, ledger: Path, key: str | None, *, progress: ReportProgress = lambda done, total: None
) -> LedgerImportResult:
    """Rebuild a ledger at a path without one.

    Errors: UnusableExport, for a filtered export, or if it is not an export; LedgerUnusable, LedgerLocked, LedgerFull,
            InvalidQuery.
    """
    given = read_options(key, None, ())
    with open_package(export) as package:
        manifest, _ = read_manifest(package, export)
        if not manifest.complete:
            raise UnusableExport(
                f"{export} is a filtered export: it has {manifest.events:,} of {manifest.size:,} events.",
                "A ledger needs all of them: export without filters.",
            )
        with LedgerRebuild.begin(ledger) as rebuild:
            check = partial(verify_export, path=export, key=given.key, progress=progress, on_page=rebuild.add)
            report = run_verification(str(export), "export", check, given)
            if not report.right:
                return LedgerImportResult(str(ledger), False, 0, report)
            pieces = _put_evidence(package, ledger)
            with package.open(CHECKPOINT) as file:
                replace_whole(path_beside(ledger, IMPORTED), file.read(NOTE_BYTES_MAX))
            rebuild.finish(report.root)
    return LedgerImportResult(str(ledger), True, pieces, report)


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
