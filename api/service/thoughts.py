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

from api.auth import Principal
from api.service.deliberation import fitting, last_step, merged, text_and_time
from api.service.ledger import LedgerService
from events.decision import DecisionAsked, DecisionRecorded
from events.envelope import Draft, Event
from events.limits import ITEMS_MAX, PAGE_EVENTS_MAX
from events.registry import VOCABULARY
from events.thought import ThoughtAdopted, ThoughtRecorded
from ledger import AppendedEvent, Query
from ledger.admission import stream_name
from ledger.errors import IdentityConflict, LifecycleViolation
from projections.decisions.decision_state import fold_decision
from projections.decisions.pending_thoughts import ThoughtEntry, ThoughtIndex, ThoughtScope

Stated = Callable[[datetime], DecisionRecorded]
"""A decision as the client stated it at a moment, without what waits."""

_decision = VOCABULARY.kinds["decision.recorded.v1"].draft
_asking = VOCABULARY.kinds["decision.asked.v1"].draft
_adoption = VOCABULARY.kinds["thought.adopted.v1"].draft
_rng = random.Random()


class DecisionResult(NamedTuple):
    """A decision as it was recorded, where and when, how many thoughts it took up, and how many had to wait on."""

    placed: AppendedEvent
    moment: datetime
    decision: DecisionRecorded
    taken: int
    left: int


class StoredThought(NamedTuple):
    """A thought with its agent, where it stands, and its text."""

    agent: str
    thought: ThoughtEntry
    text: str


class PendingThoughts(NamedTuple):
    """Thoughts of one key, the first few with their texts; where a decision took them up, which and when."""

    key: str
    agent_id: str | None
    total: int
    first: list[StoredThought]
    decision_id: str | None = None
    moment: datetime | None = None


async def decide(
    ledger: LedgerService,
    caller: Principal,
    scope: ThoughtScope,
    stated: Stated,
    key: str | None,
    question: str | None = None,
) -> DecisionResult:
    """Record a decision with the thoughts of its agent that wait in its scope, the oldest first.

    A thought that would not fit, by the limits of a line and of a list, waits on. `key`, where the client gives one, is
    the event's id: the same again with the same content gives the first answer again, whatever waits by then. The
    question that it answers, where one is told, is an event of the same append. A decision may have an id already.
    Errors: those of `LedgerService.record`; nothing was taken up.
    """
    now = ledger.clock()
    refused: set[str] = set()
    while True:
        if (earlier := await _recorded(ledger, stated(now).decision_id)) is not None:
            return await _repeat(ledger, caller, scope, stated, key, earlier, question)
        waiting = [one for one in await _pending(ledger, caller, scope, now) if one.subject not in refused]
        decision, thoughts = await _take_up(ledger, caller, stated(now), waiting, key, asked=question is not None)
        drafts = _drafts(decision, thoughts, question, key, now)
        try:
            placed = (await ledger.record(drafts, caller))[0]
        except LifecycleViolation as error:
            if error.subject == f"decision/{decision.decision_id}":
                continue  # the id is taken: another, or the decision that the client named was recorded meanwhile
            if not thoughts:
                raise
            refused.add(error.subject)
        except IdentityConflict as error:
            if error.position <= (await ledger.reader.head()).position:
                first = await _first_post(ledger, error)
                return await _repeat(ledger, caller, scope, stated, key, first, question)
        else:
            if placed.duplicate:
                await _check_question(ledger, placed.position, question)
                return await _first(ledger, caller, scope, placed, ())
            return DecisionResult(placed, now, decision, len(thoughts), len(waiting) - len(thoughts))


async def _recorded(ledger: LedgerService, decision_id: str | None) -> Event | None:
    """Return the event that recorded a decision under the id that the client chose, if there is one."""
    if decision_id is None:
        return None
    page = await ledger.reader.read(Query(subjects=(f"decision/{decision_id}",), limit=1))
    return VOCABULARY.event(page.ndjson) if page.positions else None


async def _first_post(ledger: LedgerService, conflict: IdentityConflict) -> Event:
    """Return the decision that has the id of a conflict. Errors: IdentityConflict, if it is another event."""
    first = VOCABULARY.event(await ledger.event(conflict.position))
    if not isinstance(first.data, DecisionRecorded):
        raise conflict
    return first


def _drafts(
    decision: DecisionRecorded, thoughts: Sequence[Event], question: str | None, key: str | None, now: datetime
) -> list[Draft]:
    drafts: list[Draft] = [_decision(data=decision, id=key, time=now)]
    drafts += [_adoption(data=_adopted(thought, decision), time=now) for thought in thoughts]
    if question is not None:
        assert decision.decision_id is not None, "a decision that answers a question is named"
        drafts.append(_asking(data=DecisionAsked(decision_id=decision.decision_id, question=question), time=now))
    return drafts


async def step_number(ledger: LedgerService, placed: AppendedEvent) -> int:
    """The 1-based number of a thought on a recorded decision among the steps of its deliberation."""
    query = Query(subjects=(placed.subject,), before=placed.position + 1, limit=PAGE_EVENTS_MAX)
    standing = fold_decision([event async for page in ledger.scan(query) for event in VOCABULARY.events(page.ndjson)])
    assert standing is not None, "the thought stands in the stream that was read"
    return last_step(standing.decision.deliberation) + len(standing.thoughts)


async def waiting(ledger: LedgerService, key: str | None, most_texts: int) -> list[PendingThoughts]:
    """What waits now, of every agent, by key, the oldest first; of one key where it is named."""
    projection, _ = await ledger.engine.at(ThoughtIndex)
    keys: dict[str, list[tuple[str, ThoughtEntry]]] = {}
    for agent, thought in sorted(projection.waiting(ledger.clock()), key=lambda one: one[1].position):
        keys.setdefault(thought.scope.key(agent), []).append((agent, thought))
    chosen = [name for name in keys if key in (None, name)]
    return [await _tracked(ledger, name, keys[name], most_texts) for name in chosen]


async def taken(ledger: LedgerService, most: int, most_texts: int) -> list[PendingThoughts]:
    """What the latest decisions took up, of every agent, the newest first; at most so many."""
    projection, _ = await ledger.engine.at(ThoughtIndex)
    groups: dict[tuple[str, str], list[tuple[str, ThoughtEntry]]] = {}
    for agent, thought in projection.taken():
        groups.setdefault((thought.taken_by, thought.scope.key(agent)), []).append((agent, thought))
    newest = sorted(groups.items(), key=lambda group: -group[1][-1][1].taken)[:most]
    return [await _tracked(ledger, key, thoughts, most_texts) for (_, key), thoughts in newest]


async def _tracked(
    ledger: LedgerService, key: str, thoughts: Sequence[tuple[str, ThoughtEntry]], most_texts: int
) -> PendingThoughts:
    shown = thoughts[:most_texts]
    events = await _events_of(ledger, [thought for _, thought in shown])
    texts = {event.subject: text_and_time(event)[0] for event in events}
    first = [StoredThought(agent, thought, texts[thought.subject]) for agent, thought in shown]
    latest = thoughts[-1][1]
    moment = datetime.fromisoformat(latest.taken_time) if latest.taken else None
    return PendingThoughts(key, latest.agent_id, len(thoughts), first, latest.taken_by or None, moment)


async def _pending(
    ledger: LedgerService, caller: Principal, scope: ThoughtScope, now: datetime, position: int | None = None
) -> list[ThoughtEntry]:
    projection, _ = await ledger.engine.at(ThoughtIndex)
    return projection.pending(caller.source, scope.reach(), now, position)


async def _take_up(
    ledger: LedgerService,
    caller: Principal,
    decision: DecisionRecorded,
    waiting: Sequence[ThoughtEntry],
    key: str | None,
    *,
    asked: bool,
) -> tuple[DecisionRecorded, list[Event]]:
    """The decision with as much of what waits as fits; it has an id of its own where other events are to name it."""
    if not waiting and not asked:
        return decision, []
    named = decision
    if decision.decision_id is None:
        named = structs.replace(decision, decision_id=await _free_id(ledger))
    thoughts = fitting(named, await _events_of(ledger, waiting[:ITEMS_MAX]), caller.source, key)
    if thoughts:
        return merged(named, thoughts), thoughts
    return (named if asked else decision), []


async def _free_id(ledger: LedgerService) -> str:
    """Make the id of a decision. A retry that made the id of its first post again would append the question again."""
    while True:
        made = stream_name((await ledger.reader.head()).position, _rng)
        if await _recorded(ledger, made) is None:
            return made


async def _check_question(ledger: LedgerService, position: int, question: str | None) -> None:
    """Errors: IdentityConflict, where the decision at a position was posted with another question, or with one."""
    page = await ledger.reader.read(Query(after=position - 1, limit=ITEMS_MAX + 2))
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
    ledger: LedgerService,
    caller: Principal,
    scope: ThoughtScope,
    stated: Stated,
    key: str | None,
    first: Event,
    question: str | None,
) -> DecisionResult:
    """The first answer to a call that differs from its first post by its time and by what waited then, if by no more.

    Errors: IdentityConflict, where it does; LifecycleViolation, where the first post had another id.
    """
    assert isinstance(first.data, DecisionRecorded)
    thoughts = await _taken_up_with(ledger, first)
    decision = merged(stated(first.moment), thoughts)
    if decision.decision_id is None:
        decision = structs.replace(decision, decision_id=first.data.decision_id)
    if (caller.source, key) == (first.source, first.id):
        await _check_question(ledger, first.position, question)
    (placed,) = await ledger.record([_decision(data=decision, id=key, time=first.moment)], caller)
    return await _first(ledger, caller, scope, placed, thoughts)


async def _first(
    ledger: LedgerService, caller: Principal, scope: ThoughtScope, placed: AppendedEvent, thoughts: Sequence[Event]
) -> DecisionResult:
    """What was answered to the first post of a decision."""
    first = VOCABULARY.event(await ledger.event(placed.position))
    assert isinstance(first.data, DecisionRecorded)
    subjects = {thought.subject for thought in thoughts}
    waited = await _pending(ledger, caller, scope, first.moment, first.position)
    left = sum(one.subject not in subjects for one in waited)
    return DecisionResult(placed, first.moment, first.data, len(thoughts), left)


async def _taken_up_with(ledger: LedgerService, first: Event) -> list[Event]:
    """The thoughts that a decision took up in its own append, whose events stand right behind it."""
    page = await ledger.reader.read(Query(after=first.position, limit=ITEMS_MAX))
    name = first.subject.removeprefix("decision/")
    behind = takewhile(
        lambda event: (
            isinstance(event.data, ThoughtAdopted)
            and (event.data.decision_id, event.source, event.time) == (name, first.source, first.time)
        ),
        VOCABULARY.events(page.ndjson),
    )
    return await _events_of(ledger, list(behind))


async def _events_of(ledger: LedgerService, thoughts: Sequence[ThoughtEntry | Event]) -> list[Event]:
    """Thoughts as they were recorded, the oldest in the log first."""
    query = Query(subjects=tuple(thought.subject for thought in thoughts), limit=PAGE_EVENTS_MAX)
    if not query.subjects:
        return []
    events = [event async for page in ledger.scan(query) for event in VOCABULARY.events(page.ndjson)]
    return [event for event in events if isinstance(event.data, ThoughtRecorded)]
