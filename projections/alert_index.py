"""The alerts projection: which alerts the log has, so that no finding is reported twice."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

from events.alert import AlertCheckpointUnsigned, AlertDriftDetected, AlertGateJudged, AlertReviewOverdue
from events.envelope import EventFacts
from events.payload import Payload
from projections.projection import Projection
from projections.saved_state import Part, rebuilt, saved_value


class AlertIndex(Projection):
    """The id of every alert, in the order of the log, and the newest alert of drift for each agent and score."""

    name: ClassVar[str] = "alerts"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (
        AlertDriftDetected, AlertGateJudged, AlertReviewOverdue, AlertCheckpointUnsigned,
    )  # fmt: skip

    parts: ClassVar[Mapping[str, Part]] = {
        "alerts": saved_value("_types", dict[str, str]),
        "drifts": rebuilt(
            "_drifts",
            list[tuple[str, str, str]],
            lambda drifts: sorted((*key, time) for key, time in drifts.items()),
            lambda rows: {(agent, score): time for agent, score, time in rows},
        ),
    }

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

    def summary(self) -> Mapping[str, object]:
        return {"alerts": len(self._types), "types": dict(sorted(Counter(self._types.values()).items()))}
