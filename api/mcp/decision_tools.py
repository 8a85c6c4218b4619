"""The tools of decisions: before deciding, deciding, thinking, and the outcome. Names and parameters are CSTP's."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from api.cstp.decision_changes import review_decision, update_decision
from api.cstp.pre_action import pre_action
from api.cstp.record_decision import Category, record_decision
from api.cstp.thoughts import record_thought
from api.mcp.further_fields import with_guardrails
from api.mcp.refusal import Refusal
from api.mcp.tool import AgentParams, Answer, Tool, ToolCall
from api.service.decisions import find_decision
from events.decision import Reason, Stakes
from events.envelope import EventId
from events.payload import Confidence, Count, Label, Labels, StreamId, Text
from events.vector import Numbers
from ledger.errors import NotFound
from tallystick.shapes.decisions import Outcome

Rows = list[dict[str, Any]]
QueryLimit = Annotated[int, msgspec.Meta(ge=1, le=20)]


class PreActionParams(AgentParams, frozen=True, kw_only=True):
    """The action, nested as in CSTP or flat beside the options; the nested form takes precedence."""

    action: Annotated[dict[str, Any], msgspec.Meta(examples=[{"description": "text"}])] | None = None
    options: dict[str, Any] | None = None
    description: Text | None = None
    category: Category | None = None
    stakes: Stakes | None = None
    confidence: Confidence | None = None
    context: dict[str, Any] | None = None
    auto_record: bool | None = None
    query_limit: QueryLimit | None = None
    reasons: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=20)] | None = None
    tags: Labels | None = None
    pattern: str | None = None
    deliberation: Annotated[dict[str, Any] | str, msgspec.Meta(examples=["auto"])] | None = None
    idempotency_key: EventId | None = None


class PreActionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What is known before the action, and the id of the decision that was recorded for it."""

    allowed: bool
    decisionId: str | None  # noqa: N815 - as CSTP names it
    relevantDecisions: Rows  # noqa: N815
    guardrailResults: Rows  # noqa: N815
    calibrationContext: dict[str, Any]  # noqa: N815
    patternsSummary: Rows  # noqa: N815
    guardrails: dict[str, Any]


class RecordParams(AgentParams, frozen=True, kw_only=True):
    """A decision: the fields of the vocabulary that agents state most, and the options of recordDecision."""

    decision: Text
    confidence: Confidence | None = None
    category: Category | None = None
    stakes: Stakes | None = None
    context: str | None = None
    reasons: Annotated[tuple[Reason, ...], msgspec.Meta(max_length=100)] | None = None
    tags: Labels | None = None
    pattern: str | None = None
    project: Label | None = None
    feature: Label | None = None
    pr: Count | None = None
    review_in: Annotated[str, msgspec.Meta(examples=["7d"])] | None = None
    question: Label | None = None
    cluster: Label | None = None
    model: Label | None = None
    deliberation: Annotated[dict[str, Any] | str, msgspec.Meta(examples=["auto"])] | None = None
    bridge: dict[str, Any] | None = None
    related_to: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=100, examples=[[{"id": "text"}]])] | None = None
    check_id: Label | None = None
    embedding: Numbers | None = None
    embedding_model: Label | None = None
    decision_id: Label | None = None
    idempotency_key: EventId | None = None


class RecordResult(msgspec.Struct, frozen=True, kw_only=True):
    """The id of the recorded decision, and how completely it is described."""

    success: bool
    id: str
    quality: dict[str, Any]
    calibrationNote: str | UnsetType = UNSET  # noqa: N815
    guardrail_warnings: Rows | UnsetType = UNSET
    deliberation_auto: bool | UnsetType = UNSET
    related_count: int | UnsetType = UNSET
    unknown: list[str] | UnsetType = UNSET


class ReviewParams(AgentParams, frozen=True, kw_only=True):
    """How a decision turned out."""

    id: StreamId
    outcome: Outcome
    actual_result: str | None = None
    lessons: str | None = None
    notes: str | None = None
    idempotency_key: EventId | None = None


class ReviewResult(msgspec.Struct, frozen=True, kw_only=True):
    """The reviewed decision."""

    success: bool
    id: str
    status: str
    reviewedAt: str  # noqa: N815


class UpdateParams(AgentParams, frozen=True, kw_only=True):
    """What changes in a recorded decision."""

    id: StreamId
    decision: Text | None = None
    confidence: Confidence | None = None
    context: str | None = None
    tags: Labels | None = None
    pattern: str | None = None
    idempotency_key: EventId | None = None


class UpdateResult(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that changed."""

    success: bool
    id: str
    updated_fields: list[str]


class ThoughtParams(AgentParams, frozen=True, kw_only=True):
    """A thought: about a recorded decision, or for the next one."""

    text: Text
    decision_id: Label | None = None
    idempotency_key: EventId | None = None


class ThoughtResult(msgspec.Struct, frozen=True, kw_only=True):
    """Where the thought is kept."""

    success: bool
    mode: str
    decision_id: str | UnsetType = UNSET
    step_number: int | UnsetType = UNSET
    tracker_key: str | UnsetType = UNSET
    thought_id: str | UnsetType = UNSET
    unknown: list[str] | UnsetType = UNSET


_ACTION_FIELDS = ("description", "category", "stakes", "confidence", "context")
_OPTION_FIELDS = ("auto_record", "query_limit")


def stated(params: msgspec.Struct, *without: str) -> dict[str, Any]:
    """Return the parameters that a caller stated, as JSON."""
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(params))
    return {name: value for name, value in fields.items() if value is not None and name not in without}


def planned_action(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return an action without the fields of its context that are arguments, too: as in CSTP's tools, those win."""
    context = arguments.get("context")
    if not isinstance(context, dict):
        return arguments
    return arguments | {"context": {name: value for name, value in context.items() if name not in arguments}}


async def _pre_action(call: ToolCall, params: PreActionParams) -> Answer:
    given = stated(params, "agent_id")
    flat = {name: given.pop(name) for name in _ACTION_FIELDS if name in given}
    options = {name: given.pop(name) for name in _OPTION_FIELDS if name in given}
    given["action"] = planned_action({**flat, **given.get("action", {})})
    given["options"] = {**options, **given.get("options", {})}
    if not given["action"].get("description"):
        raise Refusal(
            "description: it is required and missing.", "description", 'Add it. Example: {"description":"text"}'
        )
    answer: Answer = msgspec.to_builtins(await pre_action(call.ledger, call.caller, given))
    answer["relevantDecisions"] = [_without(row, "reasons", "bridge") for row in answer["relevantDecisions"]]
    return with_guardrails(_without(answer, "recorded"))


async def _record(call: ToolCall, params: RecordParams) -> Answer:
    answer = await record_decision(call.ledger, call.caller, stated(params, "agent_id"))
    return _without(answer, "path", "indexed")


async def _review(call: ToolCall, params: ReviewParams) -> Answer:
    answer: Any = await review_decision(call.ledger, call.caller, stated(params, "agent_id"))
    return _without(answer, "path", "reindexed", "compactionLevel")


async def _update(call: ToolCall, params: UpdateParams) -> Answer:
    keys = {name: value for name in ("id", "idempotency_key") if (value := getattr(params, name)) is not None}
    updates = stated(params, "agent_id", *keys)
    if not updates:
        raise Refusal("Nothing to change was given.", "decision", 'Give what changes. Example: {"decision":"text"}')
    answer: Any = await update_decision(call.ledger, call.caller, {**keys, "updates": updates})
    if answer["success"]:
        return _without(answer, "indexed")
    raise Refusal(answer["error"], "id", "Find its id: query_decisions lists ids.")


async def _think(call: ToolCall, params: ThoughtParams) -> Answer:
    given = stated(params, "agent_id")
    if params.decision_id is not None:
        try:
            found = await find_decision(call.view, params.decision_id)
        except NotFound:
            pass  # it names the decision to come
        else:
            given.pop("decision_id")
            given["id"] = found.decision_id
    answer: Any = await record_thought(call.ledger, call.caller, given)
    return _without(answer, "agent_id")


def _without(answer: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in names}


DECISION_TOOLS = (
    Tool(
        name="pre_action",
        title="Check before acting",
        description="Call before a decision: similar decisions, guardrails, your calibration; records the action as a"
        " decision unless auto_record is false.",
        toolset="decisions",
        params=PreActionParams,
        result=PreActionResult,
        answer=_pre_action,
        writes=True,
        unlisted=("action", "options"),
    ),
    Tool(
        name="record_decision",
        title="Record a decision",
        description="Record a decision and how sure you are (confidence: probability of success)."
        " Repeat a call safely with idempotency_key. review_in: 7d, 2w or 1m.",
        toolset="decisions",
        params=RecordParams,
        result=RecordResult,
        answer=_record,
        writes=True,
        unlisted=("embedding", "embedding_model", "decision_id"),
        also=("log_decision",),
    ),
    Tool(
        name="review_outcome",
        title="Record the outcome",
        description="Record how a decision turned out. The latest review counts.",
        toolset="decisions",
        params=ReviewParams,
        result=ReviewResult,
        answer=_review,
        writes=True,
    ),
    Tool(
        name="update_decision",
        title="Amend a decision",
        description="Change fields of a recorded decision; its history stays.",
        toolset="decisions",
        params=UpdateParams,
        result=UpdateResult,
        answer=_update,
        writes=True,
    ),
    Tool(
        name="record_thought",
        title="Record a thought",
        description="Record a step of reasoning: about the decision decision_id, or for your next decision.",
        toolset="decisions",
        params=ThoughtParams,
        result=ThoughtResult,
        answer=_think,
        writes=True,
    ),
)
