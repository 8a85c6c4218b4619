"""Whose a score is: who answered, what scored, and on what; as the score says, or its run where it does not."""

from collections.abc import Set
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from events.evaluation import Baseline, EvalScored, EvalStarted
from projections.evaluation.aggregation import ERROR, FAILED, PASSED, SKIPPED

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_outcome = {"error": ERROR, "skipped": SKIPPED}


class ScoreAttribution(NamedTuple):
    """What many scores share: the suite, who answered, and what scored; as the score says, else its run."""

    suite: str
    agent: str | None
    agent_version: str | None
    baseline: Baseline | None
    scorer_id: str | None
    scorer_version: str | None


class ScenarioVersion(NamedTuple):
    """What a score says of its scenario: what it holds, and what it counts."""

    fixture_digest: str | None
    expectation_digest: str | None
    weight: float | None


class RunEnd(NamedTuple):
    """When and how a run ended."""

    time_us: int
    reason: str | None
    elapsed_ns: int | None


class RunSpan(NamedTuple):
    """A run from its start to its end; one without an end goes on, or was left."""

    run_id: str
    started: EvalStarted
    start_us: int
    end: RunEnd | None


def attribute_score(started: EvalStarted, data: EvalScored) -> ScoreAttribution:
    """Who answered and what scored, as a score says, else its run. The version of another is nobody's."""
    return ScoreAttribution(
        started.suite,
        *_stated(data.agent, data.agent_version, started.agent, started.agent_version),
        started.baseline,
        *_stated(data.scorer_id, data.scorer_version, started.scorer_id, started.scorer_version),
    )


def _stated(
    name: str | None, version: str | None, run_name: str | None, run_version: str | None
) -> tuple[str | None, str | None]:
    if name is not None and run_name is not None and name != run_name:
        return name, version
    return (run_name if name is None else name), (run_version if version is None else version)


def score_outcome(data: EvalScored) -> int:
    """What came of an attempt."""
    return _outcome[data.state] if data.state != "scored" else PASSED if data.passed else FAILED


def run_fields(run: RunSpan, bys: Set[ScoreAttribution]) -> dict[str, Any]:
    """What the head of an evaluation says beside its figures; `bys` are those of its scores."""
    started, end = run.started, run.end
    agent, agent_version = run_agent(started, bys)
    scorers = {(by.scorer_id, by.scorer_version) for by in bys}
    scorer_id, scorer_version = _agreed(scorers, (started.scorer_id, started.scorer_version))
    planned = started.scenarios
    return {
        "run_id": run.run_id,
        "suite": started.suite,
        "agent": agent,
        "agent_version": agent_version,
        "baseline": started.baseline,
        "answers": started.answers,
        "scorer_id": scorer_id,
        "scorer_version": scorer_version,
        "suite_digest": started.suite_digest,
        "selection": started.selection,
        "meta": started.meta,
        "started_at": moment(run.start_us),
        "ended": end is not None,
        "finished_at": None if end is None else moment(end.time_us),
        "reason": None if end is None else end.reason,
        "planned": None if planned is None else planned * (1 if started.attempts is None else started.attempts),
        "elapsed_ns": None if end is None else end.elapsed_ns,
    }


def run_agent(started: EvalStarted, bys: Set[ScoreAttribution]) -> tuple[str | None, str | None]:
    """Who is evaluated, and its version: as the start says, completed by what the scores agree on."""
    return _agreed({(by.agent, by.agent_version) for by in bys}, (started.agent, started.agent_version))


def _agreed(
    told: Set[tuple[str | None, str | None]], stated: tuple[str | None, str | None]
) -> tuple[str | None, str | None]:
    """A name and its version: those stated, completed by what the scores agree on."""
    names = {name for name, _ in told if name is not None} if stated[0] is None else {stated[0]}
    if len(names) != 1:
        return stated
    (name,) = names
    versions = {version for other, version in told if other == name and version is not None}
    return name, stated[1] if stated[1] is not None or len(versions) != 1 else versions.pop()


def moment(us: int) -> datetime:
    """Microseconds since 1970 UTC as a time."""
    return _EPOCH + timedelta(microseconds=us)
