"""Verification: everything worked out again from the lines, and nothing that is kept or served trusted."""

from ledger.verify.columns import TimestampParser
from ledger.verify.event_order import LineHeader, LineHeaders, OrderCheck
from ledger.verify.evidence import EvidenceCheck
from ledger.verify.findings import Check, Finding, Findings
from ledger.verify.ledger_file import FileFindings, verify_file
from ledger.verify.merkle_rebuild import TreeRebuild, difference
from ledger.verify.signatures import NoteCheck, own_key

__all__ = [
    "Check",
    "EvidenceCheck",
    "FileFindings",
    "Finding",
    "Findings",
    "LineHeader",
    "LineHeaders",
    "NoteCheck",
    "OrderCheck",
    "TimestampParser",
    "TreeRebuild",
    "difference",
    "own_key",
    "verify_file",
]
