"""The observations projection: how many observations there are of each type, and which decisions they are linked to."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from events.envelope import EventFacts
from events.observation import AttestationRecorded, ObservationRecorded
from events.payload import Payload
from projections.projection import Projection
from projections.saved_state import Part, saved_value


class ObservationCounts(Projection):
    """Counts of observations and attestations."""

    name: ClassVar[str] = "observations"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (ObservationRecorded, AttestationRecorded)

    parts: ClassVar[Mapping[str, Part]] = {
        "by_type": saved_value("_by_type", dict[str, int]),
        "by_source": saved_value("_by_source", dict[str, int]),
        "by_decision": saved_value("_by_decision", dict[str, int]),
    }

    def __init__(self) -> None:
        self._by_type: dict[str, int] = {}
        self._by_source: dict[str, int] = {}
        self._by_decision: dict[str, int] = {}
        """How many attestations name each linked decision."""

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            data = event.data
            if isinstance(data, ObservationRecorded):
                _count(self._by_type, data.event_type)
                _count(self._by_source, data.source)
            elif isinstance(data, AttestationRecorded):
                _count(self._by_decision, data.decision_id)

    def summary(self) -> Mapping[str, object]:
        return {
            "observed": sum(self._by_type.values()),
            "attested": sum(self._by_decision.values()),
            "decisions": len(self._by_decision),
            "by_type": dict(self._by_type),
            "by_source": dict(self._by_source),
        }


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
