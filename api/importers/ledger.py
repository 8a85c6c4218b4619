"""A verb of its own: a ledger run_verification again from a complete export, once the export is verified."""

from pathlib import Path

import msgspec

from api.export.manifest import CHECKPOINT, EVIDENCE
from api.verify import VerifyReport
from api.verify.export import Progress, read_manifest, verify_export
from api.verify.package import Package, open_package
from api.verify.report import parse_key, run_verification
from events.limits import EVIDENCE_BYTES_MAX
from ledger import EvidenceStore
from ledger.atomic_file import replace_whole
from ledger.errors import UnusableExport
from ledger.transparency.keys import path_beside
from ledger.verify.rebuild import LedgerRebuild


class LedgerImportResult(msgspec.Struct, frozen=True):
    """What became of an import: the verification, and whether the ledger stands; only of a right export it does."""

    ledger: str
    placed: bool
    evidence: int
    """Pieces of evidence that came with it."""
    report: VerifyReport


def rebuild(
    export: Path, ledger: Path, key: str | None, *, progress: Progress = lambda done, total: None
) -> LedgerImportResult:
    """Make a ledger again where there is none.

    Errors: UnusableExport, for one that is filtered, or none; LedgerUnusable, LedgerLocked, LedgerFull, InvalidQuery.
    """
    trusted = parse_key(key)
    with open_package(export) as package:
        manifest, _ = read_manifest(package, export)
        if not manifest.complete:
            raise UnusableExport(
                f"{export} is a filtered export: it has {manifest.events:,} of {manifest.size:,} events.",
                "A ledger is run_verification of all of them: export without filters.",
            )
        with LedgerRebuild.begin(ledger) as rebuilding:
            report = run_verification(
                str(export),
                "export",
                trusted,
                lambda account: verify_export(account, export, key=trusted, progress=progress, on_page=rebuilding.add),
            )
            if not report.right:
                return LedgerImportResult(str(ledger), False, 0, report)
            pieces = _put_evidence(package, ledger)
            with package.open(CHECKPOINT) as file:
                replace_whole(path_beside(ledger, IMPORTED), file.read())
            rebuilding.finish(report.root)
    return LedgerImportResult(str(ledger), True, pieces, report)


IMPORTED = "imported"
"""Ends the name of the checkpoint that a ledger was run_verification again from."""


def _put_evidence(package: Package, ledger: Path) -> int:
    """Put evidence where a ledger has it; it was verified. How many pieces. Errors: LedgerFull, LedgerUnavailable."""
    store, pieces = EvidenceStore(ledger), 0
    for name in package.names():
        digest = name.removeprefix(f"{EVIDENCE}/")
        if digest != name:
            with package.open(name) as file:
                store.write_pending({digest: file.read(EVIDENCE_BYTES_MAX + 1)})
            store.publish(digest)
            pieces += 1
    return pieces
