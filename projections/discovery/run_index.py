"""The runs projection: an index of discovery runs, with counts of their attempts by outcome.

The state is columnar, with one row per run. Prompts and answers stay in the log: to show a run, its stream is read and
turned into a report (`run_report.py`).
"""

from array import array
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, NamedTuple, Self, get_args

import msgspec
import numpy as np

from events.discovery import (
    AttemptOutcome,
    DiscoveryAttempted,
    DiscoveryFinished,
    DiscoverySignalled,
    DiscoveryStarted,
    Ending,
)
from events.envelope import EventFacts, agent_of
from events.limits import LABEL_CHARS_MAX
from events.payload import Payload
from events.probe import ProbeScored
from ledger import microseconds, moment_of
from projections.arrays import Places
from projections.columns import as_array, microseconds_column, pack, pack_names, unpack_names
from projections.projection import Projection
from projections.time_range import TimeRange

ATTEMPT_OUTCOMES: tuple[AttemptOutcome, ...] = get_args(AttemptOutcome)

UNFINISHED = 0
"""The number of the ending of a run without one."""

_WIDTH = len(ATTEMPT_OUTCOMES)
_outcome = {name: number for number, name in enumerate(ATTEMPT_OUTCOMES)}

RunEnding = tuple[Ending | None, str]
"""Why a run ended: in one word if known, and as its report states it, shortened."""


class RunFacts(NamedTuple):
    """Fields that many runs share: the agent's source, router, requested model and probe."""

    source: str
    router: str | None
    requested_model: str | None
    probe_id: str | None
    probe_version: str | None


class RunSelection(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of runs. `range` bounds the times at which they began."""

    agent: str | None = None
    router: str | None = None
    probe: str | None = None
    range: TimeRange = TimeRange()


class RunEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of a run. Without `end_time` it is still going on.

    `models` counts accepted answers, `scores` the scores of all scorers.
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


class RunIndex(Projection):
    """An index of runs, in the order in which they began in the log."""

    name: ClassVar[str] = "runs"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (
        DiscoveryStarted, DiscoveryAttempted, DiscoverySignalled, DiscoveryFinished, ProbeScored,
    )  # fmt: skip

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        """Place by run id."""
        self._about = array("I")
        self._start_us = array("q")
        self._end_us = array("q")
        self._end = array("I")
        self._outcomes = array("I")
        """Counts of attempts: for each run, one for each of ATTEMPT_OUTCOMES."""
        self._signals = array("I")
        self._scores = array("Q")
        """Alternating place of the run and position of the event, of the scores that name a run."""
        self._abouts: dict[RunFacts, int] = {}
        self._ends: dict[RunEnding | None, int] = {None: UNFINISHED}

    def fold(self, events: Sequence[EventFacts]) -> None:
        index, outcomes, score, numbers, width = self._index, self._outcomes, self._scores.append, _outcome, _WIDTH
        starts: list[str] = []
        for event in events:
            data: Any = event.data
            kind = type(data)
            if kind is DiscoveryAttempted:
                outcomes[index[data.run_id] * width + numbers[data.outcome]] += 1
            elif kind is ProbeScored:
                if data.run_id in index:
                    score(index[data.run_id])
                    score(event.position)
            elif kind is DiscoveryStarted:
                self._start(event)
                starts.append(event.time)
            elif kind is DiscoverySignalled:
                self._signals[index[data.run_id]] += 1
            elif kind is DiscoveryFinished:
                self._finish(event)
        self._start_us.frombytes(microseconds_column(starts))

    def _start(self, event: EventFacts) -> None:
        data = event.data
        assert isinstance(data, DiscoveryStarted)
        assert data.run_id is not None, "the ledger names every stream"
        self._index[data.run_id] = len(self._end)
        about = RunFacts(event.source, data.router, data.requested_model, data.probe_id, data.probe_version)
        self._about.append(self._abouts.setdefault(about, len(self._abouts)))
        self._end_us.append(0)
        self._end.append(UNFINISHED)
        self._signals.append(0)
        self._outcomes.extend((0,) * _WIDTH)

    def _finish(self, event: EventFacts) -> None:
        data = event.data
        assert isinstance(data, DiscoveryFinished)
        place = self._index[data.run_id]
        self._end_us[place] = microseconds(event.moment)
        end = (data.ending, data.reason[:LABEL_CHARS_MAX])
        self._end[place] = self._ends.setdefault(end, len(self._ends))

    def encode(self) -> bytes:
        return pack(
            {
                "index": pack_names(self._index),
                "about": self._about.tobytes(),
                "start_us": self._start_us.tobytes(),
                "end_us": self._end_us.tobytes(),
                "end": self._end.tobytes(),
                "outcomes": self._outcomes.tobytes(),
                "signals": self._signals.tobytes(),
                "scores": self._scores.tobytes(),
                "abouts": list(self._abouts),
                "ends": list(self._ends)[1:],
            }
        )

    @classmethod
    def decode(cls, state: bytes) -> Self:
        parts = msgspec.msgpack.decode(state, type=_Parts)
        new = cls()
        new._index = unpack_names(parts.index)
        for name in ("about", "start_us", "end_us", "end", "outcomes", "signals", "scores"):
            getattr(new, f"_{name}").frombytes(getattr(parts, name))
        new._abouts = {about: number for number, about in enumerate(parts.abouts)}
        new._ends = {end: number for number, end in enumerate([None, *parts.ends])}
        lengths = {len(new._index), len(new._about), len(new._start_us), len(new._end_us), len(new._end)}
        assert lengths == {len(new._signals)}, "columns of unlike length"
        assert len(new._outcomes) == len(new._index) * _WIDTH, "columns of unlike length"
        return new

    def summary(self) -> Mapping[str, object]:
        counted = as_array(self._outcomes, np.uint32).reshape(-1, _WIDTH).sum(axis=0)
        return {
            "runs": len(self._index),
            "going": int((as_array(self._end, np.uint32) == UNFINISHED).sum()),
            "attempts": {name: int(n) for name, n in zip(ATTEMPT_OUTCOMES, counted, strict=True) if n},
            "scores": len(self._scores) // 2,
        }

    def has(self, run_id: str) -> bool:
        """Tell whether a run with exactly this id exists."""
        return run_id in self._index

    def ids_starting_with(self, prefix: str, limit: int = 2) -> list[str]:
        """Return up to `limit` run ids that start with a prefix, the oldest first."""
        matches = (run_id for run_id in self._index if run_id.startswith(prefix))
        return [run_id for run_id, _ in zip(matches, range(limit), strict=False)]

    def find(self, selection: RunSelection) -> Places:
        """Return the places of the runs that pass a filter, the latest start first."""
        fits = np.array([_matches(selection, about) for about in self._abouts], dtype=bool)
        keep = fits[as_array(self._about, np.uint32)]
        start_us = as_array(self._start_us, np.int64)
        if selection.range.since is not None:
            keep &= start_us >= microseconds(selection.range.since)
        if selection.range.until is not None:
            keep &= start_us <= microseconds(selection.range.until)
        places = np.flatnonzero(keep)
        return places[np.lexsort((-places, -start_us[places]))]

    def entries(self, places: Places) -> list[RunEntry]:
        """Return the summaries of some runs."""
        names, abouts, ends = list(self._index), list(self._abouts), list(self._ends)
        scores = np.bincount(as_array(self._scores, np.uint64)[::2].astype(np.intp), minlength=len(names))
        return [
            self._entry(names[place], place, abouts[self._about[place]], ends[self._end[place]], int(scores[place]))
            for place in places.tolist()
        ]

    def _entry(self, run_id: str, place: int, about: RunFacts, end: RunEnding | None, scores: int) -> RunEntry:
        counted = self._outcomes[place * _WIDTH : (place + 1) * _WIDTH]
        outcomes = {name: n for name, n in zip(ATTEMPT_OUTCOMES, counted, strict=True) if n}
        return RunEntry(
            run_id=run_id,
            agent=agent_of(about.source),
            router=about.router,
            requested_model=about.requested_model,
            probe_id=about.probe_id,
            probe_version=about.probe_version,
            start_time=moment_of(self._start_us[place]),
            end_time=None if end is None else moment_of(self._end_us[place]),
            ending=None if end is None else end[0],
            reason=None if end is None else end[1],
            attempts=sum(counted),
            outcomes=outcomes,
            models=outcomes.get("accepted", 0),
            signals=self._signals[place],
            scores=scores,
        )

    def entry(self, run_id: str) -> RunEntry:
        """Return the summary of a run."""
        return self.entries(np.array([self._index[run_id]], dtype=np.intp))[0]

    def scores(self, run_id: str) -> list[int]:
        """Return the positions of the scores that name a run, oldest first."""
        places, positions = as_array(self._scores, np.uint64).reshape(-1, 2).T
        own: list[int] = positions[places == self._index[run_id]].tolist()
        return own


class _Parts(msgspec.Struct):
    index: bytes
    about: bytes
    start_us: bytes
    end_us: bytes
    end: bytes
    outcomes: bytes
    signals: bytes
    scores: bytes
    abouts: list[RunFacts]
    ends: list[RunEnding]


def _matches(selection: RunSelection, about: RunFacts) -> bool:
    return (
        selection.agent in (None, agent_of(about.source))
        and selection.router in (None, about.router)
        and selection.probe in (None, about.probe_id)
    )
