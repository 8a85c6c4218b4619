"""The probes projection: every score of an answer to a probe.

The state has one row per score: the number of its common fields (probe, scorer, claimed model, validity), the total,
the time, and the values of counts and dimensions one after the other. Claimed names are resolved when the view is
computed (`model_names.py`), from copies of the columns (`probe_score_tables.py`).
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from events.envelope import EventFacts
from events.payload import Payload
from events.probe import ProbeScored
from projections.arrays import Floats, Ints
from projections.columns import as_array, microseconds_column, pack
from projections.projection import Projection

Table = tuple[str, str | None, str, str | None]
"""The key of a table of comparable scores: probe, its version, scorer, its version."""

About = tuple[str, str | None, str, str | None, str | None, bool | None]
"""Fields that many scores share: the table, the claimed model, and whether the answer was valid."""

Labels = tuple[tuple[str, ...], tuple[str, ...]]
"""The names of a score's counts and of its dimensions, in the order of their values."""

_NAN = float("nan")


class ProbeScoreColumns(NamedTuple):
    """Copies of the columns of scores, in the order of the log, and the tables that they refer to by number."""

    about: npt.NDArray[np.uint32]
    labels: npt.NDArray[np.uint32]
    total: Floats
    time_us: Ints
    values: Floats
    abouts: Sequence[About]
    labelled: Sequence[Labels]


class ProbeScoreIndex(Projection):
    """Every score of every probe."""

    name: ClassVar[str] = "probes"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (ProbeScored,)

    def __init__(self) -> None:
        self._abouts: dict[About, int] = {}
        self._labelled: dict[Labels, int] = {}
        self._about = array("I")
        self._labels = array("I")
        self._total = array("d")
        self._time_us = array("q")
        self._values = array("d")

    def fold(self, events: Sequence[EventFacts]) -> None:
        abouts, labelled = self._abouts, self._labelled
        about_of, labels_of, total = self._about.append, self._labels.append, self._total.append
        times: list[str] = []
        values: list[float] = []
        for event in events:
            data = event.data
            if type(data) is ProbeScored:
                about = (
                    data.probe_id, data.probe_version, data.scorer_id, data.scorer_version, data.model_name, data.valid,
                )  # fmt: skip
                number = abouts.get(about)
                if number is None:
                    number = abouts[about] = len(abouts)
                counts, dimensions = data.counts, data.dimension_scores
                labels = (tuple(counts) if counts else (), tuple(dimensions) if dimensions else ())
                place = labelled.get(labels)
                if place is None:
                    place = labelled[labels] = len(labelled)
                about_of(number)
                labels_of(place)
                total(_NAN if data.total_score is None else data.total_score)
                if counts:
                    values += counts.values()
                if dimensions:
                    values += dimensions.values()
                times.append(event.time)
        self._time_us.frombytes(microseconds_column(times))
        self._values.extend(values)

    def encode(self) -> bytes:
        return pack(
            {
                "abouts": list(self._abouts),
                "labelled": list(self._labelled),
                "about": self._about.tobytes(),
                "labels": self._labels.tobytes(),
                "total": self._total.tobytes(),
                "time_us": self._time_us.tobytes(),
                "values": self._values.tobytes(),
            }
        )

    @classmethod
    def decode(cls, state: bytes) -> Self:
        parts = msgspec.msgpack.decode(state, type=_Parts)
        new = cls()
        new._abouts = {about: number for number, about in enumerate(parts.abouts)}
        new._labelled = {labels: number for number, labels in enumerate(parts.labelled)}
        for name in ("about", "labels", "total", "time_us", "values"):
            getattr(new, f"_{name}").frombytes(getattr(parts, name))
        assert len({len(new._about), len(new._labels), len(new._total), len(new._time_us)}) == 1, "unlike lengths"
        sizes = [len(counts) + len(dimensions) for counts, dimensions in new._labelled]
        assert len(new._values) == sum(sizes[place] for place in new._labels), "values of unlike number"
        return new

    def summary(self) -> Mapping[str, object]:
        return {"scores": len(self._about), "probes": sorted({about[0] for about in self._abouts})}

    def scores(self) -> ProbeScoreColumns:
        """Return copies of the columns for the score tables."""
        return ProbeScoreColumns(
            about=as_array(self._about, np.uint32).copy(),
            labels=as_array(self._labels, np.uint32).copy(),
            total=as_array(self._total, np.float64).copy(),
            time_us=as_array(self._time_us, np.int64).copy(),
            values=as_array(self._values, np.float64).copy(),
            abouts=list(self._abouts),
            labelled=list(self._labelled),
        )


class _Parts(msgspec.Struct):
    abouts: list[About]
    labelled: list[Labels]
    about: bytes
    labels: bytes
    total: bytes
    time_us: bytes
    values: bytes
