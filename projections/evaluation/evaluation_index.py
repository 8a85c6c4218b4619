"""The evaluations projection: an index of evaluation runs and of every score.

The state has one row per score (run, scenario, attempt, outcome, points, attribution, scenario version, and what the
answer used: about 90 bytes), the starts and ends of runs, and the labels of scenarios. Findings and answers are not in
the state: to show a run, its stream is read (`run_view.py`). Lists and scoreboards are computed from copies of the
columns (`run_summaries.py`, `scoreboard.py`).
"""

from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from events.envelope import EventFacts, agent_of
from events.evaluation import (
    EvalFinished,
    EvalReopened,
    EvalScenarioCaptured,
    EvalScenarioRevised,
    EvalScored,
    EvalStarted,
)
from events.payload import Payload
from ledger.clock import microseconds
from projections.arrays import Floats, Ints
from projections.columns import as_array, microseconds_column, names_starting_with
from projections.evaluation.aggregation import SKIPPED, ScenarioLabels
from projections.evaluation.score_context import (
    RunEnd,
    RunSpan,
    ScenarioVersion,
    ScoreAttribution,
    attribute_score,
    run_agent,
    score_outcome,
)
from projections.evaluation.usage_figures import USAGE_NAMES, EarlierTries, UsageColumns, usage_values
from projections.projection import Projection
from projections.saved_state import Part, numbered, saved_column, saved_names, saved_pairs, saved_value
from projections.time_range import TimeRange

_NAN = float("nan")
_COLUMNS: Mapping[str, type[np.generic]] = {
    "run": np.uint32,
    "scenario": np.uint32,
    "attempt": np.int64,
    "outcome": np.uint8,
    "points": np.float64,
    "attribution": np.uint32,
    "scenario_version": np.uint32,
    "time_us": np.int64,
    "confidence": np.float64,
    **dict.fromkeys(USAGE_NAMES, np.float64),
}
"""The columns with one entry for each score."""

_ENCODED_NAMES = {"attribution": "by", "scenario_version": "on"}
"""Names of columns in snapshots, where they differ."""


class EvaluationScoreColumns(NamedTuple):
    """Copies of the columns of scores, in the order of the log, and the tables that they refer to.

    `run` is an index into `runs`, which are in the order in which they began in the log. `scenario`, `attribution` and
    `scenario_version` are indices into the tables of these names. `labels` has the labels of scenarios by id.
    """

    run: npt.NDArray[np.uint32]
    scenario: npt.NDArray[np.uint32]
    attempt: npt.NDArray[np.int64]
    outcome: npt.NDArray[np.uint8]
    points: npt.NDArray[np.float64]
    time_us: npt.NDArray[np.int64]
    attribution: npt.NDArray[np.uint32]
    scenario_version: npt.NDArray[np.uint32]
    confidence: npt.NDArray[np.float64]
    """The confidence that each answer states; NaN without one."""
    input_tokens: Floats
    output_tokens: Floats
    cost_usd: Floats
    elapsed_ns: Floats
    attributions: Sequence[ScoreAttribution]
    scenario_versions: Sequence[ScenarioVersion]
    scenarios: Sequence[str]
    labels: Mapping[str, ScenarioLabels]
    runs: Sequence[RunSpan]
    row: Ints
    """The number of each score among all in the log."""

    def select(self, rows: npt.NDArray[Any]) -> "EvaluationScoreColumns":
        """Return only the scores with some row numbers, or those that a mask selects."""
        return self._replace(**{name: getattr(self, name)[rows] for name in (*_COLUMNS, "row")})

    def latest(self) -> "EvaluationScoreColumns":
        """Return only the last score of each attempt."""
        return self.split_tries()[0]

    def split_tries(self) -> tuple["EvaluationScoreColumns", EarlierTries]:
        """Return the last score of each attempt, and what its earlier tries used."""
        columns = (self.attempt, self.scenario, self.run)
        order = np.lexsort(columns)
        last = np.ones(len(order), dtype=np.bool_)
        if len(order):
            last[:-1] = np.any([column[order][1:] != column[order][:-1] for column in columns], axis=0)
        rows = np.sort(order[last])
        last_of = order[last][np.cumsum(last) - last]
        tried = ~last & (self.outcome[order] != SKIPPED)
        earlier = EarlierTries(np.searchsorted(rows, last_of[tried]), self.usage(order[tried]))
        return self.select(rows), earlier

    def usage(self, rows: npt.NDArray[Any]) -> UsageColumns:
        """Return what the tries with some row numbers used."""
        return UsageColumns(*(getattr(self, name)[rows] for name in USAGE_NAMES))

    def tries(self, rows: npt.NDArray[Any]) -> UsageColumns:
        """Return what the tries with some row numbers used, without skipped attempts."""
        return self.usage(rows[self.outcome[rows] != SKIPPED])


class EvaluationSelection(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of evaluations. `range` bounds the times at which they began."""

    suite: str | None = None
    agent: str | None = None
    range: TimeRange = TimeRange()


class ScoreFilter(NamedTuple):
    """A filter of scores, by one of these: run (row numbers), scenario (id), suite (name)."""

    runs: Sequence[int] | None = None
    scenario: str | None = None
    suite: str | None = None


ALL_SCORES = ScoreFilter()


class EvaluationIndex(Projection):
    """An index of evaluations, in the order in which they began in the log, and of every score."""

    name: ClassVar[str] = "evaluations"
    version: ClassVar[int] = 6
    reads: ClassVar[tuple[type[Payload], ...]] = (
        EvalScored, EvalStarted, EvalFinished, EvalReopened, EvalScenarioCaptured, EvalScenarioRevised,
    )  # fmt: skip

    parts: ClassVar[Mapping[str, Part]] = {
        "index": saved_names("_index"),
        "started": saved_value("_started", list[EvalStarted]),
        "sources": saved_value("_sources", list[list[str]]),
        "ends": saved_pairs("_ends", int, RunEnd),
        "scenarios": saved_names("_scenarios"),
        "known": saved_pairs("_labels", str, ScenarioLabels),
        "bys": numbered("_attributions", ScoreAttribution),
        "ons": numbered("_scenario_versions", ScenarioVersion),
        "start_us": saved_column("_start_us"),
        **{_ENCODED_NAMES.get(name, name): saved_column(f"_{name}") for name in _COLUMNS},
    }

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        """Row number by run id."""
        self._started: list[EvalStarted] = []
        self._sources: list[list[str]] = []
        """The sources of the start and the scores of each run, in the order of the log."""
        self._start_us = array("q")
        self._ends: dict[int, RunEnd] = {}
        self._scenarios: dict[str, int] = {}
        self._labels: dict[str, ScenarioLabels] = {}
        self._attributions: dict[ScoreAttribution, int] = {}
        self._scenario_versions: dict[ScenarioVersion, int] = {}
        self._run_attributions: dict[int, set[int]] = {}
        """The numbers of the attributions in a run, by its row number."""
        self._run = array("I")
        self._scenario = array("I")
        self._attempt = array("q")
        self._outcome = array("B")
        self._points = array("d")
        self._attribution = array("I")
        self._scenario_version = array("I")
        self._time_us = array("q")
        self._confidence = array("d")
        self._input_tokens, self._output_tokens = array("d"), array("d")
        self._cost_usd, self._elapsed_ns = array("d"), array("d")

    def fold(self, events: Sequence[EventFacts]) -> None:
        starts: list[str] = []
        times: list[str] = []
        for event in events:
            data: Any = event.data
            kind = type(data)
            if kind is EvalScored:
                self._score(data, event.source)
                times.append(event.time)
            elif kind is EvalStarted:
                self._index[data.run_id] = len(self._index)
                self._started.append(data)
                self._sources.append([event.source])
                starts.append(event.time)
            elif kind is EvalFinished:
                self._ends[self._index[data.run_id]] = RunEnd(microseconds(event.moment), data.reason, data.elapsed_ns)
            elif kind is EvalReopened:
                del self._ends[self._index[data.run_id]]
            elif kind is EvalScenarioCaptured or kind is EvalScenarioRevised:
                self._labels[data.scenario_id] = ScenarioLabels(data.name, data.family, data.failure_type)
        self._start_us.frombytes(microseconds_column(starts))
        self._time_us.frombytes(microseconds_column(times))

    def _score(self, data: EvalScored, source: str) -> None:
        run = self._index[data.run_id]
        if source not in self._sources[run]:
            self._sources[run].append(source)
        attribution = attribute_score(self._started[run], data)
        scenario_version = ScenarioVersion(data.fixture_digest, data.expectation_digest, data.weight)
        number = self._attributions.setdefault(attribution, len(self._attributions))
        version_number = self._scenario_versions.setdefault(scenario_version, len(self._scenario_versions))
        self._run_attributions.setdefault(run, set()).add(number)
        self._attribution.append(number)
        self._run.append(run)
        self._scenario.append(self._scenarios.setdefault(data.scenario_id, len(self._scenarios)))
        self._attempt.append(data.attempt)
        self._outcome.append(score_outcome(data))
        self._points.append(_NAN if data.total_score is None else data.total_score)
        self._scenario_version.append(version_number)
        self._confidence.append(_NAN if data.confidence is None else data.confidence)
        for column, value in zip(self._usage_columns(), usage_values(data), strict=True):
            column.append(value)

    def _usage_columns(self) -> "tuple[array[float], ...]":
        return self._input_tokens, self._output_tokens, self._cost_usd, self._elapsed_ns

    def complete(self) -> None:
        width = len(self._attributions)
        pairs = as_array(self._run, np.uint32).astype(np.int64) * width + as_array(self._attribution, np.uint32)
        for pair in np.unique(pairs).tolist():
            self._run_attributions.setdefault(pair // width, set()).add(pair % width)
        assert len(self._index) == len(self._started) == len(self._sources) == len(self._start_us), (
            "runs of unlike number"
        )
        assert len({len(getattr(self, f"_{name}")) for name in _COLUMNS}) == 1, "columns of unlike length"

    def summary(self) -> Mapping[str, object]:
        return {
            "suites": sorted({started.suite for started in self._started}),
            "runs": len(self._index),
            "unfinished": len(self._index) - len(self._ends),
            "scenarios": len(self._labels.keys() | self._scenarios.keys()),
            "scores": len(self._run),
        }

    @property
    def known(self) -> Mapping[str, ScenarioLabels]:
        """The labels of scenarios by id. Copy it before folding continues."""
        return self._labels

    def has_scenario(self, scenario_id: str) -> bool:
        """Tell whether a scenario was captured or scored."""
        return scenario_id in self._labels or scenario_id in self._scenarios

    def has(self, run_id: str) -> bool:
        """Tell whether an evaluation with exactly this id exists."""
        return run_id in self._index

    def ids_starting_with(self, prefix: str, limit: int = 2) -> list[str]:
        """Return up to `limit` run ids that start with a prefix, the oldest first."""
        return names_starting_with(self._index, prefix, limit)

    def find_run(self, run_id: str) -> tuple[int, bool] | None:
        """Return the row number of an evaluation, and whether it has ended; None for an unknown one."""
        row = self._index.get(run_id)
        return None if row is None else (row, row in self._ends)

    def started(self, run_id: str) -> EvalStarted:
        """Return the start of an evaluation."""
        return self._started[self._index[run_id]]

    def agent(self, run_id: str) -> str | None:
        """Return the evaluated agent: the one that the start names, or the one that all scores agree on."""
        row = self._index[run_id]
        numbers = self._run_attributions.get(row, set())
        attributions = {attribution for attribution, number in self._attributions.items() if number in numbers}
        return run_agent(self._started[row], attributions)[0]

    def names(self) -> dict[str, set[str]]:
        """Return the suites and agents of all evaluations."""
        suites = {started.suite for started in self._started} | {by.suite for by in self._attributions}
        agents = {started.agent for started in self._started} | {by.agent for by in self._attributions}
        return {"suite": suites, "agent": {agent for agent in agents if agent is not None}}

    def find(self, selection: EvaluationSelection) -> list[int]:
        """Return the row numbers of the evaluations that pass a filter, the latest start first."""
        of_agent = {number for by, number in self._attributions.items() if by.agent == selection.agent}
        since_us, until_us = selection.range.bounds_us()
        rows = [
            row
            for row, started in enumerate(self._started)
            if selection.suite in (None, started.suite)
            and since_us <= self._start_us[row] <= until_us
            and (selection.agent in (None, started.agent) or of_agent & self._run_attributions.get(row, set()))
        ]
        return sorted(rows, key=self._age, reverse=True)

    def latest(self, suite: str | None, *, before: str | None = None, agent: str | None = None) -> str | None:
        """Return the newest finished evaluation of a suite and an agent (None: any) that is not of a baseline.

        With `before`, it must have begun before that run and have the same selection of scenarios.
        """
        names = list(self._index)
        candidate = None if before is None else self._index[before]
        for row in self.find(EvaluationSelection(suite=suite, agent=agent)):
            started = self._started[row]
            fits = candidate is None or (
                self._age(row) < self._age(candidate) and started.selection == self._started[candidate].selection
            )
            if fits and row in self._ends and started.baseline is None:
                return names[row]
        return None

    def runs_before(self, run_id: str) -> list[int]:
        """Return the row numbers of the evaluations that began before one."""
        own = self._age(self._index[run_id])
        return [row for row in range(len(self._started)) if self._age(row) < own]

    def _age(self, row: int) -> tuple[int, int]:
        return self._start_us[row], row

    def scores(self, where: ScoreFilter = ALL_SCORES) -> EvaluationScoreColumns:
        """Return copies of the columns for lists and scoreboards: of all scores, or of those that pass a filter."""
        columns: dict[str, Any] = {name: as_array(getattr(self, f"_{name}"), kind) for name, kind in _COLUMNS.items()}
        rows = self._rows(where, columns)
        return EvaluationScoreColumns(
            **{name: column.copy() if rows is None else column[rows] for name, column in columns.items()},
            attributions=list(self._attributions),
            scenario_versions=list(self._scenario_versions),
            scenarios=list(self._scenarios),
            labels=dict(self._labels),
            runs=self.runs(),
            row=np.arange(len(self._run), dtype=np.int64)[slice(None) if rows is None else rows],
        )

    def runs(self) -> list[RunSpan]:
        """Return every run, in the order in which they began in the log."""
        runs = enumerate(zip(self._index, self._started, self._start_us, self._sources, strict=True))
        return [
            RunSpan(run_id, begun, start_us, self._ends.get(number), [*map(agent_of, sources)])
            for number, (run_id, begun, start_us, sources) in runs
        ]

    def _rows(self, where: ScoreFilter, columns: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any] | None:
        """Return the row numbers of the scores that pass a filter; None: all."""
        if where.runs is not None:
            return np.flatnonzero(np.isin(columns["run"], where.runs))
        if where.scenario is not None:
            return np.flatnonzero(columns["scenario"] == self._scenarios.get(where.scenario, -1))
        if where.suite is not None:
            of_suite = [by.suite == where.suite for by in self._attributions]
            return np.flatnonzero(np.array(of_suite, dtype=np.bool_)[columns["attribution"]])
        return None


def stated_weights(scenario_versions: Collection[ScenarioVersion]) -> npt.NDArray[np.float64]:
    """Return the stated weight of each scenario version; NaN without one."""
    weights = (scenario_version.weight for scenario_version in scenario_versions)
    return np.array([_NAN if weight is None else weight for weight in weights], dtype=np.float64)
