"""After which review of a block does a verdict become supported?

Few blocks have such a review, and to follow each review takes long. So bounds tell first whether one is possible: they
say how far the totals of a group can move within the block at most.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints, split_runs
from projections.calibration.cluster_sums import CLUSTER_BITS
from projections.calibration.stakes import (
    CLUSTER_SQUARE,
    DIFFERENCE,
    OVER,
    STAKES,
    UNDER,
    Numbers,
    Stakes,
    log_means,
)
from projections.query_check import Check
from projections.stats.gap_martingale import LOG_SUPPORTED, log_mean_exp
from projections.stats.gap_sequence import can_be_within, log_e_within, log_e_within_at_most
from projections.stats.intervals import GAP_MARGIN

_SIDE_ROWS = OVER, UNDER
_WELL = len(_SIDE_ROWS)
_ROUNDING = 1e-6
"""Added to bounds, because sums in another order differ by rounding errors."""


class BlockBounds(NamedTuple):
    """The groups with reviews in a block, by ascending number, and how far each can move within it.

    `n` counts reviews, `largest` is the size of the largest cluster after the block. `gains` are the most that the
    logarithms of stakes can grow; `rises` and `falls` the most that the sum of differences can; `freed` the most by
    which the sum of squares over clusters can decrease.
    """

    present: Numbers
    n: Ints
    largest: Ints
    gains: Floats
    rises: Floats
    falls: Floats
    freed: Floats


class Reviews(NamedTuple):
    """Selected reviews of one block: a table of what each kind adds, its column, the group and the cluster of each."""

    table: Floats
    columns: Numbers
    group: Numbers
    cluster: Ints


def can_support(stakes: Stakes, block: BlockBounds) -> npt.NDArray[np.bool_]:
    """Return whether each side may become supported within a block. Shape: (SIDES, groups that are present)."""
    totals = stakes.totals[:, block.present]
    top = totals[STAKES] + block.gains + _ROUNDING
    can = np.stack([(top[part] >= LOG_SUPPORTED).any(axis=0) for part in _SIDE_ROWS] + [_can_be_well(stakes, block)])
    return np.asarray(can & (stakes.supported_at[:, block.present] == 0))


def _can_be_well(stakes: Stakes, block: BlockBounds) -> npt.NDArray[np.bool_]:
    totals = stakes.totals[:, block.present]
    margin = GAP_MARGIN * (stakes.reviewed[block.present] + block.n)
    sides = margin + totals[DIFFERENCE] + block.rises, margin - totals[DIFFERENCE] + block.falls
    square = np.maximum(0, totals[CLUSTER_SQUARE] - block.freed)
    smallest = np.maximum(1, stakes.largest[block.present])
    at_most = log_e_within_at_most(np.minimum(*sides) / smallest, square / block.largest**2)
    return np.asarray(at_most + _ROUNDING >= LOG_SUPPORTED)


class _Segments(NamedTuple):
    """Reviews ordered by group: what each adds, and where the segment of each group starts, its length, its group.

    `largest` is the size of each review's largest cluster of its group so far.
    """

    added: Floats
    starts: Numbers
    lengths: Numbers
    present: Numbers
    largest: Ints


def find_support(
    stakes: Stakes, present: Numbers, sides: npt.NDArray[np.bool_], reviews: Reviews, check: Check
) -> None:
    """Note in stakes before a block at which of its reviews sides become supported that can be; follow each review."""
    places = np.flatnonzero(np.isin(reviews.group, present[sides.any(axis=0)]))
    places = places[np.argsort(reviews.group[places], kind="stable")]
    group = reviews.group[places]
    starts, lengths = split_runs(group)
    ordered = _Segments(
        np.take(reviews.table, reviews.columns[places], axis=1),
        starts,
        lengths,
        group[starts],
        np.repeat(np.maximum(1, stakes.largest[group[starts]]), lengths),
    )
    cluster = reviews.cluster[places]
    if (cluster >= 0).any():
        ordered = _join_clusters(ordered, stakes, cluster, group)
    number = np.repeat(stakes.reviewed[ordered.present] - starts, lengths) + np.arange(1, len(group) + 1)
    for row, wanted in enumerate(np.asarray(sides.any(axis=1)).tolist()):
        if wanted:
            check()
            well = row == _WELL
            hits = _find_well(stakes, ordered, number) if well else _find_off(stakes, ordered, _SIDE_ROWS[row])
            first = hits[np.unique(group[hits], return_index=True)[1]]
            first = first[stakes.supported_at[row, group[first]] == 0]
            stakes.supported_at[row, group[first]] = number[first]


def _join_clusters(ordered: _Segments, stakes: Stakes, cluster: Ints, group: Numbers) -> _Segments:
    """Replace what the reviews of named clusters add by what they change of their clusters."""
    added, named = ordered.added, np.flatnonzero(cluster >= 0)
    key = (group[named] << CLUSTER_BITS) | (cluster[named] + 1)
    values = np.concatenate([np.exp(added[STAKES, named]), added[[DIFFERENCE]][:, named]])
    before, after = stakes.open.follow(key, values)
    (*_, difference_before, _), (*_, difference, size) = before, after
    added[STAKES, named] = log_means(after) - log_means(before)
    added[CLUSTER_SQUARE, named] = difference**2 - difference_before**2
    largest = ordered.largest.copy()
    largest[named] = np.maximum(largest[named], size.astype(np.int64))
    above = np.repeat(np.arange(len(ordered.starts)) << 32, ordered.lengths)
    return ordered._replace(largest=np.maximum.accumulate(largest + above) - above)


def _find_off(stakes: Stakes, ordered: _Segments, part: slice) -> Numbers:
    """Return the places of reviews after which one side of a gap is supported."""
    running = _running(ordered, part, stakes.totals)
    places = np.flatnonzero(running.max(axis=0) >= LOG_SUPPORTED)
    return places[log_mean_exp(running[:, places]) >= LOG_SUPPORTED] if len(places) else places


def _find_well(stakes: Stakes, ordered: _Segments, number: Ints) -> Numbers:
    """Return the places of reviews after which "well calibrated" is supported."""
    difference, square = (
        _running(ordered, slice(row, row + 1), stakes.totals)[0] for row in (DIFFERENCE, CLUSTER_SQUARE)
    )
    n = number.astype(np.float64)
    places = np.flatnonzero(can_be_within(n, difference, square))
    largest = ordered.largest[places].astype(np.float64)
    return places[log_e_within(n[places], difference[places], square[places], largest) >= LOG_SUPPORTED]


def _running(ordered: _Segments, part: slice, totals: Floats) -> Floats:
    """Return some totals after each review of each segment. Shape: (rows of the part, reviews)."""
    starts, before = ordered.starts, totals[part][:, ordered.present]
    sums = np.cumsum(ordered.added[part], axis=1)
    offsets = before - np.concatenate([np.zeros((len(sums), 1)), sums[:, starts[1:] - 1]], axis=1)
    return np.asarray(sums + np.repeat(offsets, ordered.lengths, axis=1))
