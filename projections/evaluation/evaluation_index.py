"""The evaluations view: which runs there are, and what every score was worth.

The state is an index: a row a score (its run, scenario and attempt, what came of it, its points, what it was scored by
and on: some 50 bytes), the starts and ends of runs, and what scenarios are called. Findings and answers stay in the
log, where a run's stream is read and told whole (`transcript.py`) when it is shown; the board is made from copies
(`scoreboard.py`).
"""

from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from events.envelope import EventFacts
from events.evaluation import EvalFinished, EvalScenarioCaptured, EvalScenarioRevised, EvalScored, EvalStarted
from events.payload import Payload
from ledger import microseconds
from projections.columns import as_array, microseconds_column, pack, pack_names, unpack_names
from projections.evaluation.aggregation import ScenarioLabels
from projections.evaluation.score_context import (
    RunEnd,
    RunSpan,
    ScenarioVersion,
    ScoreAttribution,
    attribute_score,
    run_agent,
    score_outcome,
)
from projections.projection import Projection
from projections.time_range import TimeRange

_NAN = float("nan")
_COLUMNS = ("run", "scenario", "attempt", "outcome", "points", "by", "on", "time_us")
"""What there is of each score."""


class EvaluationScoreColumns(NamedTuple):
    """Scores in the order of the log, in columns that no longer change; and what they refer to.

    `run` is the place of an evaluation in `runs`, which are in the order in which they began in the log.
    """

    run: npt.NDArray[np.uint32]
    scenario: npt.NDArray[np.uint32]
    attempt: npt.NDArray[np.int64]
    outcome: npt.NDArray[np.uint8]
    points: npt.NDArray[np.float64]
    time_us: npt.NDArray[np.int64]
    by: npt.NDArray[np.uint32]
    on: npt.NDArray[np.uint32]
    bys: Sequence[ScoreAttribution]
    ons: Sequence[ScenarioVersion]
    scenarios: Sequence[str]
    known: Mapping[str, ScenarioLabels]
    runs: Sequence[RunSpan]

    def taken(self, places: npt.NDArray[Any]) -> "EvaluationScoreColumns":
        """Those at some places alone, or those that a mask leaves."""
        return self._replace(**{name: getattr(self, name)[places] for name in _COLUMNS})

    def counted(self) -> "EvaluationScoreColumns":
        """Those that no later one of the same attempt replaces."""
        columns = (self.attempt, self.scenario, self.run)
        order = np.lexsort(columns)
        last = np.ones(len(order), dtype=np.bool_)
        if len(order):
            last[:-1] = np.any([column[order][1:] != column[order][:-1] for column in columns], axis=0)
        return self.taken(np.sort(order[last]))


class EvaluationSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which evaluations to find; `range` bounds when they began."""

    suite: str | None = None
    agent: str | None = None
    range: TimeRange = TimeRange()


class EvaluationIndex(Projection):
    """An index of evaluations in the order in which they began in the log, and of every score."""

    name: ClassVar[str] = "evaluations"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (
        EvalScored, EvalStarted, EvalFinished, EvalScenarioCaptured, EvalScenarioRevised,
    )  # fmt: skip

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        """Run to place."""
        self._started: list[EvalStarted] = []
        self._start_us = array("q")
        self._ends: dict[int, RunEnd] = {}
        self._scenarios: dict[str, int] = {}
        self._known: dict[str, ScenarioLabels] = {}
        self._bys: dict[ScoreAttribution, int] = {}
        self._ons: dict[ScenarioVersion, int] = {}
        self._bys_of: dict[int, set[int]] = {}
        """By the place of a run, who answered and what scored."""
        self._run = array("I")
        self._scenario = array("I")
        self._attempt = array("q")
        self._outcome = array("B")
        self._points = array("d")
        self._by = array("I")
        self._on = array("I")
        self._time_us = array("q")

    def fold(self, events: Sequence[EventFacts]) -> None:
        starts: list[str] = []
        times: list[str] = []
        for event in events:
            data: Any = event.data
            kind = type(data)
            if kind is EvalScored:
                self._score(data)
                times.append(event.time)
            elif kind is EvalStarted:
                self._index[data.run_id] = len(self._index)
                self._started.append(data)
                starts.append(event.time)
            elif kind is EvalFinished:
                self._ends[self._index[data.run_id]] = RunEnd(microseconds(event.moment), data.reason, data.elapsed_ns)
            elif kind is EvalScenarioCaptured or kind is EvalScenarioRevised:
                self._known[data.scenario_id] = ScenarioLabels(data.name, data.family, data.failure_type)
        self._start_us.frombytes(microseconds_column(starts))
        self._time_us.frombytes(microseconds_column(times))

    def _score(self, data: EvalScored) -> None:
        run = self._index[data.run_id]
        by, on = (
            attribute_score(self._started[run], data),
            ScenarioVersion(data.fixture_digest, data.expectation_digest, data.weight),
        )
        number = self._bys.setdefault(by, len(self._bys))
        self._bys_of.setdefault(run, set()).add(number)
        self._by.append(number)
        self._run.append(run)
        self._scenario.append(self._scenarios.setdefault(data.scenario_id, len(self._scenarios)))
        self._attempt.append(data.attempt)
        self._outcome.append(score_outcome(data))
        self._points.append(_NAN if data.total_score is None else data.total_score)
        self._on.append(self._ons.setdefault(on, len(self._ons)))

    def encode(self) -> bytes:
        return pack(
            {
                "index": pack_names(self._index),
                "started": self._started,
                "ends": list(self._ends.items()),
                "scenarios": pack_names(self._scenarios),
                "known": list(self._known.items()),
                "bys": list(self._bys),
                "ons": list(self._ons),
                "start_us": self._start_us.tobytes(),
                **{name: getattr(self, f"_{name}").tobytes() for name in _COLUMNS},
            }
        )

    @classmethod
    def decode(cls, state: bytes) -> Self:
        parts = msgspec.msgpack.decode(state, type=_Parts)
        made = cls()
        made._index, made._scenarios = unpack_names(parts.index), unpack_names(parts.scenarios)
        made._started, made._ends, made._known = parts.started, dict(parts.ends), dict(parts.known)
        made._bys = {by: number for number, by in enumerate(parts.bys)}
        made._ons = {on: number for number, on in enumerate(parts.ons)}
        for name in ("start_us", *_COLUMNS):
            getattr(made, f"_{name}").frombytes(getattr(parts, name))
        pairs = as_array(made._run, np.uint32).astype(np.int64) * len(made._bys) + as_array(made._by, np.uint32)
        for pair in np.unique(pairs).tolist():
            made._bys_of.setdefault(pair // len(made._bys), set()).add(pair % len(made._bys))
        assert len(made._index) == len(made._started) == len(made._start_us), "runs of unlike number"
        assert len({len(getattr(made, f"_{name}")) for name in _COLUMNS}) == 1, "columns of unlike length"
        return made

    def summary(self) -> Mapping[str, object]:
        return {
            "suites": sorted({started.suite for started in self._started}),
            "runs": len(self._index),
            "unfinished": len(self._index) - len(self._ends),
            "scenarios": len(self._known.keys() | self._scenarios.keys()),
            "scores": len(self._run),
        }

    @property
    def known(self) -> Mapping[str, ScenarioLabels]:
        """What is known of scenarios, by id. Copy it to keep it."""
        return self._known

    def has(self, run_id: str) -> bool:
        """Whether an evaluation of exactly this id is in the log."""
        return run_id in self._index

    def matching(self, prefix: str, most: int = 2) -> list[str]:
        """Up to `most` evaluations whose ids begin with a prefix, the oldest first."""
        found = (run_id for run_id in self._index if run_id.startswith(prefix))
        return [run_id for run_id, _ in zip(found, range(most), strict=False)]

    def started(self, run_id: str) -> EvalStarted:
        """How an evaluation began."""
        return self._started[self._index[run_id]]

    def agent(self, run_id: str) -> str | None:
        """Who is evaluated: who the start names, else whom all scores do."""
        place = self._index[run_id]
        own = self._bys_of.get(place, set())
        return run_agent(self._started[place], {by for by, number in self._bys.items() if number in own})[0]

    def find(self, wanted: EvaluationSelection) -> list[int]:
        """The places of the evaluations that fit, the one that began last first."""
        own = {number for by, number in self._bys.items() if by.agent == wanted.agent}
        since = None if wanted.range.since is None else microseconds(wanted.range.since)
        until = None if wanted.range.until is None else microseconds(wanted.range.until)
        found = [
            place
            for place, started in enumerate(self._started)
            if wanted.suite in (None, started.suite)
            and (since is None or self._start_us[place] >= since)
            and (until is None or self._start_us[place] <= until)
            and (wanted.agent in (None, started.agent) or not own.isdisjoint(self._bys_of.get(place, ())))
        ]
        return sorted(found, key=self._age, reverse=True)

    def latest(self, suite: str | None, *, before: str | None = None, agent: str | None = None) -> str | None:
        """The newest evaluation that has ended and is of no baseline; of a suite and an agent, where they are named.

        `before` names one that it must have begun before, with the same selection of scenarios.
        """
        names = list(self._index)
        candidate = None if before is None else self._index[before]
        for place in self.find(EvaluationSelection(suite=suite, agent=agent)):
            started = self._started[place]
            fits = candidate is None or (
                self._age(place) < self._age(candidate) and started.selection == self._started[candidate].selection
            )
            if fits and place in self._ends and started.baseline is None:
                return names[place]
        return None

    def _age(self, place: int) -> tuple[int, int]:
        return self._start_us[place], place

    def scores(self) -> EvaluationScoreColumns:
        """What lists and the board need, as it stands now."""
        runs = enumerate(zip(self._index, self._started, self._start_us, strict=True))
        return EvaluationScoreColumns(
            run=as_array(self._run, np.uint32).copy(),
            scenario=as_array(self._scenario, np.uint32).copy(),
            attempt=as_array(self._attempt, np.int64).copy(),
            outcome=as_array(self._outcome, np.uint8).copy(),
            points=as_array(self._points, np.float64).copy(),
            time_us=as_array(self._time_us, np.int64).copy(),
            by=as_array(self._by, np.uint32).copy(),
            on=as_array(self._on, np.uint32).copy(),
            bys=list(self._bys),
            ons=list(self._ons),
            scenarios=list(self._scenarios),
            known=dict(self._known),
            runs=[RunSpan(run_id, begun, start_us, self._ends.get(n)) for n, (run_id, begun, start_us) in runs],
        )


def stated_weights(ons: Collection[ScenarioVersion]) -> npt.NDArray[np.float64]:
    """The weight that each states, NaN where it states none."""
    return np.array([_NAN if on.weight is None else on.weight for on in ons], dtype=np.float64)


class _Parts(msgspec.Struct):
    index: bytes
    started: list[EvalStarted]
    ends: list[tuple[int, RunEnd]]
    scenarios: bytes
    known: list[tuple[str, ScenarioLabels]]
    bys: list[ScoreAttribution]
    ons: list[ScenarioVersion]
    start_us: bytes
    run: bytes
    scenario: bytes
    attempt: bytes
    outcome: bytes
    points: bytes
    by: bytes
    on: bytes
    time_us: bytes
