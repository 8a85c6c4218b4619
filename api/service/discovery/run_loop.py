"""The loop of a discovery run: ask a router and record each answer, until the run ends or the caller stops it.

Each answer is durable before the next prompt is sent. If the ledger cannot be reached, the loop keeps the answer and
tries again; the ledger records each answer once.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from api.service.discovery.run_operations import finish, prompt, respond
from api.service.discovery.run_types import NextPrompt, ResponseResult
from api.service.retry import retry, while_unavailable
from api.service.store import EventStore
from instruments.answer import RouterAnswer
from instruments.routers import Router

OnResponse = Callable[[ResponseResult, RouterAnswer], None]
"""Called with the result of each answer, once it is durable, and the answer."""


class RunTimeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The time limits of a run, in seconds: of one attempt, and of all attempts together."""

    timeout_s: float
    max_time_s: float | None = None


async def continue_run(
    store: EventStore, run_id: str, router: Router, limits: RunTimeLimits, stop: asyncio.Event, on_response: OnResponse
) -> NextPrompt:
    """Continue a run until it ends or `stop` is set; return its next prompt, or how it ended.

    The run has its own limits of attempts; `limits` are those of time. Errors: those of `respond`.
    """
    deadline_s = None if limits.max_time_s is None else time.monotonic() + limits.max_time_s
    step = await prompt(store, run_id)
    while step.prompt is not None and not stop.is_set():
        remaining_s = limits.timeout_s if deadline_s is None else deadline_s - time.monotonic()
        if remaining_s <= 0:
            await finish(store, run_id, "max time reached", "max_time")
            return await prompt(store, run_id)
        answer = await _ask_router(router, step.prompt, min(limits.timeout_s, remaining_s), stop)
        if answer is None:
            break
        response = await _record(store, run_id, answer, step.attempt)
        on_response(response, answer)
        step = response.next
    return step


async def _ask_router(router: Router, text: str, timeout_s: float, stop: asyncio.Event) -> RouterAnswer | None:
    """Return a router's answer; None if `stop` was set first."""
    answer_task = asyncio.create_task(router.ask(text, timeout_s))
    stop_task = asyncio.create_task(stop.wait())
    await asyncio.wait([answer_task, stop_task], return_when=asyncio.FIRST_COMPLETED)
    for task in (stop_task, answer_task):
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    return None if answer_task.cancelled() else answer_task.result()


async def _record(store: EventStore, run_id: str, answer: RouterAnswer, attempt: int | None) -> ResponseResult:
    """Record an answer, waiting for a ledger that cannot be reached. Errors: those of `respond`."""
    return await retry(lambda again: respond(store, run_id, answer, attempt), while_unavailable)
