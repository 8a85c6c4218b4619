"""The command `tallystick judge run`: score the recorded answers of an evaluation again, by a judge, as a new one.

No agent is asked. Answers that were not given stay the errors that they are.
"""

import asyncio
import time
from collections.abc import Sequence

from api.reports import EvaluationReport
from api.service.evaluation.answer_scorer import Grader
from api.service.evaluation.attempt_workers import score_attempts
from api.service.evaluation.eval_run_command import OnScore, Say
from api.service.evaluation.evaluation_reader import read_evaluation
from api.service.evaluation.judge_permission import require_judge
from api.service.evaluation.judge_scorer import JudgeGrader
from api.service.evaluation.kept_suite import load_kept_suite
from api.service.evaluation.option_checks import CLAIMED_MODEL, ScorerName, build_judge, check_labels
from api.service.evaluation.options import JudgeRunOptions
from api.service.evaluation.recorded_answers import RecordedRun, read_output, read_run
from api.service.evaluation.resume_checks import check_scorer
from api.service.evaluation.run_operations import (
    EvalRun,
    GradedAttempt,
    begin_run,
    check_id,
    find_unfinished,
    finish_run,
)
from api.service.evaluation.scenario_recorder import record_suite
from api.service.store import EventStore
from events.evaluation import EvalStarted
from instruments.evals.judging.judge import Judge
from instruments.evals.scenario import Scenario
from instruments.evals.suite.loader import Suite, load, suite_digest
from ledger.errors import InvalidQuery

JUDGED_RUN = "judged_run"
"""The key in the `meta` of a run that names the run whose answers were judged."""


class JudgeRunCommand:
    """The command with its judge and loaded scenarios. Errors: BadFixtures, InvalidQuery."""

    def __init__(self, options: JudgeRunOptions) -> None:
        self._options = options
        self._judge: Judge = build_judge(options.judge)
        check_labels(name=options.suite)
        if options.run_id is not None:
            check_id(options.run_id)
        if options.run_id is not None and options.resume is not None:
            raise InvalidQuery("run", "is fixed by the run that is resumed.", "Leave it out, or start another run.")
        self._suite: Suite | None = None if options.fixtures is None else load(options.fixtures)

    async def run(self, store: EventStore, stop: asyncio.Event, say: Say, on_score: OnScore) -> EvaluationReport:
        """Judge each recorded answer, until all are judged or `stop` is set; return the new evaluation.

        Errors: NotFound, RunEnded, LifecycleViolation, InvalidQuery, Forbidden; those of reading and appending.
        """
        await require_judge(store, self._judge.agent)
        recorded = await read_run(store, self._options.judged_run)
        suite = self._suite or await load_kept_suite(store, self._options.judged_run, say)
        scenarios = scenarios_of(suite, {scenario_id for scenario_id, _ in recorded.scores})
        run = await self._begin_or_resume(store, recorded, scenarios)
        say(f"run {run.run_id}: judging the answers of run {self._options.judged_run} by {self._judge.agent}")
        keys = sorted(recorded.scores, key=lambda key: (key[1], key[0]))
        began_ns = time.monotonic_ns()
        by_id = {scenario.id: scenario for scenario in scenarios}
        grader = Grader(run.started, None)
        judge = JudgeGrader(run.started.suite, grader, self._judge, store)

        async def grade_attempt(key: tuple[str, int]) -> GradedAttempt:
            scenario, score = by_id[key[0]], recorded.scores[key]
            if score.state == "skipped":
                return grader.skip(scenario, key[1], score.detail or "the recorded run skipped it")
            return await judge.grade(scenario, key[1], await read_output(store, score))

        on_score(None, len(run.scored), len(keys))
        await score_attempts(
            store, run, keys, grade_attempt, self._options.jobs, stop,
            lambda graded: on_score(graded, len(run.scored), len(keys)),
        )  # fmt: skip
        if run.scored.keys() >= set(keys):
            await finish_run(store, run, time.monotonic_ns() - began_ns)
        return EvaluationReport(evaluation=await read_evaluation(store, run.run_id, scenarios))

    async def _begin_or_resume(
        self, store: EventStore, recorded: RecordedRun, scenarios: Sequence[Scenario]
    ) -> EvalRun:
        scorer = ScorerName.of_judge(self._judge)
        if self._options.resume is not None:
            run = await find_unfinished(store, self._options.resume)
            check_scorer(run, scorer)
            if self._options.suite not in (None, run.started.suite):
                raise InvalidQuery("name", f"run {run.run_id} is of the suite {run.started.suite}.", "Leave it out.")
            judged = (run.started.meta or {}).get(JUDGED_RUN)
            if judged != self._options.judged_run:
                raise InvalidQuery(
                    "resume",
                    f"run {run.run_id} judges the answers of {judged or 'no other run'}.",
                    "Name the run that it began with, or leave --resume out for another run.",
                    written=False,
                )
            return run
        before = recorded.started
        meta = {name: text for name, text in (before.meta or {}).items() if name != CLAIMED_MODEL}
        started = EvalStarted(
            run_id=self._options.run_id,
            suite=self._options.suite or before.suite,
            agent=before.agent,
            agent_version=before.agent_version,
            answers=before.answers,
            scenarios=len(scenarios),
            attempts=max((attempt for _, attempt in recorded.scores), default=1),
            suite_digest=suite_digest(scenarios),
            scorer_id=scorer.id,
            scorer_version=scorer.version,
            selection=before.selection,
            meta={**meta, JUDGED_RUN: self._options.judged_run},
        )
        started = await record_suite(store, started, scenarios, keep_files=self._options.keep_files)
        return await begin_run(store, started)


def scenarios_of(suite: Suite, scenario_ids: set[str]) -> tuple[Scenario, ...]:
    """Return the scenarios with these ids. Errors: InvalidQuery, if one is missing, or if there is none."""
    missing = sorted(scenario_ids - {scenario.id for scenario in suite.scenarios})
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InvalidQuery(
            "fixtures", f"{missing[0]}{more} was answered and is not there.", "Name the folder of its suite."
        )
    if not scenario_ids:
        raise InvalidQuery("run", "no answer is recorded.", "Name an evaluation with answers: tallystick eval list.")
    return tuple(scenario for scenario in suite.scenarios if scenario.id in scenario_ids)
