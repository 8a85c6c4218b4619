"""Scoreboard times: over many runs of a large suite, of one whole run, and of a comparison of two runs."""

import asyncio
import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from benchmarks import load
from benchmarks.measure import Measure, expect_at_most
from events.envelope import Draft
from events.evaluation import Component, EvalFinished, EvalScored, EvalStarted, PatternFinding
from events.registry import VOCABULARY
from ledger.sqlite.log import SqliteLog

SCENARIOS = 328
RUNS_A_VERSION = 10
SECONDS = 3
MS_MAX = 500.0
PASS_POINTS = 70.0

_started = VOCABULARY.event_types["eval.started.v1"].draft
_finished = VOCABULARY.event_types["eval.finished.v1"].draft


def measure_scoreboard(folder: Path, runs: int) -> Iterator[Measure]:
    """Measure median times over one warm connection."""
    path = folder / "judging.db"
    asyncio.run(make_evaluations(path, runs))
    compared = f"baseline=run-0&candidate=run-{runs - 1}"
    requests = {
        f"/scoreboard over {runs * SCENARIOS:,} scores": "/scoreboard",
        f"/evaluations/RUN of {SCENARIOS} scenarios": "/evaluations/run-0",
        f"/evaluations/compare of {SCENARIOS} scenarios": f"/evaluations/compare?{compared}",
    }
    with load.start_tallystick(path) as server:
        for name, request in requests.items():
            load.run_wrk(f"{server.url}{request}", connections=1, seconds=1)
            median_s = load.run_wrk(f"{server.url}{request}", connections=1, seconds=SECONDS).median_s
            yield expect_at_most(name, median_s * 1e3, MS_MAX, "ms", "the limit", 1.0)


async def make_evaluations(path: Path, runs: int, *, seed: int = 7) -> None:
    """Make a ledger of runs of one suite, ten per version of the agent; each answer has about 500 bytes and a score."""
    rng = random.Random(seed)
    log = await SqliteLog.open(path)
    try:
        for number in range(runs):
            await log.append(list(_run(f"run-{number}", f"v{number // RUNS_A_VERSION}", rng)))
    finally:
        await log.close()


def _run(run_id: str, version: str, rng: random.Random) -> Iterator[Draft]:
    source = "/agents/ci"
    about = {"agent": "rca", "agent_version": version, "scorer_id": "rca", "scorer_version": "1"}
    about["suite_digest"] = sha256(b"incidents").hexdigest()
    yield _started(data=EvalStarted(run_id=run_id, suite="incidents", scenarios=SCENARIOS, **about), source=source)  # type: ignore[arg-type]
    for number in range(SCENARIOS):
        points = rng.choice((0.0, 30.0, 70.0, 100.0))
        digest = sha256(str(number).encode()).hexdigest()
        data = EvalScored(
            run_id=run_id,
            scenario_id=f"scenario-{number}",
            attempt=1,
            state="scored",
            total_score=points,
            passed=points >= PASS_POINTS,
            components=(_component(points),),
            fixture_digest=digest,
            expectation_digest=digest,
            analysis='{"rca":{"root_cause":"' + "The limit of the container is too low. " * 12 + '"}}',
        )
        yield VOCABULARY.draft_of(data, source=source)
    yield _finished(data=EvalFinished(run_id=run_id), source=source)


def _component(points: float) -> Component:
    findings = tuple(
        PatternFinding(
            expectation=f"root_cause.patterns[{number}]",
            pattern="limit of the container",
            match_type="substring",
            matched=points >= PASS_POINTS,
            where="rca.root_cause",
        )
        for number in range(3)
    )
    return Component(name="root_cause", applicable=True, score=points, weight=1.0, mark=PASS_POINTS, findings=findings)
