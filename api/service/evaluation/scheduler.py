"""Score the attempts of an evaluation concurrently; each answer is written before its worker asks for the next.

There is one writer: the answers that arrive while it writes are its next batch.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from api.service.evaluation.runs import (
    EvalRun,
    GradedAttempt,
    Place,
    add_scores,
)
from api.service.store import EventStore

CAPTURED_JOBS = 100
"""Captured answers that are scored and written at once."""

GradeAttempt = Callable[[Place], Awaitable[GradedAttempt]]
"""Asks for one attempt at one scenario, and scores it. Cancelling it ends the request."""

OnScore = Callable[[GradedAttempt], None]
"""Called with each score, once it is durable."""


async def score_attempts(
    store: EventStore,
    run: EvalRun,
    places: Iterable[Place],
    answer: GradeAttempt,
    jobs: int,
    stop: asyncio.Event,
    on_score: OnScore,
) -> None:
    """Score the attempts that are not yet scored, `jobs` of them at once, until all are or `stop` is set.

    On `stop`, pending requests are cancelled; completed answers are written. Errors: those of `add_scores`.
    """
    unscored = iter([place for place in places if place not in run.scored])
    answered: list[tuple[GradedAttempt, asyncio.Future[None]]] = []
    woken = asyncio.Event()

    async def work() -> None:
        try:
            for place in unscored:
                graded = None if stop.is_set() else await _run_until(stop, answer(place))
                if graded is None:
                    return
                written = asyncio.get_running_loop().create_future()
                answered.append((graded, written))
                woken.set()
                await written
        finally:
            woken.set()

    working = [asyncio.create_task(work()) for _ in range(jobs)]
    try:
        while answered or not all(task.done() for task in working):
            await woken.wait()
            woken.clear()
            batch, answered[:] = answered[:], []
            await add_scores(store, run, [graded for graded, _ in batch])
            for graded, written in batch:
                written.set_result(None)
                on_score(graded)
        for task in working:
            task.result()
    finally:
        await _cancel(working)


async def _run_until(stop: asyncio.Event, work: Awaitable[GradedAttempt]) -> GradedAttempt | None:
    """Return the result of some work; None if `stop` was set first."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        await _cancel([stopping, working])


async def _cancel(tasks: Iterable[asyncio.Future[Any]]) -> None:
    for task in tasks:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
