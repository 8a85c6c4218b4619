"""Record a decision for an agent, and answer as CSTP does."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import structs

from api.principal import Principal
from api.service.advice import note_on_plan
from api.service.agent_calls.answer_names import without_none
from api.service.decision_quality import quality_of
from api.service.decision_thoughts import DecisionResult, Thinker
from api.service.decision_writer import DecisionRequest, decision_exists, record_request
from api.service.derived_bridge import derive_bridge
from api.service.guardrails.decision_check import context_of_check, count_inputs
from api.service.ledger import LedgerService
from api.service.link_target import LinkTarget, weight_of_distance
from api.service.supplied_vector import embedding_to_record
from events.decision import DecisionRecorded
from events.envelope import EventId
from events.errors import InvalidEvent
from events.limits import ITEMS_MAX
from events.payload import Label, StreamName
from events.vector import Numbers
from projections.calibration.advice import PlannedDecision
from projections.decisions.thought_index import ThoughtScope

Category = Literal["architecture", "process", "integration", "tooling", "security"]

SPAN = re.compile(r"([0-9]{1,4})([dwm])", re.ASCII | re.IGNORECASE)
"""Days, weeks or months, such as 7d, 2w or 1m."""

_UNIT_DAYS = {"d": 1, "w": 7, "m": 30}


class Related(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier decision that this one relates to, its summary, and its distance in meaning."""

    id: StreamName
    summary: str | None = None
    distance: Annotated[float, msgspec.Meta(ge=0)] | None = None


class RecordOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of recordDecision that are not fields of the decision."""

    review_in: Annotated[str, msgspec.Meta(max_length=16, examples=["7d"])] | None = None
    idempotency_key: EventId | None = None
    agent_id: Label | None = None
    decision_id: Label | None = None
    question: Label | None = None
    test: Annotated[str, msgspec.Meta(max_length=1000)] | None = None
    related_to: Annotated[tuple[Related, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    check_id: StreamName | None = None
    embedding: Numbers | None = None
    embedding_model: Label | None = None

    def request(
        self, decision: DecisionRecorded, names: tuple[str, str] = ("embedding", "embedding_model")
    ) -> DecisionRequest:
        """Return how a decision is recorded. `names` are those of the embedding and its model. Errors: InvalidEvent."""
        span = None if self.review_in is None else SPAN.fullmatch(self.review_in)
        if self.review_in is not None and span is None:
            detail = f"review_in: must be days, weeks or months, such as 7d, 2w or 1m, got {self.review_in!r}."
            raise InvalidEvent(detail, "Correct it.", field="review_in")
        return DecisionRequest(
            decision=decision,
            event_id=self.idempotency_key,
            question=self.question,
            test=self.test,
            embedding=embedding_to_record(self.embedding, self.embedding_model, names=names),
            related=tuple(LinkTarget(it.id, weight_of_distance(it.distance), it.summary) for it in self.related_to),
            review_after=timedelta(days=int(span[1]) * _UNIT_DAYS[span[2].lower()]) if span else None,
        )


class Recording(NamedTuple):
    """A decision to record, its options, and whether it takes part in automatic deliberation.

    `scope_name` is the caller's name of the option `decision_id`.
    """

    request: DecisionRequest
    options: RecordOptions
    automatic: bool
    scope_name: str = "decision_id"


async def record_decision(
    ledger: LedgerService,
    caller: Principal,
    recording: Recording,
    action_context: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Record a decision, with its pending thoughts (recordThought) as the last steps of its deliberation.

    `calibrationNote` describes the outcomes of the agent's similar decisions with similar confidence.

    Automatic deliberation adds the calls that the agent made before as inputs and steps, links the decision to those
    that its queries found, and derives a bridge if none is stated.

    `agentId` names the agent that decides, if the caller may append as that agent; `recorded_by` is then in the answer.
    `agentId` and `decisionId` also select the thoughts, of those of the agent and the caller; `decisionId` does not set
    the decision's id. Thoughts beyond the decision's limits stay pending: `thoughts_pending` counts them.

    `question` names the question that the decision answers. It is unique within project and category, so that agents
    that answered the same question can be compared.

    `test` says how its outcome will be known: a rule, its window and parameters, `git.kept:14d`. It is about the
    decision's `pr`, about what `subject=` names, or about the change with the trailer `Tallystick-Decision: ID`. The
    ledger then reviews the decision from what is observed.

    `cluster` names what its outcome depends on together with others: a task, a session, a day. `model` is the language
    model that decides, and `reportedModel` the one that the endpoint named in its answer.

    `relatedTo` (or `related_to`) lists earlier decisions, each with its `id`, and optionally `summary` and `distance`.
    The new decision is linked to each: `graph_edges_created` counts the links, those of queries too, and `unknown`
    names decisions that are not in the ledger.

    `idempotencyKey` (or `idempotency_key`, 1..128 printable characters, unique to the agent) makes a retry safe: the
    same key with the same parameters returns the first answer again; with other parameters it is an error.

    `guardrail_warnings` lists the circuit breakers that block the decision and the guardrails that fire on it; it is
    recorded nevertheless. `checkId` is that of checkGuardrails: the decision is then evaluated with the context of the
    planned action, too. `action_context` is that context for preAction.

    `embedding` is a vector of the decision that the caller made, and `embeddingModel` the model that made it: a search
    by meaning compares it.
    """
    request, options, auto, scope_name = recording
    if options.check_id is not None:
        action_context = await context_of_check(ledger, caller, options.check_id)
    speaker, decision = caller.as_agent(options.agent_id), request.decision
    scope = ThoughtScope(options.agent_id, options.decision_id)
    thinker = Thinker(frozenset({caller.source, speaker.source}), scope)
    request = structs.replace(request, thinker=thinker, automatic=auto, action_context=action_context)
    recorded = await record_request(ledger, speaker, request)
    note = None
    if options.decision_id is not None and not recorded.adopted:
        note = f"No pending thought has this {scope_name}. It selects thoughts; the id of the decision is in `id`."
    bridge = derive_bridge(recorded.decision) if auto and decision.bridge is None and recorded.decision.bridge else None
    answer = {
        "success": True,
        "id": recorded.decision_id,
        "path": recorded.placed.subject,
        "indexed": True,
        "timestamp": recorded.moment.isoformat(),
        "quality": quality_of(recorded.decision),
        "calibrationNote": await _note_on(ledger, speaker.agent, decision),
        **await _links_of(ledger, request, recorded),
        "note": note,
        "bridge_auto": True if bridge is not None else None,
        "bridge_method": bridge[1] if bridge is not None else None,
        "recorded_by": None if options.agent_id is None else speaker.agent,
        "guardrail_warnings": [structs.asdict(warning) for warning in recorded.warnings] or None,
    }
    return without_none(answer)


async def _links_of(ledger: LedgerService, request: DecisionRequest, recorded: DecisionResult) -> dict[str, object]:
    """Return what an answer says about adopted thoughts and about related decisions: stated ones, and found ones."""
    links = len(request.related) + len(recorded.related) or None
    return {
        "deliberation_auto": True if recorded.adopted else None,
        "deliberation_inputs_count": count_inputs(request.decision) + recorded.adopted if recorded.adopted else None,
        "related_count": links,
        "graph_edges_created": links,
        "thoughts_pending": recorded.left or None,
        "unknown": [it.decision_id for it in request.related if not await decision_exists(ledger, it.decision_id)]
        or None,
    }


async def _note_on(ledger: LedgerService, agent: str, decision: DecisionRecorded) -> str | None:
    """Return the note on the outcomes of similar decisions; None if the decision states no confidence."""
    if decision.confidence is None:
        return None
    plan = {name: getattr(decision, name) for name in ("category", "stakes", "confidence")}
    return await note_on_plan(ledger, PlannedDecision(agent=agent, **plan))
