"""The scoreboard: by suite, the scores of each version of an agent, and whether a version is worse than the one before.

The comparable scores of a version are pooled: those for the current version of each scenario and by the current scorer
of the suite. The current value is the one in the newest score that states any. A score that states another value is
superseded; a score that states none is used.

Versions are ordered by the time of their first run. Each is compared with the previous version of the agent over the
scenarios of both. All attempts at such a scenario are used, even if their numbers differ, so a single additional
failure has little effect. The scenario has regressed if its verdict became worse (stable, flaky, then failing or only
errors), or if it passes less often and the two Wilson intervals do not overlap.
"""

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import structs

from events.evaluation import Baseline
from ledger.clock import moment_of
from projections.arrays import Floats, RowNumbers
from projections.evaluation.aggregation import (
    FAILED,
    PASSED,
    ScoreTally,
    mean_difference,
    pool_scores,
    scenario_results,
    scenario_weights,
    tally_scores,
)
from projections.evaluation.evaluation_index import EvaluationScoreColumns, stated_weights
from projections.evaluation.query_params import ScoreboardQuery
from projections.evaluation.score_context import ScoreAttribution, other_recorders
from projections.evaluation.usage_figures import EarlierTries, measure_usage
from projections.evaluation.view_types import Scoreboard, ScoreboardRow, StatedConfidence, SuiteScoreboard, TrendPoint
from projections.stats.clustered_mean import clustered_mean
from projections.stats.intervals import wilson_interval
from tallystick.shapes.parts import Interval

MISSING = -1
"""The number of a value that is not stated, or that is absent."""


ResolveModel = Callable[[str], str | None]
"""Returns the model that joined names (`events.model_names.join_names`) mean; None if they name nothing."""


class AgentVersion(NamedTuple):
    """The version of an agent, or the model, that a row is about."""

    agent: str | None
    agent_version: str | None
    baseline: Baseline | None
    model: str | None = None


class ScoreboardEntry(NamedTuple):
    """A row that is being built: its scores by scenario, its first run as (start, number), and the row to show."""

    tally: ScoreTally
    first: tuple[int, int]
    shown: ScoreboardRow


def build_scoreboard(
    scores: EvaluationScoreColumns, query: ScoreboardQuery, resolve: ResolveModel | None = None
) -> Scoreboard:
    """Build the scoreboard of each suite that passes the filter; with `resolve`, its rows are models."""
    scores, earlier = scores.split_tries()
    suite_of = np.array([by.suite for by in scores.attributions], dtype=object)
    suites = sorted(set(suite_of.tolist()))
    boards = [
        _suite(scores, earlier, suite, np.flatnonzero((suite_of == suite)[scores.attribution]), query, resolve)
        for suite in suites
        if query.suite in (None, suite)
    ]
    return Scoreboard(suites=tuple(boards))


def _suite(
    scores: EvaluationScoreColumns,
    earlier: EarlierTries,
    suite: str,
    row_numbers: RowNumbers,
    query: ScoreboardQuery,
    resolve: ResolveModel | None,
) -> SuiteScoreboard:
    row_numbers = row_numbers[np.argsort(scores.time_us[row_numbers], kind="stable")]
    scenario_numbers, scenario = np.unique(scores.scenario[row_numbers], return_inverse=True)
    names = [scores.scenarios[number] for number in scenario_numbers.tolist()]
    scorer = _scorer(scores, row_numbers)
    is_current = np.array(
        [
            _is_current(by.scorer_id, scorer[0]) and _is_current(by.scorer_version, scorer[1])
            for by in scores.attributions
        ]
    )
    keep = is_current[scores.attribution[row_numbers]]
    for field in ("fixture_digest", "expectation_digest"):
        keep &= _states_current(scores, field, row_numbers, scenario, len(scenario_numbers))
    weight_by_version = stated_weights(scores.scenario_versions)
    stated = weight_by_version[scores.scenario_version[row_numbers[keep]]]
    weights = scenario_weights(scenario[keep], stated, len(scenario_numbers))
    agents: list[ScoreboardEntry] = []
    baselines: list[ScoreboardEntry] = []
    versions = _versions(scores, row_numbers) if resolve is None else _models(scores, row_numbers, query.agent, resolve)
    for version, indices in versions.items():
        if resolve is not None or version.baseline is not None or query.agent in (None, version.agent):
            row = _row(scores, earlier, version, row_numbers[indices], scenario[indices], keep[indices], weights)
            (agents if version.baseline is None else baselines).append(row)
    compared = (
        _compare_versions(agents, weights, names) if resolve is None else sorted(agents, key=lambda row: row.first)
    )
    rows = (*sorted(_newest(compared, query.versions), key=_best_first), *sorted(baselines, key=_best_first))
    return SuiteScoreboard(
        suite=suite,
        scenarios=len(scenario_numbers),
        scorer_id=scorer[0],
        scorer_version=scorer[1],
        rows=tuple(
            structs.replace(row.shown, results=scenario_results(row.tally, weights, names, scores.labels))
            for row in rows
        ),
        left_out=len(agents) + len(baselines) - len(rows),
        trend=tuple(msgspec.convert(row.shown, TrendPoint, from_attributes=True) for row in compared),
    )


def _scorer(scores: EvaluationScoreColumns, rows: RowNumbers) -> tuple[str | None, str | None]:
    """Return the scorer that the newest score names, and the newest version that a score of this scorer states."""
    newest = np.full(len(scores.attributions), MISSING)
    newest[scores.attribution[rows]] = np.arange(len(rows))
    attributions = [scores.attributions[number] for number in np.argsort(-newest).tolist() if newest[number] != MISSING]
    scored: ScoreAttribution | None = next((by for by in attributions if by.scorer_id is not None), None)
    if scored is None:
        return None, None
    versions = (by.scorer_version for by in attributions if by.scorer_id == scored.scorer_id)
    return scored.scorer_id, next((version for version in versions if version is not None), None)


def _is_current(stated: str | None, current: str | None) -> bool:
    return stated is None or stated == current


def _states_current(
    scores: EvaluationScoreColumns, field: str, row_numbers: RowNumbers, scenario: npt.NDArray[Any], size: int
) -> npt.NDArray[np.bool_]:
    """Return a mask of the scores, oldest first, that state the scenario's newest value of a field, or no value."""
    numbers: dict[str | None, int] = {None: MISSING}
    values = (getattr(version, field) for version in scores.scenario_versions)
    number_by_version = np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
    stated = number_by_version[scores.scenario_version[row_numbers]]
    newest = np.full(size, MISSING)
    newest[scenario[stated != MISSING]] = stated[stated != MISSING]
    fits: npt.NDArray[np.bool_] = (stated == MISSING) | (stated == newest[scenario])
    return fits


def _versions(scores: EvaluationScoreColumns, row_numbers: RowNumbers) -> dict[AgentVersion, RowNumbers]:
    """Return the indices in `row_numbers` of the scores of each version."""
    versions = [AgentVersion(by.agent, by.agent_version, by.baseline) for by in scores.attributions]
    return _indices_of(versions, scores.attribution[row_numbers])


def _models(
    scores: EvaluationScoreColumns, row_numbers: RowNumbers, agent: str | None, resolve: ResolveModel
) -> dict[AgentVersion, RowNumbers]:
    """Return the indices in `row_numbers` of the scores of each model and baseline, of one agent if it is given."""
    models = [
        AgentVersion(by.agent, by.agent_version, by.baseline)
        if by.baseline is not None
        else AgentVersion(None, None, None, None if by.model is None else resolve(by.model))
        if agent in (None, by.agent)
        else None
        for by in scores.attributions
    ]
    return _indices_of(models, scores.attribution[row_numbers])


def _indices_of(
    versions: Sequence[AgentVersion | None], attribution: npt.NDArray[np.uint32]
) -> dict[AgentVersion, RowNumbers]:
    """Return the indices of the scores of each version, given the version of each attribution (None: left out)."""
    numbers_of: dict[AgentVersion, int] = {}
    version_numbers = [
        MISSING if version is None else numbers_of.setdefault(version, len(numbers_of)) for version in versions
    ]
    numbers = np.array(version_numbers, dtype=np.int64)[attribution]
    present = set(np.unique(numbers).tolist())
    return {version: np.flatnonzero(numbers == number) for version, number in numbers_of.items() if number in present}


def _row(
    scores: EvaluationScoreColumns,
    earlier: EarlierTries,
    version: AgentVersion,
    row_numbers: RowNumbers,
    scenario: npt.NDArray[Any],
    keep: npt.NDArray[np.bool_],
    weights: npt.NDArray[np.float64],
) -> ScoreboardEntry:
    kept = row_numbers[keep]
    tally = tally_scores(scenario[keep], scores.outcome[kept], scores.points[kept], len(weights))
    runs = np.unique(scores.run[row_numbers])
    began = [(scores.runs[run].start_us, run) for run in runs.tolist()]
    shown = ScoreboardRow(
        **pool_scores(tally, weights),
        usage=measure_usage(scores.tries(kept), earlier.of(kept, len(scores.run))),
        agent=version.agent,
        agent_version=version.agent_version,
        model=version.model,
        stated=measure_stated(scores.confidence[kept], scores.outcome[kept], scenario[keep]),
        recorded_by=other_recorders(
            version.agent, [name for run in runs.tolist() for name in scores.runs[run].recorders]
        ),
        baseline=version.baseline,
        runs=len(runs),
        unfinished=sum(scores.runs[run].end is None for run in runs.tolist()),
        superseded=len(row_numbers) - len(kept),
        first_at=moment_of(min(began)[0]),
        last_at=moment_of(max(began)[0]),
    )
    return ScoreboardEntry(tally, min(began), shown)


def _compare_versions(
    rows: Sequence[ScoreboardEntry], weights: npt.NDArray[np.float64], names: Sequence[str]
) -> list[ScoreboardEntry]:
    """Sort rows by agent and first run, and compare each with the previous version of the agent."""
    order = sorted(rows, key=lambda row: (row.shown.agent is None, row.shown.agent or "", row.first))
    compared: list[ScoreboardEntry] = []
    for before, row in pairwise([None, *order]):
        assert row is not None
        shown = row.shown
        if before is not None and before.shown.agent == shown.agent:
            gap, interval = mean_difference(before.tally.mean, row.tally.mean, weights)
            shown = structs.replace(
                shown,
                previous_version=before.shown.agent_version,
                difference=gap,
                difference_interval=interval,
                regressed=_regressed(before.tally, row.tally, names),
            )
        compared.append(row._replace(shown=shown))
    return compared


def _regressed(before: ScoreTally, after: ScoreTally, names: Sequence[str]) -> tuple[str, ...]:
    """Return the scenarios that regressed, the most points lost first."""
    both = (before.attempts > 0) & (after.attempts > 0)
    rate_fell = after.passed * before.attempts < before.passed * after.attempts
    regressions = [
        (float(after.mean[index] - before.mean[index]), names[index])
        for index in np.flatnonzero(both & rate_fell).tolist()
        if _rank(after, index) > _rank(before, index)
        or _pass_interval(after, index).high < _pass_interval(before, index).low
    ]
    return tuple(scenario_id for _, scenario_id in sorted(regressions))


def _rank(tally: ScoreTally, index: int) -> int:
    """Rank a verdict: 0 stable, 1 flaky, 2 failing or only errors."""
    if tally.passed[index] == tally.attempts[index]:
        return 0
    return 1 if tally.passed[index] else 2


def _pass_interval(tally: ScoreTally, index: int) -> Interval:
    return wilson_interval(int(tally.passed[index]), int(tally.attempts[index]))


def _newest(rows: Sequence[ScoreboardEntry], versions: int) -> list[ScoreboardEntry]:
    """Return the last `versions` rows of each agent, given rows sorted by agent and first run."""
    by_agent = groupby(rows, key=lambda row: row.shown.agent)
    return [row for _, agent_rows in by_agent for row in list(agent_rows)[-versions:]]


def _best_first(row: ScoreboardEntry) -> tuple[bool, float, str, str]:
    shown = row.shown
    return shown.mean is None, -(shown.mean or 0.0), shown.agent or shown.model or "", shown.agent_version or ""


def measure_stated(
    confidence: Floats, outcome: npt.NDArray[np.uint8], scenario: npt.NDArray[np.integer]
) -> StatedConfidence | None:
    """Compare the stated confidences of scored answers with their results; None if no scored answer states one.

    Shapes: one entry per score; confidence 0..1, NaN where the answer states none.
    The clusters of the interval are the scenarios.
    """
    rows = ~np.isnan(confidence) & ((outcome == PASSED) | (outcome == FAILED))
    if not rows.any():
        return None
    c, passed = confidence[rows], (outcome[rows] == PASSED).astype(np.float64)
    difference = passed - c
    gap = float(difference.mean())
    return StatedConfidence(
        n=len(c),
        mean_confidence=float(c.mean()),
        pass_rate=float(passed.mean()),
        gap=gap,
        brier_score=float((difference**2).mean()),
        gap_interval=None if len(c) == 1 else clustered_mean(difference, scenario[rows], -1.0, 1.0).interval,
    )
