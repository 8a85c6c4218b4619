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
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import structs

from events.evaluation import Baseline
from projections.conflicts import Places
from projections.evaluation import Board, BoardRow, ScenarioResult, SuiteBoard, TrendPoint, Verdict
from projections.evaluations import Scores, stated_weights
from projections.grading import Tally, difference, pool, results, tally, weigh
from projections.provenance import By, moment

NOTHING = -1
"""Stands for a digest that is not stated."""

_RANK: dict[Verdict, int] = {"stable": 0, "flaky": 1, "failing": 2, "error": 2, "skipped": 2}


class BoardWanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which suite to show, and of which agent; baselines stand there whichever is asked for."""

    suite: str | None = None
    agent: str | None = None


class Version(NamedTuple):
    """What a row is of."""

    agent: str | None
    agent_version: str | None
    baseline: Baseline | None


class Row(NamedTuple):
    """A row in the making: its figures by scenario, and what is shown."""

    found: Tally
    first: tuple[int, int]
    shown: BoardRow


def scoreboard(scores: Scores, wanted: BoardWanted) -> Board:
    """The boards that are asked for."""
    suite_of = np.array([by.suite for by in scores.bys], dtype=object)
    suites = sorted(set(suite_of.tolist()))
    made = [
        _suite(scores, suite, np.flatnonzero((suite_of == suite)[scores.by]), wanted.agent)
        for suite in suites
        if wanted.suite in (None, suite)
    ]
    return Board(suites=tuple(made))


def _suite(scores: Scores, suite: str, places: Places, agent: str | None) -> SuiteBoard:
    places = places[np.argsort(scores.time_us[places], kind="stable")]
    chosen, scenario = np.unique(scores.scenario[places], return_inverse=True)
    names = [scores.scenarios[number] for number in chosen.tolist()]
    scorer = _scorer(scores, places)
    counts = np.array([_fits(by.scorer_id, scorer[0]) and _fits(by.scorer_version, scorer[1]) for by in scores.bys])
    keep = counts[scores.by[places]]
    for field in ("fixture_digest", "expectation_digest"):
        keep &= _current(scores, field, places, scenario, len(chosen))
    weights = weigh(scenario[keep], stated_weights(scores.ons)[scores.on[places[keep]]], len(chosen))
    made = []
    for version, own in _versions(scores, places).items():
        if agent in (None, version.agent) or version.baseline is not None:
            made.append(_row(scores, version, places[own], scenario[own], keep[own], weights, names))
    told = _compared([row for row in made if row.shown.baseline is None], weights, names)
    aside = sorted((row.shown for row in made if row.shown.baseline is not None), key=_best_first)
    return SuiteBoard(
        suite=suite,
        scenarios=len(chosen),
        scorer_id=scorer[0],
        scorer_version=scorer[1],
        rows=(*sorted(told, key=_best_first), *aside),
        trend=tuple(_point(row) for row in told),
    )


def _scorer(scores: Scores, places: Places) -> tuple[str | None, str | None]:
    """The scorer that the newest score names, in the newest version that any score of it states."""
    newest: dict[int, int] = dict(zip(scores.by[places].tolist(), range(len(places)), strict=True))
    bys = [scores.bys[number] for number in sorted(newest, key=newest.__getitem__, reverse=True)]
    named: By | None = next((by for by in bys if by.scorer_id is not None), None)
    if named is None:
        return None, None
    of = (by.scorer_version for by in bys if by.scorer_id == named.scorer_id and by.scorer_version is not None)
    return named.scorer_id, next(of, None)


def _fits(stated: str | None, current: str | None) -> bool:
    return stated is None or stated == current


def _current(
    scores: Scores, field: str, places: Places, scenario: npt.NDArray[Any], size: int
) -> npt.NDArray[np.bool_]:
    """Which of some scores, oldest first, state of their scenario what the newest that states it does, or nothing."""
    numbers: dict[str | None, int] = {None: NOTHING}
    digest = np.array([numbers.setdefault(getattr(on, field), len(numbers)) for on in scores.ons], dtype=np.int64)
    stated = digest[scores.on[places]]
    newest = np.full(size, NOTHING)
    newest[scenario[stated != NOTHING]] = stated[stated != NOTHING]
    fits: npt.NDArray[np.bool_] = (stated == NOTHING) | (stated == newest[scenario])
    return fits


def _versions(scores: Scores, places: Places) -> dict[Version, Places]:
    """Where among some scores those of each version stand."""
    versions: dict[Version, int] = {}
    of_by = [versions.setdefault(Version(by.agent, by.agent_version, by.baseline), len(versions)) for by in scores.bys]
    numbers = np.array(of_by)[scores.by[places]]
    there = set(np.unique(numbers).tolist())
    return {version: np.flatnonzero(numbers == number) for version, number in versions.items() if number in there}


def _row(
    scores: Scores,
    version: Version,
    places: Places,
    scenario: npt.NDArray[Any],
    keep: npt.NDArray[np.bool_],
    weights: npt.NDArray[np.float64],
    names: Sequence[str],
) -> Row:
    kept = places[keep]
    found = tally(scenario[keep], scores.outcome[kept], scores.points[kept], len(names))
    runs = np.unique(scores.run[places])
    began = [(scores.runs[run].start_us, run) for run in runs.tolist()]
    shown = BoardRow(
        **pool(found, weights),
        agent=version.agent,
        agent_version=version.agent_version,
        baseline=version.baseline,
        runs=len(runs),
        unfinished=sum(scores.runs[run].end is None for run in runs.tolist()),
        superseded=len(places) - len(kept),
        first_at=moment(min(began)[0]),
        last_at=moment(max(began)[0]),
        results=results(found, weights, names, scores.known),
    )
    return Row(found, min(began), shown)


def _compared(rows: Sequence[Row], weights: npt.NDArray[np.float64], names: Sequence[str]) -> list[BoardRow]:
    """The rows by agent, the version that ran first before the others, each compared with the one before."""
    order = sorted(rows, key=lambda row: (row.shown.agent is None, row.shown.agent or "", row.first))
    made: list[BoardRow] = []
    before: Row | None = None
    for row in order:
        shown = row.shown
        if before is not None and before.shown.agent == shown.agent:
            gap, interval = difference(before.found.mean, row.found.mean, weights)
            shown = structs.replace(
                shown,
                previous_version=before.shown.agent_version,
                difference=gap,
                difference_interval=interval,
                regressed=_regressed(before.shown.results, shown.results),
            )
        made.append(shown)
        before = row
    return made


def _regressed(before: Sequence[ScenarioResult], after: Sequence[ScenarioResult]) -> tuple[str, ...]:
    """The scenarios that have become worse, the most points lost first."""
    was = {one.scenario_id: one for one in before}
    lost = [
        ((one.mean or 0.0) - (was[one.scenario_id].mean or 0.0), one.scenario_id)
        for one in after
        if one.scenario_id in was and _worse(was[one.scenario_id], one)
    ]
    return tuple(scenario_id for _, scenario_id in sorted(lost))


def _worse(before: ScenarioResult, after: ScenarioResult) -> bool:
    if before.pass_interval is None or after.pass_interval is None:
        return False
    return _RANK[after.verdict] > _RANK[before.verdict] or after.pass_interval.high < before.pass_interval.low


def _best_first(row: BoardRow) -> tuple[bool, float, str, str]:
    return row.mean is None, -(row.mean or 0.0), row.agent or "", row.agent_version or ""


def _point(row: BoardRow) -> TrendPoint:
    return TrendPoint(**{name: getattr(row, name) for name in TrendPoint.__struct_fields__})
