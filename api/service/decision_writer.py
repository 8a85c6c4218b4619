"""Record decisions and reviews: the use cases behind the command line, HTTP and CSTP."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType, structs

from api.principal import Principal
from api.service.blocking_breakers import blocking_breakers, describe_block
from api.service.decision_thoughts import DecisionResult, Thinker, record_with_thoughts
from api.service.decisions import find_decision_id
from api.service.derived_bridge import add_derived_bridge
from api.service.guardrails.decision_check import count_inputs, warnings_of_decision
from api.service.ledger import LedgerService
from api.service.link_target import LinkTarget
from api.service.retrieval import SuppliedEmbedding
from api.service.supplied_vector import record_with_embedding
from events.decision import (
    DecisionAmended,
    DecisionRecorded,
    DecisionRetracted,
    DecisionReviewedV1,
    DecisionTestStated,
)
from events.envelope import agent_of
from events.errors import InvalidEvent
from events.payload import Payload
from events.registry import VOCABULARY
from ledger.errors import InvalidQuery, LifecycleViolation, NotFound
from ledger.log import Query
from projections.breaker_states import BreakerView
from projections.decisions.thought_index import ThoughtScope
from projections.resolve.statement import complete_test
from tallystick.shapes.appended import AppendedEvent, GuardrailWarning


class AppendedPayload(NamedTuple):
    """An appended event and its time; for a retry, the time of the first post."""

    placed: AppendedEvent
    moment: datetime

    @property
    def decision_id(self) -> str:
        return self.placed.subject.removeprefix("decision/")


class RecordedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a decision in the log."""

    decision_id: str
    position: int
    event_id: str
    time: datetime
    """When it happened, UTC; for a retry, the time of the first post."""
    duplicate: bool
    """Whether it was in the log before: this is a retry, and nothing was written."""


class RecordedDecision(RecordedEvent, frozen=True, kw_only=True):
    """A decision in the log."""

    thoughts: int
    """Pending thoughts of the agent that became the last steps of its deliberation."""
    thoughts_pending: int
    """Thoughts that did not fit into the event, and stay pending."""
    links: int | UnsetType = UNSET
    """Earlier decisions that the agent's tracked queries found, to which it is linked; absent: none."""
    guardrail_warnings: list[GuardrailWarning] | UnsetType = UNSET
    """The circuit breakers that block it, and the guardrails that fired on it; absent: none."""


class RecordedReview(RecordedEvent, frozen=True):
    """A review in the log."""


class RecordedRetraction(RecordedEvent, frozen=True):
    """A retraction in the log."""


_Recorded = TypeVar("_Recorded", bound=RecordedEvent)


class DecisionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A decision, and how to record it.

    The same decision with the same `event_id` is a retry; if the client chose the id of the decision, the event id is
    by default `decision/ID/recorded`, so that a retry is always possible. `question` is the one that the decision
    answers, `test` says how its outcome will be known, and `embedding` is a vector of its text. `related` are earlier
    decisions to link it to, `review_after` is the time from its recording to its review, and `thinker` says whose
    pending thoughts it adopts, by default those of its agent that name no scope. `automatic` lists them as inputs, too,
    and derives a bridge if none is stated. Guardrails also read `action_context`, the context of the planned action.
    """

    decision: DecisionRecorded
    event_id: str | None = None
    question: str | None = None
    test: str | None = None
    embedding: SuppliedEmbedding | None = None
    related: tuple[LinkTarget, ...] = ()
    review_after: timedelta | None = None
    thinker: Thinker | None = None
    automatic: bool = False
    action_context: Mapping[str, Any] | None = None


async def append_payload(
    ledger: LedgerService, caller: Principal, payload: Payload, event_id: str | None, now: datetime
) -> AppendedPayload:
    """Append one event. With an `event_id`, the same payload again is a retry that writes nothing.

    Errors: those of `LedgerService.record`.
    """
    (placed,) = await ledger.record([VOCABULARY.draft_of(payload, id=event_id, time=now)], caller)
    if not placed.duplicate:
        return AppendedPayload(placed, now)
    return AppendedPayload(placed, VOCABULARY.event(await ledger.event(placed.position)).moment)


async def record_decision(
    ledger: LedgerService, caller: Principal, request: DecisionRequest, *, source: str | None = None
) -> RecordedDecision:
    """Record a decision, with the pending thoughts of its agent as the last steps of its deliberation.

    It is linked to the decisions that the agent's tracked queries found, and evaluated against the circuit breakers and
    guardrails in force, which refuse nothing. `source` is that of the agent, by default the caller's.
    Errors: Forbidden, and those of `LedgerService.record`; nothing was written.
    """
    recorded = await record_request(ledger, act_as(caller, source), request)
    return RecordedDecision(
        decision_id=recorded.decision_id,
        position=recorded.placed.position,
        event_id=recorded.placed.id,
        time=recorded.moment,
        duplicate=recorded.placed.duplicate,
        thoughts=recorded.adopted,
        thoughts_pending=recorded.left,
        links=len(recorded.related) or UNSET,
        guardrail_warnings=list(recorded.warnings) or UNSET,
    )


async def record_request(ledger: LedgerService, agent: Principal, request: DecisionRequest) -> DecisionResult:
    """Record a decision of an agent, and name the circuit breakers that block it and the guardrails that fire on it.

    Neither refuses it. For a retry, the breakers are those at the time of the first post.
    Errors: those of `LedgerService.record`; nothing was written.
    """
    decision, event_id = request.decision, request.event_id
    if event_id is None and decision.decision_id is not None:
        event_id = f"decision/{decision.decision_id}/recorded"

    def made(moment: datetime) -> DecisionRecorded:
        dated = decision
        if request.review_after is not None:
            # for a retry from the time of the first post: another date would be another content
            dated = structs.replace(decision, review_by=moment + request.review_after)
        return add_derived_bridge(dated, agent.source, event_id) if request.automatic else dated

    async def breakers(before: tuple[int, datetime] | None = None) -> list[BreakerView]:
        return await blocking_breakers(
            ledger,
            agent=agent.agent,
            category=decision.category,
            stakes=decision.stakes,
            tags=decision.tags,
            before=before,
        )

    thinker = request.thinker or Thinker(frozenset({agent.source}), ThoughtScope())
    related, auto = request.related, request.automatic
    # before the append: a half-open breaker would take this decision as its probe, and then block it
    blocking = await breakers()
    test = None
    if request.test is not None:
        stated = DecisionTestStated(decision_id="", rule=request.test)
        test = complete_test(stated, pr=decision.pr)
    recorded = await record_with_embedding(
        ledger,
        agent,
        request.embedding,
        lambda: record_with_thoughts(
            ledger, agent, thinker, made, event_id, request.question, related, test=test, auto=auto
        ),
        lambda recorded: recorded.placed,
    )
    if recorded.placed.duplicate:
        blocking = await breakers((recorded.placed.position, recorded.moment))
    # counted in the request: what is recorded may list the adopted thoughts as inputs already
    inputs, made_id = count_inputs(decision) + recorded.adopted, recorded.decision_id
    fired = await warnings_of_decision(
        ledger, agent, recorded.decision, made_id, inputs=inputs, context=request.action_context
    )
    blocks = (
        GuardrailWarning(guardrail_id=f"circuit_breaker:{it.scope}", message=describe_block(it), severity="block")
        for it in blocking
    )
    return recorded._replace(warnings=(*blocks, *fired))


async def continue_decision(
    answer: type[_Recorded],
    ledger: LedgerService,
    caller: Principal,
    payload: DecisionReviewedV1 | DecisionAmended | DecisionRetracted,
    *,
    event_id: str | None = None,
    source: str | None = None,
    prefix: bool = False,
) -> _Recorded:
    """Append an event of a recorded decision: its outcome, a change of its fields, or its retraction.

    A later review replaces an earlier one. A retraction withdraws the decision from every figure: its history stays,
    and no later event of it is accepted. With `prefix`, the decision may be named by a unique beginning of its id; that
    needs the scope `read`. The same event with the same `event_id` is a retry.
    Errors: NotFound; Forbidden, and those of `LedgerService.record`; nothing was written.
    """
    agent = act_as(caller, source)
    if prefix and not await decision_exists(ledger, payload.decision_id):
        caller.require("read")
        payload = structs.replace(payload, decision_id=await find_decision_id(ledger, payload.decision_id))
    try:
        appended = await append_payload(ledger, agent, payload, event_id, ledger.clock())
    except (LifecycleViolation, InvalidEvent) as error:
        if not is_unknown_decision(error):
            raise
        name = payload.decision_id
        raise NotFound(
            f"Decision not found: {name}", "Check the id.", kind="decision", name=name, written=False
        ) from None
    placed = appended.placed
    return answer(
        decision_id=appended.decision_id,
        position=placed.position,
        event_id=placed.id,
        time=appended.moment,
        duplicate=placed.duplicate,
    )


def is_unknown_decision(error: LifecycleViolation | InvalidEvent) -> bool:
    """Return whether an event was refused because its decision does not exist, or its id cannot be one."""
    if isinstance(error, LifecycleViolation):
        return not error.closed
    return error.field == "data.decision_id"


async def decision_exists(ledger: LedgerService, decision_id: str) -> bool:
    """Return whether a decision has exactly this id, without a projection."""
    return bool((await ledger.reader.read(Query(subjects=(f"decision/{decision_id}",), limit=1))).positions)


def act_as(caller: Principal, source: str | None) -> Principal:
    """Return the caller with the agent of a source. Errors: Forbidden; InvalidEvent, for a malformed source."""
    try:
        source = caller.resolve_source(source)
    except InvalidQuery as error:
        raise InvalidEvent(error.detail, error.advice, field="source") from None
    return structs.replace(caller, agent=agent_of(source), source=source)
