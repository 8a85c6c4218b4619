"""Records a pytest session as a run, score by score as they come."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from api.baselines import record_baselines
from api.evaluations import Graded, Place, Run, add, begin, finish
from api.scenarios import record
from api.sink import Sink, sink
from events.evaluation import EvalStarted
from instruments.evals import Meaning, Scenario

_graded = msgspec.json.Decoder(Graded).decode


class RunRecorder:
    """Writes one run to a ledger file, which it locks until it is closed, or through a server.

    Errors of every method: those of appending; of opening LedgerLocked, LedgerUnusable, InvalidQuery.
    """

    def __init__(self, events: Sink, stack: AsyncExitStack) -> None:
        self._events = events
        self._stack = stack
        self._run: Run | None = None
        self._attempts: frozenset[Place] = frozenset()
        self._began_ns = 0

    @classmethod
    async def open(cls, ledger: Path, url: str | None, token: str | None) -> "RunRecorder":
        """Open the ledger file, or a client of the server at `url`."""
        stack = AsyncExitStack()
        return cls(await stack.enter_async_context(sink(ledger, url, token)), stack)

    async def begin(
        self, started: EvalStarted, scenarios: Sequence[Scenario], attempts: frozenset[Place], meaning: Meaning | None
    ) -> str:
        """Record the scenarios, begin a run of these attempts, and have the baselines scored; return the run's id."""
        await record(self._events, scenarios, keep=False)
        self._run = await begin(self._events, started)
        self._attempts, self._began_ns = attempts, time.monotonic_ns()
        with ThreadPoolExecutor(1) as grading:
            await record_baselines(self._events, started, scenarios, meaning, grading, asyncio.Event())
        return self._run.run_id

    async def add(self, score: str) -> int:
        """Add a score, durably, unless its attempt is scored already; return how many attempts are scored."""
        assert self._run is not None, "scores come after the beginning"
        await add(self._events, self._run, [_graded(score)])
        return len(self._run.scored)

    async def close(self) -> bool:
        """End the run if every attempt is scored, and release the ledger; return whether the run has ended."""
        try:
            if self._run is not None and self._run.scored.keys() >= self._attempts:
                await finish(self._events, self._run, time.monotonic_ns() - self._began_ns)
        finally:
            await self.release()
        return self._run is not None and self._run.finished

    async def release(self) -> None:
        """Release the ledger, and leave the run as it is."""
        await self._stack.aclose()
