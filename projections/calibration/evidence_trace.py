"""The evidence of decisions in the order of their first review, followed from review to review.

A verdict that was supported once stays so, and says at which review it became so. That needs the largest e-value so
far, and therefore the order. For each selection of decisions the stakes after the last review are kept. The next
question adds the reviews that came since, so it costs what is new. Only the first question about a selection reads all
its reviews: a million in some tenths of a second, on a thread. A retraction drops what was kept.

The reviews of a cluster, which a decision may name, multiply a stake by the mean of their factors, not by the product.
Each review changes that mean, so the evidence may be looked at in the middle of a cluster.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints, split_runs
from projections.calibration.cluster_sums import ClusterSums
from projections.calibration.first_reviews import BLOCK_REVIEWS, CODE_VALUES, VALUES_COUNT, Block, ReviewOrder
from projections.calibration.gap_evidence import GapEvidence, GapSums, evidence_of_sums
from projections.query_check import Check
from projections.stats.gap_martingale import (
    FRACTIONS,
    LOG_SUPPORTED,
    log_factors_over,
    log_factors_under,
    log_mean_exp,
)
from projections.stats.gap_sequence import can_be_within, log_e_within
from projections.stats.intervals import GapSide

STAKES_KEPT_MAX: Final = 20_000
"""Groups whose stakes are kept, over all selections: about 10 MB. CLUSTERS_PER_GROUP clusters count as one."""

CLUSTERS_PER_GROUP: Final = 4

Numbers = npt.NDArray[np.intp]

_K = len(FRACTIONS)
_OVER, _UNDER, _STAKES = slice(0, _K), slice(_K, 2 * _K), slice(0, 2 * _K)
_SUMS = slice(2 * _K, 2 * _K + 6)
_DIFFERENCE, _CONFIDENCE, _SQUARE, _CLUSTER_SQUARE, _CLUSTER_PRODUCT, _CLUSTER_SIZE = range(_SUMS.start, _SUMS.stop)
_ROWS: Final = _SUMS.stop
_SIDES: Final[tuple[GapSide, ...]] = ("over", "under", "well")


class Stakes(NamedTuple):
    """The state after `size` first reviews: a column for each group, none for groups without a review.

    `totals` has logarithms of stakes, then sums: of outcome minus confidence, of confidence, of the square of that
    difference; and over clusters, of the square of the sum of differences, of this sum times the number of reviews, and
    of the square of this number. `clusters` counts clusters, `largest` the reviews of the largest. A review without a
    cluster is one of its own. `supported_at` has a row for each of "over", "under" and "well": a number of reviews, 0
    if not supported yet. `open` has the sums of named clusters, by group and cluster.
    """

    size: int
    retractions: int
    totals: Floats
    reviewed: Ints
    clusters: Ints
    largest: Ints
    supported_at: Ints
    open: ClusterSums


class Grouping(NamedTuple):
    """How to group cells: the group of each cell (-1: not selected), and the number of groups.

    `since_us` and `until_us` bound the times at which decisions were made, in microseconds since 1970 UTC.
    """

    group: Numbers
    groups: int
    since_us: int
    until_us: int


class StakesKept:
    """The stakes of the selections that were asked for last, by key. Threads share it."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Stakes] = {}

    def get(self, key: Hashable, order: ReviewOrder) -> Stakes:
        """Return the newest stakes that are a part of an order, or those before the first review."""
        kept = self._kept.get(key)
        if kept is None or kept.retractions != order.retractions or kept.size > order.size:
            none = np.zeros(0, np.int64)
            totals, supported_at = np.zeros((_ROWS, 0)), np.zeros((len(_SIDES), 0), np.int64)
            return Stakes(0, order.retractions, totals, none, none, none, supported_at, ClusterSums.empty(2 * _K + 1))
        return kept

    def put(self, key: Hashable, stakes: Stakes) -> None:
        """Keep stakes, and drop the oldest ones that are too many."""
        self._kept.pop(key, None)
        self._kept[key] = stakes
        groups = 0
        for older, kept in reversed(list(self._kept.items())):
            groups += len(kept.reviewed) + len(kept.open.key) // CLUSTERS_PER_GROUP
            if groups > STAKES_KEPT_MAX and older != key:
                self._kept.pop(older, None)


def trace_stakes(order: ReviewOrder, grouping: Grouping, kept: StakesKept, key: Hashable, check: Check) -> Stakes:
    """Return the stakes of groups of decisions. What `kept` has under `key` is continued, and kept there again.

    `key` names the selection and the grouping. `check` is called between parts of the work.
    """
    stakes = _grown(kept.get(key, order), grouping.groups)
    if stakes.size < order.size:
        tables = _make_tables(order, order.size - stakes.size)
        while stakes.size < order.size:
            check()
            stakes = _add_reviews(stakes, order, grouping, tables, check)
        kept.put(key, stakes)
    return stakes


def evidence_of(stakes: Stakes, group: int) -> GapEvidence | None:
    """Return the evidence of a group by its number; None without a review."""
    if group >= len(stakes.reviewed) or not stakes.reviewed[group]:
        return None
    totals, at = stakes.totals[:, group], stakes.supported_at[:, group].tolist()
    return evidence_of_sums(
        (float(log_mean_exp(totals[_OVER])), float(log_mean_exp(totals[_UNDER]))),
        GapSums(*(int(n[group]) for n in (stakes.reviewed, stakes.clusters, stakes.largest)), *totals[_SUMS].tolist()),
        {side: review for side, review in zip(_SIDES, at, strict=True) if review},
    )


def log_e_values_of(stakes: Stakes, groups: Numbers) -> tuple[Floats, Floats, Floats]:
    """Return the logarithms of the e-values of groups with reviews: over, under, and within GAP_MARGIN."""
    totals, n = stakes.totals[:, groups], stakes.reviewed[groups].astype(np.float64)
    largest = stakes.largest[groups].astype(np.float64)
    within = log_e_within(n, totals[_DIFFERENCE], totals[_CLUSTER_SQUARE], largest)
    return log_mean_exp(totals[_OVER]), log_mean_exp(totals[_UNDER]), within


def count_new_reviews(order: ReviewOrder, kept: StakesKept, key: Hashable) -> int:
    """Return how many reviews `trace_stakes` would read."""
    return order.size - kept.get(key, order).size


def _grown(stakes: Stakes, groups: int) -> Stakes:
    """Return a copy of stakes with columns for new groups."""
    missing = max(0, groups - len(stakes.reviewed))
    return stakes._replace(
        totals=np.pad(stakes.totals, ((0, 0), (0, missing))),
        reviewed=np.pad(stakes.reviewed, (0, missing)),
        clusters=np.pad(stakes.clusters, (0, missing)),
        largest=np.pad(stakes.largest, (0, missing)),
        supported_at=np.pad(stakes.supported_at, ((0, 0), (0, missing))),
    )


Tables = Callable[[Block], tuple[Floats, Numbers]]
"""Returns a table of what each kind of review adds to the totals, and the column of the table of each review."""


def _make_tables(order: ReviewOrder, reviews: int) -> Tables:
    """Return the tables of blocks: one for all if that is less work than one for each."""
    if len(order.confidence) <= min(4 * reviews, 4 * BLOCK_REVIEWS):
        levels, level = np.unique(order.confidence, return_inverse=True)
        table = _additions(np.repeat(levels, VALUES_COUNT), np.tile(CODE_VALUES, len(levels)))
        return lambda block: (table, level[block.cell] * VALUES_COUNT + block.code)

    def tables(block: Block) -> tuple[Floats, Numbers]:
        codes, columns = np.unique(block.cell.astype(np.intp) * VALUES_COUNT + block.code, return_inverse=True)
        return _additions(order.confidence[codes // VALUES_COUNT], CODE_VALUES[codes % VALUES_COUNT]), columns

    return tables


def _additions(confidence: Floats, outcome: Floats) -> Floats:
    """Return what a review with each confidence and outcome adds to the totals if it is a cluster of its own."""
    difference = outcome - confidence
    square = difference**2
    over, under = log_factors_over(confidence, outcome), log_factors_under(confidence, outcome)
    sums = [difference, confidence, square, square, difference, np.ones_like(difference)]
    return np.concatenate([over, under, sums])


def select_reviews(order: ReviewOrder, grouping: Grouping, start: int, stop: int) -> tuple[Block, Numbers]:
    """Return the selected reviews of a block, from the numbers of two of its reviews, and their groups."""
    block = order.blocks[start // BLOCK_REVIEWS]
    inside = block.take(slice(start % BLOCK_REVIEWS, (stop - 1) % BLOCK_REVIEWS + 1))
    if inside.time_us.max() < grouping.since_us or inside.time_us.min() > grouping.until_us:
        return inside.take(slice(0)), np.zeros(0, dtype=np.intp)
    group = grouping.group[inside.cell]
    within = (inside.time_us >= grouping.since_us) & (inside.time_us <= grouping.until_us)
    places = np.flatnonzero((group >= 0) & ~np.isnan(CODE_VALUES[inside.code]) & within)
    return inside.take(places), group[places]


class _Reviews(NamedTuple):
    """Reviews of one block, ordered by group, and what they add: `table[:, columns]`.

    `starts`, `lengths` and `present` are of the segments: where each starts, its reviews, its group. `clusters` has 1
    where a cluster is new, and `largest` the size of each review's cluster so far; None if none is named.
    """

    table: Floats
    columns: Numbers
    starts: Numbers
    lengths: Numbers
    present: Numbers
    clusters: Ints | None = None
    largest: Ints | None = None


def _add_reviews(stakes: Stakes, order: ReviewOrder, grouping: Grouping, tables: Tables, check: Check) -> Stakes:
    """Add the reviews up to the end of a block, in place."""
    stop = min(order.size, (stakes.size // BLOCK_REVIEWS + 1) * BLOCK_REVIEWS)
    block, group = select_reviews(order, grouping, stakes.size, stop)
    stakes = stakes._replace(size=stop)
    if not len(group):
        return stakes
    if grouping.groups > 1:
        by_group = np.argsort(group, kind="stable")
        block, group = block.take(by_group), group[by_group]
    starts, lengths = split_runs(group)
    reviews = _Reviews(*tables(block), starts, lengths, group[starts])
    if order.clustered and (block.cluster >= 0).any():
        reviews, stakes = _join_clusters(reviews, stakes, block.cluster, group)
    check()
    for row, hits in enumerate(_find_support(stakes, reviews, check)):
        first = hits[np.unique(group[hits], return_index=True)[1]]
        first = first[stakes.supported_at[row, group[first]] == 0]
        number = stakes.reviewed[group[first]] + first + 1 - np.repeat(starts, lengths)[first]
        stakes.supported_at[row, group[first]] = number
    present = reviews.present
    stakes.totals[:, present] += _sum_segments(reviews)
    stakes.reviewed[present] += lengths
    if reviews.clusters is None or reviews.largest is None:
        stakes.clusters[present] += lengths
        stakes.largest[present] = np.maximum(stakes.largest[present], 1)
    else:
        stakes.clusters[present] += np.add.reduceat(reviews.clusters, starts)
        stakes.largest[present] = reviews.largest[starts + lengths - 1]
    return stakes


def _join_clusters(reviews: _Reviews, stakes: Stakes, cluster: Ints, group: Numbers) -> tuple[_Reviews, Stakes]:
    """Replace what the reviews of named clusters add by what they change of their clusters."""
    table = np.take(reviews.table, reviews.columns, axis=1)
    named = np.flatnonzero(cluster >= 0)
    key = (group[named].astype(np.int64) << 32) | cluster[named]
    values = np.concatenate([np.exp(table[_STAKES, named]), table[_DIFFERENCE : _DIFFERENCE + 1, named]])
    sums, before, after = stakes.open.add(key, values)
    (*_, difference_before, n_before), (*_, difference_after, n_after) = before, after
    log_before = np.where(n_before > 0, np.log(np.maximum(before[_STAKES], 1e-300) / np.maximum(n_before, 1)), 0)
    table[_STAKES, named] = np.log(after[_STAKES] / n_after) - log_before
    table[_CLUSTER_SQUARE, named] = difference_after**2 - difference_before**2
    table[_CLUSTER_PRODUCT, named] = difference_after * n_after - difference_before * n_before
    table[_CLUSTER_SIZE, named] = n_after**2 - n_before**2
    new, size = np.ones(len(group), np.int64), np.ones(len(group), np.int64)
    new[named], size[named] = n_before == 0, n_after.astype(np.int64)
    size[reviews.starts] = np.maximum(size[reviews.starts], stakes.largest[reviews.present])
    above = np.repeat(np.arange(len(reviews.starts)) << 32, reviews.lengths)
    largest = np.maximum.accumulate(size + above) - above
    whole = reviews._replace(table=table, columns=np.arange(len(group)), clusters=new, largest=largest)
    return whole, stakes._replace(open=sums)


def _find_support(stakes: Stakes, reviews: _Reviews, check: Check) -> Iterator[Numbers]:
    """Yield the places of reviews after which each side is supported; none for a side that is so in each group."""
    present = reviews.present
    for row, part in enumerate((_OVER, _UNDER)):
        check()
        if stakes.supported_at[row, present].all():
            yield np.zeros(0, dtype=np.intp)
            continue
        running = _running(reviews, part, stakes.totals)
        places = np.flatnonzero(running.max(axis=0) >= LOG_SUPPORTED)
        yield places[log_mean_exp(running[:, places]) >= LOG_SUPPORTED] if len(places) else places
    check()
    if stakes.supported_at[2, present].all():
        yield np.zeros(0, dtype=np.intp)
        return
    difference, square = (
        _running(reviews, slice(part, part + 1), stakes.totals)[0] for part in (_DIFFERENCE, _CLUSTER_SQUARE)
    )
    before = stakes.reviewed[present] - reviews.starts
    n = np.repeat(before, reviews.lengths) + np.arange(1.0, len(difference) + 1)
    places = np.flatnonzero(can_be_within(n, difference, square))
    largest = reviews.largest
    if largest is None:
        largest = np.repeat(np.maximum(1, stakes.largest[present]), reviews.lengths)
    found = log_e_within(n[places], difference[places], square[places], largest[places].astype(np.float64))
    yield places[found >= LOG_SUPPORTED]


def _running(reviews: _Reviews, part: slice, totals: Floats) -> Floats:
    """Return some totals after each review of each segment. Shape: (rows of the part, reviews)."""
    starts, before = reviews.starts, totals[part][:, reviews.present]
    sums = np.cumsum(np.take(reviews.table[part], reviews.columns, axis=1), axis=1)
    if len(starts) == 1:
        sums += before
        return np.asarray(sums)
    offsets = before - np.concatenate([np.zeros((len(sums), 1)), sums[:, starts[1:] - 1]], axis=1)
    return np.asarray(sums + np.repeat(offsets, reviews.lengths, axis=1))


def _sum_segments(reviews: _Reviews) -> Floats:
    """Return the sums of what the reviews of each segment add. Shape: (rows, segments)."""
    table, columns, starts = reviews.table, reviews.columns, reviews.starts
    if len(starts) == 1:
        n = np.bincount(columns, minlength=table.shape[1])
        used = np.flatnonzero(n)
        return np.asarray(table[:, used] @ n[used])[:, np.newaxis]
    return np.asarray(np.add.reduceat(np.take(table, columns, axis=1), starts, axis=1))
