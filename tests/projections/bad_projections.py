"""Projections for tests: later versions of the shipped ones, one that lies, one that fails, one of a new shape."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from events.decision import DecisionRecorded, DecisionReviewed, DecisionThought
from events.envelope import EventFacts
from events.payload import Payload
from projections.decisions.decision_index import DecisionIndex
from projections.projection import Projection
from projections.registry import PROJECTIONS


class DecisionsAnew(DecisionIndex):
    """The same index in a version whose bytes differ."""

    version: ClassVar[int] = DecisionIndex.version + 1

    def encode(self) -> bytes:
        return b"anew" + super().encode()

    @classmethod
    def decode(cls, state: bytes) -> Self:
        assert state.startswith(b"anew")
        return super().decode(state[4:])


ANEW = tuple(DecisionsAnew if kind is DecisionIndex else kind for kind in PROJECTIONS)
"""The shipped projections, with the index in its new version."""


class Counting(Projection):
    """Counts recorded decisions, honestly."""

    name: ClassVar[str] = "counting"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (DecisionRecorded,)

    def __init__(self, count: int = 0) -> None:
        self.count = count

    def fold(self, events: Sequence[EventFacts]) -> None:
        self.count += sum(type(event.data) is DecisionRecorded for event in events)

    def encode(self) -> bytes:
        return str(self.count).encode()

    @classmethod
    def decode(cls, state: bytes) -> Self:
        return cls(int(state))

    def summary(self) -> Mapping[str, object]:
        return {"count": self.count}


class Lying(Counting):
    """Its state depends on how the history was cut: it counts the runs, not the events."""

    name: ClassVar[str] = "lying"
    reads: ClassVar[tuple[type[Payload], ...]] = (DecisionRecorded, DecisionThought, DecisionReviewed)

    def fold(self, events: Sequence[EventFacts]) -> None:
        self.count += 1


class Forgetting(Counting):
    """Its state does not survive being encoded."""

    name: ClassVar[str] = "forgetting"

    @classmethod
    def decode(cls, state: bytes) -> Self:
        return cls(int(state) + 1)


class Undecodable(Counting):
    """Its snapshots are of no use."""

    name: ClassVar[str] = "undecodable"

    @classmethod
    def decode(cls, state: bytes) -> Self:
        raise RuntimeError(f"{len(state)} bytes of no use")


class Failing(Counting):
    """Fails once at a review, as a machine short of memory might."""

    name: ClassVar[str] = "failing"
    failures: ClassVar[list[str]] = []

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            if type(event.data) is DecisionReviewed and not self.failures:
                self.failures.append(event.subject)
                raise MemoryError(event.subject)
        super().fold(events)
