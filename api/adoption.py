"""Thoughts on the way to a decision, and the decision that takes them up.

What waits where a decision is made becomes the last steps of its deliberation. The decision and an adoption for each
thought are one append: a crash between thinking and deciding loses nothing, a decision that is refused takes nothing
up, and of two decisions that reach for one thought the ledger admits one; the other looks again.
"""

import random
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import takewhile
from typing import NamedTuple

from msgspec import structs

from api.access import Speaker
from api.deliberation import fitting, last_step, merged, text_and_time
from api.operations import House
from events.decision import DecisionAsked, DecisionRecorded
from events.envelope import Draft, Event
from events.limits import ITEMS_MAX, PAGE_EVENTS_MAX
from events.registry import VOCABULARY
from events.thought import ThoughtAdopted, ThoughtRecorded
from ledger import Placed, Query
from ledger.decide import stream_name
from ledger.errors import IdentityConflict, LifecycleViolation
from projections import Scope, Thought, Thoughts, stand

Stated = Callable[[datetime], DecisionRecorded]
"""A decision as the client stated it at a moment, without what waits."""

_decision = VOCABULARY.kinds["decision.recorded.v1"].draft
_asking = VOCABULARY.kinds["decision.asked.v1"].draft
_adoption = VOCABULARY.kinds["thought.adopted.v1"].draft
_rng = random.Random()


class Decided(NamedTuple):
    """A decision as it was recorded, where and when, how many thoughts it took up, and how many had to wait on."""

    placed: Placed
    moment: datetime
    decision: DecisionRecorded
    taken: int
    left: int


class Kept(NamedTuple):
    """A thought with its agent, where it stands, and its text."""

    agent: str
    thought: Thought
    text: str


class Tracked(NamedTuple):
    """Thoughts of one key, the first few with their texts; where a decision took them up, which and when."""

    key: str
    agent_id: str | None
    total: int
    first: list[Kept]
    decision_id: str | None = None
    moment: datetime | None = None


async def decide(
    house: House, speaker: Speaker, scope: Scope, stated: Stated, key: str | None, question: str | None = None
) -> Decided:
    """Record a decision with the thoughts of its agent that wait in its scope, the oldest first.

    A thought that would not fit, by the limits of a line and of a list, waits on. `key`, where the client gives one, is
    the event's id: the same again with the same content gives the first answer again, whatever waits by then. The
    question that it answers, where one is told, is an event of the same append.
    Errors: those of `House.record`; nothing was taken up.
    """
    now = house.clock()
    refused: set[str] = set()
    while True:
        waiting = [one for one in await _pending(house, speaker, scope, now) if one.subject not in refused]
        decision, thoughts = await _take_up(house, speaker, stated(now), waiting, key, asked=question is not None)
        drafts = _drafts(decision, thoughts, question, key, now)
        try:
            placed = (await house.record(drafts, speaker))[0]
        except LifecycleViolation as error:
            if error.subject == f"decision/{decision.decision_id}":
                continue  # the name is taken: another
            if not thoughts:
                raise
            refused.add(error.subject)
        except IdentityConflict as error:
            if error.position <= (await house.reader.head()).position:
                return await _repeat(house, speaker, scope, stated, error, question)
        else:
            if placed.duplicate:
                await _check_question(house, placed.position, question)
                return await _first(house, speaker, scope, placed, ())
            return Decided(placed, now, decision, len(thoughts), len(waiting) - len(thoughts))


def _drafts(
    decision: DecisionRecorded, thoughts: Sequence[Event], question: str | None, key: str | None, now: datetime
) -> list[Draft]:
    drafts: list[Draft] = [_decision(data=decision, id=key, time=now)]
    drafts += [_adoption(data=_adopted(thought, decision), time=now) for thought in thoughts]
    if question is not None:
        assert decision.decision_id is not None, "a decision that answers a question is named"
        drafts.append(_asking(data=DecisionAsked(decision_id=decision.decision_id, question=question), time=now))
    return drafts


async def step_number(house: House, placed: Placed) -> int:
    """The 1-based number of a thought on a recorded decision among the steps of its deliberation."""
    query = Query(subjects=(placed.subject,), before=placed.position + 1, limit=PAGE_EVENTS_MAX)
    standing = stand([event async for page in house.scan(query) for event in VOCABULARY.events(page.ndjson)])
    assert standing is not None, "the thought stands in the stream that was read"
    return last_step(standing.decision.deliberation) + len(standing.thoughts)


async def waiting(house: House, key: str | None, most_texts: int) -> list[Tracked]:
    """What waits now, of every agent, by key, the oldest first; of one key where it is named."""
    projection, _ = await house.engine.at(Thoughts)
    keys: dict[str, list[tuple[str, Thought]]] = {}
    for agent, thought in sorted(projection.waiting(house.clock()), key=lambda one: one[1].position):
        keys.setdefault(thought.scope.key(agent), []).append((agent, thought))
    chosen = [name for name in keys if key in (None, name)]
    return [await _tracked(house, name, keys[name], most_texts) for name in chosen]


async def taken(house: House, most: int, most_texts: int) -> list[Tracked]:
    """What the latest decisions took up, of every agent, the newest first; at most so many."""
    projection, _ = await house.engine.at(Thoughts)
    groups: dict[tuple[str, str], list[tuple[str, Thought]]] = {}
    for agent, thought in projection.taken():
        groups.setdefault((thought.taken_by, thought.scope.key(agent)), []).append((agent, thought))
    newest = sorted(groups.items(), key=lambda group: -group[1][-1][1].taken)[:most]
    return [await _tracked(house, key, thoughts, most_texts) for (_, key), thoughts in newest]


async def _tracked(house: House, key: str, thoughts: Sequence[tuple[str, Thought]], most_texts: int) -> Tracked:
    shown = thoughts[:most_texts]
    events = await _events_of(house, [thought for _, thought in shown])
    texts = {event.subject: text_and_time(event)[0] for event in events}
    first = [Kept(agent, thought, texts[thought.subject]) for agent, thought in shown]
    latest = thoughts[-1][1]
    moment = datetime.fromisoformat(latest.taken_time) if latest.taken else None
    return Tracked(key, latest.agent_id, len(thoughts), first, latest.taken_by or None, moment)


async def _pending(
    house: House, speaker: Speaker, scope: Scope, now: datetime, position: int | None = None
) -> list[Thought]:
    projection, _ = await house.engine.at(Thoughts)
    return projection.pending(speaker.source, scope.reach(), now, position)


async def _take_up(
    house: House,
    speaker: Speaker,
    decision: DecisionRecorded,
    waiting: Sequence[Thought],
    key: str | None,
    *,
    asked: bool,
) -> tuple[DecisionRecorded, list[Event]]:
    """The decision with as much of what waits as fits; it has an id of its own where other events are to name it."""
    if not waiting and not asked:
        return decision, []
    named = structs.replace(decision, decision_id=stream_name((await house.reader.head()).position, _rng))
    thoughts = fitting(named, await _events_of(house, waiting[:ITEMS_MAX]), speaker.source, key)
    if thoughts:
        return merged(named, thoughts), thoughts
    return (named if asked else decision), []


async def _check_question(house: House, position: int, question: str | None) -> None:
    """Errors: IdentityConflict, where the decision at a position was posted with another question, or with one."""
    page = await house.reader.read(Query(after=position - 1, limit=ITEMS_MAX + 2))
    first, *behind = VOCABULARY.events(page.ndjson)
    told = [
        event.data.question for event in behind if isinstance(event.data, DecisionAsked) and _together(first, event)
    ]
    if told[:1] != ([] if question is None else [question]):
        raise IdentityConflict(first.subject, first.source, first.id, position, 0)


def _together(decision: Event, event: Event) -> bool:
    """Whether an event of a decision's stream was posted with it."""
    of_decision = (decision.subject, decision.source, decision.time)
    return (event.subject, event.source, event.time) == of_decision


def _adopted(thought: Event, decision: DecisionRecorded) -> ThoughtAdopted:
    assert decision.decision_id is not None, "a decision that takes a thought up is named"
    return ThoughtAdopted(thought_id=thought.subject.removeprefix("thought/"), decision_id=decision.decision_id)


async def _repeat(
    house: House,
    speaker: Speaker,
    scope: Scope,
    stated: Stated,
    conflict: IdentityConflict,
    question: str | None,
) -> Decided:
    """The first answer to a call that differs from its first post by its time and by what waited then, if by no more.

    Errors: IdentityConflict, where it does.
    """
    first = VOCABULARY.event(await house.event(conflict.position))
    if not isinstance(first.data, DecisionRecorded):
        raise conflict
    await _check_question(house, first.position, question)
    thoughts = await _taken_up_with(house, first)
    decision = structs.replace(merged(stated(first.moment), thoughts), decision_id=first.data.decision_id)
    (placed,) = await house.record([_decision(data=decision, id=first.id, time=first.moment)], speaker)
    return await _first(house, speaker, scope, placed, thoughts)


async def _first(house: House, speaker: Speaker, scope: Scope, placed: Placed, thoughts: Sequence[Event]) -> Decided:
    """What was answered to the first post of a decision."""
    first = VOCABULARY.event(await house.event(placed.position))
    assert isinstance(first.data, DecisionRecorded)
    subjects = {thought.subject for thought in thoughts}
    waited = await _pending(house, speaker, scope, first.moment, first.position)
    left = sum(one.subject not in subjects for one in waited)
    return Decided(placed, first.moment, first.data, len(thoughts), left)


async def _taken_up_with(house: House, first: Event) -> list[Event]:
    """The thoughts that a decision took up in its own append, whose events stand right behind it."""
    page = await house.reader.read(Query(after=first.position, limit=ITEMS_MAX))
    name = first.subject.removeprefix("decision/")
    behind = takewhile(
        lambda event: (
            isinstance(event.data, ThoughtAdopted)
            and (event.data.decision_id, event.source, event.time) == (name, first.source, first.time)
        ),
        VOCABULARY.events(page.ndjson),
    )
    return await _events_of(house, list(behind))


async def _events_of(house: House, thoughts: Sequence[Thought | Event]) -> list[Event]:
    """Thoughts as they were recorded, the oldest in the log first."""
    query = Query(subjects=tuple(thought.subject for thought in thoughts), limit=PAGE_EVENTS_MAX)
    if not query.subjects:
        return []
    events = [event async for page in house.scan(query) for event in VOCABULARY.events(page.ndjson)]
    return [event for event in events if isinstance(event.data, ThoughtRecorded)]
