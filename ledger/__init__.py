"""The memory: append, read, follow. Stands on `events` and knows nothing of views, instruments or doors."""

from ledger.clock import Clock, microseconds, moment_of, system_clock
from ledger.evidence import EvidenceStore
from ledger.lock import Holder, holder_of
from ledger.log import Head, Log, Order, Placed, Query, Reading, Slice
from ledger.note import Checkpoint, Note, Signature, Signed, Signer, Verifier
from ledger.reader import SqliteReader
from ledger.receipt import Receipt
from ledger.signing import Signing
from ledger.sqlite import SqliteLog
from ledger.tree import Tree

__all__ = [
    "Checkpoint",
    "Clock",
    "EvidenceStore",
    "Head",
    "Holder",
    "Log",
    "Note",
    "Order",
    "Placed",
    "Query",
    "Reading",
    "Receipt",
    "Signature",
    "Signed",
    "Signer",
    "Signing",
    "Slice",
    "SqliteLog",
    "SqliteReader",
    "Tree",
    "Verifier",
    "holder_of",
    "microseconds",
    "moment_of",
    "system_clock",
]
