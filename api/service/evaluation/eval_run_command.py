"""The command `tallystick eval run`: check its options, begin or resume a run, and score each attempt."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from msgspec import structs

from api.reports import EvaluationReport
from api.service.evaluation.answer_scorer import (
    NOT_CAPTURED,
    Grader,
    captured_output,
    run_on,
)
from api.service.evaluation.attempt_workers import CAPTURED_JOBS, GradeAttempt, score_attempts
from api.service.evaluation.baseline_answers import record_baseline_answers
from api.service.evaluation.evaluation_reader import read_evaluation, read_trend
from api.service.evaluation.options import EvalOptions, build_start, check_options
from api.service.evaluation.resume_checks import check_scenarios, check_settings, describe_changes
from api.service.evaluation.run_operations import (
    AttemptKey,
    EvalRun,
    GradedAttempt,
    begin_run,
    find_unfinished,
    finish_run,
    require_unused_id,
)
from api.service.evaluation.scenario_recorder import record_scenarios
from api.service.store import EventStore
from events.errors import TallystickError
from instruments.evals import Scenario
from instruments.evals.scoring.semantic_matcher import SemanticMatcher
from instruments.evals.suite.filter_expression import select
from instruments.evals.suite.loader import Suite, load
from ledger.errors import InvalidQuery

THREADS = 8
"""Threads in addition to one per job, so that writing does not wait for an agent."""

TITLES_SHOWN = 20
"""The most scenarios that an error lists."""

Say = Callable[[str], None]
"""Prints a line."""

OnScore = Callable[[GradedAttempt | None, int, int], None]
"""Called with each durable score (None at the start), the number of scores so far, and the number of attempts."""


class EvalRunCommand:
    """The command with its checked options and loaded scenarios. Errors: BadFixtures, InvalidQuery."""

    def __init__(self, options: EvalOptions, matcher: SemanticMatcher | None) -> None:
        self._options = options
        self._matcher = matcher
        self._agent = check_options(options)
        self.suite: Suite = load(options.fixtures)
        self._scenarios = select_scenarios(self.suite, options.selection)

    async def run(
        self, store: EventStore, stop: asyncio.Event, say: Say, warn: Say, on_score: OnScore
    ) -> EvaluationReport:
        """Begin or resume a run; score until every attempt is scored or `stop` is set. Return the data of its reports.

        `say` and `warn` print lines for the user.
        Errors: NotFound, RunEnded, LifecycleViolation, InvalidQuery; those of appending, with advice on how to resume.
        """
        run = await (
            self._begin(store) if self._options.resume is None else self._resume(store, self._options.resume, warn)
        )
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(self._options.jobs + THREADS))
        executor = ThreadPoolExecutor(1)
        try:
            if self._options.baselines:
                start = structs.replace(run.started, suite_digest=self.suite.digest)
                await record_baseline_answers(store, start, self.suite.scenarios, self._matcher, executor, stop)
            say(f"run {run.run_id}: {f'asking {run.started.agent}' if self._agent else 'scoring the captured answers'}")
            await self._score_attempts(store, run, stop, on_score, executor)
            evaluation = await read_evaluation(
                store, run.run_id, self.suite.scenarios, analyses=bool(self._options.files)
            )
            return EvaluationReport(
                evaluation=evaluation, trend=await read_trend(store, evaluation) if self._options.files else ()
            )
        except TallystickError as error:
            error.advice = (
                f"{error.advice} The scores until then are recorded: --resume {run.run_id} continues.".lstrip()
            )
            raise
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    async def _begin(self, store: EventStore) -> EvalRun:
        started = build_start(self._options, self.suite, self._agent, len(self._scenarios))
        await require_unused_id(store, self._options.run_id)
        await record_scenarios(store, self.suite.scenarios, keep=False)
        return await begin_run(store, started)

    async def _resume(self, store: EventStore, run_id: str, warn: Say) -> EvalRun:
        """Check that a run can be resumed, and select its scenarios; return it."""
        run = await find_unfinished(store, run_id)
        check_settings(run, self._options, None if self._agent is None else self._agent.name)
        self._scenarios = select_scenarios(self.suite, run.started.selection)
        check_scenarios(run, self._scenarios)
        if (changes := describe_changes(run, self._scenarios, self.suite.digest)) is not None:
            warn(f"warning: {changes}")
        await record_scenarios(store, self.suite.scenarios, keep=False)
        return run

    async def _score_attempts(
        self, store: EventStore, run: EvalRun, stop: asyncio.Event, on_score: OnScore, executor: Executor
    ) -> None:
        """Score the attempts; end the run once all are scored."""
        attempts = range(1, (run.started.attempts or 1) + 1)
        keys = [(scenario.id, attempt) for attempt in attempts for scenario in self._scenarios]
        began_ns = time.monotonic_ns()

        def report_score(graded: GradedAttempt) -> None:
            on_score(graded, len(run.scored), len(keys))

        on_score(None, len(run.scored), len(keys))
        jobs = CAPTURED_JOBS if self._agent is None else self._options.jobs
        await score_attempts(store, run, keys, self._make_grade_attempt(run, executor), jobs, stop, report_score)
        if run.scored.keys() >= set(keys):
            await finish_run(store, run, run.worked_ns + time.monotonic_ns() - began_ns)

    def _make_grade_attempt(self, run: EvalRun, executor: Executor) -> GradeAttempt:
        """Return a function that gets the answer of one attempt, from the agent or as captured, and scores it."""
        agent, scenarios = self._agent, {scenario.id: scenario for scenario in self._scenarios}
        grader = Grader(run.started, self._matcher, tuple if agent is None else agent.hide)

        async def grade_attempt(key: AttemptKey) -> GradedAttempt:
            scenario_id, attempt = key
            scenario = scenarios[scenario_id]
            if agent is None and scenario.captured is None:
                return grader.skip(scenario, attempt, NOT_CAPTURED)
            reply = await agent.ask(scenario) if agent is not None else captured_output(scenario.captured or {})
            return await run_on(executor, grader.grade, scenario, attempt, reply)

        return grade_attempt


def select_scenarios(suite: Suite, expression: str | None) -> tuple[Scenario, ...]:
    """Return the scenarios that an expression selects; without one, all. Errors: InvalidQuery, if it selects none."""
    if expression is None:
        return suite.scenarios
    selected = select(suite.scenarios, expression)
    if not selected:
        titles = [scenario.title for scenario in suite.scenarios]
        more = f", and {len(titles) - TITLES_SHOWN} more" if len(titles) > TITLES_SHOWN else ""
        listed = f"{', '.join(titles[:TITLES_SHOWN])}{more}"
        raise InvalidQuery("-k", f"{expression!r} chooses no scenario.", f"Scenarios: {listed}.")
    return selected
