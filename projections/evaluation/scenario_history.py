"""The history of one scenario: its results in each run, and by version of each agent.

Scores of an older content of the scenario, or of another scorer than the newest, are superseded: they are in the
results of their run, and in no result of a version. The current content and scorer are those that the newest score
states; a score that states none is used.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from events.evaluation import Baseline
from ledger.clock import moment_of
from projections.arrays import RowNumbers
from projections.evaluation.aggregation import ScenarioLabels, scenario_results, tally_scores
from projections.evaluation.evaluation_index import EvaluationScoreColumns
from projections.evaluation.query_params import ScenarioQuery
from projections.evaluation.score_context import run_fields
from projections.evaluation.view_types import Verdict
from tallystick.shapes.parts import Interval

VERSIONS_MAX = 100
"""The most versions of a history: those with the latest first run."""


class AttemptCounts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The results of attempts at one scenario; the fields and `measured` are those of `ScenarioResult`."""

    attempts: int
    passed: int
    errors: int
    skipped: int
    unmeasured: int = 0
    pass_rate: float | None = None
    pass_interval: Interval | None = None
    mean: float | None = None
    mean_scored: float | None = None

    @property
    def measured(self) -> int:
        return self.attempts - self.unmeasured


class ScenarioRun(AttemptCounts, frozen=True, kw_only=True, omit_defaults=True):
    """The attempts at the scenario in one run. `superseded` counts those that are in no result of a version."""

    run_id: str
    suite: str
    started_at: datetime
    ended: bool
    verdict: Verdict
    superseded: int = 0
    agent: str | None = None
    agent_version: str | None = None
    baseline: Baseline | None = None


class ScenarioAtVersion(AttemptCounts, frozen=True, kw_only=True, omit_defaults=True):
    """The comparable attempts at the scenario by one version of an agent, in all its runs of one suite.

    `verdict` is over all these attempts: `flaky` if the version passes the scenario sometimes.
    """

    suite: str
    verdict: Verdict
    runs: int
    first_at: datetime
    agent: str | None = None
    agent_version: str | None = None
    baseline: Baseline | None = None


class ScenarioHistory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One scenario over runs, the last begun first, and over versions: by suite and agent, the first begun first.

    Baselines are the last of their suite. `versions_left_out` counts older versions that are not among `versions`.
    """

    scenario_id: str
    runs: tuple[ScenarioRun, ...]
    total: int
    next: int | None
    versions: tuple[ScenarioAtVersion, ...]
    versions_left_out: int = 0
    name: str | None = None
    family: str | None = None
    failure_type: str | None = None


def build_history(scores: EvaluationScoreColumns, query: ScenarioQuery) -> ScenarioHistory:
    """Build the history of a scenario from its own scores."""
    scores = scores.latest()
    keep = _comparable(scores)
    chosen = np.array(
        [query.suite in (None, by.suite) and query.agent in (None, by.agent) for by in scores.attributions], np.bool_
    )
    rows = np.flatnonzero(chosen[scores.attribution])
    by_run = _rows_by(scores.run[rows], rows)
    order = sorted(by_run, key=lambda run: (scores.runs[run].start_us, run), reverse=True)
    shown = order[query.offset : query.offset + query.limit]
    after = query.offset + len(shown)
    versions = _versions(scores, rows[keep[rows]])
    labels = scores.labels.get(query.scenario_id, ScenarioLabels())
    return ScenarioHistory(
        scenario_id=query.scenario_id,
        name=labels.name,
        family=labels.family,
        failure_type=labels.failure_type,
        runs=tuple(_run(scores, run, by_run[run], keep) for run in shown),
        total=len(order),
        next=after if after < len(order) else None,
        versions=tuple(sorted(versions[-VERSIONS_MAX:], key=_place)),
        versions_left_out=max(0, len(versions) - VERSIONS_MAX),
    )


def _rows_by(numbers: npt.NDArray[np.uint32], rows: RowNumbers) -> dict[int, RowNumbers]:
    """Return the row numbers of each number."""
    order = np.argsort(numbers, kind="stable")
    different, begins = np.unique(numbers[order], return_index=True)
    return dict(zip(different.tolist(), np.split(rows[order], begins[1:]), strict=True)) if len(rows) else {}


def _comparable(scores: EvaluationScoreColumns) -> npt.NDArray[np.bool_]:
    """Return a mask of the scores that state the newest content and the newest scorer, or none."""
    newest_first = np.argsort(scores.time_us, kind="stable")[::-1].tolist()
    versions = [scores.scenario_versions[number] for number in scores.scenario_version.tolist()]
    attributions = [scores.attributions[number] for number in scores.attribution.tolist()]
    stated: tuple[Sequence[str | None], ...] = (
        [version.fixture_digest for version in versions],
        [version.expectation_digest for version in versions],
        [by.scorer_id for by in attributions],
        [by.scorer_version for by in attributions],
    )
    keep = np.ones(len(versions), dtype=np.bool_)
    for values in stated:
        current = next((values[row] for row in newest_first if keep[row] and values[row] is not None), None)
        keep &= np.array([value is None or value == current for value in values], dtype=np.bool_)
    return keep


def _run(scores: EvaluationScoreColumns, run: int, rows: RowNumbers, keep: npt.NDArray[np.bool_]) -> ScenarioRun:
    span = scores.runs[run]
    fields = run_fields(span, {scores.attributions[number] for number in scores.attribution[rows].tolist()})
    names = ("run_id", "suite", "started_at", "ended", "agent", "agent_version", "baseline")
    return ScenarioRun(
        **{name: fields[name] for name in names},
        **_count(scores, rows),
        superseded=int((~keep[rows]).sum()),
    )


def _versions(scores: EvaluationScoreColumns, rows: RowNumbers) -> list[ScenarioAtVersion]:
    """Return the results of each version, the one with the earliest first run first."""

    def version_of(row: int) -> tuple[str, str, str, str]:
        by = scores.attributions[scores.attribution[row]]
        return by.suite, by.baseline or "", by.agent or "", by.agent_version or ""

    found = []
    for _, group in groupby(sorted(rows.tolist(), key=version_of), key=version_of):
        of_version = np.array(list(group), dtype=np.int64)
        by = scores.attributions[scores.attribution[of_version[0]]]
        runs = np.unique(scores.run[of_version]).tolist()
        first_us, first_run = min((scores.runs[run].start_us, run) for run in runs)
        version = ScenarioAtVersion(
            **_count(scores, of_version),
            suite=by.suite,
            agent=by.agent,
            agent_version=by.agent_version,
            baseline=by.baseline,
            runs=len(runs),
            first_at=moment_of(first_us),
        )
        found.append(((first_us, first_run), version))
    return [version for _, version in sorted(found, key=lambda each: each[0])]


def _place(version: ScenarioAtVersion) -> tuple[str, bool, bool, str, datetime]:
    of_baseline = version.baseline is not None
    return version.suite, of_baseline, version.agent is None, version.agent or version.baseline or "", version.first_at


def _count(scores: EvaluationScoreColumns, rows: RowNumbers) -> dict[str, Any]:
    """Return the fields of `AttemptCounts` of one or more scores, and the verdict."""
    tally = tally_scores(np.zeros(len(rows), dtype=np.int64), scores.outcome[rows], scores.points[rows], 1)
    (result,) = scenario_results(tally, np.ones(1), [""], {})
    return {name: getattr(result, name) for name in (*AttemptCounts.__struct_fields__, "verdict")}
