"""Observations, scans and stated tests, as a log would have them. Times are days since the first."""

from datetime import UTC, datetime

import msgspec

from events.observation import ObservationRecorded, ObservationScanned
from events.registry import VOCABULARY
from projections.changes.change_index import ChangeIndex
from projections.resolve.evidence import Evidence
from projections.resolve.stated_tests import StatedTests, find_verdict
from projections.resolve.statement import read_statement
from projections.resolve.states import RuleFinding, StatedTest

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
BEGIN_S = int(BEGIN.timestamp())
DAY_S = 86_400
REPO = "ab" * 8


def at(day: float) -> str:
    return datetime.fromtimestamp(BEGIN_S + day * DAY_S, UTC).isoformat()


class Observed:
    """What was observed, in the order in which it is in the log."""

    def __init__(self) -> None:
        self.changes, self.tests, self.position = ChangeIndex(), StatedTests(), 10
        self.events: list[dict[str, object]] = []
        """The events as a log has them, as far as rules need it."""

    def add(self, event_type: str, subject: str, day: float, **facts: str | int | tuple[str, ...]) -> "Observed":
        source = {"git": "git", "pr": "forge", "check": "forge"}.get(subject.partition(":")[0], "other")
        self._fold(
            ObservationRecorded(
                observation_id=f"o{self.position}", event_type=event_type, source=source, subject=subject,
                occurred=at(day), facts=facts or None,
            )
        )  # fmt: skip
        return self

    def scan(self, source: str, day: float, scope: str = REPO) -> "Observed":
        self._fold(
            ObservationScanned(
                scan_id=f"s{self.position}", source=source, scope=scope, through=at(day), head="h", reader=1, subjects=1
            )
        )
        return self

    def _fold(self, data: ObservationRecorded | ObservationScanned) -> None:
        self.position += 1
        fact = VOCABULARY.event_types[VOCABULARY.names_of(type(data))[-1]].fact
        name = VOCABULARY.names_of(type(data))[-1]
        self.events.append({"type": name, "time": at(0), "data": msgspec.to_builtins(data)})
        event = fact(source="/agents/o", subject="x/y", time=at(0), position=self.position, data=data)
        self.changes.fold([event])
        self.tests.fold([event])

    def change(self, commit: str, day: float, **facts: str | int | tuple[str, ...]) -> "Observed":
        return self.add("git.landed", f"git:{REPO}:{commit}", day, born=10, **facts)

    def request(self, number: int, event_type: str, day: float, **facts: str | int | tuple[str, ...]) -> "Observed":
        return self.add(f"forge.{event_type}", f"pr:{REPO}:{number}", day, **facts)

    def evidence(self, day: float) -> Evidence:
        return self.tests.evidence(self.changes, BEGIN_S + int(day * DAY_S))

    def verdict(self, text: str, day: float = 100, *, stated: float = 0, position: int = 1) -> RuleFinding:
        """What a test finds that was stated on a day, before all that was observed; as of another day."""
        return find_verdict(stated_test(text, stated, position), self.evidence(day))


def stated_test(text: str, day: float = 0, position: int = 1) -> StatedTest:
    read = read_statement(text)
    return StatedTest(
        decision_id="d1", agent="ann", rule=read.rule, version=read.version, subject=read.subject, params=read.params,
        start_s=None, window_s=read.window_s, grace_s=read.grace_s, position=position,
        stated_s=BEGIN_S + int(day * DAY_S),
    )  # fmt: skip
