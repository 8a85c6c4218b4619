"""Answers that may take long: a request waits for one only shortly, and the computation goes on in the background.

Requests that ask the same question share one computation. What it found, an error as well, is kept for the request that
asks again. An answer is exact as of its version; a request that gets one of an earlier version learns that it does.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

Answer = TypeVar("Answer")

KEPT_MAX = 32
"""Answers that are kept: those that were asked for last."""

RUNNING_MAX = 64
"""Computations that may go on without a request that waits for them; of more, the oldest ones are ended."""

BUSY_SHARE = 0.05
"""The largest share of a core for computing one answer again, of those that are brought up to date while they serve."""


class Found(NamedTuple, Generic[Answer]):
    """An answer; None while it is computed for the first time. `current`: it is one to the version that was asked."""

    answer: Answer | None
    current: bool


@dataclass(slots=True)
class _Kept:
    """An answer or an error, the version it is of, and in seconds when that ended and how long it took."""

    version: Hashable
    answer: Any
    error: Exception | None
    ended_s: float
    took_s: float


@dataclass(slots=True, eq=False)
class _Work:
    """A computation: how many requests wait for it, how many have asked, and whether one of them gave up waiting."""

    version: Hashable
    task: "asyncio.Task[Any]"
    waiting: int = 0
    asked: int = 0
    missed: bool = False


class KeptAnswers:
    """Answers of one ledger, of which `at_once` are computed at a time.

    While the log grows, an answer is computed again, but never so often that this takes more than `busy_share` of a
    core. With `only_missed`, an answer is only kept if a request gave up waiting for it. A computation that nobody has
    asked for in `alone_s` is ended; None: it goes on to its end.
    """

    def __init__(
        self, at_once: int, *, busy_share: float = 1.0, only_missed: bool = False, alone_s: float | None = None
    ) -> None:
        self._busy_share = busy_share
        self._only_missed = only_missed
        self._alone_s = alone_s
        self._turns = asyncio.Semaphore(at_once)
        self._kept: dict[Hashable, _Kept] = {}
        self._running: dict[Hashable, _Work] = {}

    async def find(
        self, key: Hashable, version: Hashable, compute: Callable[[], Awaitable[Answer]], wait_s: float
    ) -> Found[Answer]:
        """Return the answer to the question `key`, after at most `wait_s`.

        An answer to another `version` of the question is returned while the new one is computed. Errors: those of
        `compute`, also of one that this request did not wait for, if it was of this version.
        """
        until_s = time.monotonic() + wait_s
        while True:
            kept = self._take(key, version)
            if kept is not None and (kept.version == version or self._rests(kept)):
                return Found(kept.answer, kept.version == version)
            work = self._running.get(key) or self._begin(key, version, compute)
            if not await self._wait(key, work, until_s - time.monotonic()):
                return Found(None if kept is None else kept.answer, current=False)
            if work.version == version and not work.task.cancelled():
                return Found(work.task.result(), current=True)
            await asyncio.sleep(0)  # until it is not among the running ones

    async def close(self) -> None:
        """End what is being computed, and wait for that: a thread cannot be stopped."""
        running = [work.task for work in self._running.values()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def _take(self, key: Hashable, version: Hashable) -> _Kept | None:
        """Return what is kept of a question. An error is given once, and only for its version."""
        kept = self._kept.pop(key, None)
        if kept is not None and kept.error is not None:
            if kept.version == version:
                raise kept.error
            return None
        if kept is not None:
            self._kept[key] = kept  # the last one asked for
        return kept

    def _rests(self, kept: _Kept) -> bool:
        """Return whether an answer is too new to be computed again."""
        # to compute for `took_s` and then to rest for so long takes `busy_share` of a core
        rest_s = kept.took_s * (1 / self._busy_share - 1)
        return time.monotonic() - kept.ended_s < rest_s

    def _begin(self, key: Hashable, version: Hashable, compute: Callable[[], Awaitable[object]]) -> _Work:
        for other in list(self._running.values())[: max(0, len(self._running) - RUNNING_MAX + 1)]:
            if not other.waiting:
                other.task.cancel()
        work = _Work(version, asyncio.ensure_future(self._compute(key, version, compute)))
        self._running[key] = work
        work.task.add_done_callback(lambda ended: self._end(key, work))
        return work

    async def _wait(self, key: Hashable, work: _Work, wait_s: float) -> bool:
        """Wait for a computation; return whether it is done."""
        work.waiting += 1
        work.asked += 1
        try:
            if wait_s > 0:
                await asyncio.wait([work.task], timeout=wait_s)
        finally:
            work.waiting -= 1
            if not work.task.done():
                work.missed = True
                if self._alone_s is not None:
                    asyncio.get_running_loop().call_later(self._alone_s, _end_if_alone, work, work.asked)
        return work.task.done()

    async def _compute(self, key: Hashable, version: Hashable, compute: Callable[[], Awaitable[object]]) -> object:
        async with self._turns:
            work = self._running[key]
            begun_s = time.monotonic()
            answer, error = None, None
            try:
                answer = await compute()
            except Exception as failure:
                if work.waiting:
                    raise
                error = failure  # the next request gets it
            ended_s = time.monotonic()
        self._kept.pop(key, None)
        if work.missed or not self._only_missed:
            self._kept[key] = _Kept(version, answer, error, ended_s, ended_s - begun_s)
        for oldest in list(self._kept)[:-KEPT_MAX]:
            del self._kept[oldest]
        return answer

    def _end(self, key: Hashable, work: _Work) -> None:
        del self._running[key]
        if not work.task.cancelled():
            work.task.exception()  # of interest to those that wait for it


def _end_if_alone(work: _Work, asked: int) -> None:
    if not work.waiting and work.asked == asked:
        work.task.cancel()
