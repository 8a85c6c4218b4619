"""The ledger: append, read, follow and prove events. It imports only `events` and `tallystick.shapes`."""

from ledger.clock import Clock, microseconds, moment_of, system_clock
from ledger.evidence_store import EvidenceStore
from ledger.log import Head, Log, LogPage, LogReader, Order, Permissions, Query
from ledger.sqlite.lock import LockHolder, holder_of
from ledger.sqlite.log import SqliteLog
from ledger.sqlite.reader import SqliteReader
from ledger.transparency.checkpoints import CheckpointStore
from ledger.transparency.receipt import Receipt
from ledger.transparency.signed_note import Checkpoint, Signature, SignedCheckpoint, SignedNote, Signer, Verifier
from ledger.transparency.tree import LogTree

__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "Clock",
    "EvidenceStore",
    "Head",
    "LockHolder",
    "Log",
    "LogPage",
    "LogReader",
    "LogTree",
    "Order",
    "Permissions",
    "Query",
    "Receipt",
    "Signature",
    "SignedCheckpoint",
    "SignedNote",
    "Signer",
    "SqliteLog",
    "SqliteReader",
    "Verifier",
    "holder_of",
    "microseconds",
    "moment_of",
    "system_clock",
]
