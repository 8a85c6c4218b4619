"""Run `tallystick eval run`: begin or resume a run, and give its scenarios to the evaluated agent."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from msgspec import structs

from api.reports import EvaluationReport
from api.service.evaluation.baselines import record_baselines
from api.service.evaluation.grader import (
    NOT_CAPTURED,
    Grader,
    captured_output,
    run_on,
)
from api.service.evaluation.options import EvalOptions, build_start, check_options
from api.service.evaluation.resume import (
    check_scenarios,
    check_settings,
    describe_changes,
)
from api.service.evaluation.runs import (
    EvalRun,
    GradedAttempt,
    Place,
    begin_run,
    find_unfinished,
    finish_run,
    require_unused_id,
)
from api.service.evaluation.scenarios import record_scenarios
from api.service.evaluation.scheduler import CAPTURED_JOBS, GradeAttempt, score_attempts
from api.service.evaluation.transcript import read_evaluation, read_trend
from api.service.store import EventStore
from events.errors import TallystickError
from instruments.evals import Scenario
from instruments.evals.scoring.semantic import SemanticMatcher
from instruments.evals.suite.filter_expression import select
from instruments.evals.suite.loader import Suite, load
from ledger.errors import InvalidQuery

THREADS = 8
"""Threads in addition to one for each agent process: writing does not wait until an agent answers."""

CHOICE_SHOWN = 20

Say = Callable[[str], None]
OnScore = Callable[[GradedAttempt | None, int, int], None]
"""Receives each score once it is durable (None at the start), the number of scores, and that of attempts."""


class EvalRunner:
    """Checked options, with their scenarios. Errors: BadFixtures, InvalidQuery."""

    def __init__(self, options: EvalOptions, meaning: SemanticMatcher | None) -> None:
        self._options = options
        self._meaning = meaning
        self._agent = check_options(options)
        self.suite: Suite = load(options.fixtures)
        self._chosen = select_scenarios(self.suite, options.selection)

    async def run(
        self, store: EventStore, stop: asyncio.Event, say: Say, warn: Say, on_score: OnScore
    ) -> EvaluationReport:
        """Begin or resume, until everything is scored or `stop` is set; return the data of its reports.

        Errors: NotFound, RunEnded, LifecycleViolation, InvalidQuery; those of appending, with advice how to resume.
        """
        run = await (
            self._begin(store) if self._options.resume is None else self._resume(store, self._options.resume, warn)
        )
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(self._options.jobs + THREADS))
        grading = ThreadPoolExecutor(1)
        try:
            if self._options.baselines:
                suite = structs.replace(run.started, suite_digest=self.suite.digest)
                await record_baselines(store, suite, self.suite.scenarios, self._meaning, grading, stop)
            say(f"run {run.run_id}: {f'asking {run.started.agent}' if self._agent else 'scoring the captured answers'}")
            await self._score_attempts(store, run, stop, on_score, grading)
            found = await read_evaluation(store, run.run_id, self.suite.scenarios, analyses=bool(self._options.files))
            return EvaluationReport(
                evaluation=found, trend=await read_trend(store, found) if self._options.files else ()
            )
        except TallystickError as error:
            error.advice = (
                f"{error.advice} The scores until then are recorded: --resume {run.run_id} continues.".lstrip()
            )
            raise
        finally:
            grading.shutdown(wait=False, cancel_futures=True)

    async def _begin(self, store: EventStore) -> EvalRun:
        started = build_start(self._options, self.suite, self._agent, len(self._chosen))
        await require_unused_id(store, self._options.run_id)
        await record_scenarios(store, self.suite.scenarios, keep=False)
        return await begin_run(store, started)

    async def _resume(self, store: EventStore, run_id: str, warn: Say) -> EvalRun:
        """Return a run that may continue, with the scenarios that it began with."""
        run = await find_unfinished(store, run_id)
        check_settings(run, self._options, None if self._agent is None else self._agent.name)
        self._chosen = select_scenarios(self.suite, run.started.selection)
        check_scenarios(run, self._chosen)
        if (changed := describe_changes(run, self._chosen, self.suite.digest)) is not None:
            warn(f"warning: {changed}")
        await record_scenarios(store, self.suite.scenarios, keep=False)
        return run

    async def _score_attempts(
        self, store: EventStore, run: EvalRun, stop: asyncio.Event, on_score: OnScore, grading: Executor
    ) -> None:
        """Score every attempt, and end the run."""
        attempts = range(1, (run.started.attempts or 1) + 1)
        places = [(scenario.id, attempt) for attempt in attempts for scenario in self._chosen]
        began_ns = time.monotonic_ns()

        def scored(graded: GradedAttempt) -> None:
            on_score(graded, len(run.scored), len(places))

        on_score(None, len(run.scored), len(places))
        jobs = CAPTURED_JOBS if self._agent is None else self._options.jobs
        await score_attempts(store, run, places, self._make_grade_attempt(run, grading), jobs, stop, scored)
        if run.scored.keys() >= set(places):
            await finish_run(store, run, run.worked_ns + time.monotonic_ns() - began_ns)

    def _make_grade_attempt(self, run: EvalRun, grading: Executor) -> GradeAttempt:
        """Return a function that asks the agent, or takes the captured answer, and scores it."""
        agent, scenarios = self._agent, {scenario.id: scenario for scenario in self._chosen}
        grader = Grader(run.started, self._meaning, tuple if agent is None else agent.hide)

        async def answered(place: Place) -> GradedAttempt:
            scenario = scenarios[place[0]]
            if agent is None and scenario.captured is None:
                return grader.skip(scenario, place[1], NOT_CAPTURED)
            reply = await agent.ask(scenario) if agent is not None else captured_output(scenario.captured or {})
            return await run_on(grading, grader.grade, scenario, place[1], reply)

        return answered


def select_scenarios(suite: Suite, expression: str | None) -> tuple[Scenario, ...]:
    """Return the scenarios that an expression selects, all without one. Errors: InvalidQuery, if it selects none."""
    if expression is None:
        return suite.scenarios
    chosen = select(suite.scenarios, expression)
    if not chosen:
        titles = [scenario.title for scenario in suite.scenarios]
        more = f", and {len(titles) - CHOICE_SHOWN} more" if len(titles) > CHOICE_SHOWN else ""
        there = f"{', '.join(titles[:CHOICE_SHOWN])}{more}"
        raise InvalidQuery("-k", f"{expression!r} chooses no scenario.", f"Scenarios: {there}.")
    return chosen
