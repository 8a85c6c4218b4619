"""Score the two baseline answers on a suite: an empty analysis, and the most frequent cause."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from hashlib import sha256

from api.service.evaluation.answer_scorer import Grader, captured_output, run_on
from api.service.evaluation.attempt_workers import CAPTURED_JOBS, score_attempts
from api.service.evaluation.recorded_tries import AttemptKey
from api.service.evaluation.run_operations import (
    EvalRun,
    GradedAttempt,
    begin_run,
    find_run,
    finish_run,
)
from api.service.store import EventStore
from events.evaluation import Baseline, EvalStarted
from instruments.evals.agent import AgentOutput
from instruments.evals.scenario import Scenario
from instruments.evals.scoring.baseline_answers import baseline_answer
from instruments.evals.scoring.semantic_matcher import SemanticMatcher
from ledger.errors import LifecycleViolation

KINDS: tuple[Baseline, ...] = ("empty", "most_frequent")
AGENT = "baseline"


async def record_baseline_answers(
    store: EventStore,
    started: EvalStarted,
    scenarios: Sequence[Scenario],
    matcher: SemanticMatcher | None,
    executor: Executor,
    stop: asyncio.Event,
) -> None:
    """Score the baselines of a run's suite, each once per suite digest and scorer version.

    Errors: those of appending.
    """
    by_id = {scenario.id: scenario for scenario in scenarios}
    for kind in KINDS:
        run = await _load_or_begin(store, _start_payload(kind, started, len(by_id)))
        if run.finished:
            continue
        grader = Grader(run.started, matcher)
        reply = captured_output(await run_on(executor, baseline_answer, kind, scenarios))
        score = partial(_grade_baseline, executor, grader, reply, by_id)
        await score_attempts(store, run, [(name, 1) for name in by_id], score, CAPTURED_JOBS, stop, _report_nothing)
        if len(run.scored) == len(by_id):
            await finish_run(store, run)


async def _grade_baseline(
    executor: Executor, grader: Grader, reply: AgentOutput, by_id: Mapping[str, Scenario], key: AttemptKey
) -> GradedAttempt:
    scenario_id, attempt = key
    return await run_on(executor, grader.grade, by_id[scenario_id], attempt, reply)


def _report_nothing(graded: GradedAttempt) -> None:
    """Do nothing: a baseline shows no progress."""


async def _load_or_begin(store: EventStore, started: EvalStarted) -> EvalRun:
    """Return the run of a baseline; begin it if it does not exist."""
    assert started.run_id is not None, "the id of a baseline's run follows from its suite and scorer"
    while (run := await find_run(store, started.run_id)) is None:
        try:
            return await begin_run(store, started)
        except LifecycleViolation:
            pass  # another process began it meanwhile
    return run


def _start_payload(kind: Baseline, run: EvalStarted, scenarios: int) -> EvalStarted:
    text = "\n".join((run.suite, run.suite_digest or "", f"{run.scorer_id}@{run.scorer_version}"))
    return EvalStarted(
        run_id=f"{sha256(text.encode()).hexdigest()[:12]}.{kind}",
        suite=run.suite,
        agent=AGENT,
        baseline=kind,
        scenarios=scenarios,
        attempts=1,
        suite_digest=run.suite_digest,
        scorer_id=run.scorer_id,
        scorer_version=run.scorer_version,
    )
