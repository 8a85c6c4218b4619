"""Verification: everything worked out again from the lines, and nothing that is kept or served trusted."""

from ledger.verifying.account import Account, Check, Fault
from ledger.verifying.columns import Instants
from ledger.verifying.exhibits import Exhibits
from ledger.verifying.file import Found, verify_file
from ledger.verifying.regrowth import Regrowth, difference
from ledger.verifying.sequence import Said, SaidAll, Sequence
from ledger.verifying.signature import Notes, own_key

__all__ = [
    "Account",
    "Check",
    "Exhibits",
    "Fault",
    "Found",
    "Instants",
    "Notes",
    "Regrowth",
    "Said",
    "SaidAll",
    "Sequence",
    "difference",
    "own_key",
    "verify_file",
]
