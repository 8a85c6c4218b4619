"""The observations projection: how many observations there are of each type, and which decisions they are linked to."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import msgspec

from events.envelope import EventFacts
from events.observation import AttestationRecorded, ObservationRecorded
from events.payload import Payload
from projections.columns import pack
from projections.projection import Projection


class _State(msgspec.Struct):
    """Counts by type of observation and by source; of each linked decision, how many attestations name it."""

    by_type: dict[str, int] = {}
    by_source: dict[str, int] = {}
    by_decision: dict[str, int] = {}


class ObservationCounts(Projection):
    """Counts of observations and attestations."""

    name: ClassVar[str] = "observations"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (ObservationRecorded, AttestationRecorded)

    def __init__(self) -> None:
        self._state = _State()

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            data = event.data
            if isinstance(data, ObservationRecorded):
                _count(self._state.by_type, data.event_type)
                _count(self._state.by_source, data.source)
            elif isinstance(data, AttestationRecorded):
                _count(self._state.by_decision, data.decision_id)

    def encode(self) -> bytes:
        return pack(msgspec.to_builtins(self._state))

    @classmethod
    def decode(cls, state: bytes) -> Self:
        new = cls()
        new._state = msgspec.msgpack.decode(state, type=_State)
        return new

    def summary(self) -> Mapping[str, object]:
        return {
            "observed": sum(self._state.by_type.values()),
            "attested": sum(self._state.by_decision.values()),
            "decisions": len(self._state.by_decision),
            "by_type": dict(self._state.by_type),
            "by_source": dict(self._state.by_source),
        }


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
