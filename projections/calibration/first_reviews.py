"""The decisions in the order of their first review, each with the outcome of that review.

Evidence that holds at every look (`projections/stats/gap_martingale.py`) needs this order: it must not depend on the
outcomes, and a later review of the same decision must not change bets that were already settled.

The confidence of a decision is final at its first review, as its time and cluster are. So they are kept here, beside
each other, and a retraction changes a single value.
"""

from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol, Self

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints, RowNumbers
from projections.column_table import ColumnTable
from projections.decisions.time_bounds import GroupTimes, TimeBounds, TimeParts

BLOCK_REVIEWS: Final = 8_192
"""Number of first reviews that are read at once."""

VALUES_COUNT: Final = 4
"""Codes of a cell: a code is its number times this, plus the place of the outcome in CODE_VALUES."""

CODE_VALUES: Final = np.array([1.0, 0.5, 0.0, np.nan])
"""The values of outcomes; the last is that of a retracted decision."""

_RETRACTED_CODE: Final = 3

_code_of_outcome = np.array([_RETRACTED_CODE, 0, 1, 2, 2, _RETRACTED_CODE], dtype=np.uint8)


class Block(NamedTuple):
    """Consecutive first reviews: the cell of each decision, the code of its outcome, when it was made, its cluster.

    The cluster is a number, or -1 if the decision names none.
    """

    cell: npt.NDArray[np.uint32]
    code: npt.NDArray[np.uint8]
    time_us: Ints
    cluster: Ints

    def touches(self, places: slice, since_us: int, until_us: int) -> bool:
        """Return whether some of the reviews may be of decisions that were made within a range of time."""
        return True

    def of_clusters(self, places: slice, clusters: npt.NDArray[np.bool_]) -> "Block":
        """Return those of some reviews that are of some clusters, given a mask by number from 1; 0 is for none."""
        block = self.take(places)
        return block.take(_places_of(block.cluster + 1, clusters))

    def take(self, places: RowNumbers | slice) -> "Block":
        """Return the reviews at some places."""
        return Block(self.cell[places], self.code[places], self.time_us[places], self.cluster[places])


NO_REVIEWS: Final = Block(np.zeros(0, np.uint32), np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64))


def _places_of(number: npt.NDArray[Any], clusters: npt.NDArray[np.bool_]) -> RowNumbers:
    """Return the places of reviews of some clusters, given the number of each review's and a mask by number."""
    places = np.flatnonzero(number < len(clusters))
    found: RowNumbers = places[clusters[number[places]]]
    return found


class ReviewSource(Protocol):
    """First reviews in their order."""

    def take(self, places: slice) -> Block:
        """Return the reviews from a number up to another."""
        ...

    def touches(self, places: slice, since_us: int, until_us: int) -> bool:
        """Return whether some of the reviews may be of decisions that were made within a range of time."""
        ...

    def of_clusters(self, places: slice, clusters: npt.NDArray[np.bool_]) -> Block:
        """Return those of some reviews that are of some clusters, given a mask by number from 1; 0 is for none."""
        ...


class StoredReviews(NamedTuple):
    """First reviews in a frozen table, of which only what is taken is loaded."""

    table: ColumnTable
    times: GroupTimes

    def touches(self, places: slice, since_us: int, until_us: int) -> bool:
        """Return whether some of the reviews may be of decisions that were made within a range of time."""
        size = self.table.group_rows
        return self.times.touch(places.start // size, (places.stop - 1) // size, since_us, until_us)

    def take(self, places: slice) -> Block:
        """Return the reviews from a number up to another."""
        cell, code, time_us, cluster = (self._read(name, places) for name in ("cell", "code", "time_us", "cluster"))
        return Block(cell, code, time_us, cluster.astype(np.int64) - 1)

    def of_clusters(self, places: slice, clusters: npt.NDArray[np.bool_]) -> Block:
        """Return those of some reviews that are of some clusters, given a mask by number from 1; 0 is for none."""
        found = _places_of(self._read("cluster", places), clusters)
        return self.take(places).take(found) if len(found) else NO_REVIEWS

    def _read(self, name: str, places: slice) -> npt.NDArray[Any]:
        size = self.table.group_rows
        first, last = places.start // size, (places.stop - 1) // size
        parts = [
            self.table.chunk(name, group)[max(0, places.start - group * size) : places.stop - group * size]
            for group in range(first, last + 1)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class ConfidenceLevels:
    """The stated confidence of each cell (NaN: none), and the few different ones. Threads share it."""

    def __init__(self, of_cell: Floats) -> None:
        self.of_cell = of_cell

    @cached_property
    def numbered(self) -> tuple[Floats, RowNumbers]:
        """The different confidences, ascending with NaN last, and the place of each cell's confidence among them."""
        levels, numbers = np.unique(self.of_cell, return_inverse=True)
        return levels, numbers


class ReviewOrder(NamedTuple):
    """The first `size` reviews at one moment, in order. Later folding does not change them.

    Two orders with equal `retractions` begin alike. `clustered` says whether any decision of the ledger names a
    cluster.
    """

    reviews: ReviewSource
    size: int
    retractions: int
    levels: ConfidenceLevels
    clustered: bool


class FirstReviews:
    """The table of first reviews, and how many of them were of decisions that are retracted."""

    def __init__(self) -> None:
        self.table = ColumnTable(cell=np.uint32, code=np.uint8, time_us=np.int64, cluster=np.uint32)
        self.retractions = 0
        self._times = TimeBounds()

    def add(
        self,
        cell: npt.NDArray[np.uint32],
        outcome: npt.NDArray[np.uint8],
        time_us: Ints,
        cluster: npt.NDArray[np.uint32],
    ) -> None:
        """Add first reviews: the cell of each decision, its first outcome, its time, and the number of its cluster."""
        code: npt.NDArray[np.uint8] = _code_of_outcome[outcome]
        self._times.add(len(self.table), time_us, self.table.group_rows)
        self.table.append(len(cell), {"cell": cell, "code": code, "time_us": time_us, "cluster": cluster})

    def retract(self, places: Ints) -> None:
        """Note that the decisions of some reviews, by their numbers from 0, are retracted."""
        self.table.put("code", places, _RETRACTED_CODE)
        self.retractions += len(places)

    def order(self, levels: ConfidenceLevels, *, clustered: bool) -> ReviewOrder:
        """Return the first reviews as they are now."""
        reviews = StoredReviews(self.table.freeze(), self._times.now())
        return ReviewOrder(reviews, len(self.table), self.retractions, levels, clustered)

    def parts(self) -> "FirstReviewParts":
        """Return what is not in the table, as it is encoded."""
        return FirstReviewParts(self.retractions, self._times.parts())

    @classmethod
    def from_parts(cls, parts: "FirstReviewParts") -> Self:
        """Return what `parts` were made of, with an empty table."""
        new = cls()
        new.retractions, new._times = parts.retractions, TimeBounds.from_parts(parts.times)
        return new


class FirstReviewParts(msgspec.Struct, array_like=True):
    """What is stored of first reviews, besides their table."""

    retractions: int
    times: TimeParts
