"""The probes projection: every score of an answer to a probe.

The state has one row per score: the number of its combination of common fields (probe, scorer, claimed model,
validity), the total, and the time. The values of counts and dimensions are in one column, one score after the other.
Claimed names are resolved when the view is computed (`model_names.py`), from copies of the columns
(`probe_score_tables.py`).
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from events.envelope import EventFacts
from events.payload import Payload
from events.probe import ProbeScored
from projections.arrays import Floats, Ints
from projections.columns import as_array, microseconds_column
from projections.projection import Projection
from projections.saved_state import Part, numbered, saved_column

Table = tuple[str, str | None, str, str | None]
"""The key of a table of comparable scores: probe, its version, scorer, its version."""

ScoreFacts = tuple[str, str | None, str, str | None, str | None, bool | None]
"""Fields that many scores share: the table, the claimed model, and whether the answer was valid."""

Labels = tuple[tuple[str, ...], tuple[str, ...]]
"""The names of a score's counts and of its dimensions, in the order of their values."""

_NAN = float("nan")


class ProbeScoreColumns(NamedTuple):
    """Copies of the columns of scores, in the order of the log, and the tables that they refer to by number."""

    facts: npt.NDArray[np.uint32]
    labels: npt.NDArray[np.uint32]
    total: Floats
    time_us: Ints
    values: Floats
    facts_table: Sequence[ScoreFacts]
    labels_table: Sequence[Labels]


class ProbeScoreIndex(Projection):
    """Every score of every probe."""

    name: ClassVar[str] = "probes"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (ProbeScored,)

    parts: ClassVar[Mapping[str, Part]] = {
        "abouts": numbered("_facts_numbers", ScoreFacts),
        "labelled": numbered("_label_numbers", Labels),
        "about": saved_column("_facts"),
        "labels": saved_column("_labels"),
        "total": saved_column("_total"),
        "time_us": saved_column("_time_us"),
        "values": saved_column("_values"),
    }

    def __init__(self) -> None:
        self._facts_numbers: dict[ScoreFacts, int] = {}
        self._label_numbers: dict[Labels, int] = {}
        self._facts = array("I")
        self._labels = array("I")
        self._total = array("d")
        self._time_us = array("q")
        self._values = array("d")

    def fold(self, events: Sequence[EventFacts]) -> None:
        facts_numbers, label_numbers = self._facts_numbers, self._label_numbers
        add_facts, add_labels, add_total = self._facts.append, self._labels.append, self._total.append
        times: list[str] = []
        values: list[float] = []
        for event in events:
            data = event.data
            if type(data) is ProbeScored:
                facts = (
                    data.probe_id, data.probe_version, data.scorer_id, data.scorer_version, data.model_name, data.valid,
                )  # fmt: skip
                number = facts_numbers.get(facts)
                if number is None:
                    number = facts_numbers[facts] = len(facts_numbers)
                counts, dimensions = data.counts, data.dimension_scores
                labels = (tuple(counts) if counts else (), tuple(dimensions) if dimensions else ())
                labels_number = label_numbers.get(labels)
                if labels_number is None:
                    labels_number = label_numbers[labels] = len(label_numbers)
                add_facts(number)
                add_labels(labels_number)
                add_total(_NAN if data.total_score is None else data.total_score)
                if counts:
                    values += counts.values()
                if dimensions:
                    values += dimensions.values()
                times.append(event.time)
        self._time_us.frombytes(microseconds_column(times))
        self._values.extend(values)

    def complete(self) -> None:
        assert len({len(self._facts), len(self._labels), len(self._total), len(self._time_us)}) == 1, "unlike lengths"
        sizes = [len(counts) + len(dimensions) for counts, dimensions in self._label_numbers]
        assert len(self._values) == sum(sizes[number] for number in self._labels), "values of unlike number"

    def summary(self) -> Mapping[str, object]:
        return {"scores": len(self._facts), "probes": sorted({probe_id for probe_id, *_ in self._facts_numbers})}

    def scores(self) -> ProbeScoreColumns:
        """Return copies of the columns for the score tables."""
        return ProbeScoreColumns(
            facts=as_array(self._facts, np.uint32).copy(),
            labels=as_array(self._labels, np.uint32).copy(),
            total=as_array(self._total, np.float64).copy(),
            time_us=as_array(self._time_us, np.int64).copy(),
            values=as_array(self._values, np.float64).copy(),
            facts_table=list(self._facts_numbers),
            labels_table=list(self._label_numbers),
        )
