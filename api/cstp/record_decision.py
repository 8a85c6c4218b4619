"""cstp.recordDecision: record a decision, with the protocol's defaults."""

import re
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import structs

from api.cstp.calibration_note import note_on_decision
from api.cstp.decision_quality import quality_of
from api.cstp.idempotency_key import check_key
from api.cstp.params_schema import ParameterError, ParamsSchema, wrong_params_error
from api.principal import Principal
from api.service.decision_thoughts import record_with_thoughts
from api.service.ledger import LedgerService
from api.service.supplied_vector import embedding_to_record, record_with_embedding
from events.decision import Bridge, DecisionRecorded, Reason
from events.envelope import EventId
from events.payload import Count, Label
from events.vector import Numbers
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


class _RecordOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters that are not fields of the decision."""

    review_in: Annotated[str, msgspec.Meta(max_length=16)] | None = None
    project_context: _ProjectContext | None = None
    idempotency_key: EventId | None = None
    agent_id: Label | None = None
    decision_id: Label | None = None
    question: Label | None = None
    embedding: Numbers | None = None
    embedding_model: Label | None = None


_record_options: ParamsSchema[_RecordOptions] = ParamsSchema(_RecordOptions)


async def record_decision(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> dict[str, object]:
    """Record a decision, with its pending thoughts (recordThought) as the last steps of its deliberation.

    `calibrationNote` describes the outcomes of the agent's similar decisions with similar confidence.

    `agentId` and `decisionId` select the thoughts; they do not set the decision's agent or id. Thoughts beyond the
    decision's limits stay pending: `thoughts_pending` counts them.

    `question` names the question that the decision answers. It is unique within project and category, so that agents
    that answered the same question can be compared.

    `cluster` names what its outcome depends on together with others: a task, a session, a day. `model` is the language
    model that decides, and `reportedModel` the one that the endpoint named in its answer.

    `idempotencyKey` (or `idempotency_key`, 1..128 printable characters, unique to the agent) makes a retry safe: the
    same key with the same parameters returns the first answer again; with other parameters it is an error.

    `embedding` is a vector of the decision that the caller made, and `embeddingModel` the model that made it: a search
    by meaning compares it.
    """
    decision, options = _decode(params)
    check_key(options.idempotency_key, _record_options.spelling("idempotency_key", params))
    scope = ThoughtScope(options.agent_id, options.decision_id)
    names = _record_options.spelling("embedding", params), _record_options.spelling("embedding_model", params)
    decided = await record_with_embedding(
        ledger,
        caller,
        embedding_to_record(options.embedding, options.embedding_model, names=names),
        lambda: record_with_thoughts(
            ledger,
            caller,
            scope,
            lambda moment: _with_review_date(decision, options.review_in, moment),
            options.idempotency_key,
            options.question,
        ),
        lambda recorded: recorded.placed,
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
        answer |= await note_on_decision(ledger, caller, decision)
    if decided.adopted:
        inputs = decision.deliberation.inputs if decision.deliberation is not None else ()
        answer |= {"deliberation_auto": True, "deliberation_inputs_count": len(inputs) + decided.adopted}
    if decided.left:
        answer["thoughts_pending"] = decided.left
    return answer


def _decode(params: dict[str, Any]) -> tuple[DecisionRecorded, _RecordOptions]:
    errors: list[ParameterError] = []
    values = DECISION.convert(params, errors)
    option_values = _record_options.convert(params, errors)
    if (text := option_values.get("review_in")) is not None and _duration.fullmatch(text) is None:
        spelling = _record_options.spelling("review_in", params)
        errors.append(ParameterError(spelling, f"must be days, weeks or months, such as 7d, 2w or 1m, got {text!r}"))
    if errors:
        raise wrong_params_error(errors)
    options = _RecordOptions(**option_values)
    if options.project_context is not None:
        for name, value in structs.asdict(options.project_context).items():
            if value is not None:
                values.setdefault(name, value)
    return DecisionRecorded(**values), options


def _with_review_date(decision: DecisionRecorded, review_in: str | None, now: datetime) -> DecisionRecorded:
    """Set the review date: days, weeks or months of 30 days from now."""
    if review_in is None:
        return decision
    match = _duration.fullmatch(review_in)
    assert match is not None, "review_in was checked when it was decoded"
    return structs.replace(decision, review_by=now + timedelta(days=int(match[1]) * _unit_days[match[2]]))
