"""Compare the evidence store with the log's events: stored evidence must be readable, erased evidence gone."""

from collections.abc import Callable, Sequence

import msgspec

from events.decode_error_messages import DECODE_ERRORS
from ledger.errors import Damaged
from ledger.evidence_store import EvidenceStore
from ledger.verify.event_order import LineHeader
from ledger.verify.findings import Findings

STORED = "evidence.stored.v1"
ERASED = "evidence.erased.v1"


class _EvidenceFields(msgspec.Struct):
    digest: str
    size_bytes: int = 0


class _EvidenceEvent(msgspec.Struct):
    data: _EvidenceFields


_decode = msgspec.json.Decoder(_EvidenceEvent).decode


class EvidenceCheck:
    """Collects evidence events: `kept` has the position and size in bytes of each piece, `erased` the position."""

    def __init__(self) -> None:
        self.stored: dict[str, tuple[int, int]] = {}
        self.erased: dict[str, int] = {}

    def add(self, headers: Sequence[LineHeader], lines: Sequence[bytes]) -> None:
        """Collect the evidence events of the next lines; `OrderCheck` reports lines that cannot be decoded."""
        if not {STORED, ERASED} & {header.type for header in headers} or len(headers) != len(lines):
            return
        for header, line in zip(headers, lines, strict=True):
            if header.type not in (STORED, ERASED):
                continue
            try:
                piece = _decode(line).data
            except DECODE_ERRORS:
                continue
            if header.type == STORED:
                self.stored[piece.digest] = header.position, piece.size_bytes
            else:
                self.stored.pop(piece.digest, None)
                self.erased[piece.digest] = header.position

    def check(self, findings: Findings, store: EvidenceStore, erased_since: Callable[[str], bool]) -> None:
        """Check that the store has each stored piece, and no file of an erased one.

        `erased_since` says whether a piece was erased during the check. After a crash, files to erase may be in
        `pending/` until the ledger is next opened; they are not faults.
        """
        check = findings.check("evidence", "pieces")
        for digest, (position, size_bytes) in self.stored.items():
            check.count += 1
            try:
                store.read(digest, size_bytes)
            except Damaged as error:
                if not erased_since(digest):
                    check.fault(error.detail, position)
        for digest, position in self.erased.items():
            check.count += 1
            if store.exists(digest):
                check.fault(f"evidence {digest} was erased, but its file exists.", position)
