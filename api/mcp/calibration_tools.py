"""The tools that read decisions: search, one decision, calibration, reasons, open actions, and a session's context."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from api.cstp.get_decisions import get_decision, ready
from api.cstp.get_session_context import get_session_context
from api.cstp.query_decisions import query_decisions
from api.cstp.statistics import get_calibration, get_reason_stats
from api.mcp.decision_tools import Rows, stated
from api.mcp.further_fields import figures_of, profile_figures, titles, with_description, with_reviewed
from api.mcp.tool import Answer, Day, PageSize, ReadParams, ReadResult, Tool, ToolCall
from api.principal import DeliberationPolicy
from api.service.action_items import Kind, Priority
from api.service.agent_context import own_agent
from events.decision import Stakes
from events.payload import Confidence, Count, Label
from events.vector import Numbers
from projections.decisions.decision_selection import Status
from tallystick.shapes.retrieval import RetrievalMode

PAGE_ROWS = 5

Limit = Annotated[int, PageSize]


class DecisionFilters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which decisions to search."""

    agent: str | None = None
    category: str | None = None
    stakes: list[Stakes] | None = None
    status: list[Status] | None = None
    project: str | None = None
    feature: str | None = None
    pr: Count | None = None
    tags: list[Label] | None = None
    has_outcome: bool | None = None
    min_confidence: Confidence | None = None
    max_confidence: Confidence | None = None
    date_after: Day | None = None
    date_before: Day | None = None


class SearchParams(ReadParams, frozen=True, kw_only=True):
    """A search."""

    query: str = ""
    filters: DecisionFilters | None = None
    limit: Limit | None = None
    cursor: str | None = None
    retrieval_mode: RetrievalMode | None = None
    hybrid_weight: Confidence | None = None
    embedding: Numbers | None = None
    embedding_model: Label | None = None
    bridge_side: Literal["structure", "function"] | None = None
    deliberation: DeliberationPolicy | None = None
    agent_id: Label | None = None


class SearchAnswer(ReadResult, frozen=True, kw_only=True):
    """A page of decisions."""

    decisions: Rows
    total: int
    next: str | None


class DecisionParams(ReadParams, frozen=True, kw_only=True):
    """One decision."""

    id: str
    detail: Literal["short", "full"] = "short"


class DecisionAnswer(ReadResult, frozen=True, kw_only=True):
    """One decision; `cut` names what is shortened."""

    decision: dict[str, Any]
    cut: list[str] | UnsetType = UNSET


class CalibrationToolParams(ReadParams, frozen=True, kw_only=True):
    """Which decisions to score, and how."""

    agent: str | None = None
    category: str | None = None
    stakes: Stakes | None = None
    project: str | None = None
    feature: str | None = None
    window: Literal["30d", "60d", "90d", "all"] | None = None
    since: Day | None = None
    until: Day | None = None
    group_by: Literal["category", "stakes", "agent", "project", "feature"] | None = None
    detail: Literal["short", "figures", "curves"] = "short"


class CalibrationResult(ReadResult, frozen=True, kw_only=True):
    """Calibration scores."""

    overall: dict[str, Any] | None
    byConfidenceBucket: Rows  # noqa: N815 - as CSTP names it
    groups: Rows | UnsetType = UNSET
    recommendations: list[Any] | UnsetType = UNSET


class ReasonFilters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which decisions to count."""

    agent: str | None = None
    category: str | None = None
    stakes: Stakes | None = None
    project: str | None = None
    since: Day | None = None
    until: Day | None = None


class ReasonParams(ReadParams, frozen=True, kw_only=True):
    """Which decisions to count, and how many reviews a score needs."""

    filters: ReasonFilters | None = None
    min_reviewed: Limit | None = None


class ReasonResult(ReadResult, frozen=True, kw_only=True):
    """Outcomes by kind of reason."""

    byReasonType: Rows  # noqa: N815
    totalDecisions: int  # noqa: N815
    reviewedDecisions: int  # noqa: N815


class ReadyParams(ReadParams, frozen=True, kw_only=True):
    """Which open actions to list."""

    min_priority: Priority | None = None
    action_types: list[Kind] | None = None
    category: str | None = None
    agent_id: str | None = None
    limit: Limit | None = None
    cursor: str | None = None


class ReadyResult(ReadResult, frozen=True, kw_only=True):
    """A page of open actions, the most urgent first."""

    actions: Rows
    total: int
    next: str | None


class SessionParams(ReadParams, frozen=True, kw_only=True):
    """The task of a session."""

    task_description: str | None = None
    agent: str | None = None
    agent_id: str | None = None
    include: list[Literal["decisions", "guardrails", "calibration", "ready", "patterns"]] | None = None
    decisions_limit: Limit | None = None
    ready_limit: Limit | None = None
    format: Literal["json", "markdown"] | None = None


class SessionResult(ReadResult, frozen=True, kw_only=True):
    """What an agent should know before a session; `markdown` alone if it was requested."""

    agentProfile: dict[str, Any] | UnsetType = UNSET  # noqa: N815
    relevantDecisions: Rows | UnsetType = UNSET  # noqa: N815
    readyQueue: Rows | UnsetType = UNSET  # noqa: N815
    markdown: str | UnsetType = UNSET


_OVERALL = (
    "brierScore", "accuracy", "meanConfidence", "calibrationGap", "interpretation", "supported", "reviewsNeeded",
    "totalDecisions", "reviewedDecisions", "window",
)  # fmt: skip
_BUCKET = ("bucket", "decisions", "successRate", "meanConfidence", "gap", "statedInterpretation", "supported")
_GROUP = ("group", "accuracy", "brierScore", "calibrationGap", "interpretation", "totalDecisions", "reviewedDecisions")
_REASON = ("reasonType", "totalUses", "reviewedUses", "successRate", "avgConfidence", "brierScore")


async def _query(call: ToolCall, params: SearchParams) -> Answer:
    given = stated(params, "as_of", "cursor", "limit", "agent_id", "deliberation")
    given |= {"limit": call.limit or PAGE_ROWS, "offset": call.offset}
    answer: Answer = msgspec.to_builtins(await query_decisions(call.view, call.caller, given))
    rows, total = list(map(with_reviewed, answer["decisions"])), answer["total"]
    kept = _selected(answer, ("retrievalMode", "note", "calibrationNote", "unknownNames"))
    return {"decisions": rows, "total": total, "next": _next(call, rows, total), **kept}


def _next(call: ToolCall, rows: Rows, total: int) -> int | None:
    """Return the offset of the next page; None on the last."""
    following = call.offset + len(rows)
    return following if rows and following < total else None


async def _get(call: ToolCall, params: DecisionParams) -> Answer:
    answer: Any = await get_decision(call.view, call.caller, {"id": params.id})
    decision: dict[str, Any] = msgspec.to_builtins(answer["decision"])
    return {
        "found": True,
        "decision": {name: value for name, value in decision.items() if value is not None and value != []},
    }


async def _calibrate(call: ToolCall, params: CalibrationToolParams) -> Answer:
    detail = "figures" if params.detail == "short" else params.detail
    given = stated(params, "as_of", "detail") | {"detail": detail}
    answer: Answer = msgspec.json.decode(msgspec.json.encode(await get_calibration(call.view, call.caller, given)))
    overall = answer["overall"]
    figures = figures_of(answer["coverage"], overall)
    if params.detail != "short":
        return figures | answer
    short: Answer = {
        **figures,
        "overall": None if overall is None else _selected(overall, _OVERALL),
        "byConfidenceBucket": [_selected(row, _BUCKET) for row in answer["byConfidenceBucket"] if row["decisions"]],
    }
    if params.group_by is not None:
        short["groups"] = [_selected(row, _GROUP) for row in answer["groups"]]
    return short | _selected(answer, ("recommendations", "unknownNames"))


async def _reasons(call: ToolCall, params: ReasonParams) -> Answer:
    answer: Answer = msgspec.to_builtins(await get_reason_stats(call.view, call.caller, stated(params, "as_of")))
    rows = [_selected(row, _REASON) for row in answer["byReasonType"]]
    kept = ("diversity", "recommendations", "totalDecisions", "reviewedDecisions", "unknownNames")
    return {"byReasonType": rows, **_selected(answer, kept)}


async def _ready(call: ToolCall, params: ReadyParams) -> Answer:
    page = {"limit": call.limit or PAGE_ROWS, "offset": call.offset}
    given = stated(params, "as_of", "agent_id", "cursor", "limit") | page
    answer: Answer = msgspec.to_builtins(await ready(call.view, call.caller, given))
    shown = answer["total"] - answer["filtered"]
    rows = list(map(with_description, answer["actions"]))
    return {"actions": rows, "total": shown, "next": _next(call, rows, shown), **_selected(answer, ("unknownNames",))}


async def _session(call: ToolCall, params: SessionParams) -> Answer:
    given = stated(params, "as_of", "agent_id")
    answer: Answer = msgspec.to_builtins(await get_session_context(call.view, call.caller, given))
    given = {name: value for name, value in answer.items() if name != "queryTimeMs"}
    if "agentProfile" not in given:
        return given
    return given | profile_figures(given["agentProfile"]) | await _recent(call, params)


async def _recent(call: ToolCall, params: SessionParams) -> Answer:
    """Return the newest decisions of the agent for a session without a task, which no decision is like."""
    if params.task_description is not None or (params.include is not None and "decisions" not in params.include):
        return {}
    filters = {} if (agent := params.agent or own_agent(call.caller)) is None else {"agent": agent}
    listed: Any = await query_decisions(call.view, call.caller, {"filters": filters, "limit": PAGE_ROWS})
    return {"recent_decisions": titles(listed["decisions"])}


def _selected(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: row[name] for name in names if name in row}


CALIBRATION_TOOLS = (
    Tool(
        name="query_decisions",
        title="Search decisions",
        description="Find earlier decisions by words; without query, the newest. next is the cursor of the next page.",
        toolset="decisions",
        params=SearchParams,
        result=SearchAnswer,
        answer=_query,
        heavy=True,
        rows="decisions",
        tracked_as="cstp.queryDecisions",
        unlisted=("hybrid_weight", "embedding", "embedding_model", "agent_id"),
    ),
    Tool(
        name="get_decision",
        title="Show a decision",
        description="Show one decision, by its id or a unique beginning of it.",
        toolset="decisions",
        params=DecisionParams,
        result=DecisionAnswer,
        answer=_get,
        tracked_as="cstp.getDecision",
    ),
    Tool(
        name="get_calibration",
        title="Compare confidence with outcomes",
        description="How often decisions succeeded, compared with the confidence stated for them.",
        toolset="decisions",
        params=CalibrationToolParams,
        result=CalibrationResult,
        answer=_calibrate,
        heavy=True,
        also=("get_stats",),
    ),
    Tool(
        name="get_reason_stats",
        title="Outcomes by kind of reason",
        description="Which kinds of reasons went with success.",
        toolset="decisions",
        params=ReasonParams,
        result=ReasonResult,
        answer=_reasons,
        heavy=True,
        tracked_as="cstp.getReasonStats",
    ),
    Tool(
        name="ready",
        title="List open actions",
        description="Decisions to review, and categories whose calibration drifts; the most urgent first.",
        toolset="decisions",
        params=ReadyParams,
        result=ReadyResult,
        answer=_ready,
        heavy=True,
        unlisted=("agent_id",),
        rows="actions",
    ),
    Tool(
        name="get_session_context",
        title="Context of a session",
        description="Call at the start of a session: your profile, decisions like the task, open actions.",
        toolset="decisions",
        params=SessionParams,
        result=SessionResult,
        answer=_session,
        heavy=True,
        unlisted=("agent",),
    ),
)
