"""Run the queries of views: one for each token at a time, a few in all, and none longer than its deadline.

A query calls `check` between two parts of its work. It pauses there while short requests are answered. If its client
has left, or its deadline has passed, `check` raises QueryStopped. Its turn ends when its thread has ended, so that
abandoned queries cannot pile up.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from contextvars import ContextVar
from threading import Event
from typing import Any, NamedTuple, TypeVar

from api.rate_limit import QueryTimeout, TokenUse
from api.service.pauses import UNPAUSED_S, Pauses
from events.limits import QUERIES_MAX, QUERY_S

_Result = TypeVar("_Result")


class QueryLimits(NamedTuple):
    """How many queries are computed at once, and the seconds in which each must be answered."""

    at_once: int = QUERIES_MAX
    seconds: float = QUERY_S


QUERIES = QueryLimits()


class QueryStopped(Exception):
    """The query's client has left, its deadline has passed, or the server stops."""


class _Running(NamedTuple):
    """The running query: the event that stops it, and the pauses of its server."""

    stop: Event
    pauses: Pauses


_running: ContextVar[_Running | None] = ContextVar("_running", default=None)


def query_check() -> Callable[[], None]:
    """Return a function that pauses the running query, and raises QueryStopped if it is to stop, for its thread."""
    running = _running.get()
    worked_from_s: float | None = None
    unpaused_s = UNPAUSED_S
    credit_s = 0.0  # by how much it has worked longer than paused since

    def check() -> None:
        nonlocal worked_from_s, unpaused_s, credit_s
        if running is None:
            return
        now_s = time.thread_time()  # without the time in which others had the interpreter
        worked_s = 0.0 if worked_from_s is None else now_s - worked_from_s
        pause_s = 0.0
        if worked_from_s is None or unpaused_s > 0:
            worked_from_s, unpaused_s = now_s, unpaused_s - worked_s
        else:
            pause_s = running.pauses.pause_s(worked_s, credit_s + worked_s)
        paused_from_s = time.monotonic()
        # a stop ends the pause at once
        if running.stop.wait(pause_s) if pause_s else running.stop.is_set():
            raise QueryStopped
        if pause_s:
            worked_from_s = now_s
            credit_s += worked_s - (time.monotonic() - paused_from_s)

    return check


class QueryTurns:
    """The queries of one server. The command line computes views without it, and without limits."""

    def __init__(self, limits: QueryLimits = QUERIES, pauses: Pauses | None = None) -> None:
        self.running = 0
        self._pauses = pauses or Pauses()
        self._limits = limits
        self._turns = asyncio.Semaphore(limits.at_once)
        self._tasks: dict[asyncio.Task[Any], Event] = {}
        self._stopping = False

    async def run(
        self,
        query: Callable[[], Coroutine[Any, Any, _Result]],
        use: TokenUse | None,
        leave: Callable[[], Awaitable[None]],
    ) -> _Result | None:
        """Return the result of a query; None if its client has left, after which `leave` returns.

        Errors: QueryTimeout, and those of the query.
        """
        if self._stopping:
            raise _stopping()
        stop = Event()
        task = asyncio.ensure_future(self._take_turn(query, use, stop))
        self._tasks[task] = stop
        task.add_done_callback(self._tasks.pop)
        left = asyncio.ensure_future(leave())
        try:
            await asyncio.wait((task, left), timeout=self._limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return self._result(task)
            if left.done():
                return None
            raise self._timeout()
        finally:
            left.cancel()
            _end(task, stop)

    async def within_limit(self, answer: Coroutine[Any, Any, _Result]) -> _Result:
        """Return an answer that waits for no turn. Errors: QueryTimeout."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await answer
        except TimeoutError:
            raise self._timeout() from None

    def _timeout(self) -> QueryTimeout:
        return QueryTimeout(
            f"The query was not answered within {self._limits.seconds:g} s, which is the limit of the server.",
            "Select fewer decisions (agent, category, since), or a smaller limit; one token's queries are computed"
            " one after another.",
        )

    def stop(self) -> None:
        """End every query, because the server stops."""
        self._stopping = True
        for task, stop in list(self._tasks.items()):
            _end(task, stop)

    def _result(self, task: "asyncio.Task[_Result]") -> _Result:
        if self._stopping and (task.cancelled() or isinstance(task.exception(), QueryStopped)):
            raise _stopping()
        return task.result()

    async def _take_turn(
        self, query: Callable[[], Coroutine[Any, Any, _Result]], use: TokenUse | None, stop: Event
    ) -> _Result:
        async with AsyncExitStack() as turn:
            # first the turn of the token: its waiting queries must not hold the turns that all share
            if use is not None:
                await turn.enter_async_context(use.query_turn)
            await turn.enter_async_context(self._turns)
            self.running += 1
            _running.set(_Running(stop, self._pauses))
            try:
                return await query()
            finally:
                self.running -= 1


def _end(task: "asyncio.Task[Any]", stop: Event) -> None:
    """Stop a query that is not done, without waiting for it; its exception is of no interest."""
    if not task.done():
        stop.set()
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        task.cancel()


def _stopping() -> QueryTimeout:
    return QueryTimeout("The server is stopping; the query was not answered.", "Retry when it runs again.")
