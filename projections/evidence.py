"""The evidence view: what was kept beside the log, and what of it was erased, when and why.

The bytes are in the evidence store; this view is what the log says of them, and does not change when they go.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import ClassVar, Self

import msgspec
from msgspec import structs

from events.envelope import EventFacts
from events.evidence import EvidenceErased, EvidenceStored
from events.payload import Payload
from projections.columns import pack
from projections.projection import Projection


class Erasure(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where an erasure stands, when it was, by whom and why."""

    position: int
    time: str
    agent: str
    reason: str | None


class EvidenceEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of evidence: what it is, where it was recorded, when and by whom; and its erasure, if it was erased."""

    digest: str
    size_bytes: int
    media_type: str | None
    note: str | None
    position: int
    time: str
    agent: str
    erased: Erasure | None = None


class EvidenceIndex(Projection):
    """Every piece of evidence by its digest, in the order of the log."""

    name: ClassVar[str] = "evidence"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (EvidenceStored, EvidenceErased)

    def __init__(self) -> None:
        self._of: dict[str, EvidenceEntry] = {}
        self._erased = 0
        self._kept_bytes = 0

    def __len__(self) -> int:
        return len(self._of)

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            kind = type(event.data)
            if kind is EvidenceStored:
                self._store(event)
            elif kind is EvidenceErased:
                self._erase(event)

    def _store(self, event: EventFacts) -> None:
        data = event.data
        assert isinstance(data, EvidenceStored)
        self._of[data.digest] = EvidenceEntry(
            digest=data.digest,
            size_bytes=data.size_bytes,
            media_type=data.media_type,
            note=data.note,
            position=event.position,
            time=event.time,
            agent=event.agent,
        )
        self._kept_bytes += data.size_bytes

    def _erase(self, event: EventFacts) -> None:
        data = event.data
        assert isinstance(data, EvidenceErased)
        erasure = Erasure(position=event.position, time=event.time, agent=event.agent, reason=data.reason)
        exhibit = self._of[data.digest] = structs.replace(self._of[data.digest], erased=erasure)
        self._erased += 1
        self._kept_bytes -= exhibit.size_bytes

    def encode(self) -> bytes:
        return pack({"evidence": list(self._of.values())})

    @classmethod
    def decode(cls, state: bytes) -> Self:
        made = cls()
        for exhibit in msgspec.msgpack.decode(state, type=dict[str, list[EvidenceEntry]])["evidence"]:
            made._of[exhibit.digest] = exhibit
            made._erased += exhibit.erased is not None
            made._kept_bytes += exhibit.size_bytes if exhibit.erased is None else 0
        return made

    def summary(self) -> Mapping[str, object]:
        return {"kept": len(self._of) - self._erased, "erased": self._erased, "kept_bytes": self._kept_bytes}

    def exhibit(self, digest: str) -> EvidenceEntry | None:
        """A piece of evidence by its digest; None where there is no such."""
        return self._of.get(digest)

    def erased(self, digest: str) -> bool:
        """Whether a piece of evidence was erased."""
        exhibit = self._of.get(digest)
        return exhibit is not None and exhibit.erased is not None

    def page(self, offset: int, limit: int) -> list[EvidenceEntry]:
        """Some pieces of evidence, in the order of the log."""
        return list(islice(self._of.values(), min(offset, len(self)), min(offset + limit, len(self))))
