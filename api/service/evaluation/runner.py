"""Run `tallystick eval run`: begin or resume a run, and give its scenarios to the evaluated agent."""

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import structs

from api.reports import EvaluationReport, ReportFiles
from api.service.evaluation.baselines import record_baselines
from api.service.evaluation.grader import (
    NOT_CAPTURED,
    Grader,
    captured_output,
    run_on,
)
from api.service.evaluation.resume import (
    LLM,
    RunSettings,
    check_scenarios,
    check_settings,
    describe_changes,
)
from api.service.evaluation.runs import (
    EvalRun,
    GradedAttempt,
    Place,
    begin_run,
    check_id,
    find_unfinished,
    finish_run,
    require_unused_id,
)
from api.service.evaluation.scenarios import record_scenarios
from api.service.evaluation.scheduler import CAPTURED_JOBS, GradeAttempt, score_attempts
from api.service.evaluation.transcript import read_evaluation, read_trend
from api.service.store import EventStore
from events.errors import TallystickError
from events.evaluation import EvalStarted
from events.limits import LABEL_CHARS_MAX
from instruments.evals import Scenario
from instruments.evals.agent import Agent
from instruments.evals.scoring.scorer import SCORER_ID, SCORER_VERSION
from instruments.evals.scoring.semantic import SemanticMatcher
from instruments.evals.suite.filter_expression import select
from instruments.evals.suite.loader import Suite, load
from instruments.routers.subprocess_io import BadCommand
from ledger.errors import InvalidQuery

CAPTURED = "captured"
"""The agent's name if captured answers are scored and no name is given."""

THREADS = 8
"""Threads in addition to one for each agent process: writing does not wait until an agent answers."""

TIME_S_MAX = 7 * 86_400.0
"""The longest accepted time, longer than any answer takes. The check refuses NaN and infinity too."""

CHOICE_SHOWN = 20

Say = Callable[[str], None]
OnScore = Callable[[GradedAttempt | None, int, int], None]
"""Receives each score once it is durable (None at the start), the number of scores, and that of attempts."""


class EvalOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options as typed. Without the command of an agent the captured answers are scored."""

    fixtures: Path
    agent: str | None = None
    settings: RunSettings = RunSettings()
    jobs: int = 1
    timeout_s: float = 600.0
    run_id: str | None = None
    resume: str | None = None
    baselines: bool = True
    files: ReportFiles = ReportFiles()
    """Report files to write; with any, the report data include the answers and the trend over versions."""


class EvalRunner:
    """Checked options, with their scenarios. Errors: BadFixtures, InvalidQuery."""

    def __init__(self, options: EvalOptions, meaning: SemanticMatcher | None) -> None:
        self._options = options
        self._settings = options.settings
        self._meaning = meaning
        self._agent = check_options(options)
        self.suite: Suite = load(options.fixtures)
        self._chosen = select_scenarios(self.suite, options.settings.selection)

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
        check_settings(run, self._settings, None if self._agent is None else self._agent.name)
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


def build_start(options: EvalOptions, suite: Suite, agent: Agent | None, scenarios: int) -> EvalStarted:
    """Return the start event of a run of so many of a suite's scenarios."""
    settings = options.settings
    return EvalStarted(
        run_id=options.run_id,
        suite=settings.suite or suite.name,
        agent=settings.agent_name or (CAPTURED if agent is None else agent.name),
        agent_version=settings.agent_version,
        answers="captured" if agent is None else "command",
        scenarios=scenarios,
        attempts=settings.attempts or 1,
        suite_digest=suite.digest,
        scorer_id=SCORER_ID,
        scorer_version=SCORER_VERSION,
        selection=settings.selection,
        meta=settings.build_meta(),
    )


def check_options(options: EvalOptions) -> Agent | None:
    """Check the options; return the agent, or None without one. Errors: InvalidQuery."""
    settings = options.settings
    if not (math.isfinite(options.timeout_s) and 0 < options.timeout_s <= TIME_S_MAX):
        raise InvalidQuery(
            "timeout", f"{options.timeout_s:g} is not a time.", f"Give seconds, up to {TIME_S_MAX:,.0f}."
        )
    labels = (("name", settings.suite), ("agent_name", settings.agent_name), ("agent_version", settings.agent_version))
    for field, label in labels:
        if label is not None and not (0 < len(label) <= LABEL_CHARS_MAX and label.isprintable()):
            raise InvalidQuery(
                field, "is empty, too long, or not printable.", f"Give 1 to {LABEL_CHARS_MAX} characters."
            )
    if options.run_id is not None:
        check_id(options.run_id)
    if options.run_id is not None and options.resume is not None:
        raise InvalidQuery("run", "is fixed by the run that is resumed.", "Leave it out, or start another run.")
    if LLM in settings.meta:
        raise InvalidQuery("meta", f"{LLM} is set by --enable-llm itself.", "Leave it out.")
    if settings.enable_llm is not None and options.agent is None:
        raise InvalidQuery(LLM, "is an option of an agent, and none is asked.", "Give its command with --agent.")
    if options.agent is None:
        return None
    try:
        return Agent(options.agent, timeout_s=options.timeout_s, enable_llm=settings.enable_llm)
    except BadCommand as error:
        raise InvalidQuery("agent", error.detail, error.advice) from None
