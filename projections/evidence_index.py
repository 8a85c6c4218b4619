"""The evidence projection: an index of stored evidence, with the time and the reason of each erasure.

The bytes are in the evidence store. The projection is computed from events alone, so it does not change if bytes are
erased without an event.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import ClassVar

import msgspec
from msgspec import structs

from events.envelope import EventFacts
from events.evidence import EvidenceErased, EvidenceStored
from events.payload import Payload
from projections.projection import Projection
from projections.saved_state import Part, keyed


class Erasure(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An erasure: the position of its event, its time, the agent and the reason."""

    position: int
    time: str
    agent: str
    reason: str | None


class EvidenceEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of evidence: its description, its event (position, time, agent), and its erasure if it was erased."""

    digest: str
    size_bytes: int
    media_type: str | None
    note: str | None
    position: int
    time: str
    agent: str
    erased: Erasure | None = None


class EvidenceIndex(Projection):
    """All evidence by digest, in the order of the log."""

    name: ClassVar[str] = "evidence"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (EvidenceStored, EvidenceErased)

    parts: ClassVar[Mapping[str, Part]] = {
        "evidence": keyed("_entries", EvidenceEntry, "digest"),
    }

    def __init__(self) -> None:
        self._entries: dict[str, EvidenceEntry] = {}
        self._erased = 0
        self._stored_bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

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
        self._entries[data.digest] = EvidenceEntry(
            digest=data.digest,
            size_bytes=data.size_bytes,
            media_type=data.media_type,
            note=data.note,
            position=event.position,
            time=event.time,
            agent=event.agent,
        )
        self._stored_bytes += data.size_bytes

    def _erase(self, event: EventFacts) -> None:
        data = event.data
        assert isinstance(data, EvidenceErased)
        erasure = Erasure(position=event.position, time=event.time, agent=event.agent, reason=data.reason)
        entry = self._entries[data.digest] = structs.replace(self._entries[data.digest], erased=erasure)
        self._erased += 1
        self._stored_bytes -= entry.size_bytes

    def complete(self) -> None:
        for entry in self._entries.values():
            self._erased += entry.erased is not None
            self._stored_bytes += entry.size_bytes if entry.erased is None else 0

    def summary(self) -> Mapping[str, object]:
        return {"kept": len(self._entries) - self._erased, "erased": self._erased, "kept_bytes": self._stored_bytes}

    def size_bytes(self, digest: str) -> int | None:
        """Return the size of a piece of evidence, also of an erased one; None if it was never stored."""
        entry = self._entries.get(digest)
        return None if entry is None else entry.size_bytes

    def find(self, digest: str) -> EvidenceEntry | None:
        """Return a piece of evidence, also an erased one; None if it was never stored."""
        return self._entries.get(digest)

    def page(self, offset: int, limit: int) -> list[EvidenceEntry]:
        """Return up to `limit` entries after the first `offset`, in the order of the log."""
        return list(islice(self._entries.values(), min(offset, len(self)), min(offset + limit, len(self))))
