"""The thoughts projection: thoughts and tracked calls before a decision, and which of them no decision adopted yet.

The state has the latest thoughts of each agent: position, time, scope, and the decision that adopted them. Their texts
are only in the log. A thought that is no longer among the latest is not pending. The fold does not use the age of
thoughts, so that a thought dated far in the future or past does not change the state of others.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple, Self

import msgspec
from msgspec import structs

from events.envelope import EventFacts, agent_of
from events.payload import Payload
from events.thought import ThoughtAdopted, ThoughtRecorded, ThoughtTracked
from projections.projection import Projection

THOUGHTS_MAX = 8_192
"""Latest thoughts stored for each agent: enough for 27 a second over THOUGHT_AGE_MAX."""

THOUGHT_AGE_MAX = timedelta(seconds=300)
"""A decision adopts thoughts and tracked calls younger than this."""

EXPIRED_AGE_MAX = timedelta(seconds=1800)
"""Thoughts that no decision adopted are listed as expired until this age."""


class ThoughtScope(NamedTuple):
    """Ids that the client states, by which thoughts are matched to decisions of the same authenticated agent."""

    agent_id: str | None = None
    decision_id: str | None = None

    def key(self, agent: str) -> str:
        """Return the name of the scope in CSTP's format."""
        if self.agent_id is not None:
            tail = f":decision:{self.decision_id}" if self.decision_id is not None else ""
            return f"agent:{self.agent_id}{tail}"
        return f"decision:{self.decision_id}" if self.decision_id is not None else f"rpc:{agent}"

    def matching_scopes(self) -> "set[ThoughtScope]":
        """Return the scopes whose thoughts a decision in this scope adopts: itself, and each part of a pair."""
        if self.agent_id is None or self.decision_id is None:
            return {self}
        return {self, ThoughtScope(None, self.decision_id), ThoughtScope(self.agent_id, None)}


class ThoughtEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A thought: its position, time and scope, and the decision that adopted it.

    `position` is that of `thought.recorded`; `adopted_position` is that of `thought.adopted`, 0 while it is pending.
    """

    subject: str
    position: int
    time: str
    agent_id: str | None
    decision_id: str | None
    adopted_position: int = 0
    adopted_time: str = ""
    adopted_by: str = ""

    @property
    def scope(self) -> ThoughtScope:
        """The scope of the thought, as its client stated it."""
        return ThoughtScope(self.agent_id, self.decision_id)

    @property
    def thought_id(self) -> str:
        """The id of its stream."""
        return self.subject.removeprefix("thought/")

    def age(self, now: datetime) -> timedelta:
        """Return how long ago the thought was recorded."""
        return now - datetime.fromisoformat(self.time)


class ThoughtIndex(Projection):
    """The latest thoughts of each agent, adopted and pending."""

    name: ClassVar[str] = "thoughts"
    version: ClassVar[int] = 2
    reads: ClassVar[tuple[type[Payload], ...]] = (ThoughtRecorded, ThoughtTracked, ThoughtAdopted)

    def __init__(self) -> None:
        self._by_source: dict[str, dict[str, ThoughtEntry]] = {}
        """Thoughts by source and stream, in the order of the log."""

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            kind = type(event.data)
            if kind is ThoughtRecorded or kind is ThoughtTracked:
                self._record(event)
            elif kind is ThoughtAdopted:
                self._adopt(event)

    def _record(self, event: EventFacts) -> None:
        data = event.data
        assert isinstance(data, ThoughtRecorded | ThoughtTracked)
        thoughts = self._by_source.setdefault(event.source, {})
        if len(thoughts) == THOUGHTS_MAX:
            del thoughts[next(iter(thoughts))]
        thoughts[event.subject] = ThoughtEntry(
            event.subject, event.position, event.time, data.agent_id, getattr(data, "decision_id", None)
        )

    def _adopt(self, event: EventFacts) -> None:
        data, subject = event.data, event.subject
        assert isinstance(data, ThoughtAdopted)
        of_source = self._by_source.get(event.source, {})
        for thoughts in (of_source,) if subject in of_source else self._by_source.values():
            if subject not in thoughts:
                continue
            thoughts[subject] = structs.replace(
                thoughts[subject],
                adopted_position=event.position,
                adopted_time=event.time,
                adopted_by=data.decision_id,
            )

    def encode(self) -> bytes:
        return msgspec.msgpack.encode({source: list(thoughts.values()) for source, thoughts in self._by_source.items()})

    @classmethod
    def decode(cls, state: bytes) -> Self:
        new = cls()
        for source, thoughts in msgspec.msgpack.decode(state, type=dict[str, list[ThoughtEntry]]).items():
            new._by_source[source] = {thought.subject: thought for thought in thoughts}
        return new

    def summary(self) -> Mapping[str, object]:
        return {
            "by_agent": {
                agent_of(source): {
                    "thoughts": len(thoughts),
                    "taken_up": sum(thought.adopted_position > 0 for thought in thoughts.values()),
                }
                for source, thoughts in self._by_source.items()
            }
        }

    def pending(
        self, source: str, scopes: set[ThoughtScope] | None, now: datetime, position: int | None = None
    ) -> list[ThoughtEntry]:
        """Return the pending thoughts of an agent in some scopes, or in all if None, in the order of the log.

        A thought is not pending if its time is THOUGHT_AGE_MAX or more before or after `now`. With `position`, return
        the stored thoughts that were pending as of that position.
        """
        return [
            thought
            for thought in self._by_source.get(source, {}).values()
            if (scopes is None or thought.scope in scopes)
            and (not thought.adopted_position or (position is not None and thought.adopted_position > position))
            and (position is None or thought.position <= position)
            and abs(thought.age(now)) < THOUGHT_AGE_MAX
        ]

    def all_pending(self, now: datetime) -> Iterator[tuple[str, ThoughtEntry]]:
        """Yield every pending thought with its agent's name."""
        for source in self._by_source:
            for thought in self.pending(source, None, now):
                yield agent_of(source), thought

    def expired(self, now: datetime) -> Iterator[tuple[str, ThoughtEntry]]:
        """Yield every thought that no decision adopted in time, up to EXPIRED_AGE_MAX, with its agent's name."""
        for source, thoughts in self._by_source.items():
            for thought in thoughts.values():
                if not thought.adopted_position and THOUGHT_AGE_MAX <= thought.age(now) < EXPIRED_AGE_MAX:
                    yield agent_of(source), thought

    def adopted(self) -> Iterator[tuple[str, ThoughtEntry]]:
        """Yield every stored thought that a decision adopted, with its agent's name."""
        for source, thoughts in self._by_source.items():
            for thought in thoughts.values():
                if thought.adopted_position:
                    yield agent_of(source), thought
