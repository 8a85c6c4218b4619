"""cstp.recordDecision: record a decision."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import structs

from api.cstp.answer_names import without_none
from api.cstp.params_schema import DecisionName, ParameterError, ParamsSchema, check_errors, tolerate
from api.cstp.tracked_calls import deliberates, stated_deliberation
from api.principal import Principal
from api.service.advice import note_on_plan
from api.service.decision_quality import quality_of
from api.service.decision_thoughts import DecisionResult, Thinker
from api.service.decision_writer import DecisionRequest, decision_exists, record_request
from api.service.derived_bridge import derive_bridge
from api.service.guardrails.decision_check import context_of_check, count_inputs
from api.service.ledger import LedgerService
from api.service.link_target import LinkTarget, weight_of_distance
from api.service.supplied_vector import embedding_to_record
from events.decision import Bridge, DecisionRecorded, Reason
from events.envelope import EventId
from events.limits import ITEMS_MAX
from events.payload import Count, Label, StreamName
from events.vector import Numbers
from projections.calibration.advice import PlannedDecision
from projections.decisions.thought_index import ThoughtScope

Category = Literal["architecture", "process", "integration", "tooling", "security"]

_unit_days = {"d": 1, "w": 7, "m": 30}
_duration = re.compile(r"([0-9]{1,4})([dwm])", re.ASCII)

REASON: ParamsSchema[Reason] = ParamsSchema(Reason, defaults={"type": "analysis"})
"""A reason; the protocol's default is the type analysis."""

BRIDGE: ParamsSchema[Bridge] = ParamsSchema(Bridge, aliases={"function": ("function", "purpose")})
"""A bridge; `purpose` is an alias of `function`."""

DECISION: ParamsSchema[DecisionRecorded] = ParamsSchema(
    DecisionRecorded,
    types={"category": Category},
    without=("decision_id", "review_by"),
    inner={"reasons": REASON, "bridge": BRIDGE},
)
"""A decision. The protocol's defaults of category and stakes are not stored: answers of CSTP show them."""


class _ProjectContext(msgspec.Struct, frozen=True, kw_only=True):
    """The project context as one object, which some clients send. The parameters beside it take precedence."""

    project: Label | None = None
    feature: Label | None = None
    pr: Count | None = None
    file: str | None = None
    line: Count | None = None
    commit: str | None = None


class _Related(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier decision that this one relates to, its summary, and its distance in meaning."""

    id: DecisionName
    summary: str | None = None
    distance: Annotated[float, msgspec.Meta(ge=0)] | None = None


class RecordOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters that are not fields of the decision."""

    review_in: Annotated[str, msgspec.Meta(max_length=16)] | None = None
    project_context: _ProjectContext | None = None
    idempotency_key: EventId | None = None
    agent_id: Label | None = None
    decision_id: Label | None = None
    question: Label | None = None
    related_to: Annotated[tuple[_Related, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    check_id: StreamName | None = None
    embedding: Numbers | None = None
    embedding_model: Label | None = None


OPTIONS: ParamsSchema[RecordOptions] = ParamsSchema(RecordOptions)


def check_params(params: Mapping[str, Any]) -> tuple[DecisionRequest, RecordOptions]:
    """Return what some parameters ask for, before anything is written. Errors: RpcError, InvalidEvent."""
    stated, errors = stated_deliberation(params), list[ParameterError]()
    values, option_values = DECISION.convert(stated, errors), OPTIONS.convert(stated, errors)
    review_after = _parse_span(option_values.get("review_in"), OPTIONS.spelling("review_in", stated), errors)
    check_errors(errors)
    options = RecordOptions(**option_values)
    if options.project_context is not None:
        values = {**without_none(structs.asdict(options.project_context)), **values}
    names = OPTIONS.spelling("embedding", params), OPTIONS.spelling("embedding_model", params)
    request = DecisionRequest(
        decision=DecisionRecorded(**values),
        event_id=options.idempotency_key,
        question=options.question,
        embedding=embedding_to_record(options.embedding, options.embedding_model, names=names),
        related=tuple(LinkTarget(one.id, weight_of_distance(one.distance), one.summary) for one in options.related_to),
        review_after=review_after,
    )
    return request, options


def _parse_span(text: str | None, field: str, errors: list[ParameterError]) -> timedelta | None:
    """Return the span of a text such as `7d`, `2w` or `1m`. A wrong one is added to `errors`."""
    if text is None:
        return None
    match = _duration.fullmatch(text.lower())
    if match is None:
        errors.append(ParameterError(field, f"must be days, weeks or months, such as 7d, 2w or 1m, got {text!r}"))
        return None
    if text != text.lower():
        tolerate(field, text.lower())
    return timedelta(days=int(match[1]) * _unit_days[match[2]])


async def record_decision(
    ledger: LedgerService,
    caller: Principal,
    params: dict[str, Any],
    *,
    action_context: Mapping[str, Any] | None = None,
) -> dict[str, object]:
    """Record a decision, with its pending thoughts (recordThought) as the last steps of its deliberation.

    `calibrationNote` describes the outcomes of the agent's similar decisions with similar confidence.

    `"deliberation": "auto"`, or a token made so, adds the calls that the agent made before as inputs and steps, links
    the decision to those that its queries found, and derives a bridge if none is stated.

    `agentId` names the agent that decides, if the caller may append as that agent; `recorded_by` is then in the answer.
    `agentId` and `decisionId` also select the thoughts, of those of the agent and the caller; `decisionId` does not set
    the decision's id. Thoughts beyond the decision's limits stay pending: `thoughts_pending` counts them.

    `question` names the question that the decision answers. It is unique within project and category, so that agents
    that answered the same question can be compared.

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
    auto = deliberates(caller, params, or_object=True)
    request, options = check_params(params)
    if options.check_id is not None:
        action_context = await context_of_check(ledger, caller, options.check_id)
    speaker, decision = caller.as_agent(options.agent_id), request.decision
    scope = ThoughtScope(options.agent_id, options.decision_id)
    thinker = Thinker(frozenset({caller.source, speaker.source}), scope)
    request = structs.replace(request, thinker=thinker, automatic=auto, action_context=action_context)
    recorded = await record_request(ledger, speaker, request)
    note = None
    if options.decision_id is not None and not recorded.adopted:
        name = OPTIONS.spelling("decision_id", params)
        note = f"No pending thought has this {name}. It selects thoughts; the id of the decision is in `id`."
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
