"""The tools that read decisions: search, one decision, calibration, reasons, open actions, and a session's context."""

from typing import Any, Literal

import msgspec

from api.mcp.arguments import (
    Arguments,
    ClosedStruct,
    Detailed,
    PageArguments,
    PageSize,
    ReadArguments,
    Speaking,
    Tracked,
    arguments,
    filled,
)
from api.mcp.decision_tools import EMBEDDED, Rows
from api.mcp.further_fields import figures_of, profile_figures, titles, with_description, with_reviewed
from api.mcp.tool import Answer, Tool, ToolCall
from api.service.action_items import ActionItemQuery
from api.service.agent_calls.answer_names import to_camel
from api.service.agent_calls.get_decisions import get_decision, ready
from api.service.agent_calls.query_decisions import QueryFilters, QueryParams, query_decisions
from api.service.agent_calls.session_context import SessionParams, get_session_context
from api.service.agent_calls.statistics import ASKED_PARTS, GROUPS_DEFAULT, get_calibration, get_reason_stats
from api.service.agent_context import own_agent
from api.service.calibration_params import CalibrationParams
from api.service.decision_params import OneDecisionParams
from events.decision import Stakes
from projections.calibration.reason_index import REVIEWED_MIN

PAGE_ROWS = 5

SEARCH_FILTERS = arguments(
    ClosedStruct,
    QueryFilters,
    names={"since": "date_after", "until": "date_before"},
    types={"stakes": tuple[Stakes, ...]},
)
REASON_FILTERS = arguments(
    ClosedStruct,
    CalibrationParams,
    only=("agent", "category", "stakes", "project", "feature", "since", "until"),
)


class Filtered(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to search."""

    filters: SEARCH_FILTERS | None = None  # type: ignore[valid-type]


class ReasonsOf(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to count, and how many reviews a score needs."""

    filters: REASON_FILTERS | None = None  # type: ignore[valid-type]
    min_reviewed: PageSize = REVIEWED_MIN


_OVERALL = (
    "brierScore", "accuracy", "meanConfidence", "calibrationGap", "interpretation", "supported", "reviewsNeeded",
    "totalDecisions", "reviewedDecisions", "window",
)  # fmt: skip
_BUCKET = ("bucket", "decisions", "successRate", "meanConfidence", "gap", "statedInterpretation", "supported")
_GROUP = ("group", "accuracy", "brierScore", "calibrationGap", "interpretation", "totalDecisions", "reviewedDecisions")
_REASON = ("reasonType", "totalUses", "reviewedUses", "successRate", "avgConfidence", "brierScore")


async def _query(call: ToolCall, given: Arguments) -> Answer:
    asked = filled(QueryParams, given, limit=call.limit or PAGE_ROWS, offset=call.offset)
    filters = filled(QueryFilters, given.filters or SEARCH_FILTERS())
    names_mode = given.retrieval_mode is not None
    answer: Answer = msgspec.to_builtins(
        await query_decisions(call.view, call.caller, asked, filters, asked.supplied(EMBEDDED), names_mode=names_mode)
    )
    rows, total = list(map(with_reviewed, answer["decisions"])), answer["total"]
    kept = _selected(answer, ("retrievalMode", "note", "calibrationNote", "unknownNames"))
    return {"decisions": rows, "total": total, "next": _next(call, rows, total), **kept}


def _next(call: ToolCall, rows: Rows, total: int) -> int | None:
    """Return the offset of the next page; None on the last."""
    following = call.offset + len(rows)
    return following if rows and following < total else None


async def _get(call: ToolCall, given: Arguments) -> Answer:
    answer: Any = msgspec.to_builtins(await get_decision(call.view, given.decision_id))
    known = {name: value for name, value in answer["decision"].items() if value not in (None, [], ())}
    return {"found": True, "decision": known}


async def _calibrate(call: ToolCall, given: Arguments) -> Answer:
    asked = filled(
        CalibrationParams,
        given,
        limit=given.limit or GROUPS_DEFAULT,
        detail="curves" if given.detail == "curves" else "figures",
    )
    answer: Answer = msgspec.to_builtins(await get_calibration(call.view, asked))
    overall = answer["overall"]
    figures = figures_of(answer["coverage"], overall)
    if given.detail not in (None, "short"):
        return figures | answer
    short: Answer = {
        **figures,
        "overall": None if overall is None else _selected(overall, _OVERALL),
        "byConfidenceBucket": [_selected(row, _BUCKET) for row in answer["byConfidenceBucket"] if row["decisions"]],
    }
    if given.group_by is not None:
        short["groups"] = [_selected(row, _GROUP) for row in answer["groups"]]
    return short | _selected(answer, ("recommendations", "unknownNames", *map(to_camel, ASKED_PARTS)))


async def _reasons(call: ToolCall, given: Arguments) -> Answer:
    least = given.min_reviewed or REVIEWED_MIN
    asked = filled(CalibrationParams, given.filters or REASON_FILTERS(), min_decisions=least)
    answer: Answer = msgspec.to_builtins(await get_reason_stats(call.view, asked))
    rows = [_selected(row, _REASON) for row in answer["byReasonType"]]
    kept = ("diversity", "recommendations", "totalDecisions", "reviewedDecisions", "unknownNames")
    return {"byReasonType": rows, **_selected(answer, kept)}


async def _ready(call: ToolCall, given: Arguments) -> Answer:
    asked = filled(ActionItemQuery, given, limit=call.limit or PAGE_ROWS, offset=call.offset)
    answer: Answer = msgspec.to_builtins(await ready(call.view, asked))
    shown = answer["total"] - answer["filtered"]
    rows = list(map(with_description, answer["actions"]))
    return {"actions": rows, "total": shown, "next": _next(call, rows, shown), **_selected(answer, ("unknownNames",))}


async def _session(call: ToolCall, given: Arguments) -> Answer:
    context: Answer = msgspec.to_builtins(
        await get_session_context(call.view, call.caller, filled(SessionParams, given))
    )
    answer = {name: value for name, value in context.items() if name != "queryTimeMs"}
    if "agentProfile" not in answer:
        return answer
    return answer | profile_figures(answer["agentProfile"]) | await _recent(call, given)


async def _recent(call: ToolCall, given: Arguments) -> Answer:
    """Return the newest decisions of the agent for a session without a task, which no decision is like."""
    if given.task_description is not None or (given.include is not None and "decisions" not in given.include):
        return {}
    filters = QueryFilters(agent=given.agent or own_agent(call.caller))
    newest = QueryParams(limit=PAGE_ROWS)
    listed: Any = await query_decisions(call.view, call.caller, newest, filters, None, names_mode=False)
    return {"recent_decisions": titles(listed["decisions"])}


def _selected(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: row[name] for name in names if name in row}


CALIBRATION_TOOLS = (
    Tool(
        name="query_decisions",
        title="Search decisions",
        description="Find earlier decisions by words; without query, the newest. next is the cursor of the next page.",
        toolset="decisions",
        params=arguments(
            PageArguments,
            QueryParams,
            Filtered,
            Tracked,
            Speaking,
            hidden=("include_reasons", "include_detail", "compacted"),
        ),
        answer=_query,
        heavy=True,
        rows="decisions",
        tracked_as="cstp.queryDecisions",
        unlisted=("hybrid_weight", "agent_id", *EMBEDDED),
    ),
    Tool(
        name="get_decision",
        title="Show a decision",
        description="Show one decision, by its id or a unique beginning of it.",
        toolset="decisions",
        params=arguments(ReadArguments, OneDecisionParams, Detailed, hidden=("prefix",), names={"decision_id": "id"}),
        result={"decision": dict, "cut?": list[str]},
        answer=_get,
        tracked_as="cstp.getDecision",
    ),
    Tool(
        name="get_calibration",
        title="Compare confidence with outcomes",
        description="How often decisions succeeded, compared with the confidence stated for them.",
        toolset="decisions",
        params=arguments(ReadArguments, CalibrationParams, types={"detail": Literal["short", "figures", "curves"]}),
        unlisted=("min_decisions", "threshold", "include", "trend_days", "limit", "offset", "group_sort"),
        result={"overall": dict | None, "byConfidenceBucket": list, "groups?": list, "recommendations?": list},
        answer=_calibrate,
        heavy=True,
        also=("get_stats",),
    ),
    Tool(
        name="get_reason_stats",
        title="Outcomes by kind of reason",
        description="Which kinds of reasons went with success.",
        toolset="decisions",
        params=arguments(ReadArguments, ReasonsOf),
        result={"byReasonType": list, "totalDecisions": int, "reviewedDecisions": int},
        answer=_reasons,
        heavy=True,
        tracked_as="cstp.getReasonStats",
    ),
    Tool(
        name="ready",
        title="List open actions",
        description="Decisions to review, and categories whose calibration drifts; the most urgent first.",
        toolset="decisions",
        params=arguments(
            PageArguments, ActionItemQuery, Speaking, names={"least": "min_priority", "kinds": "action_types"}
        ),
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
        params=arguments(
            ReadArguments,
            SessionParams,
            Speaking,
            types={"decisions_limit": PageSize, "ready_limit": PageSize},
        ),
        result={"agentProfile?": dict, "relevantDecisions?": list, "readyQueue?": list, "markdown?": str},
        answer=_session,
        heavy=True,
        unlisted=("agent", *EMBEDDED),
    ),
)
