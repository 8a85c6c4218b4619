"""The scoreboard: by suite, what each version of an agent is worth, and whether the last one made it worse.

All runs of one version are taken together, as far as their scores compare: under what each scenario holds now, by what
scores the suite now. Both are what the newest score that states it says; a score that states something else was
superseded, and one that states nothing counts.

Versions follow each other by the time of their first run. A version that came after another is compared with it over
the scenarios of both. Of such a scenario all attempts count, however many there are on either side, so that one more
failure among them shows little by itself: it has regressed where its verdict became worse (stable, flaky, then failing
or nothing but errors), or where it passes less often and the two Wilson intervals lie apart.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import structs

from events.evaluation import Baseline
from projections.arrays import Places
from projections.evaluation.aggregation import (
    ScoreTally,
    mean_difference,
    pool_scores,
    scenario_results,
    scenario_weights,
    tally_scores,
)
from projections.evaluation.evaluation_index import EvaluationScoreColumns, stated_weights
from projections.evaluation.score_context import ScoreAttribution, moment
from projections.evaluation.view_types import Scoreboard, ScoreboardRow, SuiteScoreboard, TrendPoint
from projections.stats.intervals import Interval, wilson_interval

MISSING = -1
"""Stands for what is not stated, or is not there."""


VERSIONS_SHOWN = 100
"""How many versions of an agent are shown in full unless it is said."""


class ScoreboardQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which suite to show, and of which agent; baselines stand there whichever is asked for.

    `versions` is how many of each agent have a row, those that ran first the latest; the trend has all of them.
    """

    suite: str | None = None
    agent: str | None = None
    versions: int = VERSIONS_SHOWN


class AgentVersion(NamedTuple):
    """What a row is of."""

    agent: str | None
    agent_version: str | None
    baseline: Baseline | None


class ScoreboardEntry(NamedTuple):
    """A row in the making: its figures by scenario, and what is shown."""

    found: ScoreTally
    first: tuple[int, int]
    shown: ScoreboardRow


def build_scoreboard(scores: EvaluationScoreColumns, wanted: ScoreboardQuery) -> Scoreboard:
    """The boards that are asked for."""
    scores = scores.counted()
    suite_of = np.array([by.suite for by in scores.bys], dtype=object)
    suites = sorted(set(suite_of.tolist()))
    made = [
        _suite(scores, suite, np.flatnonzero((suite_of == suite)[scores.by]), wanted)
        for suite in suites
        if wanted.suite in (None, suite)
    ]
    return Scoreboard(suites=tuple(made))


def _suite(scores: EvaluationScoreColumns, suite: str, places: Places, wanted: ScoreboardQuery) -> SuiteScoreboard:
    places = places[np.argsort(scores.time_us[places], kind="stable")]
    chosen, scenario = np.unique(scores.scenario[places], return_inverse=True)
    names = [scores.scenarios[number] for number in chosen.tolist()]
    scorer = _scorer(scores, places)
    counts = np.array([_fits(by.scorer_id, scorer[0]) and _fits(by.scorer_version, scorer[1]) for by in scores.bys])
    keep = counts[scores.by[places]]
    for field in ("fixture_digest", "expectation_digest"):
        keep &= _current(scores, field, places, scenario, len(chosen))
    weights = scenario_weights(scenario[keep], stated_weights(scores.ons)[scores.on[places[keep]]], len(chosen))
    agents: list[ScoreboardEntry] = []
    aside: list[ScoreboardEntry] = []
    for version, own in _versions(scores, places).items():
        if version.baseline is not None or wanted.agent in (None, version.agent):
            row = _row(scores, version, places[own], scenario[own], keep[own], weights)
            (agents if version.baseline is None else aside).append(row)
    told = _compared(agents, weights, names)
    rows = (*sorted(_newest(told, wanted.versions), key=_best_first), *sorted(aside, key=_best_first))
    return SuiteScoreboard(
        suite=suite,
        scenarios=len(chosen),
        scorer_id=scorer[0],
        scorer_version=scorer[1],
        rows=tuple(
            structs.replace(row.shown, results=scenario_results(row.found, weights, names, scores.known))
            for row in rows
        ),
        left_out=len(agents) + len(aside) - len(rows),
        trend=tuple(_point(row.shown) for row in told),
    )


def _scorer(scores: EvaluationScoreColumns, places: Places) -> tuple[str | None, str | None]:
    """The scorer that the newest score names, in the newest version that any score of it states."""
    newest = np.full(len(scores.bys), MISSING)
    newest[scores.by[places]] = np.arange(len(places))
    bys = [scores.bys[number] for number in np.argsort(-newest).tolist() if newest[number] != MISSING]
    named: ScoreAttribution | None = next((by for by in bys if by.scorer_id is not None), None)
    if named is None:
        return None, None
    of = (by.scorer_version for by in bys if by.scorer_id == named.scorer_id and by.scorer_version is not None)
    return named.scorer_id, next(of, None)


def _fits(stated: str | None, current: str | None) -> bool:
    return stated is None or stated == current


def _current(
    scores: EvaluationScoreColumns, field: str, places: Places, scenario: npt.NDArray[Any], size: int
) -> npt.NDArray[np.bool_]:
    """Which of some scores, oldest first, state of their scenario what the newest that states it does, or nothing."""
    numbers: dict[str | None, int] = {None: MISSING}
    digest = np.array([numbers.setdefault(getattr(on, field), len(numbers)) for on in scores.ons], dtype=np.int64)
    stated = digest[scores.on[places]]
    newest = np.full(size, MISSING)
    newest[scenario[stated != MISSING]] = stated[stated != MISSING]
    fits: npt.NDArray[np.bool_] = (stated == MISSING) | (stated == newest[scenario])
    return fits


def _versions(scores: EvaluationScoreColumns, places: Places) -> dict[AgentVersion, Places]:
    """Where among some scores those of each version stand."""
    versions: dict[AgentVersion, int] = {}
    of_by = [
        versions.setdefault(AgentVersion(by.agent, by.agent_version, by.baseline), len(versions)) for by in scores.bys
    ]
    numbers = np.array(of_by)[scores.by[places]]
    there = set(np.unique(numbers).tolist())
    return {version: np.flatnonzero(numbers == number) for version, number in versions.items() if number in there}


def _row(
    scores: EvaluationScoreColumns,
    version: AgentVersion,
    places: Places,
    scenario: npt.NDArray[Any],
    keep: npt.NDArray[np.bool_],
    weights: npt.NDArray[np.float64],
) -> ScoreboardEntry:
    kept = places[keep]
    found = tally_scores(scenario[keep], scores.outcome[kept], scores.points[kept], len(weights))
    runs = np.unique(scores.run[places])
    began = [(scores.runs[run].start_us, run) for run in runs.tolist()]
    shown = ScoreboardRow(
        **pool_scores(found, weights),
        agent=version.agent,
        agent_version=version.agent_version,
        baseline=version.baseline,
        runs=len(runs),
        unfinished=sum(scores.runs[run].end is None for run in runs.tolist()),
        superseded=len(places) - len(kept),
        first_at=moment(min(began)[0]),
        last_at=moment(max(began)[0]),
    )
    return ScoreboardEntry(found, min(began), shown)


def _compared(
    rows: Sequence[ScoreboardEntry], weights: npt.NDArray[np.float64], names: Sequence[str]
) -> list[ScoreboardEntry]:
    """The rows by agent, the version that ran first before the others, each compared with the one before."""
    order = sorted(rows, key=lambda row: (row.shown.agent is None, row.shown.agent or "", row.first))
    made: list[ScoreboardEntry] = []
    for before, row in pairwise([None, *order]):
        assert row is not None
        shown = row.shown
        if before is not None and before.shown.agent == shown.agent:
            gap, interval = mean_difference(before.found.mean, row.found.mean, weights)
            shown = structs.replace(
                shown,
                previous_version=before.shown.agent_version,
                difference=gap,
                difference_interval=interval,
                regressed=_regressed(before.found, row.found, names),
            )
        made.append(row._replace(shown=shown))
    return made


def _regressed(before: ScoreTally, after: ScoreTally, names: Sequence[str]) -> tuple[str, ...]:
    """The scenarios that have become worse, the most points lost first."""
    there = (before.attempts > 0) & (after.attempts > 0)
    fell = after.passed * before.attempts < before.passed * after.attempts
    lost = [
        (float(after.mean[place] - before.mean[place]), names[place])
        for place in np.flatnonzero(there & fell).tolist()
        if _rank(after, place) > _rank(before, place) or _passes(after, place).high < _passes(before, place).low
    ]
    return tuple(scenario_id for _, scenario_id in sorted(lost))


def _rank(found: ScoreTally, place: int) -> int:
    """How bad a verdict is."""
    return 0 if found.passed[place] == found.attempts[place] else 1 if found.passed[place] else 2


def _passes(found: ScoreTally, place: int) -> Interval:
    return wilson_interval(int(found.passed[place]), int(found.attempts[place]))


def _newest(rows: Sequence[ScoreboardEntry], versions: int) -> list[ScoreboardEntry]:
    """The last so many of each agent, of rows by agent and the first before the others."""
    return [row for _, own in groupby(rows, key=lambda row: row.shown.agent) for row in list(own)[-versions:]]


def _best_first(row: ScoreboardEntry) -> tuple[bool, float, str, str]:
    shown = row.shown
    return shown.mean is None, -(shown.mean or 0.0), shown.agent or "", shown.agent_version or ""


def _point(row: ScoreboardRow) -> TrendPoint:
    return TrendPoint(**{name: getattr(row, name) for name in TrendPoint.__struct_fields__})
