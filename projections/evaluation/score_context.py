"""The context of a score: agent, scorer, scenario version and run. Values that a score omits are those of its run."""

from collections.abc import Collection, Set
from typing import Any, NamedTuple

from events.envelope import ANONYMOUS
from events.evaluation import Baseline, EvalScored, EvalStarted
from events.model_names import join_names
from ledger.clock import moment_of
from projections.evaluation.aggregation import ERROR, FAILED, PASSED, SKIPPED, UNMEASURED

_OF_START = ("suite", "baseline", "answers", "suite_digest", "selection", "meta")
"""What a summary of a run states as its start does."""

FAILURES_OF_SCORING = ("embeddings", "judge", "component")
"""The failures of what scores, and not of what was scored."""

_outcome = {"error": ERROR, "skipped": SKIPPED}


class ScoreAttribution(NamedTuple):
    """The fields that many scores share: suite, agent, scorer, and the model's names, joined by `join_names`."""

    suite: str
    agent: str | None
    agent_version: str | None
    baseline: Baseline | None
    scorer_id: str | None
    scorer_version: str | None
    model: str | None = None


class ScenarioVersion(NamedTuple):
    """The version of the scenario that a score states: digests of its content, and its weight."""

    fixture_digest: str | None
    expectation_digest: str | None
    weight: float | None


class RunEnd(NamedTuple):
    """When and how a run ended."""

    time_us: int
    reason: str | None
    elapsed_ns: int | None


class RunSpan(NamedTuple):
    """A run from its start to its end. A run without an end has not finished, or was abandoned.

    `recorders` are the agents that recorded its start and its scores.
    """

    run_id: str
    started: EvalStarted
    start_us: int
    end: RunEnd | None
    recorders: Collection[str]


def attribute_score(started: EvalStarted, data: EvalScored) -> ScoreAttribution:
    """Return agent and scorer as the score states them, or as its run does.

    The run's version is not used for an agent or scorer that the run does not name.
    """
    return ScoreAttribution(
        started.suite,
        *_stated(data.agent, data.agent_version, started.agent, started.agent_version),
        started.baseline,
        *_stated(data.scorer_id, data.scorer_version, started.scorer_id, started.scorer_version),
        join_names(data.model, data.reported_model),
    )


def _stated(
    name: str | None, version: str | None, run_name: str | None, run_version: str | None
) -> tuple[str | None, str | None]:
    if name is not None and run_name is not None and name != run_name:
        return name, version
    return (run_name if name is None else name), (run_version if version is None else version)


def score_outcome(data: EvalScored) -> int:
    """Return the number of the outcome of an attempt."""
    if data.failure in FAILURES_OF_SCORING:
        return UNMEASURED
    if data.state != "scored":
        return _outcome[data.state]
    return PASSED if data.passed else FAILED


def run_fields(run: RunSpan, attributions: Set[ScoreAttribution]) -> dict[str, Any]:
    """Return the fields of an `EvaluationSummary` that are not statistics, given the attributions of its scores."""
    started, end = run.started, run.end
    agent, agent_version = run_agent(started, attributions)
    scorers = {(by.scorer_id, by.scorer_version) for by in attributions}
    scorer_id, scorer_version = _agreed(scorers, (started.scorer_id, started.scorer_version))
    planned = started.scenarios
    return {name: getattr(started, name) for name in _OF_START} | {
        "run_id": run.run_id,
        "agent": agent,
        "agent_version": agent_version,
        "recorded_by": other_recorders(agent, run.recorders),
        "scorer_id": scorer_id,
        "scorer_version": scorer_version,
        "started_at": moment_of(run.start_us),
        "ended": end is not None,
        "finished_at": None if end is None else moment_of(end.time_us),
        "reason": None if end is None else end.reason,
        "planned": None if planned is None else planned * (1 if started.attempts is None else started.attempts),
        "elapsed_ns": None if end is None else end.elapsed_ns,
    }


def other_recorders(agent: str | None, recorders: Collection[str]) -> tuple[str, ...]:
    """Return the known agents that recorded an evaluation in the name of another agent, sorted."""
    return () if agent is None else tuple(sorted({*recorders} - {agent, ANONYMOUS}))


def run_agent(started: EvalStarted, attributions: Set[ScoreAttribution]) -> tuple[str | None, str | None]:
    """Return the evaluated agent and its version: as the start states them, or as all scores agree."""
    return _agreed({(by.agent, by.agent_version) for by in attributions}, (started.agent, started.agent_version))


def _agreed(
    in_scores: Set[tuple[str | None, str | None]], stated: tuple[str | None, str | None]
) -> tuple[str | None, str | None]:
    """Return a name and its version: the stated ones, or those that all scores agree on."""
    names = {name for name, _ in in_scores if name is not None} if stated[0] is None else {stated[0]}
    if len(names) != 1:
        return stated
    (name,) = names
    versions = {version for version_name, version in in_scores if version_name == name and version is not None}
    return name, stated[1] if stated[1] is not None or len(versions) != 1 else versions.pop()
