"""Score the attempts of an evaluation in concurrent workers; a worker waits until its score is written.

One task writes: the scores that arrive while it appends a batch are its next batch.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

from api.service.evaluation.recorded_tries import AttemptKey
from api.service.evaluation.retry_plan import RetryPlan
from api.service.evaluation.run_operations import EvalRun, GradedAttempt, add_scores
from api.service.store import EventStore

_Result = TypeVar("_Result")

CAPTURED_JOBS = 100
"""Workers for captured answers, and so the most scores in one append."""

GradeAttempt = Callable[[AttemptKey], Awaitable[GradedAttempt]]
"""Gets the answer of one attempt, and scores it. Cancellation ends the request."""

OnScore = Callable[[GradedAttempt], None]
"""Called with each score, once it is durable."""


MayTry = Callable[[AttemptKey], Awaitable[bool]]
"""Waits until an attempt may be tried; False if none may be made any more."""


async def score_attempts(
    store: EventStore,
    run: EvalRun,
    keys: Iterable[AttemptKey],
    grade: GradeAttempt,
    jobs: int,
    stop: asyncio.Event,
    on_score: OnScore,
    *,
    plan: RetryPlan | None = None,
    may_try: MayTry | None = None,
) -> None:
    """Score the attempts that are due by the plan, in `jobs` workers, until all are scored or `stop` is set.

    Without a plan, those that have no score yet are due, once. A worker that waits for a retry asks nothing else.
    On `stop`, pending requests are cancelled; finished scores are written. Errors: those of `add_scores`.
    """
    tries = _Tries(plan or RetryPlan(run), grade, may_try, stop)
    due = iter(tries.plan.due(keys))
    waiting, changed = tries.waiting, tries.changed

    async def work() -> None:
        try:
            for key in due:
                if stop.is_set() or not await tries.score(key):
                    return
        finally:
            changed.set()

    workers = [asyncio.create_task(work()) for _ in range(jobs)]
    try:
        while waiting or not all(task.done() for task in workers):
            await changed.wait()
            changed.clear()
            batch, waiting[:] = waiting[:], []
            added = await add_scores(store, run, [graded for graded, _ in batch])
            for graded, (_, written) in zip(added, batch, strict=True):
                written.set_result(None)
                on_score(graded)
        for task in workers:
            task.result()
    finally:
        await _cancel(workers)


class _Tries:
    """The tries of all workers. `waiting` has the scores to write, each with a future that ends when it is written."""

    def __init__(self, plan: RetryPlan, grade: GradeAttempt, may_try: MayTry | None, stop: asyncio.Event) -> None:
        self.plan = plan
        self.waiting: list[tuple[GradedAttempt, asyncio.Future[None]]] = []
        self.changed = asyncio.Event()
        self._grade = grade
        self._may_try = may_try
        self._stop = stop

    async def score(self, key: AttemptKey) -> bool:
        """Try an attempt until it is not due any more; False if the worker must end."""
        while self.plan.is_due(key):
            number = self.plan.next_retry(key)
            if not await self._is_ready(key):
                return False
            graded = await _run_until(self._stop, self._grade(key))
            if graded is None:
                return False
            if graded.lasting:
                self.plan.set_lasting(key)
            written = asyncio.get_running_loop().create_future()
            self.waiting.append((graded.with_retry(number), written))
            self.changed.set()
            await written
        return True

    async def _is_ready(self, key: AttemptKey) -> bool:
        """Wait until an attempt may be tried; False if it may not, or if `stop` was set first."""
        if wait_s := self.plan.wait_s(key):
            await _run_until(self._stop, asyncio.sleep(wait_s))
        if self._stop.is_set():
            return False
        return self._may_try is None or bool(await _run_until(self._stop, self._may_try(key)))


async def _run_until(stop: asyncio.Event, work: Awaitable[_Result]) -> _Result | None:
    """Return the result of work; None if `stop` was set first."""
    work_task, stop_task = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait([work_task, stop_task], return_when=asyncio.FIRST_COMPLETED)
        return work_task.result() if work_task.done() else None
    finally:
        await _cancel([stop_task, work_task])


async def _cancel(tasks: Iterable[asyncio.Future[Any]]) -> None:
    for task in tasks:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
