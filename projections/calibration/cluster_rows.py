"""The reviews of named clusters, a group of rows at a time, so that what is older is read once.

A view needs of each cluster how its reviews are spread over confidences and outcomes, in each of its groups, and which
were due first (`gap_martingale.CLUSTER_REVIEWS`). So of a group of rows only the reviews that are among the first of a
cluster are kept one by one; the others are counted by cluster, merged cell and outcome.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Ints, RowNumbers
from projections.calibration.counted_columns import NEVER_US
from projections.calibration.words import GroupBy
from projections.stats.gap_martingale import CLUSTER_REVIEWS

ROWS_PER_KEPT: Final = 2
"""Rows of a group are kept if they are at most one in so many."""

_FIRST: Final = CLUSTER_REVIEWS[-1]


class ClusterRows(NamedTuple):
    """Reviews of named clusters, in arrays of equal length: `n` alike ones in each row.

    `cell` is the number of a cell, `cluster` that of a cluster from 1, and `due_us` when the review was due, or the
    decision was made if nothing says it; NEVER_US for those that are not among the first of their cluster.
    """

    cell: npt.NDArray[np.uint32]
    outcome: npt.NDArray[np.uint8]
    cluster: npt.NDArray[np.uint32]
    due_us: Ints
    n: npt.NDArray[np.uint32]

    def take(self, rows: RowNumbers | npt.NDArray[np.bool_]) -> "ClusterRows":
        """Return some rows."""
        return ClusterRows._make(column[rows] for column in self)

    def in_order(self) -> "ClusterRows":
        """Return the rows in the order of their clusters; those of one as they were due."""
        return self.take(np.lexsort((self.due_us, self.cluster)))


class AlikeCells(NamedTuple):
    """Which reviews a view may count together: those whose cells have the same confidence and are alike in `fields`.

    `groupings` have the number of each cell's group (-1: none), by the name of a grouping (None: of everything).
    `representative` is for each cell the first one that is alike; later cells change none of these.
    """

    fields: tuple[int, ...]
    groupings: Mapping[GroupBy | None, RowNumbers]
    representative: RowNumbers


def join(parts: Sequence[ClusterRows]) -> ClusterRows:
    """Return the rows of several parts, one after another."""
    return ClusterRows._make(np.concatenate(columns) for columns in zip(NO_ROWS, *parts, strict=True))


CLUSTER_TYPES: Final = np.uint32, np.uint8, np.uint32, np.int64, np.uint32
"""The types of the columns of ClusterRows."""

NO_ROWS: Final = ClusterRows._make(np.zeros(0, kind) for kind in CLUSTER_TYPES)


def count_alike(rows: ClusterRows, alike: AlikeCells) -> ClusterRows | None:
    """Return rows with those counted that are not among the first of their cluster in any group; None if most are."""
    ordered = rows.in_order()
    first = np.zeros(len(rows.cell), dtype=bool)
    for numbers in alike.groupings.values():
        number = numbers[ordered.cell]
        order = np.argsort(number.astype(np.min_scalar_type(-1 - int(numbers.max(initial=0)))), kind="stable")
        number, cluster = number[order], ordered.cluster[order]
        starts = np.flatnonzero(
            (np.diff(number, prepend=-2) != 0) | (np.diff(cluster.astype(np.int64), prepend=0) != 0)
        )
        lengths = np.diff(starts, append=len(order))
        first[order[np.arange(len(order)) - np.repeat(starts, lengths) < _FIRST]] = True
    if ROWS_PER_KEPT * np.count_nonzero(first) > len(first):
        return None
    rest, leading = ordered.take(~first), ordered.take(first)
    cell = alike.representative[rest.cell]
    key = (rest.cluster.astype(np.int64) << 35) | (cell.astype(np.int64) << 3) | rest.outcome
    keys, counts = np.unique(key, return_counts=True)
    counted = ClusterRows(
        ((keys >> 3) & 0xFFFFFFFF).astype(np.uint32),
        (keys & 7).astype(np.uint8),
        (keys >> 35).astype(np.uint32),
        np.full(len(keys), NEVER_US),
        counts.astype(np.uint32),
    )
    found = join([leading, counted])
    return found if ROWS_PER_KEPT * len(found.cell) <= len(first) else None
