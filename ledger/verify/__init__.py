"""Verification of a log: recompute everything from the lines; trust no stored or served value."""

from ledger.verify.checkpoints import SignatureCheck, bundled_key
from ledger.verify.columns import TimestampParser
from ledger.verify.event_order import LineHeader, LineHeaders, OrderCheck
from ledger.verify.evidence import EvidenceCheck
from ledger.verify.findings import Check, Finding, Findings
from ledger.verify.ledger_file import FileFindings, verify_file
from ledger.verify.merkle_rebuild import TreeRebuild, describe_difference

__all__ = [
    "Check",
    "EvidenceCheck",
    "FileFindings",
    "Finding",
    "Findings",
    "LineHeader",
    "LineHeaders",
    "OrderCheck",
    "SignatureCheck",
    "TimestampParser",
    "TreeRebuild",
    "bundled_key",
    "describe_difference",
    "verify_file",
]
