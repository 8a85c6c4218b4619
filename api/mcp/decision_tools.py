"""The tools of decisions: before deciding, deciding, thinking, and the outcome. Names and parameters are CSTP's."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from api.mcp.arguments import NONE, Arguments, ClosedStruct, Keyed, Tracked, WriteArguments, arguments, filled, stated
from api.mcp.further_fields import with_guardrails
from api.mcp.refusal import Refusal, refusal_of_params
from api.mcp.tool import Answer, Tool, ToolCall
from api.principal import DeliberationPolicy
from api.service.agent_calls.guardrails import check_guardrails
from api.service.agent_calls.pre_action import ActionCall, PreActionOptions, pre_action
from api.service.agent_calls.record_decision import Category, Recording, RecordOptions, record_decision
from api.service.agent_calls.thoughts import Thought, record_thought
from api.service.agent_calls.tracked_calls import deliberates
from api.service.decision_writer import RecordedEvent, RecordedReview, continue_decision
from api.service.decisions import find_decision
from api.service.guardrails.action_check import PlannedAction
from api.service.supplied_vector import read_embedding
from events.decision import (
    DecisionAmended,
    DecisionRecorded,
    DecisionReviewed,
    DecisionReviewedV1,
    Deliberation,
    Stakes,
)
from events.payload import Text
from ledger.errors import NotFound

Rows = list[dict[str, Any]]

_STATED: Mapping[str, Any] = {
    "category": Category,
    "stakes": Stakes,
    "deliberation": Deliberation | DeliberationPolicy,
    "description": Text | None,
    "query_limit": Annotated[int, Meta(ge=1, le=20)],
}
"""The types of what an agent states, where the use cases take more."""

EMBEDDED = ("embedding", "embedding_model")
_RARE = (
    "mental_state", "review_by", "kpi_indicators", "pre_decision", "trace", "file", "line", "commit", "reported_model",
)  # fmt: skip
_PLACE = ("bridge", "project", "feature", "pr", "cluster", "model")
"""Arguments that programs send, and that the schemas of tools leave out."""

_ACTION = PlannedAction.__struct_fields__
_ALSO_RECORDED = ("category", "stakes", "confidence")
"""What a planned action states of the decision that is recorded for it."""

OPTIONS = arguments(ClosedStruct, PreActionOptions, types=_STATED)


class NestedAction(msgspec.Struct, frozen=True, kw_only=True):
    """The action and the options as objects, as in CSTP. They take precedence over the arguments beside them."""

    action: Annotated[dict[str, Any], Meta(examples=[{"description": "text"}])] | None = None
    options: OPTIONS | None = None  # type: ignore[valid-type]


class _Nested(msgspec.Struct, frozen=True, kw_only=True):
    action: arguments(ClosedStruct, PlannedAction, types=_STATED)  # type: ignore[valid-type]


def planned_action(given: Arguments, nested: Mapping[str, Any] = NONE) -> PlannedAction:
    """Return an action, whose context has further fields.

    A field of the context that is an argument, too, is left out: as in CSTP's tools, the argument wins.
    Errors: Refusal, for an action without a description.
    """
    fields = {name: value for name in _ACTION if (value := getattr(given, name)) is not None} | dict(nested)
    known = {name: fields.pop(name) for name in _ACTION if name in fields}
    if not known.get("description"):
        raise Refusal(
            "description: it is required and missing.", "description", 'Add it. Example: {"description":"text"}'
        )
    context = {name: value for name, value in known.get("context", {}).items() if name not in {*known, *fields}}
    return PlannedAction(**{**known, "context": context | fields})


def _nested_action(action: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a nested action states. Errors: Refusal, for a wrong value."""
    given = {name: value for name, value in (action or {}).items() if value is not None}
    try:
        msgspec.convert({"action": {name: given[name] for name in _ACTION if name in given}}, _Nested)
    except msgspec.ValidationError as error:
        raise refusal_of_params(error, _Nested) from None
    return given


def _recording(call: ToolCall, given: Arguments, **decision: object) -> Recording:
    """Return what to record. Errors: InvalidEvent; Forbidden, if it asks for automatic deliberation."""
    own = given.deliberation if isinstance(given.deliberation, Deliberation) else None
    options = filled(RecordOptions, given, agent_id=None)
    recorded = filled(DecisionRecorded, given, **{**decision, "deliberation": own, "decision_id": None})
    return Recording(options.request(recorded), options, deliberates(call.caller, given.deliberation))


async def _pre_action(call: ToolCall, given: Arguments) -> Answer:
    action = planned_action(given, _nested_action(given.action))
    options = filled(PreActionOptions, given, **stated(given.options), agent_id=None)
    recorded = {name: value for name in _ALSO_RECORDED if (value := getattr(action, name)) is not None}
    recording = None
    if options.auto_record:
        recording = _recording(call, given, decision=action.description, context=None, **recorded)
    action_call = ActionCall(
        action=action,
        options=options,
        recording=recording,
        embedding=read_embedding(options.embedding, options.embedding_model),
        key=given.idempotency_key,
        tags=given.tags or (),
        automatic=deliberates(call.caller, given.deliberation),
    )
    answer: Answer = msgspec.to_builtins(await pre_action(call.ledger, call.caller, action_call))
    answer["relevantDecisions"] = [_without(row, "reasons", "bridge") for row in answer["relevantDecisions"]]
    return with_guardrails(_without(answer, "recorded"))


async def _check(call: ToolCall, given: Arguments) -> Answer:
    found: Any = await check_guardrails(call.ledger, call.caller, planned_action(given))
    answer: Answer = {name: value for name, value in found.items() if name != "agent"}
    return answer | {name: [_snake_id(row) for row in found[name]] for name in ("violations", "warnings")}


def _snake_id(row: dict[str, Any]) -> dict[str, Any]:
    """Return a rule that fired with its id under the name that CSTP's tool gives it; its method says guardrailId."""
    return {("guardrail_id" if name == "guardrailId" else name): value for name, value in row.items()}


async def _record(call: ToolCall, given: Arguments) -> Answer:
    answer = await record_decision(call.ledger, call.caller, _recording(call, given))
    return _without(answer, "path", "indexed")


async def _review(call: ToolCall, given: Arguments) -> Answer:
    review, key, prefix = filled(DecisionReviewed, given), given.idempotency_key, call.caller.may("read")
    recorded = await continue_decision(RecordedReview, call.ledger, call.caller, review, event_id=key, prefix=prefix)
    return {"success": True, "id": recorded.decision_id, "status": "reviewed", "reviewedAt": recorded.time.isoformat()}


async def _update(call: ToolCall, given: Arguments) -> Answer:
    changed = [name for name in DecisionAmended.__struct_fields__[1:] if getattr(given, name) is not None]
    if not changed:
        raise Refusal("Nothing to change was given.", "decision", 'Give what changes. Example: {"decision":"text"}')
    amendment, key, prefix = filled(DecisionAmended, given), given.idempotency_key, call.caller.may("read")
    recorded = await continue_decision(RecordedEvent, call.ledger, call.caller, amendment, event_id=key, prefix=prefix)
    return {"success": True, "id": recorded.decision_id, "updated_fields": changed}


async def _think(call: ToolCall, given: Arguments) -> Answer:
    thought = filled(Thought, given, agent_id=None)
    if given.decision_id is not None:
        try:
            found = await find_decision(call.view, given.decision_id)
        except NotFound:
            pass  # it names the decision to come
        else:
            thought = filled(Thought, given, agent_id=None, decision_id=None, id=found.decision_id)
    return _without(await record_thought(call.ledger, call.caller, thought), "agent_id")


def _without(answer: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in names}


DECISION_TOOLS = (
    Tool(
        name="pre_action",
        title="Check before acting",
        description="Call before a decision: similar decisions, guardrails, your calibration; records the action as a"
        " decision unless auto_record is false.",
        toolset="decisions",
        params=arguments(
            WriteArguments,
            NestedAction,
            DecisionRecorded,
            RecordOptions,
            PreActionOptions,
            PlannedAction,
            hidden=("decision", "decision_id"),
            types=_STATED,
        ),
        result={
            "allowed": bool,
            "decisionId": str | None,
            "relevantDecisions": list,
            "guardrailResults": list,
            "calibrationContext": dict,
            "patternsSummary": list,
            "guardrails": dict,
        },
        answer=_pre_action,
        writes=True,
        unlisted=(
            "action",
            "options",
            "include_patterns",
            *EMBEDDED,
            *_RARE,
            *_PLACE,
            "question",
            "test",
            "related_to",
            "check_id",
            "review_in",
        ),
    ),
    Tool(
        name="record_decision",
        title="Record a decision",
        description="Record a decision and how sure you are (confidence: probability of success)."
        " Repeat a call safely with idempotency_key. review_in: 7d, 2w or 1m.",
        toolset="decisions",
        params=arguments(WriteArguments, DecisionRecorded, RecordOptions, types=_STATED),
        result={
            "success": bool,
            "id": str,
            "quality": dict,
            "calibrationNote?": str,
            "guardrail_warnings?": list,
            "deliberation_auto?": bool,
            "related_count?": int,
            "unknown?": list[str],
        },
        answer=_record,
        writes=True,
        unlisted=("decision_id", "feature", *EMBEDDED, *_RARE),
        also=("log_decision",),
    ),
    Tool(
        name="review_outcome",
        title="Record the outcome",
        description="Record how a decision turned out. The latest review counts.",
        toolset="decisions",
        params=arguments(WriteArguments, DecisionReviewedV1, Keyed, names={"decision_id": "id"}),
        unlisted=("affected_kpis",),
        result={"success": bool, "id": str, "status": str, "reviewedAt": str},
        answer=_review,
        writes=True,
    ),
    Tool(
        name="update_decision",
        title="Amend a decision",
        description="Change fields of a recorded decision; its history stays.",
        toolset="decisions",
        params=arguments(WriteArguments, DecisionAmended, Keyed, names={"decision_id": "id"}),
        unlisted=("reasons", "bridge"),
        result={"success": bool, "id": str, "updated_fields": list[str]},
        answer=_update,
        writes=True,
    ),
    Tool(
        name="record_thought",
        title="Record a thought",
        description="Record a step of reasoning: about the decision decision_id, or for your next decision.",
        toolset="decisions",
        params=arguments(WriteArguments, Thought, hidden=("id",)),
        unlisted=EMBEDDED,
        result={
            "success": bool,
            "mode": str,
            "decision_id?": str,
            "step_number?": int,
            "tracker_key?": str,
            "thought_id?": str,
            "unknown?": list[str],
        },
        answer=_think,
        writes=True,
    ),
    Tool(
        name="check_action",
        title="Check against guardrails",
        description="Whether the guardrails allow an action. Pass checkId to record_decision as check_id.",
        toolset="decisions",
        params=arguments(WriteArguments, PlannedAction, Tracked, types={"description": Text, "stakes": Stakes | None}),
        result={"allowed": bool, "violations": list, "warnings": list, "evaluated": int, "checkId?": str},
        answer=_check,
        writes=True,
        tracked_as="cstp.checkGuardrails",
    ),
)
