"""The tools of evaluations: list them, show one, compare two, and the scoreboard."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from api.mcp.decision_tools import Rows
from api.mcp.tool import Answer, PageSize, ReadParams, ReadResult, Tool, ToolCall
from api.service.evaluation import queries
from api.service.evaluation.evaluation_params import ComparisonParams as ComparisonQuery
from api.service.evaluation.evaluation_params import EvaluationParams
from api.service.run_params import EvaluationQuery
from projections.evaluation.query_params import ScoreboardQuery

PAGE_ROWS = 5


class EvaluationsParams(ReadParams, frozen=True, kw_only=True):
    """Which evaluations to list."""

    suite: str | None = None
    agent: str | None = None
    limit: Annotated[int, PageSize] | None = None
    cursor: str | None = None


class EvaluationsResult(ReadResult, frozen=True, kw_only=True):
    """A page of evaluations, the last started first."""

    evaluations: Rows
    total: int
    next: str | None


class EvaluationToolParams(ReadParams, frozen=True, kw_only=True):
    """One evaluation."""

    run_id: str
    detail: Literal["short", "full"] = "short"


class EvaluationResult(ReadResult, frozen=True, kw_only=True):
    """One evaluation; `cut` names what is shortened."""

    evaluation: dict[str, Any]
    cut: list[str] | UnsetType = UNSET


class ComparisonToolParams(ReadParams, frozen=True, kw_only=True):
    """Two evaluations."""

    baseline: str
    candidate: str
    detail: Literal["short", "full"] = "short"


class ComparisonResult(ReadResult, frozen=True, kw_only=True):
    """What became worse and what better; `cut` names what is shortened."""

    comparison: dict[str, Any]
    cut: list[str] | UnsetType = UNSET


class ScoreboardParams(ReadParams, frozen=True, kw_only=True):
    """Which rows to show."""

    suite: str | None = None
    agent: str | None = None
    group_by: Literal["agent", "model"] = "agent"
    detail: Literal["short", "full"] = "short"


class ScoreboardResult(ReadResult, frozen=True, kw_only=True):
    """The scores of each version of each agent, suite by suite."""

    suites: Rows
    cut: list[str] | UnsetType = UNSET


_SUMMARY = (
    "run_id", "suite", "agent", "agent_version", "started_at", "ended", "reason", "scenarios", "attempts", "passed",
    "failed", "errors", "mean", "mean_interval", "pass_rate",
)  # fmt: skip
_ROW = (
    "agent", "agent_version", "model", "baseline", "runs", "scenarios", "attempts", "mean", "mean_interval", "passed",
    "pass_rate", "difference", "difference_interval", "regressed",
)  # fmt: skip
_TOTALS = ("input_tokens", "output_tokens", "cost_usd")
_LISTS = ("regressed", "missing", "lower", "improved", "added", "errors", "not_comparable")


async def _list(call: ToolCall, params: EvaluationsParams) -> Answer:
    query = EvaluationQuery(suite=params.suite, agent=params.agent, limit=call.limit or PAGE_ROWS, offset=call.offset)
    page = await queries.get_evaluations(call.view, query)
    rows = [_short_row(msgspec.to_builtins(summary), _SUMMARY) for summary in page.evaluations]
    return {"evaluations": rows, "total": page.total, "next": page.next}


async def _show(call: ToolCall, params: EvaluationToolParams) -> Answer:
    shown: Answer = msgspec.to_builtins(
        await queries.get_evaluation(call.view, EvaluationParams(run=params.run_id, prefix=True))
    )
    shown.pop("as_of")
    if params.detail == "short":
        results = [_short_row(row, ("scenario_id", "mean", "passed", "attempts")) for row in shown.get("results", [])]
        return {"evaluation": {**_short_row(shown, _SUMMARY), "results": results}}
    return {"evaluation": shown}


async def _compare(call: ToolCall, params: ComparisonToolParams) -> Answer:
    compared = await queries.get_comparison(
        call.view, ComparisonQuery(baseline=params.baseline, candidate=params.candidate, prefix=True)
    )
    comparison: Answer = msgspec.to_builtins(compared)
    comparison.pop("as_of")
    if params.detail == "full":
        return {"comparison": comparison}
    short = {name: value for name, value in comparison.items() if name not in {"baseline", "candidate", *_LISTS}}
    sides = {name: _short_row(comparison[name], _SUMMARY) for name in ("baseline", "candidate")}
    changes = {name: [row["scenario_id"] for row in comparison.get(name, [])] for name in _LISTS}
    return {"comparison": {**sides, **short, **{name: ids for name, ids in changes.items() if ids}}}


async def _scoreboard(call: ToolCall, params: ScoreboardParams) -> Answer:
    query = ScoreboardQuery(suite=params.suite, agent=params.agent, group_by=params.group_by)
    board: Answer = msgspec.to_builtins(await queries.get_scoreboard(call.view, query))
    suites = board.get("suites", [])
    if params.detail == "short":
        suites = [
            {"suite": suite["suite"], "rows": [_short_row(row, _ROW) for row in suite.get("rows", [])]}
            for suite in suites
        ]
    return {"suites": suites}


def _short_row(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return some fields of a row, and in short what its answers used, if they state a cost or tokens."""
    used = row.get("usage", {})
    totals = {name: used[name]["total"] for name in _TOTALS if name in used}
    median_ns = used.get("elapsed_ns", {}).get("median")
    latency = {} if median_ns is None else {"median_latency_s": round(median_ns / 1e9, 3)}
    short = {"usage": totals | latency} if totals else {}
    return {name: row[name] for name in names if row.get(name) is not None} | short


EVALUATION_TOOLS = (
    Tool(
        name="list_evaluations",
        title="List evaluations",
        description="Evaluations of agents, the last started first.",
        toolset="evaluations",
        params=EvaluationsParams,
        result=EvaluationsResult,
        answer=_list,
        heavy=True,
        rows="evaluations",
    ),
    Tool(
        name="show_evaluation",
        title="Show an evaluation",
        description="Scores of one evaluation by scenario, by its run id or a unique beginning of it.",
        toolset="evaluations",
        params=EvaluationToolParams,
        result=EvaluationResult,
        answer=_show,
        heavy=True,
    ),
    Tool(
        name="compare_evaluations",
        title="Compare two evaluations",
        description="What is worse and what better in candidate than in baseline. baseline may be latest.",
        toolset="evaluations",
        params=ComparisonToolParams,
        result=ComparisonResult,
        answer=_compare,
        heavy=True,
    ),
    Tool(
        name="get_scoreboard",
        title="Scoreboard",
        description="Each version of each agent, suite by suite.",
        toolset="evaluations",
        params=ScoreboardParams,
        result=ScoreboardResult,
        answer=_scoreboard,
        heavy=True,
    ),
)
