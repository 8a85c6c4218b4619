"""Score the two baseline answers on a suite: an empty analysis, and the most frequent cause."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from hashlib import sha256

from api.service.evaluation.grader import Grader, captured_output, run_on
from api.service.evaluation.runs import (
    EvalRun,
    GradedAttempt,
    Place,
    begin_run,
    find_run,
    finish_run,
)
from api.service.evaluation.scheduler import CAPTURED_JOBS, score_attempts
from api.service.store import EventStore
from events.evaluation import Baseline, EvalStarted
from instruments.evals import Scenario
from instruments.evals.agent import AgentOutput
from instruments.evals.scoring.baselines import baseline_answer
from instruments.evals.scoring.semantic import SemanticMatcher
from ledger.errors import LifecycleViolation

KINDS: tuple[Baseline, ...] = ("empty", "most_frequent")
AGENT = "baseline"


async def record_baselines(
    store: EventStore,
    started: EvalStarted,
    scenarios: Sequence[Scenario],
    meaning: SemanticMatcher | None,
    grading: Executor,
    stop: asyncio.Event,
) -> None:
    """Score the baselines of a run's suite, each once for the suite's contents and its scorer.

    Errors: those of appending.
    """
    known = {scenario.id: scenario for scenario in scenarios}
    for kind in KINDS:
        run = await _load_or_begin(store, _start_payload(kind, started, len(known)))
        if run.finished:
            continue
        grader, reply = (
            Grader(run.started, meaning),
            captured_output(await run_on(grading, baseline_answer, kind, scenarios)),
        )
        score = partial(_grade_baseline, grading, grader, reply, known)
        await score_attempts(store, run, [(name, 1) for name in known], score, CAPTURED_JOBS, stop, _report_nothing)
        if len(run.scored) == len(known):
            await finish_run(store, run)


async def _grade_baseline(
    grading: Executor, grader: Grader, reply: AgentOutput, known: Mapping[str, Scenario], place: Place
) -> GradedAttempt:
    return await run_on(grading, grader.grade, known[place[0]], place[1], reply)


def _report_nothing(graded: GradedAttempt) -> None:
    """Report nothing: no progress is shown for a baseline."""


async def _load_or_begin(store: EventStore, started: EvalStarted) -> EvalRun:
    """Return the current state of a baseline's run; begin it if it does not exist."""
    assert started.run_id is not None, "the id of a baseline's run follows from its suite and scorer"
    while (run := await find_run(store, started.run_id)) is None:
        try:
            return await begin_run(store, started)
        except LifecycleViolation:
            """Another process began it meanwhile."""
    return run


def _start_payload(kind: Baseline, of: EvalStarted, scenarios: int) -> EvalStarted:
    text = "\n".join((of.suite, of.suite_digest or "", f"{of.scorer_id}@{of.scorer_version}"))
    return EvalStarted(
        run_id=f"{sha256(text.encode()).hexdigest()[:12]}.{kind}",
        suite=of.suite,
        agent=AGENT,
        baseline=kind,
        scenarios=scenarios,
        attempts=1,
        suite_digest=of.suite_digest,
        scorer_id=of.scorer_id,
        scorer_version=of.scorer_version,
    )
