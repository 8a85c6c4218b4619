"""The tools of discovery: an agent asks a router which models answer. The handle of a run is its id."""

import msgspec
from msgspec import UNSET

from api.mcp.arguments import Arguments, PageArguments, ReadArguments, WriteArguments, arguments, filled
from api.mcp.decision_tools import Rows
from api.mcp.tool import Answer, Tool, ToolCall
from api.service.discovery import run_operations, run_signals
from api.service.discovery.queries import get_run
from api.service.discovery.run_types import ResponseResult, RunConfig, SignalDraft
from api.service.discovery.stated_answer import ResponseBody, to_router_answer
from api.service.run_params import RunParams
from api.service.store import LocalStore
from events.payload import Count, StreamId

SIGNALS_ROWS = 20


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run."""

    run_id: StreamId


class SignalsAfter(Run, frozen=True, kw_only=True):
    """The signals of a run after a position."""

    since: Count = 0


async def _start(call: ToolCall, given: Arguments) -> Answer:
    store = LocalStore(call.view, call.caller)
    config = filled(RunConfig, given)
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


async def _prompt(call: ToolCall, given: Arguments) -> Answer:
    prompt = await run_operations.prompt(LocalStore(call.view, call.caller), given.run_id)
    fields: Answer = msgspec.to_builtins(prompt)
    del fields["exclusion_prompt"]
    return {**_handle(prompt.run_id), "done": prompt.prompt is None, **fields}


async def _respond(call: ToolCall, given: Arguments) -> Answer:
    store = LocalStore(call.view, call.caller)
    return _result(
        await run_operations.respond(store, given.run_id, to_router_answer(filled(ResponseBody, given)), given.attempt)
    )


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


async def _report(call: ToolCall, given: Arguments) -> Answer:
    report = await call.ask(get_run, given)
    models = report.get("unique_models", [])
    return {
        **_handle(given.run_id),
        "status": "done" if "termination_reason" in report else "running",
        "term_reason": report.get("termination_reason"),
        "unique_models": len(models),
        "model_names": [model["model_name"] for model in models],
        "report": report,
    }


async def _signal(call: ToolCall, given: Arguments) -> Answer:
    draft = filled(SignalDraft, given)
    entry = await run_signals.signal(LocalStore(call.view, call.caller), given.run_id, draft)
    unknown: Answer = {} if entry.unknown is None else {"unknown": entry.unknown}
    return {"ok": True, "position": entry.position, **unknown}


async def _signals(call: ToolCall, given: Arguments) -> Answer:
    page = await run_signals.signals(LocalStore(call.view, call.caller), given.run_id, given.since or 0)
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
        params=arguments(WriteArguments, RunConfig),
        result={"run_id": str, "session_id": str, "duplicate": bool, "status": str},
        answer=_start,
        writes=True,
    ),
    Tool(
        name="get_discovery_prompt",
        title="Next prompt",
        description="The prompt to send to the router next; done once the run has ended.",
        toolset="discovery",
        params=arguments(ReadArguments, Run),
        result={
            "run_id": str,
            "session_id": str,
            "done": bool,
            "prompt": str | None,
            "attempt": int | None,
            "excluded": list[str],
            "ending": str | None,
            "reason": str | None,
        },
        answer=_prompt,
        whole=True,
    ),
    Tool(
        name="submit_discovery_response",
        title="Submit a response",
        description="Record what the router answered, or how it failed. With attempt a repeated call writes nothing"
        " twice.",
        toolset="discovery",
        params=arguments(WriteArguments, Run, ResponseBody),
        result={
            "run_id": str,
            "session_id": str,
            "attempt": int,
            "outcome": str,
            "iteration": int | None,
            "model_name": str | None,
            "provider": str | None,
            "key": str | None,
            "score": float | None,
            "known": bool,
            "done": bool,
            "verdict": str | None,
            "detail": str | None,
            "register?": str,
        },
        answer=_respond,
        writes=True,
        open_world=True,
    ),
    Tool(
        name="get_discovery_report",
        title="Report of a run",
        description="The models that answered so far, and why the run ended.",
        toolset="discovery",
        params=arguments(ReadArguments, RunParams, hidden=("include", "prefix")),
        result={
            "run_id": str,
            "session_id": str,
            "status": str,
            "unique_models": int,
            "model_names": list[str],
            "report": dict,
            "cut?": list[str],
        },
        answer=_report,
    ),
    Tool(
        name="emit_signal",
        title="Signal the people who watch",
        description="Record a short message about a run.",
        toolset="discovery",
        params=arguments(WriteArguments, Run, SignalDraft, hidden=("ts",)),
        result={"ok": bool, "position": int, "unknown?": list[str]},
        answer=_signal,
        writes=True,
    ),
    Tool(
        name="get_signals",
        title="List signals",
        description="The signals of a run in the order of the log.",
        toolset="discovery",
        params=arguments(PageArguments, SignalsAfter),
        answer=_signals,
        rows="signals",
    ),
)
