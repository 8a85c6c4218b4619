"""The runs projection: an index of discovery runs, with counts of their attempts by outcome.

The state is columnar, with one row per run. Prompts and answers are not in the state: to show a run, its stream is read
and turned into a report (`run_report.py`).
"""

from array import array
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, NamedTuple, get_args

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from events.discovery import (
    AttemptOutcome,
    DiscoveryAttempted,
    DiscoveryFinished,
    DiscoverySignalled,
    DiscoverySignalledLate,
    DiscoveryStarted,
    Ending,
)
from events.envelope import EventFacts, agent_of
from events.limits import LABEL_CHARS_MAX
from events.payload import Payload
from events.probe import ProbeScored
from ledger.clock import microseconds, moment_of
from projections.arrays import RowNumbers
from projections.columns import as_array, microseconds_column, names_starting_with
from projections.projection import Projection
from projections.saved_state import Part, number_keys, numbered, rebuilt, saved_column, saved_names
from projections.time_range import TimeRange

ATTEMPT_OUTCOMES: tuple[AttemptOutcome, ...] = get_args(AttemptOutcome)

UNFINISHED = 0
"""The number of the ending of a run that has not ended."""

_WIDTH = len(ATTEMPT_OUTCOMES)
_outcome_numbers = {name: number for number, name in enumerate(ATTEMPT_OUTCOMES)}

RunEnding = tuple[Ending | None, str]
"""Why a run ended: the kind of ending if it is known, and the reason in its report, shortened."""


class RunFacts(NamedTuple):
    """Fields that many runs share: the agent's source, router, requested model, probe, and probes of a battery."""

    source: str
    router: str | None
    requested_model: str | None
    probe_id: str | None
    probe_version: str | None
    battery: tuple[str, ...]


class RunSelection(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of runs. `range` bounds the times at which they began."""

    agent: str | None = None
    router: str | None = None
    probe: str | None = None
    range: TimeRange = TimeRange()


class RunEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of a run. A run without `end_time` has not ended.

    `models` counts accepted answers, `scores` the scores of all scorers. `probes` are the probes of a battery, of which
    `probe_id` is the first; absent for a single probe.
    """

    run_id: str
    agent: str
    router: str | None
    requested_model: str | None
    probe_id: str | None
    probe_version: str | None
    start_time: datetime
    end_time: datetime | None
    ending: Ending | None
    reason: str | None
    attempts: int
    outcomes: dict[AttemptOutcome, int]
    models: int
    signals: int
    scores: int
    probes: list[str] | UnsetType = UNSET


class RunIndex(Projection):
    """An index of runs, in the order in which they began in the log."""

    name: ClassVar[str] = "runs"
    version: ClassVar[int] = 2
    reads: ClassVar[tuple[type[Payload], ...]] = (
        DiscoveryStarted, DiscoveryAttempted, DiscoverySignalled, DiscoverySignalledLate, DiscoveryFinished,
        ProbeScored,
    )  # fmt: skip

    parts: ClassVar[Mapping[str, Part]] = {
        "index": saved_names("_index"),
        "about": saved_column("_facts"),
        "start_us": saved_column("_start_us"),
        "end_us": saved_column("_end_us"),
        "end": saved_column("_ending"),
        "outcomes": saved_column("_outcomes"),
        "signals": saved_column("_signals"),
        "scores": saved_column("_scores"),
        "abouts": numbered("_facts_numbers", RunFacts),
        "ends": rebuilt(
            "_ending_numbers",
            list[RunEnding],
            lambda numbers: list(numbers)[1:],
            lambda ends: number_keys([None, *ends]),
        ),
    }

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        """Row number by run id."""
        self._facts = array("I")
        self._start_us = array("q")
        self._end_us = array("q")
        self._ending = array("I")
        self._outcomes = array("I")
        """Counts of attempts: for each run, a count for each of ATTEMPT_OUTCOMES."""
        self._signals = array("I")
        self._scores = array("Q")
        """Alternating row number of the run and position of the event, for each score that names a run."""
        self._facts_numbers: dict[RunFacts, int] = {}
        self._ending_numbers: dict[RunEnding | None, int] = {None: UNFINISHED}

    def fold(self, events: Sequence[EventFacts]) -> None:
        index, outcomes, numbers, width = self._index, self._outcomes, _outcome_numbers, _WIDTH
        add_score = self._scores.append
        starts: list[str] = []
        for event in events:
            data: Any = event.data
            kind = type(data)
            if kind is DiscoveryAttempted:
                outcomes[index[data.run_id] * width + numbers[data.outcome]] += 1
            elif kind is ProbeScored:
                if data.run_id in index:
                    add_score(index[data.run_id])
                    add_score(event.position)
            elif kind is DiscoveryStarted:
                self._start(event)
                starts.append(event.time)
            elif kind is DiscoverySignalled:
                self._signals[index[data.run_id]] += 1
            elif kind is DiscoverySignalledLate:
                if data.run_id in index:
                    self._signals[index[data.run_id]] += 1
            elif kind is DiscoveryFinished:
                self._finish(event)
        self._start_us.frombytes(microseconds_column(starts))

    def _start(self, event: EventFacts) -> None:
        data = event.data
        assert isinstance(data, DiscoveryStarted)
        assert data.run_id is not None, "the ledger names every stream"
        self._index[data.run_id] = len(self._ending)
        battery = tuple(one.probe_id for one in data.battery or ())
        facts = RunFacts(event.source, data.router, data.requested_model, data.probe_id, data.probe_version, battery)
        self._facts.append(self._facts_numbers.setdefault(facts, len(self._facts_numbers)))
        self._end_us.append(0)
        self._ending.append(UNFINISHED)
        self._signals.append(0)
        self._outcomes.extend((0,) * _WIDTH)

    def _finish(self, event: EventFacts) -> None:
        data = event.data
        assert isinstance(data, DiscoveryFinished)
        row = self._index[data.run_id]
        self._end_us[row] = microseconds(event.moment)
        ending = (data.ending, data.reason[:LABEL_CHARS_MAX])
        self._ending[row] = self._ending_numbers.setdefault(ending, len(self._ending_numbers))

    def complete(self) -> None:
        lengths = {len(self._index), len(self._facts), len(self._start_us), len(self._end_us), len(self._ending)}
        assert lengths == {len(self._signals)}, "columns of unlike length"
        assert len(self._outcomes) == len(self._index) * _WIDTH, "columns of unlike length"

    def summary(self) -> Mapping[str, object]:
        counts = as_array(self._outcomes, np.uint32).reshape(-1, _WIDTH).sum(axis=0)
        return {
            "runs": len(self._index),
            "going": int((as_array(self._ending, np.uint32) == UNFINISHED).sum()),
            "attempts": {name: int(n) for name, n in zip(ATTEMPT_OUTCOMES, counts, strict=True) if n},
            "scores": len(self._scores) // 2,
        }

    def has(self, run_id: str) -> bool:
        """Tell whether a run with exactly this id exists."""
        return run_id in self._index

    def ids_starting_with(self, prefix: str, limit: int = 2) -> list[str]:
        """Return up to `limit` run ids that start with a prefix, the oldest first."""
        return names_starting_with(self._index, prefix, limit)

    def names(self) -> dict[str, set[str]]:
        """Return the agents, routers and probes of all runs."""
        return {
            "agent": {agent_of(facts.source) for facts in self._facts_numbers},
            "router": {facts.router for facts in self._facts_numbers if facts.router is not None},
            "probe": {
                probe_id
                for facts in self._facts_numbers
                for probe_id in (facts.probe_id, *facts.battery)
                if probe_id is not None
            },
        }

    def find(self, selection: RunSelection) -> RowNumbers:
        """Return the row numbers of the runs that pass a filter, the latest start first."""
        fits = np.array([_matches(selection, facts) for facts in self._facts_numbers], dtype=bool)
        start_us = as_array(self._start_us, np.int64)
        rows = np.flatnonzero(fits[as_array(self._facts, np.uint32)] & selection.range.contains(start_us))
        return rows[np.lexsort((-rows, -start_us[rows]))]

    def entries(self, rows: RowNumbers) -> list[RunEntry]:
        """Return the summaries of the runs in `rows`."""
        names, facts_table, endings = list(self._index), list(self._facts_numbers), list(self._ending_numbers)
        scores = np.bincount(as_array(self._scores, np.uint64)[::2].astype(np.intp), minlength=len(names))
        return [
            self._entry(names[row], row, facts_table[self._facts[row]], endings[self._ending[row]], int(scores[row]))
            for row in rows.tolist()
        ]

    def _entry(self, run_id: str, row: int, facts: RunFacts, ending: RunEnding | None, scores: int) -> RunEntry:
        counts = self._outcomes[row * _WIDTH : (row + 1) * _WIDTH]
        outcomes = {name: n for name, n in zip(ATTEMPT_OUTCOMES, counts, strict=True) if n}
        return RunEntry(
            run_id=run_id,
            agent=agent_of(facts.source),
            router=facts.router,
            requested_model=facts.requested_model,
            probe_id=facts.probe_id,
            probe_version=facts.probe_version,
            start_time=moment_of(self._start_us[row]),
            end_time=None if ending is None else moment_of(self._end_us[row]),
            ending=None if ending is None else ending[0],
            reason=None if ending is None else ending[1],
            attempts=sum(counts),
            outcomes=outcomes,
            models=outcomes.get("accepted", 0),
            signals=self._signals[row],
            scores=scores,
            probes=list(facts.battery) or UNSET,
        )

    def entry(self, run_id: str) -> RunEntry:
        """Return the summary of a run."""
        return self.entries(np.array([self._index[run_id]], dtype=np.intp))[0]

    def scores(self, run_id: str) -> list[int]:
        """Return the positions of the scores that name a run, oldest first."""
        rows, positions = as_array(self._scores, np.uint64).reshape(-1, 2).T
        of_run: list[int] = positions[rows == self._index[run_id]].tolist()
        return of_run


def _matches(selection: RunSelection, facts: RunFacts) -> bool:
    return (
        selection.agent in (None, agent_of(facts.source))
        and selection.router in (None, facts.router)
        and selection.probe in (None, facts.probe_id, *facts.battery)
    )
