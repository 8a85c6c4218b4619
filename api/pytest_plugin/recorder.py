"""Records the scores of a pytest session as a run, each as soon as it is known."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack

import msgspec

from api.client.open_store import open_store
from api.service.evaluation.baseline_answers import record_baseline_answers
from api.service.evaluation.recorded_tries import AttemptKey
from api.service.evaluation.run_operations import (
    EvalRun,
    GradedAttempt,
    add_scores,
    begin_run,
    finish_run,
)
from api.service.evaluation.scenario_recorder import record_suite
from api.service.store import EventStore
from events.evaluation import EvalStarted
from instruments.evals.scenario import Scenario
from instruments.evals.scoring.semantic_matcher import SemanticMatcher
from ledger.place import Place

_graded = msgspec.json.Decoder(GradedAttempt).decode


class RunRecorder:
    """Writes one run through a server, or to a ledger; a ledger file stays locked until the recorder is closed.

    Errors of every method: those of appending. Errors of `open`: LedgerLocked, LedgerUnusable, InvalidQuery.
    """

    def __init__(self, store: EventStore, stack: AsyncExitStack) -> None:
        self._store = store
        self._stack = stack
        self._run: EvalRun | None = None
        self._attempts: frozenset[AttemptKey] = frozenset()
        self._began_ns = 0

    @classmethod
    async def open(cls, ledger: Place, url: str | None, token: str | None) -> "RunRecorder":
        """Open the ledger, or a client of the server at `url`."""
        stack = AsyncExitStack()
        return cls(await stack.enter_async_context(open_store(ledger, url, token)), stack)

    async def begin(
        self,
        started: EvalStarted,
        scenarios: Sequence[Scenario],
        attempts: frozenset[AttemptKey],
        matcher: SemanticMatcher | None,
        *,
        keep_files: bool,
    ) -> str:
        """Record the scenarios and keep their files, begin a run of these attempts, and score the baselines.

        Return the run's id.
        """
        started = await record_suite(self._store, started, scenarios, keep_files=keep_files)
        self._run = await begin_run(self._store, started)
        self._attempts, self._began_ns = attempts, time.monotonic_ns()
        with ThreadPoolExecutor(1) as grading_thread:
            await record_baseline_answers(self._store, started, scenarios, matcher, grading_thread, asyncio.Event())
        return self._run.run_id

    async def add(self, score: str) -> int:
        """Write a score to disk, unless its attempt is scored already; return how many attempts are scored."""
        assert self._run is not None, "`begin` comes before `add`"
        await add_scores(self._store, self._run, [_graded(score)])
        return len(self._run.scored)

    async def close(self) -> bool:
        """End the run if every attempt is scored. Release the ledger. Return whether the run has ended."""
        try:
            if self._run is not None and self._run.scored.keys() >= self._attempts:
                await finish_run(self._store, self._run, time.monotonic_ns() - self._began_ns)
        finally:
            await self.release()
        return self._run is not None and self._run.finished

    async def release(self) -> None:
        """Release the ledger without ending the run."""
        await self._stack.aclose()
