"""The tools of discovery: an agent asks a router which models answer. The handle of a run is its id."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from api.mcp.decision_tools import Rows, stated
from api.mcp.tool import AgentParams, Answer, PageSize, ReadParams, ReadResult, Tool, ToolCall
from api.service.discovery import run_operations, run_signals
from api.service.discovery.queries import get_run
from api.service.discovery.run_types import PROBES_MAX, Limit, ProbeId, ResponseResult, RunConfig, SignalDraft
from api.service.discovery.stated_answer import ElapsedMs, to_router_answer
from api.service.run_params import RunParams
from api.service.store import LocalStore
from events.payload import Count, Label, Meta, StreamId
from instruments.answer import Failure

SIGNALS_ROWS = 20


class StartParams(AgentParams, frozen=True, kw_only=True):
    """The settings of a run, as `RunConfig` has them."""

    run_id: StreamId | None = None
    probe_id: ProbeId | None = None
    probes: Annotated[tuple[ProbeId, ...], msgspec.Meta(min_length=1, max_length=PROBES_MAX)] | None = None
    max_iterations: Limit | None = None
    max_attempts: Limit | None = None
    terminate_on_repeat: bool | None = None
    keep_going: bool | None = None
    sensitive: bool | None = None
    router: Label | None = None
    requested_model: Label | None = None


class StartAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The handle of the run, also as `session_id`; `duplicate` if it existed."""

    run_id: str
    session_id: str
    duplicate: bool
    status: str


class PromptParams(ReadParams, frozen=True, kw_only=True):
    """A run."""

    run_id: StreamId


class PromptResult(ReadResult, frozen=True, kw_only=True):
    """The prompt of the next attempt; for a run that has ended, `ending` and `reason`."""

    run_id: str
    session_id: str
    done: bool
    prompt: str | None
    attempt: int | None
    excluded: list[str]
    ending: str | None
    reason: str | None


class ResponseParams(AgentParams, frozen=True, kw_only=True):
    """What the router answered, or how it failed."""

    run_id: StreamId
    response: str | None = None
    failure: Failure | None = None
    detail: str | None = None
    attempt: Annotated[int, msgspec.Meta(ge=1)] | None = None
    reported_model: Label | None = None
    tokens_used: Count | None = None
    elapsed_ns: Count | None = None
    elapsed_ms: ElapsedMs | None = None


class ResponseAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Which model answered, its score, and whether the run goes on; `register` registers a model that is not known."""

    run_id: str
    session_id: str
    attempt: int
    outcome: str
    iteration: int | None
    model_name: str | None
    provider: str | None
    key: str | None
    score: float | None
    known: bool
    done: bool
    verdict: str | None
    detail: str | None
    register: str | UnsetType = UNSET


class ReportParams(ReadParams, frozen=True, kw_only=True):
    """A run."""

    run_id: StreamId


class ReportResult(ReadResult, frozen=True, kw_only=True):
    """The models that answered, and why the run ended."""

    run_id: str
    session_id: str
    status: str
    unique_models: int
    model_names: list[str]
    report: dict[str, Any]
    cut: list[str] | UnsetType = UNSET


class SignalParams(AgentParams, frozen=True, kw_only=True):
    """A message to the people who watch a run."""

    run_id: StreamId
    event: Label
    agent: Label | None = None
    case_id: Label | None = None
    step: Label | None = None
    meta: Meta | None = None


class SignalResult(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded signal; `unknown` has its id if no run has that."""

    ok: bool
    position: int
    unknown: list[str] | UnsetType = UNSET


class SignalsParams(ReadParams, frozen=True, kw_only=True):
    """Which signals to list: those after the position `since`."""

    run_id: StreamId
    since: Count = 0
    limit: Annotated[int, PageSize] | None = None
    cursor: str | None = None


class SignalsResult(ReadResult, frozen=True, kw_only=True):
    """A page of signals."""

    signals: Rows
    total: int
    next: str | None


async def _start(call: ToolCall, params: StartParams) -> Answer:
    store = LocalStore(call.view, call.caller)
    config = RunConfig(**stated(params, "agent_id"))
    started = await run_operations.start(store, config)
    prompt = await run_operations.prompt(store, started.run_id)
    status = "running" if prompt.ending is None else "ended"
    return {
        **_handle(started.run_id),
        "duplicate": started.duplicate,
        "status": status,
        "probe_id": config.probe_id,
        "max_iterations": config.max_iterations,
    }


def _handle(run_id: str) -> Answer:
    return {"run_id": run_id, "session_id": run_id}


async def _prompt(call: ToolCall, params: PromptParams) -> Answer:
    prompt = await run_operations.prompt(LocalStore(call.view, call.caller), params.run_id)
    fields: Answer = msgspec.to_builtins(prompt)
    del fields["exclusion_prompt"]
    return {**_handle(prompt.run_id), "done": prompt.prompt is None, **fields}


async def _respond(call: ToolCall, params: ResponseParams) -> Answer:
    store = LocalStore(call.view, call.caller)
    return _result(await run_operations.respond(store, params.run_id, to_router_answer(params), params.attempt))


def _result(result: ResponseResult) -> Answer:
    analysis = result.analysis
    identity = None if analysis is None else analysis.identity
    register: Answer = {} if result.register is UNSET else {"register": result.register}
    return {
        **_handle(result.run_id),
        "attempt": result.attempt,
        "outcome": result.outcome,
        "iteration": result.iteration,
        "model_name": None if identity is None else identity.model_name,
        "provider": None if identity is None else identity.provider,
        "key": None if analysis is None else analysis.key,
        "score": result.score,
        "known": analysis is not None and analysis.known,
        "done": result.next.prompt is None,
        "verdict": None if analysis is None else analysis.verdict,
        "detail": result.detail,
        **register,
    }


async def _report(call: ToolCall, params: ReportParams) -> Answer:
    detail = await get_run(call.view, RunParams(run_id=params.run_id))
    report: Answer = msgspec.to_builtins(detail)
    models = detail.unique_models or ()
    return {
        **_handle(params.run_id),
        "status": "running" if detail.termination_reason is None else "done",
        "term_reason": detail.termination_reason,
        "unique_models": len(models),
        "model_names": [model.model_name for model in models],
        "report": report,
    }


async def _signal(call: ToolCall, params: SignalParams) -> Answer:
    draft = SignalDraft(**stated(params, "agent_id", "run_id"))
    entry = await run_signals.signal(LocalStore(call.view, call.caller), params.run_id, draft)
    unknown: Answer = {} if entry.unknown is None else {"unknown": entry.unknown}
    return {"ok": True, "position": entry.position, **unknown}


async def _signals(call: ToolCall, params: SignalsParams) -> Answer:
    page = await run_signals.signals(LocalStore(call.view, call.caller), params.run_id, params.since)
    end = call.offset + (call.limit or SIGNALS_ROWS)
    rows: Rows = msgspec.to_builtins(page.signals[call.offset : end])
    return {"signals": rows, "total": len(page.signals), "next": end if end < len(page.signals) else None}


DISCOVERY_TOOLS = (
    Tool(
        name="start_discovery",
        title="Start a discovery run",
        description="Begin to find out which models a router uses. Returns run_id, the handle of the other tools;"
        " choose it yourself to repeat the call safely.",
        toolset="discovery",
        params=StartParams,
        result=StartAnswer,
        answer=_start,
        writes=True,
    ),
    Tool(
        name="get_discovery_prompt",
        title="Next prompt",
        description="The prompt to send to the router next; done once the run has ended.",
        toolset="discovery",
        params=PromptParams,
        result=PromptResult,
        answer=_prompt,
        whole=True,
    ),
    Tool(
        name="submit_discovery_response",
        title="Submit a response",
        description="Record what the router answered, or how it failed. With attempt a repeated call writes nothing"
        " twice.",
        toolset="discovery",
        params=ResponseParams,
        result=ResponseAnswer,
        answer=_respond,
        writes=True,
        open_world=True,
    ),
    Tool(
        name="get_discovery_report",
        title="Report of a run",
        description="The models that answered so far, and why the run ended.",
        toolset="discovery",
        params=ReportParams,
        result=ReportResult,
        answer=_report,
    ),
    Tool(
        name="emit_signal",
        title="Signal the people who watch",
        description="Record a short message about a run.",
        toolset="discovery",
        params=SignalParams,
        result=SignalResult,
        answer=_signal,
        writes=True,
    ),
    Tool(
        name="get_signals",
        title="List signals",
        description="The signals of a run in the order of the log.",
        toolset="discovery",
        params=SignalsParams,
        result=SignalsResult,
        answer=_signals,
        rows="signals",
    ),
)
