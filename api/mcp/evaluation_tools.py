"""The tools of evaluations: list them, show one, compare two, and the scoreboard."""

from typing import Any

from api.mcp.arguments import Arguments, Detailed, PageArguments, ReadArguments, arguments
from api.mcp.tool import Answer, Tool, ToolCall
from api.service.evaluation import queries
from api.service.evaluation.evaluation_params import ComparisonParams, EvaluationParams
from api.service.run_params import EvaluationQuery
from projections.evaluation.query_params import ScoreboardQuery

PAGE_ROWS = 5


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


async def _list(call: ToolCall, given: Arguments) -> Answer:
    page = await call.ask(queries.get_evaluations, given, limit=call.limit or PAGE_ROWS, offset=call.offset)
    return {**page, "evaluations": [_short_row(row, _SUMMARY) for row in page["evaluations"]]}


async def _show(call: ToolCall, given: Arguments) -> Answer:
    shown = await call.ask(queries.get_evaluation, given, prefix=True)
    if given.detail == "full":
        return {"evaluation": shown}
    results = [_short_row(row, ("scenario_id", "mean", "passed", "attempts")) for row in shown.get("results", [])]
    return {"evaluation": {**_short_row(shown, _SUMMARY), "results": results}}


async def _compare(call: ToolCall, given: Arguments) -> Answer:
    comparison = await call.ask(queries.get_comparison, given, prefix=True)
    if given.detail == "full":
        return {"comparison": comparison}
    short = {name: value for name, value in comparison.items() if name not in {"baseline", "candidate", *_LISTS}}
    sides = {name: _short_row(comparison[name], _SUMMARY) for name in ("baseline", "candidate")}
    changes = {name: [row["scenario_id"] for row in comparison.get(name, [])] for name in _LISTS}
    return {"comparison": {**sides, **short, **{name: ids for name, ids in changes.items() if ids}}}


async def _scoreboard(call: ToolCall, given: Arguments) -> Answer:
    suites = (await call.ask(queries.get_scoreboard, given)).get("suites", [])
    if given.detail == "full":
        return {"suites": suites}
    return {
        "suites": [
            {"suite": suite["suite"], "rows": [_short_row(row, _ROW) for row in suite.get("rows", [])]}
            for suite in suites
        ]
    }


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
        params=arguments(PageArguments, EvaluationQuery),
        answer=_list,
        heavy=True,
        rows="evaluations",
    ),
    Tool(
        name="show_evaluation",
        title="Show an evaluation",
        description="Scores of one evaluation by scenario, by its run id or a unique beginning of it.",
        toolset="evaluations",
        params=arguments(ReadArguments, EvaluationParams, Detailed, hidden=("prefix",), names={"run": "run_id"}),
        result={"evaluation": dict, "cut?": list[str]},
        answer=_show,
        heavy=True,
    ),
    Tool(
        name="compare_evaluations",
        title="Compare two evaluations",
        description="What is worse and what better in candidate than in baseline. baseline may be latest.",
        toolset="evaluations",
        params=arguments(ReadArguments, ComparisonParams, Detailed, hidden=("prefix",)),
        result={"comparison": dict, "cut?": list[str]},
        answer=_compare,
        heavy=True,
    ),
    Tool(
        name="get_scoreboard",
        title="Scoreboard",
        description="Each version of each agent, suite by suite.",
        toolset="evaluations",
        params=arguments(ReadArguments, ScoreboardQuery, Detailed),
        result={"suites": list, "cut?": list[str]},
        answer=_scoreboard,
        heavy=True,
    ),
)
