"""A run written as its scores come, by a caller that cannot wait for anything but each of them."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path

from api.client.open_store import open_store
from api.pytest_plugin.background_loop import BackgroundLoop
from api.service.evaluation.baselines import record_baselines
from api.service.evaluation.runs import EvalRun, GradedAttempt, Place, add, begin, finish
from api.service.evaluation.scenarios import record
from api.service.store import EventStore
from events.evaluation import EvalStarted
from instruments.evals import Scenario, SemanticMatcher


class RunRecorder:
    """Writes one run to a ledger file, which it holds until it is closed, or through a server.

    Errors of every method: those of appending; of opening LedgerLocked, LedgerUnusable, InvalidQuery.
    """

    def __init__(self, aside: BackgroundLoop, ledger: Path, url: str | None, token: str | None) -> None:
        self._aside = aside
        self._stack = AsyncExitStack()
        self._sink: EventStore = aside.run(self._stack.enter_async_context(open_store(ledger, url, token)))
        self._run: EvalRun | None = None
        self._places: frozenset[Place] = frozenset()
        self._began_ns = 0

    def begin(
        self,
        started: EvalStarted,
        scenarios: Sequence[Scenario],
        places: frozenset[Place],
        meaning: SemanticMatcher | None,
    ) -> None:
        """Record the scenarios, begin a run of the attempts at some of them, and have the baselines scored."""
        self._aside.run(record(self._sink, scenarios, keep=False))
        self._run = self._aside.run(begin(self._sink, started))
        with ThreadPoolExecutor(1) as grading:
            self._aside.run(record_baselines(self._sink, started, scenarios, meaning, grading, asyncio.Event()))
        self._places, self._began_ns = places, time.monotonic_ns()

    @property
    def run(self) -> EvalRun | None:
        """The run, once it has begun."""
        return self._run

    def add(self, graded: GradedAttempt) -> None:
        """Add a score, durably; one that is there already is left out."""
        assert self._run is not None, "scores come after the beginning"
        self._aside.run(add(self._sink, self._run, [graded]))

    def close(self) -> None:
        """End the run where every attempt is scored, and let go of the ledger."""
        try:
            if self._run is not None and self._run.scored.keys() >= self._places:
                self._aside.run(finish(self._sink, self._run, time.monotonic_ns() - self._began_ns))
        finally:
            self._aside.run(self._stack.aclose())
