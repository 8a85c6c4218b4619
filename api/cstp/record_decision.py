"""cstp.recordDecision: record a decision, with the protocol's defaults."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import structs

from api.cstp.calibration_note import note_on_decision
from api.cstp.decision_quality import quality_of
from api.cstp.guardrails import guardrail_warnings, not_evaluated
from api.cstp.idempotency_key import check_key
from api.cstp.params_schema import ParameterError, ParamsSchema, wrong_params_error
from api.cstp.stream_ids import check_stream_ids
from api.cstp.tolerance import tolerate
from api.principal import Principal
from api.service.decision_thoughts import DecisionResult, Thinker, record_with_thoughts
from api.service.guardrails.decision_check import check_decision, context_of_check
from api.service.ledger import LedgerService
from api.service.related_decision import RelatedDecision, weight_of_distance
from events.decision import Bridge, DecisionRecorded, Reason
from events.envelope import EventId
from events.errors import TallystickError
from events.limits import ITEMS_MAX
from events.payload import Count, Label, StreamName
from projections.decisions.thought_index import ThoughtScope

Category = Literal["architecture", "process", "integration", "tooling", "security"]

_unit_days = {"d": 1, "w": 7, "m": 30}
_duration = re.compile(r"([0-9]{1,4})([dwm])", re.ASCII)

REASON: ParamsSchema[Reason] = ParamsSchema(Reason, defaults={"type": "analysis", "strength": 0.8})
"""A reason; the protocol's defaults are the type analysis and a strength of 0.8."""

BRIDGE: ParamsSchema[Bridge] = ParamsSchema(Bridge, aliases={"function": ("function", "purpose")})
"""A bridge; `purpose` is an alias of `function`."""

DECISION: ParamsSchema[DecisionRecorded] = ParamsSchema(
    DecisionRecorded,
    types={"category": Category},
    defaults={"category": "process", "stakes": "medium"},
    without=("decision_id", "review_by"),
    inner={"reasons": REASON, "bridge": BRIDGE},
)
"""A decision; the protocol has defaults for category and stakes, but not for the confidence."""


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

    id: Annotated[str, msgspec.Meta(min_length=1)]
    summary: str | None = None
    distance: Annotated[float, msgspec.Meta(ge=0)] | None = None


class _RecordOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters that are not fields of the decision."""

    review_in: Annotated[str, msgspec.Meta(max_length=16)] | None = None
    project_context: _ProjectContext | None = None
    idempotency_key: EventId | None = None
    agent_id: Label | None = None
    decision_id: Label | None = None
    question: Label | None = None
    related_to: Annotated[tuple[_Related, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    check_id: StreamName | None = None


_record_options: ParamsSchema[_RecordOptions] = ParamsSchema(_RecordOptions)


async def record_decision(
    ledger: LedgerService,
    caller: Principal,
    params: dict[str, Any],
    *,
    action_context: Mapping[str, Any] | None = None,
) -> dict[str, object]:
    """Record a decision, with its pending thoughts (recordThought) as the last steps of its deliberation.

    `calibrationNote` describes the outcomes of the agent's similar decisions with similar confidence.

    `agentId` names the agent that decides, if the caller may append as that agent; `recorded_by` is then in the answer.
    `agentId` and `decisionId` also select the thoughts, of those of the agent and the caller; `decisionId` does not set
    the decision's id. Thoughts beyond the decision's limits stay pending: `thoughts_pending` counts them.

    `question` names the question that the decision answers. It is unique within project and category, so that agents
    that answered the same question can be compared.

    `cluster` names what its outcome depends on together with others: a task, a session, a day. `model` is the language
    model that decides, and `reportedModel` the one that the endpoint named in its answer.

    `relatedTo` (or `related_to`) lists earlier decisions, each with its `id`, and optionally `summary` and `distance`.
    The new decision is linked to each: `graph_edges_created` counts these links.

    `idempotencyKey` (or `idempotency_key`, 1..128 printable characters, unique to the agent) makes a retry safe: the
    same key with the same parameters returns the first answer again; with other parameters it is an error.

    `guardrail_warnings` lists the guardrails that fire on the decision, which is recorded nevertheless. `checkId` is
    that of checkGuardrails: the decision is then evaluated with the context of the planned action, too.
    `action_context` is that context for preAction.
    """
    decision, options = check_params(params)
    if options.check_id is not None:
        action_context = await context_of_check(ledger, caller, options.check_id)
    speaker = caller.as_agent(options.agent_id)
    decided = await record_with_thoughts(
        ledger,
        speaker,
        Thinker(frozenset({caller.source, speaker.source}), ThoughtScope(options.agent_id, options.decision_id)),
        lambda moment: _with_review_date(decision, options.review_in, moment),
        options.idempotency_key,
        options.question,
        _related(options, params),
    )
    subject = decided.placed.subject
    answer: dict[str, object] = {
        "success": True,
        "id": subject.removeprefix("decision/"),
        "path": subject,
        "indexed": True,
        "timestamp": decided.moment.isoformat(),
        "quality": quality_of(decided.decision),
    }
    if decision.confidence is not None:
        answer |= await note_on_decision(ledger, speaker, decision)
    if decided.adopted:
        inputs = decision.deliberation.inputs if decision.deliberation is not None else ()
        answer |= {"deliberation_auto": True, "deliberation_inputs_count": len(inputs) + decided.adopted}
    if options.related_to:
        answer |= {"related_count": len(options.related_to), "graph_edges_created": len(options.related_to)}
    if decided.left:
        answer["thoughts_pending"] = decided.left
    if options.agent_id is not None:
        answer["recorded_by"] = speaker.agent
    return answer | await _guardrail_warnings(ledger, speaker, decided, action_context or {})


async def _guardrail_warnings(
    ledger: LedgerService, caller: Principal, decided: DecisionResult, context: Mapping[str, Any]
) -> dict[str, object]:
    """Return what fired on a decision. It is recorded, so that an error is a warning, too."""
    decision = decided.decision
    inputs = decision.deliberation.inputs if decision.deliberation is not None else ()
    try:
        return guardrail_warnings(
            await check_decision(
                ledger,
                caller,
                decision,
                decided.placed.subject.removeprefix("decision/"),
                inputs=len(inputs) + decided.adopted,
                quality_score=quality_of(decision).score,
                context=context,
            )
        )
    except TallystickError as error:
        return not_evaluated(error)


def check_params(params: Mapping[str, Any]) -> tuple[DecisionRecorded, _RecordOptions]:
    """Return the decision and the options of some parameters, before anything is written. Errors: RpcError."""
    decision, options = _decode(params)
    check_key(options.idempotency_key, _record_options.spelling("idempotency_key", params))
    return decision, options


def _decode(params: Mapping[str, Any]) -> tuple[DecisionRecorded, _RecordOptions]:
    errors: list[ParameterError] = []
    values = DECISION.convert(params, errors)
    option_values = _record_options.convert(params, errors)
    if (text := option_values.get("review_in")) is not None:
        option_values["review_in"] = _parse_span(text, _record_options.spelling("review_in", params), errors)
    if errors:
        raise wrong_params_error(errors)
    options = _RecordOptions(**option_values)
    if options.project_context is not None:
        for name, value in structs.asdict(options.project_context).items():
            if value is not None:
                values.setdefault(name, value)
    return DecisionRecorded(**values), options


def _parse_span(text: str, field: str, errors: list[ParameterError]) -> str:
    """Return a span such as `7d` in lower case. A wrong one is added to `errors`."""
    span = text.lower()
    if _duration.fullmatch(span) is None:
        errors.append(ParameterError(field, f"must be days, weeks or months, such as 7d, 2w or 1m, got {text!r}"))
    elif span != text:
        tolerate(field, span)
    return span


def _related(options: _RecordOptions, params: dict[str, Any]) -> list[RelatedDecision]:
    """Return the related decisions. Errors: RpcError, for an id that no decision can have."""
    name = _record_options.spelling("related_to", params)
    check_stream_ids({f"{name}[{index}].id": related.id for index, related in enumerate(options.related_to)})
    return [RelatedDecision(one.id, weight_of_distance(one.distance), one.summary) for one in options.related_to]


def _with_review_date(decision: DecisionRecorded, review_in: str | None, now: datetime) -> DecisionRecorded:
    """Set the review date: days, weeks or months of 30 days from now."""
    if review_in is None:
        return decision
    match = _duration.fullmatch(review_in)
    assert match is not None, "review_in was checked when it was decoded"
    return structs.replace(decision, review_by=now + timedelta(days=int(match[1]) * _unit_days[match[2]]))
