"""The thoughts view: what was thought before a decision, and which of it waits to be taken up.

The state holds for each agent its latest thoughts: where they stand, what they are scoped by, and who took them up.
Their texts stay in the log. What was left behind by newer ones waits no longer. How old a thought is does not matter to
the fold: a thought dated far ahead or far back would else move what other thoughts are.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple, Self

import msgspec
from msgspec import structs

from events.envelope import EventFacts, agent_of
from events.payload import Payload
from events.thought import ThoughtAdopted, ThoughtRecorded
from projections.columns import pack
from projections.projection import Projection

THOUGHTS_MAX = 8_192
"""Thoughts kept of one agent, the latest: 27 a second over THOUGHT_AGE_MAX."""

THOUGHT_AGE_MAX = timedelta(seconds=300)
"""A decision takes up thoughts younger than this."""


class ThoughtScope(NamedTuple):
    """What thoughts and decisions are matched by, beside the agent whose token it is; as the client stated it."""

    agent_id: str | None = None
    decision_id: str | None = None

    def key(self, agent: str) -> str:
        """The name of the scope, as CSTP writes it."""
        if self.agent_id is not None:
            tail = f":decision:{self.decision_id}" if self.decision_id is not None else ""
            return f"agent:{self.agent_id}{tail}"
        return f"decision:{self.decision_id}" if self.decision_id is not None else f"rpc:{agent}"

    def reach(self) -> "set[ThoughtScope]":
        """The scopes whose thoughts a decision made in this one takes up: itself, and each part of a pair."""
        if self.agent_id is None or self.decision_id is None:
            return {self}
        return {self, ThoughtScope(None, self.decision_id), ThoughtScope(self.agent_id, None)}


class ThoughtEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where a thought stands, what it is scoped by, and which decision took it up, where and when.

    `position` is that of `thought.recorded`, `taken` that of `thought.adopted`, 0 while there is none.
    """

    subject: str
    position: int
    time: str
    agent_id: str | None
    decision_id: str | None
    taken: int = 0
    taken_time: str = ""
    taken_by: str = ""

    @property
    def scope(self) -> ThoughtScope:
        return ThoughtScope(self.agent_id, self.decision_id)

    @property
    def thought_id(self) -> str:
        return self.subject.removeprefix("thought/")

    def age(self, now: datetime) -> timedelta:
        """How long ago it was thought."""
        return now - datetime.fromisoformat(self.time)


class ThoughtIndex(Projection):
    """The latest thoughts of each agent, those taken up and those that wait."""

    name: ClassVar[str] = "thoughts"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (ThoughtRecorded, ThoughtAdopted)

    def __init__(self) -> None:
        self._of: dict[str, dict[str, ThoughtEntry]] = {}
        """Source to stream to thought, each in the order of the log."""

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            kind = type(event.data)
            if kind is ThoughtRecorded:
                self._record(event)
            elif kind is ThoughtAdopted:
                self._adopt(event)

    def _record(self, event: EventFacts) -> None:
        data = event.data
        assert isinstance(data, ThoughtRecorded)
        kept = self._of.setdefault(event.source, {})
        if len(kept) == THOUGHTS_MAX:
            del kept[next(iter(kept))]
        kept[event.subject] = ThoughtEntry(event.subject, event.position, event.time, data.agent_id, data.decision_id)

    def _adopt(self, event: EventFacts) -> None:
        data, subject = event.data, event.subject
        assert isinstance(data, ThoughtAdopted)
        own = self._of.get(event.source, {})
        places = (own,) if subject in own else (kept for kept in self._of.values() if subject in kept)
        for kept in places:
            kept[subject] = structs.replace(
                kept[subject], taken=event.position, taken_time=event.time, taken_by=data.decision_id
            )

    def encode(self) -> bytes:
        return pack({source: list(kept.values()) for source, kept in self._of.items()})

    @classmethod
    def decode(cls, state: bytes) -> Self:
        made = cls()
        for source, kept in msgspec.msgpack.decode(state, type=dict[str, list[ThoughtEntry]]).items():
            made._of[source] = {thought.subject: thought for thought in kept}
        return made

    def summary(self) -> Mapping[str, object]:
        return {
            "by_agent": {
                agent_of(source): {
                    "thoughts": len(kept),
                    "taken_up": sum(thought.taken > 0 for thought in kept.values()),
                }
                for source, kept in self._of.items()
            }
        }

    def pending(
        self, source: str, scopes: set[ThoughtScope] | None, now: datetime, position: int | None = None
    ) -> list[ThoughtEntry]:
        """The thoughts of an agent that wait in some scopes, in any where none is named; the oldest in the log first.

        Those of THOUGHT_AGE_MAX or older wait no longer, nor do those dated as far ahead. `position` asks for what
        waited behind it, of the thoughts that are kept.
        """
        return [
            thought
            for thought in self._of.get(source, {}).values()
            if (scopes is None or thought.scope in scopes)
            and (not thought.taken or (position is not None and thought.taken > position))
            and (position is None or thought.position <= position)
            and abs(thought.age(now)) < THOUGHT_AGE_MAX
        ]

    def waiting(self, now: datetime) -> Iterator[tuple[str, ThoughtEntry]]:
        """Every thought that waits, with its agent's name."""
        for source in self._of:
            for thought in self.pending(source, None, now):
                yield agent_of(source), thought

    def taken(self) -> Iterator[tuple[str, ThoughtEntry]]:
        """Every kept thought that was taken up, with its agent's name."""
        for source, kept in self._of.items():
            for thought in kept.values():
                if thought.taken:
                    yield agent_of(source), thought
