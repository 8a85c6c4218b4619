"""The history of reviewed decisions: one row for each, sorted by the time at which the decision was made."""

from collections.abc import Sequence
from typing import Self

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import structs

from projections.arrays import AnyInts, Floats, Ints, RowNumbers
from projections.columns import GroupKey
from projections.outcome_codes import OUTCOME_VALUES


class ReviewedDecisions(msgspec.Struct, frozen=True):
    """Reviewed decisions with a stated confidence, in the order in which they were made, as arrays of equal length.

    `outcome` is an index into OUTCOMES, `group` one into `groups` and into `models`, `question` one into `questions`
    and `cluster` one into `clusters` (-1: none). `models` has the names of each group's model, joined by `join_names`;
    several groups may have equal keys and differ in the model. `settled` says whether decisions as old as each lack a
    review no more often than older ones (None: of every one), see `maturity.py`. The arrays are copies, so a thread may
    read them while folding continues.
    """

    groups: list[GroupKey]
    models: list[str | None]
    questions: list[str]
    clusters: list[str]
    time_us: Ints
    confidence: Floats
    outcome: npt.NDArray[np.uint8]
    group: npt.NDArray[np.uint32]
    question: AnyInts
    cluster: AnyInts
    settled: npt.NDArray[np.bool_] | None = None

    def take(self, rows: RowNumbers) -> Self:
        """Return some decisions."""
        columns = ("time_us", "confidence", "outcome", "group", "question", "cluster", "settled")
        kept = {name: column[rows] for name in columns if (column := getattr(self, name)) is not None}
        return structs.replace(self, **kept)

    @property
    def outcome_value(self) -> Floats:
        """The value of each outcome: 1, .5 or 0."""
        return OUTCOME_VALUES[self.outcome]


class DatedDecisions(msgspec.Struct, frozen=True):
    """Decisions with a stated confidence, reviewed or not, one row for each: its cell, outcome number and time.

    Each cell has its category, an index into `categories`, and its confidence. The arrays are copies.
    """

    categories: Sequence[str | None]
    cell_category: npt.NDArray[np.uint32]
    cell_confidence: Floats
    cell: npt.NDArray[np.uint32]
    outcome: npt.NDArray[np.uint8]
    time_us: Ints
