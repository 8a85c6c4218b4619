"""The loop of a live run: ask a router and record each answer, until the run ends or the caller stops it.

Each answer is durable before the next prompt is sent. An answer that arrives while the ledger cannot be reached is
kept and written later; an answer that was already written is not written twice.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from api.service.discovery.messages import NextPrompt, ResponseResult
from api.service.discovery.runs import finish, prompt, respond
from api.service.retry import retry, while_unavailable
from api.service.store import EventStore
from instruments.answer import RouterAnswer
from instruments.routers import Router

OnResponse = Callable[[ResponseResult, RouterAnswer], None]
"""Called with the result of each answer, once it is durable, and the answer."""


class RetrySettings(msgspec.Struct, frozen=True, kw_only=True):
    """How long one attempt may take, and how long all attempts together, in seconds."""

    timeout_s: float
    max_time_s: float | None = None


async def drive(
    store: EventStore, run_id: str, router: Router, pace: RetrySettings, stop: asyncio.Event, on_response: OnResponse
) -> NextPrompt:
    """Continue a run until it ends or `stop` is set; return its next prompt, or how it ended.

    The run's limits bound the attempts, `pace` bounds their time. Errors: those of `respond`.
    """
    deadline_s = None if pace.max_time_s is None else time.monotonic() + pace.max_time_s
    step = await prompt(store, run_id)
    while step.prompt is not None and not stop.is_set():
        left_s = pace.timeout_s if deadline_s is None else deadline_s - time.monotonic()
        if left_s <= 0:
            await finish(store, run_id, "max time reached", "max_time")
            return await prompt(store, run_id)
        answer = await _ask_router(router, step.prompt, min(pace.timeout_s, left_s), stop)
        if answer is None:
            break
        responded = await _record(store, run_id, answer, step.attempt)
        on_response(responded, answer)
        step = responded.next
    return step


async def _ask_router(router: Router, text: str, timeout_s: float, stop: asyncio.Event) -> RouterAnswer | None:
    """Return a router's answer; None if `stop` was set first."""
    asking = asyncio.create_task(router.ask(text, timeout_s))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait([asking, stopping], return_when=asyncio.FIRST_COMPLETED)
    for task in (stopping, asking):
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    return None if asking.cancelled() else asking.result()


async def _record(store: EventStore, run_id: str, answer: RouterAnswer, attempt: int | None) -> ResponseResult:
    """Record an answer, waiting for a ledger that cannot be reached. Errors: those of `respond`."""
    return await retry(lambda again: respond(store, run_id, answer, attempt), while_unavailable)
