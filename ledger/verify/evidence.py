"""Evidence beside a log: which bytes its events say are kept, and which are gone."""

from collections.abc import Callable, Sequence

import msgspec

from events.decode_errors import UNDECODABLE
from ledger.errors import Damaged
from ledger.evidence_store import EvidenceStore
from ledger.verify.event_order import LineHeader
from ledger.verify.findings import Findings

STORED = "evidence.stored.v1"
ERASED = "evidence.erased.v1"


class _Piece(msgspec.Struct):
    digest: str
    size_bytes: int = 0


class _Carrying(msgspec.Struct):
    data: _Piece


_decode = msgspec.json.Decoder(_Carrying).decode


class EvidenceCheck:
    """What events say of evidence: `kept` has the position and the bytes of each piece, `erased` the position."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[int, int]] = {}
        self.erased: dict[str, int] = {}

    def take(self, found: Sequence[LineHeader], lines: Sequence[bytes]) -> None:
        """Note what the lines that follow say of evidence; those that cannot be read are told elsewhere."""
        if not {STORED, ERASED} & {said.type for said in found} or len(found) != len(lines):
            return
        for said, line in zip(found, lines, strict=True):
            if said.type not in (STORED, ERASED):
                continue
            try:
                piece = _decode(line).data
            except UNDECODABLE:
                continue
            if said.type == STORED:
                self.kept[piece.digest] = said.position, piece.size_bytes
            else:
                self.kept.pop(piece.digest, None)
                self.erased[piece.digest] = said.position

    def check(self, account: Findings, store: EvidenceStore, erased_since: Callable[[str], bool]) -> None:
        """Whether the store has the bytes of each piece, and none of what was erased.

        A piece that is erased while this looks is asked about by `erased_since`. What a crash left to be erased stands
        in `pending/` until the ledger is next opened, and is no fault.
        """
        check = account.check("evidence", "pieces")
        for digest, (position, size_bytes) in self.kept.items():
            check.count += 1
            try:
                store.read(digest, size_bytes)
            except Damaged as error:
                if not erased_since(digest):
                    check.fault(error.detail, position)
        for digest, position in self.erased.items():
            check.count += 1
            if store.exists(digest):
                check.fault(f"evidence {digest} was erased, and its file is there.", position)
