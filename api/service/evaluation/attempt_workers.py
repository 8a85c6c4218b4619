"""Score the attempts of an evaluation in concurrent workers; a worker waits until its score is written.

One task writes: the scores that arrive while it appends a batch are its next batch.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from api.service.evaluation.run_operations import (
    AttemptKey,
    EvalRun,
    GradedAttempt,
    add_scores,
)
from api.service.store import EventStore

CAPTURED_JOBS = 100
"""Workers for captured answers, and so the most scores in one append."""

GradeAttempt = Callable[[AttemptKey], Awaitable[GradedAttempt]]
"""Gets the answer of one attempt, and scores it. Cancellation ends the request."""

OnScore = Callable[[GradedAttempt], None]
"""Called with each score, once it is durable."""


async def score_attempts(
    store: EventStore,
    run: EvalRun,
    keys: Iterable[AttemptKey],
    grade: GradeAttempt,
    jobs: int,
    stop: asyncio.Event,
    on_score: OnScore,
) -> None:
    """Score the attempts that have no score yet, in `jobs` workers, until all are scored or `stop` is set.

    On `stop`, pending requests are cancelled; finished scores are written. Errors: those of `add_scores`.
    """
    unscored = iter([key for key in keys if key not in run.scored])
    waiting: list[tuple[GradedAttempt, asyncio.Future[None]]] = []
    changed = asyncio.Event()

    async def work() -> None:
        try:
            for key in unscored:
                graded = None if stop.is_set() else await _run_until(stop, grade(key))
                if graded is None:
                    return
                written = asyncio.get_running_loop().create_future()
                waiting.append((graded, written))
                changed.set()
                await written
        finally:
            changed.set()

    workers = [asyncio.create_task(work()) for _ in range(jobs)]
    try:
        while waiting or not all(task.done() for task in workers):
            await changed.wait()
            changed.clear()
            batch, waiting[:] = waiting[:], []
            await add_scores(store, run, [graded for graded, _ in batch])
            for graded, written in batch:
                written.set_result(None)
                on_score(graded)
        for task in workers:
            task.result()
    finally:
        await _cancel(workers)


async def _run_until(stop: asyncio.Event, work: Awaitable[GradedAttempt]) -> GradedAttempt | None:
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
