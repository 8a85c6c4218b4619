"""The alerts projection: which alerts the log has, so that no finding is reported twice."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import msgspec

from events.alert import AlertCheckpointUnsigned, AlertDriftDetected, AlertGateJudged, AlertReviewOverdue
from events.envelope import EventFacts
from events.payload import Payload
from projections.columns import pack
from projections.projection import Projection


class _State(msgspec.Struct, frozen=True):
    """The encoded state: the type of each alert by its id, and the drifts in their order."""

    alerts: dict[str, str]
    drifts: list[tuple[str, str, str]]


class AlertIndex(Projection):
    """The id of every alert, in the order of the log, and the newest alert of drift for each agent and score."""

    name: ClassVar[str] = "alerts"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (
        AlertDriftDetected, AlertGateJudged, AlertReviewOverdue, AlertCheckpointUnsigned,
    )  # fmt: skip

    def __init__(self) -> None:
        self._types: dict[str, str] = {}
        self._drifts: dict[tuple[str, str], str] = {}

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            data = event.data
            if not isinstance(data, self.reads):
                continue
            self._types[event.subject.partition("/")[2]] = event.name
            if isinstance(data, AlertDriftDetected):
                self._drifts[data.agent, data.score] = event.time

    def has(self, alert_id: str) -> bool:
        """Return whether the log has an alert."""
        return alert_id in self._types

    def last_drift(self, agent: str, score: str) -> str | None:
        """Return the time of the newest alert that a score of an agent drifts; None if there is none."""
        return self._drifts.get((agent, score))

    def encode(self) -> bytes:
        drifts = sorted((agent, score, time) for (agent, score), time in self._drifts.items())
        return pack(msgspec.structs.asdict(_State(self._types, drifts)))

    @classmethod
    def decode(cls, state: bytes) -> Self:
        new, stored = cls(), msgspec.msgpack.decode(state, type=_State)
        new._types.update(stored.alerts)
        new._drifts.update({(agent, score): time for agent, score, time in stored.drifts})
        return new

    def summary(self) -> Mapping[str, object]:
        return {"alerts": len(self._types), "types": dict(sorted(Counter(self._types.values()).items()))}
