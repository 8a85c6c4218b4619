"""Record decisions together with the thoughts that led to them.

The pending thoughts in a decision's scope become the last steps of its deliberation. The decision and the adoption of
each thought are one append: a crash between thinking and deciding loses nothing, a refused decision adopts nothing,
and if two decisions try to adopt the same thought the ledger accepts one; the other reads again and retries.
"""

import random
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import takewhile
from typing import NamedTuple

from msgspec import structs

from api.auth import Principal
from api.service.deliberation import (
    append_steps,
    last_step,
    select_fitting,
    text_and_time,
)
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

StateDecision = Callable[[datetime], DecisionRecorded]
"""Returns a decision as the client stated it, for a time of recording, without pending thoughts."""

_decision = VOCABULARY.kinds["decision.recorded.v1"].draft
_asking = VOCABULARY.kinds["decision.asked.v1"].draft
_adoption = VOCABULARY.kinds["thought.adopted.v1"].draft
_rng = random.Random()


class DecisionResult(NamedTuple):
    """A recorded decision, where and when, how many thoughts it adopted, and how many stay pending."""

    placed: AppendedEvent
    moment: datetime
    decision: DecisionRecorded
    adopted: int
    left: int


class StoredThought(NamedTuple):
    """A thought with its agent, its entry in the index, and its text."""

    agent: str
    thought: ThoughtEntry
    text: str


class PendingThoughts(NamedTuple):
    """Thoughts of one key, the first few with their texts; if a decision adopted them, its id and time."""

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
    stated: StateDecision,
    key: str | None,
    question: str | None = None,
) -> DecisionResult:
    """Record a decision with the pending thoughts of its agent in its scope, the oldest first.

    A thought that does not fit, by the limits of a line and of a list, stays pending. `key`, if the client gives one,
    is the event's id: a repetition with the same content returns the first result, whatever is pending by then. The
    `question` that the decision answers, if given, is an event of the same append. A decision may have an id already.
    Errors: those of `LedgerService.record`; no thought was adopted.
    """
    now = ledger.clock()
    refused: set[str] = set()
    while True:
        if (earlier := await _recorded(ledger, stated(now).decision_id)) is not None:
            return await _repeat_first_result(ledger, caller, scope, stated, key, earlier, question)
        pending = [one for one in await _pending(ledger, caller, scope, now) if one.subject not in refused]
        decision, thoughts = await _add_pending_thoughts(
            ledger, caller, stated(now), pending, key, has_question=question is not None
        )
        drafts = _drafts(decision, thoughts, question, key, now)
        try:
            placed = (await ledger.record(drafts, caller))[0]
        except LifecycleViolation as error:
            if error.subject == f"decision/{decision.decision_id}":
                continue  # the id is taken: by another decision, or by this one, recorded meanwhile
            if not thoughts:
                raise
            refused.add(error.subject)
        except IdentityConflict as error:
            if error.position <= (await ledger.reader.head()).position:
                first = await _first_post(ledger, error)
                return await _repeat_first_result(ledger, caller, scope, stated, key, first, question)
        else:
            if placed.duplicate:
                await _check_question(ledger, placed.position, question)
                return await _first_result(ledger, caller, scope, placed, ())
            return DecisionResult(placed, now, decision, len(thoughts), len(pending) - len(thoughts))


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
    drafts += [_adoption(data=_adoption_payload(thought, decision), time=now) for thought in thoughts]
    if question is not None:
        assert decision.decision_id is not None, "a decision that answers a question is named"
        drafts.append(_asking(data=DecisionAsked(decision_id=decision.decision_id, question=question), time=now))
    return drafts


async def step_number(ledger: LedgerService, placed: AppendedEvent) -> int:
    """Return the 1-based number of a thought on a recorded decision among the steps of its deliberation."""
    query = Query(subjects=(placed.subject,), before=placed.position + 1, limit=PAGE_EVENTS_MAX)
    state = fold_decision([event async for page in ledger.scan(query) for event in VOCABULARY.events(page.ndjson)])
    assert state is not None, "the stream that was read contains the thought"
    return last_step(state.decision.deliberation) + len(state.thoughts)


async def list_pending(ledger: LedgerService, key: str | None, most_texts: int) -> list[PendingThoughts]:
    """Return the pending thoughts of every agent, by key, the oldest first; of one key if it is named."""
    projection, _ = await ledger.engine.at(ThoughtIndex)
    keys: dict[str, list[tuple[str, ThoughtEntry]]] = {}
    for agent, thought in sorted(projection.all_pending(ledger.clock()), key=lambda one: one[1].position):
        keys.setdefault(thought.scope.key(agent), []).append((agent, thought))
    chosen = [name for name in keys if key in (None, name)]
    return [await _summarize_group(ledger, name, keys[name], most_texts) for name in chosen]


async def list_adopted(ledger: LedgerService, most: int, most_texts: int) -> list[PendingThoughts]:
    """Return the thoughts that the latest decisions adopted, the newest first; at most `most` groups."""
    projection, _ = await ledger.engine.at(ThoughtIndex)
    groups: dict[tuple[str, str], list[tuple[str, ThoughtEntry]]] = {}
    for agent, thought in projection.adopted():
        groups.setdefault((thought.adopted_by, thought.scope.key(agent)), []).append((agent, thought))
    newest = sorted(groups.items(), key=lambda group: -group[1][-1][1].adopted_position)[:most]
    return [await _summarize_group(ledger, key, thoughts, most_texts) for (_, key), thoughts in newest]


async def _summarize_group(
    ledger: LedgerService, key: str, thoughts: Sequence[tuple[str, ThoughtEntry]], most_texts: int
) -> PendingThoughts:
    shown = thoughts[:most_texts]
    events = await _events_of(ledger, [thought for _, thought in shown])
    texts = {event.subject: text_and_time(event)[0] for event in events}
    first = [StoredThought(agent, thought, texts[thought.subject]) for agent, thought in shown]
    latest = thoughts[-1][1]
    moment = datetime.fromisoformat(latest.adopted_time) if latest.adopted_position else None
    return PendingThoughts(key, latest.agent_id, len(thoughts), first, latest.adopted_by or None, moment)


async def _pending(
    ledger: LedgerService, caller: Principal, scope: ThoughtScope, now: datetime, position: int | None = None
) -> list[ThoughtEntry]:
    projection, _ = await ledger.engine.at(ThoughtIndex)
    return projection.pending(caller.source, scope.matching_scopes(), now, position)


async def _add_pending_thoughts(
    ledger: LedgerService,
    caller: Principal,
    decision: DecisionRecorded,
    pending: Sequence[ThoughtEntry],
    key: str | None,
    *,
    has_question: bool,
) -> tuple[DecisionRecorded, list[Event]]:
    """Add the pending thoughts that fit to a decision; return it and them.

    The decision gets an id of its own if other events are to name it.
    """
    if not pending and not has_question:
        return decision, []
    named = decision
    if decision.decision_id is None:
        named = structs.replace(decision, decision_id=await _free_id(ledger))
    thoughts = select_fitting(named, await _events_of(ledger, pending[:ITEMS_MAX]), caller.source, key)
    if thoughts:
        return append_steps(named, thoughts), thoughts
    return (named if has_question else decision), []


async def _free_id(ledger: LedgerService) -> str:
    """Make the id of a decision. A retry that made the id of its first post again would append the question again."""
    while True:
        made = stream_name((await ledger.reader.head()).position, _rng)
        if await _recorded(ledger, made) is None:
            return made


async def _check_question(ledger: LedgerService, position: int, question: str | None) -> None:
    """Check the question of an earlier post. Errors: IdentityConflict, if it had another question, or one."""
    page = await ledger.reader.read(Query(after=position - 1, limit=ITEMS_MAX + 2))
    first, *behind = VOCABULARY.events(page.ndjson)
    questions = [
        event.data.question for event in behind if isinstance(event.data, DecisionAsked) and _is_same_post(first, event)
    ]
    if questions[:1] != ([] if question is None else [question]):
        raise IdentityConflict(first.subject, first.source, first.id, position, 0)


def _is_same_post(decision: Event, event: Event) -> bool:
    """Tell whether an event of a decision's stream was posted with it."""
    of_decision = (decision.subject, decision.source, decision.time)
    return (event.subject, event.source, event.time) == of_decision


def _adoption_payload(thought: Event, decision: DecisionRecorded) -> ThoughtAdopted:
    assert decision.decision_id is not None, "a decision that adopts a thought is named"
    return ThoughtAdopted(thought_id=thought.subject.removeprefix("thought/"), decision_id=decision.decision_id)


async def _repeat_first_result(
    ledger: LedgerService,
    caller: Principal,
    scope: ThoughtScope,
    stated: StateDecision,
    key: str | None,
    first: Event,
    question: str | None,
) -> DecisionResult:
    """Return the first result for a call that differs from its first post only by its time and the pending thoughts.

    Errors: IdentityConflict, if it differs by more; LifecycleViolation, if the first post had another id.
    """
    assert isinstance(first.data, DecisionRecorded)
    thoughts = await _thoughts_adopted_with(ledger, first)
    decision = append_steps(stated(first.moment), thoughts)
    if decision.decision_id is None:
        decision = structs.replace(decision, decision_id=first.data.decision_id)
    if (caller.source, key) == (first.source, first.id):
        await _check_question(ledger, first.position, question)
    (placed,) = await ledger.record([_decision(data=decision, id=key, time=first.moment)], caller)
    return await _first_result(ledger, caller, scope, placed, thoughts)


async def _first_result(
    ledger: LedgerService, caller: Principal, scope: ThoughtScope, placed: AppendedEvent, thoughts: Sequence[Event]
) -> DecisionResult:
    """Return the result of the first post of a decision."""
    first = VOCABULARY.event(await ledger.event(placed.position))
    assert isinstance(first.data, DecisionRecorded)
    subjects = {thought.subject for thought in thoughts}
    waited = await _pending(ledger, caller, scope, first.moment, first.position)
    left = sum(one.subject not in subjects for one in waited)
    return DecisionResult(placed, first.moment, first.data, len(thoughts), left)


async def _thoughts_adopted_with(ledger: LedgerService, first: Event) -> list[Event]:
    """Return the thoughts that a decision adopted in its own append: their adoptions follow it in the log."""
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
    """Return thoughts as they were recorded, the oldest in the log first."""
    query = Query(subjects=tuple(thought.subject for thought in thoughts), limit=PAGE_EVENTS_MAX)
    if not query.subjects:
        return []
    events = [event async for page in ledger.scan(query) for event in VOCABULARY.events(page.ndjson)]
    return [event for event in events if isinstance(event.data, ThoughtRecorded)]
