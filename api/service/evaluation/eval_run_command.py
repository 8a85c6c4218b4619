"""The command `tallystick eval run`: check its options, begin or resume a run, and score each attempt."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from math import fsum
from pathlib import Path

from msgspec import structs

from api.reports import EvaluationReport
from api.service.evaluation.attempt_grader import AttemptGrader
from api.service.evaluation.attempt_workers import CAPTURED_JOBS, score_attempts
from api.service.evaluation.baseline_answers import record_baseline_answers
from api.service.evaluation.cost_budget import Halt, dollars
from api.service.evaluation.evaluation_reader import read_evaluation, read_trend
from api.service.evaluation.judge_permission import require_judge
from api.service.evaluation.kept_suite import load_kept_suite
from api.service.evaluation.option_checks import (
    ScorerName,
    build_limits,
    build_start,
    check_options,
    check_retries,
    find_judge,
    selection_of,
)
from api.service.evaluation.options import EvalOptions
from api.service.evaluation.resume_checks import check_scenarios, check_settings, check_suite, check_unchanged
from api.service.evaluation.retry_plan import (
    RetryPlan,
    errors_of_reopening,
    errors_to_retry,
    parse_only,
    reopening_reason,
    retries_of,
)
from api.service.evaluation.run_operations import (
    EvalRun,
    GradedAttempt,
    begin_run,
    find_existing,
    find_unfinished,
    finish_run,
    reopen_run,
    require_unused_id,
)
from api.service.evaluation.scenario_recorder import record_scenarios, record_suite
from api.service.evaluation.sequential_looks import find_reason_to_stop, run_looks
from api.service.store import EventStore
from api.text_format import pluralize
from events.errors import TallystickError
from events.evaluation import EvalScored
from instruments.evals.prices import PriceList, load_prices
from instruments.evals.scenario import Scenario
from instruments.evals.scoring.semantic_matcher import SemanticMatcher
from instruments.evals.suite.answerable_inputs import measure_ceiling
from instruments.evals.suite.filter_expression import select
from instruments.evals.suite.loader import Suite, load
from instruments.yaml_reader import UnreadableFile
from ledger.errors import InvalidQuery

THREADS = 8
"""Threads in addition to one per job, so that writing does not wait for an agent."""

Say = Callable[[str], None]
"""Prints a line."""

OnScore = Callable[[GradedAttempt | None, int, int], None]
"""Called with each durable score (None at the start), the number of settled attempts, and the number of all."""

TITLES_SHOWN = 20
"""The most scenarios that an error lists."""


class EvalRunCommand:
    """The command with its checked options and loaded scenarios. Errors: BadFixtures, InvalidQuery."""

    def __init__(
        self,
        options: EvalOptions,
        matcher: SemanticMatcher | None,
        chance: random.Random | None = None,
        *,
        for_files: bool = False,
    ) -> None:
        """`chance` draws the jitter of the waits before retries.

        With `for_files`, the data of the reports include the answers and the trend over versions.
        """
        self._options = options
        self._for_files = for_files
        self._matcher = matcher
        self._chance = chance
        self._agent = check_options(options)
        self._judge = find_judge(options.judge)
        check_retries(options, matcher)
        self._prices = read_prices(options.prices)
        self._unpriced: set[str] = set()
        self._superseded: list[EvalScored] = []
        if options.fixtures is not None:
            self._use(load(options.fixtures))
        self._retried: dict[tuple[str, int], int] | None = None
        """The scenarios and attempts whose errors are retried, with their last tries; None: none are selected."""
        self.nothing_to_retry = False
        """Set if the run with --retry-errors has no such error: nothing was written."""
        self.halt: Halt | None = None
        """Set if the run stopped before its end for another reason than `stop`: the reason, in words."""
        self.left = 0
        """Attempts that were not settled when the run stopped."""

    def _use(self, suite: Suite) -> None:
        """Run on a suite. Errors: InvalidQuery."""
        self.suite = suite
        self._scenarios = select_scenarios(suite, selection_of(self._options))

    async def run(self, store: EventStore, stop: asyncio.Event, say: Say, on_score: OnScore) -> EvaluationReport:
        """Begin or resume a run; score until every attempt is scored or `stop` is set. Return the data of its reports.

        `say` prints a line for the user.
        Errors: NotFound, RunEnded, LifecycleViolation, InvalidQuery; those of appending, with advice on how to resume.
        """
        if self._judge is not None:
            await require_judge(store, self._judge.agent)
        if self._options.suite_of is not None:
            self._use(await load_kept_suite(store, self._options.suite_of, say))
        run = await self._open_run(store, say)
        if self.nothing_to_retry:
            return await self._report(store, run)
        if self._agent is not None and (limit := describe_limit(self._scenarios)) is not None:
            say(f"warning: {limit}")
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(self._options.jobs + THREADS))
        executor = ThreadPoolExecutor(1)
        try:
            if self._options.baselines and self._judge is None and self._options.retry_errors is None:
                start = structs.replace(run.started, suite_digest=self.suite.digest)
                await record_baseline_answers(store, start, self.suite.scenarios, self._matcher, executor, stop)
            answers = f"asking {run.started.agent}" if self._agent else "scoring the captured answers"
            say(f"run {run.run_id}: {answers}{f', judged by {self._judge.agent}' if self._judge else ''}")
            await self._score_attempts(store, run, stop, on_score, executor)
            if self._superseded:
                say(f"warning: {describe_superseded(self._superseded)}")
            if self._unpriced:
                say(f"warning: no price, so no cost: {', '.join(sorted(self._unpriced))}")
            return await self._report(store, run)
        except TallystickError as error:
            error.advice += f" The scores until then are recorded: --resume {run.run_id} continues."
            error.written = True
            raise
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    async def _report(self, store: EventStore, run: EvalRun) -> EvaluationReport:
        """Return the data of the reports on a run. Errors: those of reading."""
        files = self._for_files
        evaluation = await read_evaluation(store, run.run_id, self.suite.scenarios, analyses=files)
        return EvaluationReport(evaluation=evaluation, trend=await read_trend(store, evaluation) if files else ())

    async def _open_run(self, store: EventStore, say: Say) -> EvalRun:
        """Begin, resume or reopen a run, as the options say; return it."""
        if (run_id := self._options.retry_errors) is not None:
            return await self._retry_errors(store, run_id)
        if (run_id := self._options.resume) is not None:
            return await self._resume(store, run_id, say)
        return await self._begin(store)

    async def _begin(self, store: EventStore) -> EvalRun:
        scorer = ScorerName.of(self._judge, self.suite.scenarios, self._matcher)
        started = build_start(self._options, self.suite, self._agent, len(self._scenarios), scorer)
        await require_unused_id(store, self._options.run_id)
        if self._options.sequential is not None:
            await find_existing(store, self._options.sequential)
        started = await record_suite(store, started, self.suite.scenarios, keep_files=self._options.keep_files)
        return await begin_run(store, started)

    def _check_run(self, run: EvalRun) -> None:
        """Check that a run began with these options and scenarios, and select its scenarios. Errors: InvalidQuery."""
        agent_name = None if self._agent is None else self._agent.name
        scorer = ScorerName.of(self._judge, self.suite.scenarios, self._matcher)
        check_settings(run, self._options, agent_name, scorer)
        self._scenarios = select_scenarios(self.suite, run.started.selection)
        check_scenarios(run, self._scenarios)

    async def _resume(self, store: EventStore, run_id: str, say: Say) -> EvalRun:
        """Check that a run can be resumed; return it."""
        run = await find_unfinished(store, run_id)
        self._check_run(run)
        check_suite(run, self._scenarios, self.suite.digest)
        self._retried = errors_of_reopening(run.tries)
        await record_scenarios(store, self.suite.scenarios, keep=False)
        return run

    async def _retry_errors(self, store: EventStore, run_id: str) -> EvalRun:
        """Check that a run has errors to retry, and reopen it if it has ended; return it."""
        run = await find_existing(store, run_id)
        self._check_run(run)
        check_unchanged(run, self._scenarios)
        only = parse_only(self._options.only)
        self._retried = errors_to_retry(run.scored, only)
        self.nothing_to_retry = not self._retried
        if self._retried:
            await reopen_run(store, run, reopening_reason(only))
        return run

    async def _score_attempts(
        self, store: EventStore, run: EvalRun, stop: asyncio.Event, on_score: OnScore, executor: Executor
    ) -> None:
        """Score the attempts; end the run once all are scored, or early if a look at a sequential run says so."""
        looks = run_looks(run.started)
        keys = [(scenario.id, attempt) for attempt in range(1, looks[-1] + 1) for scenario in self._scenarios]
        plan = RetryPlan(run, retries_of(self._options.retries, run.started), self._retried, self._chance)
        limits = build_limits(self._options)
        grader = AttemptGrader(
            store, run, self._scenarios, self._options, limits,
            agent=self._agent, judge=self._judge, matcher=self._matcher, prices=self._prices, executor=executor,
        )  # fmt: skip
        self._unpriced = grader.unpriced
        began_ns, settled = time.monotonic_ns(), len(keys) - len(plan.due(keys))

        def report_score(graded: GradedAttempt) -> None:
            nonlocal settled
            settled += not plan.is_due(graded.key)
            if graded.superseded:
                self._superseded.append(graded.score)
            on_score(graded, settled, len(keys))

        on_score(None, settled, len(keys))
        jobs = CAPTURED_JOBS if self._agent is None and self._judge is None else self._options.jobs
        try:
            for look in looks:
                until = keys[: look * len(self._scenarios)]
                await score_attempts(
                    store, run, until, grader.grade, jobs, stop, report_score, plan=plan, may_try=grader.may_try
                )
                if plan.due(until):
                    self.halt, self.left = grader.halt_now(), len(plan.due(keys))
                    return
                reason = await find_reason_to_stop(store, run.started, look)
                if reason is not None or look == looks[-1]:
                    await finish_run(store, run, run.worked_ns + time.monotonic_ns() - began_ns, reason)
                    return
        finally:
            limits.stop()


def read_prices(path: Path | None) -> PriceList | None:
    """Read the file of prices; None without one. Errors: InvalidQuery, with the file and the problem."""
    if path is None:
        return None
    try:
        return load_prices(path)
    except UnreadableFile as error:
        raise InvalidQuery("prices", f"{path} {error}", error.advice) from None


def describe_superseded(scores: Sequence[EvalScored]) -> str:
    """Return in words how many answers are not recorded, and what they cost."""
    costs = [score.cost_usd for score in scores if score.cost_usd is not None]
    paid = f" They cost {dollars(fsum(costs))}, which no figure of the run has." if costs else ""
    return (
        f"{pluralize(len(scores), 'answer')} not recorded: another process works on this run, and was first.{paid} "
        "Let one process continue a run."
    )


def describe_limit(scenarios: Sequence[Scenario]) -> str | None:
    """Return in words how many scenarios can be right if equal inputs get equal answers; None if all can."""
    ceiling = measure_ceiling(scenarios)
    if not ceiling.ambiguous:
        return None
    return (
        f"{ceiling.ambiguous:,} scenarios have the same input as a scenario with another truth: at most "
        f"{ceiling.answerable:,} of {ceiling.scenarios:,} ({ceiling.share:.1%}) can be answered right from the input."
    )


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
