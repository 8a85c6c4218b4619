"""Record decisions together with the pending thoughts and tracked calls that led to them.

The pending thoughts in a decision's scope become the last steps of its deliberation: the decision adopts them. The
decision and the adoption of each thought are one append: a refused decision adopts nothing, and if two decisions try to
adopt the same thought, the ledger accepts one; the other reads again and retries.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import takewhile
from typing import NamedTuple

from msgspec import structs

from api.principal import Principal
from api.service.deliberation_steps import (
    append_steps,
    last_step,
    select_fitting,
    text_of,
)
from api.service.ledger import LedgerService
from api.service.link_target import WEIGHT_MIN, LinkTarget
from events.decision import DecisionAsked, DecisionRecorded, DecisionTestStated
from events.envelope import Draft, Event
from events.limits import ITEMS_MAX, PAGE_EVENTS_MAX
from events.link import DecisionLinked
from events.registry import VOCABULARY
from events.thought import RelatedDecision, ThoughtAdopted, ThoughtRecorded, ThoughtTracked
from ledger.admission import generate_stream_id
from ledger.errors import IdentityConflict, LifecycleViolation
from ledger.log import Query
from projections.decisions.decision_state import fold_decision
from projections.decisions.thought_index import THOUGHT_AGE_MAX, ThoughtEntry, ThoughtIndex, ThoughtScope
from tallystick.shapes.appended import AppendedEvent, GuardrailWarning

BuildDecision = Callable[[datetime], DecisionRecorded]
"""Returns the decision of the client, given the time of recording, without pending thoughts."""

_adoption = VOCABULARY.event_types["thought.adopted.v1"].draft
_rng = random.Random()

AUTO_LINK = "auto-link"
"""What made these links, as CSTP names it."""

WEIGHT_DIGITS = 3


class DecisionResult(NamedTuple):
    """A recorded decision with its position and time; how many thoughts it adopted, and how many stay pending.

    `related` are the decisions that the adopted queries found, the nearest first; it is linked to each. `warnings` are
    the circuit breakers that block it and the guardrails that fired on it; neither refuses it.
    """

    placed: AppendedEvent
    moment: datetime
    decision: DecisionRecorded
    adopted: int
    left: int
    related: tuple[RelatedDecision, ...] = ()
    warnings: tuple[GuardrailWarning, ...] = ()

    @property
    def decision_id(self) -> str:
        return self.placed.subject.removeprefix("decision/")


_Companion = DecisionTestStated | DecisionAsked | DecisionLinked


class _Companions(NamedTuple):
    """What is posted with a decision: the question it answers, the decisions to which it is linked, and its test."""

    question: str | None = None
    related: tuple[LinkTarget, ...] = ()
    test: DecisionTestStated | None = None
    """The test; it gets the decision's id."""

    def payloads(self, decision_id: str) -> list[_Companion]:
        """Return the payloads of their events, in the order in which they follow the decision."""
        stated = [] if self.test is None else [structs.replace(self.test, decision_id=decision_id)]
        asked = [] if self.question is None else [DecisionAsked(decision_id=decision_id, question=self.question)]
        return [*stated, *asked, *(related.link_from(decision_id) for related in self.related)]


class StoredThought(NamedTuple):
    """A thought or a tracked call with its agent, its entry in the index, and its event."""

    agent: str
    thought: ThoughtEntry
    event: Event

    @property
    def text(self) -> str:
        return text_of(self.event)


class PendingThoughts(NamedTuple):
    """A group of thoughts with one key, the first few with their texts; if a decision adopted them, its id and time."""

    key: str
    agent_id: str | None
    total: int
    first: list[StoredThought]
    decision_id: str | None = None
    moment: datetime | None = None
    expired: bool = False


class Thinker(NamedTuple):
    """Whose pending thoughts a decision adopts: their sources, and their scope."""

    sources: frozenset[str]
    scope: ThoughtScope


async def record_with_thoughts(
    ledger: LedgerService,
    caller: Principal,
    thinker: Thinker,
    make_decision: BuildDecision,
    event_id: str | None,
    question: str | None = None,
    related: Sequence[LinkTarget] = (),
    *,
    test: DecisionTestStated | None = None,
    auto: bool = False,
) -> DecisionResult:
    """Record a decision of the caller with the pending thoughts and tracked calls of a thinker, the oldest first.

    With `auto`, thoughts are also listed as inputs of the deliberation; tracked calls always are.

    A thought that does not fit, by the limits of a line and of a list, stays pending. `event_id` is chosen by the
    client: a repetition with the same content returns the first result, also if other thoughts are pending by then.
    The `question` that the decision answers, links to `related` decisions, and its `test` become events of the same
    append. The decision may have an id already.
    Errors: those of `LedgerService.record`; no thought was adopted.
    """
    now = ledger.clock()
    companions = _Companions(question, tuple(related), test)
    # left out at the next try, also where the index still lists them as pending, so that the loop ends
    refused: set[str] = set()
    while True:
        # a repetition cannot be built from what is pending now: its first post adopted what was pending then
        if (earlier := await _recorded(ledger, make_decision(now).decision_id)) is not None:
            return await _repeat_first_result(
                ledger, caller, thinker, make_decision, event_id, earlier, companions, auto=auto
            )
        pending = [entry for entry in await _pending(ledger, thinker, now) if entry.subject not in refused]
        decision, thoughts = await _add_pending_thoughts(
            ledger, caller, make_decision(now), pending, event_id, named=companions != _Companions(), auto=auto
        )
        found = nearest_related(thoughts, decision, companions.related)
        drafts = _drafts(decision, thoughts, companions, found, event_id, now)
        try:
            placed = (await ledger.record(drafts, caller))[0]
        except LifecycleViolation as error:
            if error.subject == f"decision/{decision.decision_id}":
                continue  # the id is taken: by another decision, or by this one, recorded meanwhile
            if not thoughts:
                raise  # nothing can be left out: the next try would be refused, too
            refused.add(error.subject)
        except IdentityConflict as error:
            if error.position <= (await ledger.reader.head()).position:
                first = await _first_post(ledger, error)
                return await _repeat_first_result(
                    ledger, caller, thinker, make_decision, event_id, first, companions, auto=auto
                )
        else:
            if placed.duplicate:
                # the ledger compared the decision alone: with other companions it is another post
                await _check_companions(ledger, placed.position, companions)
                return await _first_result(ledger, thinker, placed, (), companions)
            return DecisionResult(placed, now, decision, len(thoughts), len(pending) - len(thoughts), found)


async def _recorded(ledger: LedgerService, decision_id: str | None) -> Event | None:
    """Return the event that recorded a decision; None if no decision has that id."""
    if decision_id is None:
        return None
    page = await ledger.reader.read(Query(subjects=(f"decision/{decision_id}",), limit=1))
    return VOCABULARY.event(page.ndjson) if page.positions else None


async def _first_post(ledger: LedgerService, conflict: IdentityConflict) -> Event:
    """Return the recorded decision whose event id is in conflict. Errors: IdentityConflict, if it is another event."""
    first = VOCABULARY.event(await ledger.event(conflict.position))
    if not isinstance(first.data, DecisionRecorded):
        raise conflict
    return first


def _drafts(
    decision: DecisionRecorded,
    thoughts: Sequence[Event],
    companions: _Companions,
    found: Sequence[RelatedDecision],
    event_id: str | None,
    now: datetime,
) -> list[Draft]:
    drafts: list[Draft] = [VOCABULARY.draft_of(decision, id=event_id, time=now)]
    drafts += [_adoption(data=_adoption_payload(thought, decision), time=now) for thought in thoughts]
    if companions != _Companions() or found:
        assert decision.decision_id is not None, "a decision that other events name has an id"
        payloads = [*companions.payloads(decision.decision_id), *links_to(found, decision.decision_id)]
        drafts += [
            VOCABULARY.draft_of(payload, id=_companion_id(event_id, number), time=now)
            for number, payload in enumerate(payloads)
        ]
    return drafts


def _companion_id(event_id: str | None, number: int) -> str | None:
    """Return the id of an event that is posted with a decision; None, if the decision may be posted only once.

    A decision that is posted twice at the same moment is one event. So must be what comes with it.
    """
    if event_id is None:
        return None
    return f"companion/{sha256(event_id.encode()).hexdigest()}/{number}"


async def step_number(ledger: LedgerService, placed: AppendedEvent) -> int:
    """Return the number, from 1, of a thought on a recorded decision among the steps of its deliberation."""
    query = Query(subjects=(placed.subject,), before=placed.position + 1, limit=PAGE_EVENTS_MAX)
    state = fold_decision([event async for page in ledger.scan(query) for event in VOCABULARY.events(page.ndjson)])
    assert state is not None, "the stream that was read contains the thought"
    return last_step(state.decision.deliberation) + len(state.thoughts)


async def count_pending(ledger: LedgerService, sources: Iterable[str]) -> int:
    """Return how many thoughts of some agents a decision without `agent_id` and `decision_id` would adopt."""
    projection, _ = await ledger.at(ThoughtIndex)
    scopes, now = ThoughtScope().matching_scopes(), ledger.clock()
    return sum(len(projection.pending(source, scopes, now)) for source in sources)


async def list_pending(ledger: LedgerService, key: str | None, texts_max: int) -> list[PendingThoughts]:
    """Return the pending thoughts of every agent, grouped by key, the oldest first; with `key`, only that group."""
    projection, _ = await ledger.at(ThoughtIndex)
    keys: dict[str, list[tuple[str, ThoughtEntry]]] = {}
    for agent, thought in sorted(projection.all_pending(ledger.clock()), key=lambda item: item[1].position):
        keys.setdefault(thought.scope.key(agent), []).append((agent, thought))
    selected = [name for name in keys if key in (None, name)]
    return [await _summarize_group(ledger, name, keys[name], texts_max) for name in selected]


async def list_adopted(ledger: LedgerService, limit: int, texts_max: int) -> list[PendingThoughts]:
    """Return the thoughts that the latest decisions adopted, the newest group first, at most `limit` groups."""
    projection, _ = await ledger.at(ThoughtIndex)
    groups: dict[tuple[str, str], list[tuple[str, ThoughtEntry]]] = {}
    for agent, thought in projection.adopted():
        groups.setdefault((thought.adopted_by, thought.scope.key(agent)), []).append((agent, thought))
    newest = sorted(groups.items(), key=lambda group: -group[1][-1][1].adopted_position)[:limit]
    return [await _summarize_group(ledger, key, thoughts, texts_max) for (_, key), thoughts in newest]


async def _summarize_group(
    ledger: LedgerService, key: str, thoughts: Sequence[tuple[str, ThoughtEntry]], texts_max: int
) -> PendingThoughts:
    shown = thoughts[:texts_max]
    events = await _read_thoughts(ledger, [thought for _, thought in shown])
    by_subject = {event.subject: event for event in events}
    first = [StoredThought(agent, thought, by_subject[thought.subject]) for agent, thought in shown]
    latest = thoughts[-1][1]
    moment = datetime.fromisoformat(latest.adopted_time) if latest.adopted_position else None
    return PendingThoughts(key, latest.agent_id, len(thoughts), first, latest.adopted_by or None, moment)


async def list_expired(ledger: LedgerService, limit: int, texts_max: int) -> list[PendingThoughts]:
    """Return the thoughts that no decision adopted in time, grouped by key, the newest group first.

    `moment` is when the newest of a group expired.
    """
    projection, _ = await ledger.at(ThoughtIndex)
    keys: dict[str, list[tuple[str, ThoughtEntry]]] = {}
    for agent, thought in projection.expired(ledger.clock()):
        keys.setdefault(thought.scope.key(agent), []).append((agent, thought))
    newest = sorted(keys.items(), key=lambda group: group[1][-1][1].time, reverse=True)[:limit]
    groups = [await _summarize_group(ledger, key, thoughts, texts_max) for key, thoughts in newest]
    moments = [datetime.fromisoformat(thoughts[-1][1].time) + THOUGHT_AGE_MAX for _, thoughts in newest]
    return [group._replace(moment=moment, expired=True) for group, moment in zip(groups, moments, strict=True)]


async def _pending(
    ledger: LedgerService, thinker: Thinker, now: datetime, position: int | None = None
) -> list[ThoughtEntry]:
    projection, _ = await ledger.at(ThoughtIndex)
    scopes = thinker.scope.matching_scopes()
    entries = [entry for source in thinker.sources for entry in projection.pending(source, scopes, now, position)]
    return sorted(entries, key=lambda entry: entry.position)


async def _add_pending_thoughts(
    ledger: LedgerService,
    caller: Principal,
    decision: DecisionRecorded,
    pending: Sequence[ThoughtEntry],
    event_id: str | None,
    *,
    named: bool,
    auto: bool,
) -> tuple[DecisionRecorded, list[Event]]:
    """Return a decision with the pending thoughts that fit as further steps, and these thoughts.

    The decision gets an id if other events must name it: these thoughts, or others if `named`.
    """
    if not pending and not named:
        return decision, []
    with_id = decision
    if decision.decision_id is None:
        with_id = structs.replace(decision, decision_id=await _free_id(ledger))
    events = await _read_thoughts(ledger, pending[:ITEMS_MAX])
    thoughts = select_fitting(with_id, events, caller.source, event_id, auto=auto)
    if thoughts:
        return append_steps(with_id, thoughts, auto=auto), thoughts
    return (with_id if named else decision), []  # without an id, as the first post: so a retry is equal


async def _free_id(ledger: LedgerService) -> str:
    """Return an unused id. If a retry had the id of its first post, it would append its companions a second time."""
    while True:
        decision_id = generate_stream_id((await ledger.reader.head()).position, _rng)
        if await _recorded(ledger, decision_id) is None:
            return decision_id


async def _check_companions(ledger: LedgerService, position: int, companions: _Companions) -> None:
    """Check that an earlier post had the same question and links, or none. Errors: IdentityConflict."""
    # the decision, its adoptions, its test, its question and its links: no post has more
    page = await ledger.reader.read(Query(after=position - 1, limit=2 * ITEMS_MAX + 3))
    first, *later = VOCABULARY.events(page.ndjson)
    decision_id = first.subject.removeprefix("decision/")
    posted = [data for event in later if (data := _companion(event, first, decision_id)) is not None]
    stated = [data for data in posted if isinstance(data, DecisionTestStated)][:1]
    asked = [data for data in posted if isinstance(data, DecisionAsked)][:1]
    links = [data for data in posted if isinstance(data, DecisionLinked)]
    links_itself = any(target.decision_id == decision_id for target in companions.related)
    if links_itself or [*stated, *asked, *links] != companions.payloads(decision_id):
        raise IdentityConflict(first.subject, first.source, first.id, position, 0)


def _companion(event: Event, decision: Event, decision_id: str) -> _Companion | None:
    """Return the payload of an event that was posted with a decision, without the id that the ledger made.

    Links that follow from adopted queries are none.
    """
    data = event.data
    if (event.source, event.time) != (decision.source, decision.time):
        return None
    if isinstance(data, DecisionAsked | DecisionTestStated) and data.decision_id == decision_id:
        return data
    if isinstance(data, DecisionLinked) and data.source_id == decision_id and data.created_by != AUTO_LINK:
        return structs.replace(data, link_id=None)
    return None


def _adoption_payload(thought: Event, decision: DecisionRecorded) -> ThoughtAdopted:
    assert decision.decision_id is not None, "a decision that adopts a thought is named"
    return ThoughtAdopted(thought_id=thought.subject.removeprefix("thought/"), decision_id=decision.decision_id)


async def _repeat_first_result(
    ledger: LedgerService,
    caller: Principal,
    thinker: Thinker,
    make_decision: BuildDecision,
    event_id: str | None,
    first: Event,
    companions: _Companions,
    *,
    auto: bool,
) -> DecisionResult:
    """Return the first result for a call that differs from the first post only in its time and the pending thoughts.

    Errors: IdentityConflict, if it differs otherwise; LifecycleViolation, if the first post had another id.
    """
    assert isinstance(first.data, DecisionRecorded)
    thoughts = await _thoughts_adopted_with(ledger, first)
    decision = append_steps(make_decision(first.moment), thoughts, auto=auto)
    # the ledger or the first post made the id: a retry without one means the same decision
    if decision.decision_id is None:
        decision = structs.replace(decision, decision_id=first.data.decision_id)
    # another post with the id of this decision is refused by the append below, whatever its companions
    if (caller.source, event_id) == (first.source, first.id):
        await _check_companions(ledger, first.position, companions)
    (placed,) = await ledger.record([VOCABULARY.draft_of(decision, id=event_id, time=first.moment)], caller)
    return await _first_result(ledger, thinker, placed, thoughts, companions)


async def _first_result(
    ledger: LedgerService,
    thinker: Thinker,
    placed: AppendedEvent,
    thoughts: Sequence[Event],
    companions: _Companions,
) -> DecisionResult:
    """Return the result of the first post of a decision."""
    first = VOCABULARY.event(await ledger.event(placed.position))
    assert isinstance(first.data, DecisionRecorded)
    subjects = {thought.subject for thought in thoughts}
    # as of the first post: later thoughts, and later adoptions, must not change the result of a retry
    pending = await _pending(ledger, thinker, first.moment, first.position)
    left = sum(entry.subject not in subjects for entry in pending)
    related = nearest_related(thoughts, first.data, companions.related)
    return DecisionResult(placed, first.moment, first.data, len(thoughts), left, related)


async def _thoughts_adopted_with(ledger: LedgerService, first: Event) -> list[Event]:
    """Return the thoughts that a decision adopted. Their adoptions follow the decision in the log."""
    page = await ledger.reader.read(Query(after=first.position, limit=ITEMS_MAX))
    name = first.subject.removeprefix("decision/")
    # the log marks no end of a batch: what was posted with the decision has its source and its time
    adoptions = takewhile(
        lambda event: (
            isinstance(event.data, ThoughtAdopted)
            and (event.data.decision_id, event.source, event.time) == (name, first.source, first.time)
        ),
        VOCABULARY.events(page.ndjson),
    )
    return await _read_thoughts(ledger, list(adoptions))


async def _read_thoughts(ledger: LedgerService, thoughts: Sequence[ThoughtEntry | Event]) -> list[Event]:
    """Return the events that recorded some thoughts, in the order of the log."""
    query = Query(subjects=tuple(thought.subject for thought in thoughts), limit=PAGE_EVENTS_MAX)
    if not query.subjects:
        return []
    events = [event async for page in ledger.scan(query) for event in VOCABULARY.events(page.ndjson)]
    return [event for event in events if isinstance(event.data, ThoughtRecorded | ThoughtTracked)]


def nearest_related(
    thoughts: Sequence[Event], decision: DecisionRecorded, stated: Sequence[LinkTarget] = ()
) -> tuple[RelatedDecision, ...]:
    """Return the decisions that the queries among the thoughts found: each once, the nearest first.

    CSTP's reference server relates a listing without a query, too: at distance 0, so that every decision is linked with
    the weight 1 to the newest ones. Its documents promise links to similar decisions, so a listing links nothing here.
    Without the decision itself, and without those to which it is linked already.
    """
    without = {decision.decision_id, *(target.decision_id for target in stated)}
    nearest: dict[str, RelatedDecision] = {}
    for thought in thoughts:
        for related in thought.data.related if isinstance(thought.data, ThoughtTracked) else ():
            found = nearest.get(related.decision_id)
            if related.decision_id not in without and (found is None or related.distance < found.distance):
                nearest[related.decision_id] = related
    return tuple(sorted(nearest.values(), key=lambda related: (related.distance, related.decision_id)))


def links_to(related: Sequence[RelatedDecision], decision_id: str) -> list[DecisionLinked]:
    """Return the links from a decision to those that its queries found."""
    return [
        DecisionLinked(
            source_id=decision_id,
            target_id=found.decision_id,
            edge_type="relates_to",
            weight=max(WEIGHT_MIN, round(1 - found.distance, WEIGHT_DIGITS)),
            created_by=AUTO_LINK,
        )
        for found in related
    ]
