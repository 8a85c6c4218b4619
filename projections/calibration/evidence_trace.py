"""The evidence of decisions in the order of their first review, followed from review to review.

A verdict that was supported once stays so, and says at which review it became so. That needs the largest e-value so
far, and therefore the order. What is kept (`stakes.py`) is continued with the reviews that came since.

The reviews of a cluster, which a decision may name, multiply a stake by the mean of their factors, not by the product.
Each review changes that mean, so the evidence may be looked at in the middle of a cluster.

Reviews are read in blocks. What a block adds follows from how often each group, cluster, confidence and outcome occurs
in it, which takes a fraction of the time of following each review. Only if a verdict may become supported within the
block (`support_search.py`) are the reviews of that group followed one by one.
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints, split_runs
from projections.calibration.cluster_sums import CLUSTER_BITS, NAMED, ClusterSums
from projections.calibration.first_reviews import (
    BLOCK_REVIEWS,
    CODE_VALUES,
    NO_REVIEWS,
    VALUES_COUNT,
    Block,
    ReviewOrder,
)
from projections.calibration.stakes import (
    CLUSTER_PRODUCT,
    CLUSTER_SIZE,
    CLUSTER_SQUARE,
    DIFFERENCE,
    STAKES,
    Numbers,
    Stakes,
    StakesKept,
    log_means,
)
from projections.calibration.support_search import BlockBounds, Reviews, can_support, find_support
from projections.query_check import Check
from projections.stats.gap_martingale import log_factors_over, log_factors_under

COLUMNS_MAX = 65_536
"""The most columns of a table, so that a group, a cluster and a column fit into one number."""


class Grouping(NamedTuple):
    """How to group cells: the group of each cell (-1: not selected), and the number of groups.

    `since_us` and `until_us` bound the times at which decisions were made, in microseconds since 1970 UTC.
    """

    group: Numbers
    groups: int
    since_us: int
    until_us: int


def trace_stakes(order: ReviewOrder, grouping: Grouping, kept: StakesKept, key: Hashable, check: Check) -> Stakes:
    """Return the stakes of groups of decisions. What `kept` has under `key` is continued, and kept there again.

    `key` names the selection and the grouping. `check` is called between parts of the work.
    """
    before = kept.get(key, order)
    stakes = follow_reviews(before, order, grouping, check)
    if stakes.size > before.size:
        kept.put(key, stakes)
    return stakes


def follow_reviews(stakes: Stakes, order: ReviewOrder, grouping: Grouping, check: Check) -> Stakes:
    """Return the stakes after the last review of an order, given those after some."""
    stakes = stakes.with_groups(grouping.groups)
    if stakes.size < order.size:
        tables = _make_tables(order, order.size - stakes.size)
        while stakes.size < order.size:
            check()
            stakes = _add_reviews(stakes, order, grouping, tables, check)
    return stakes


def count_new_reviews(order: ReviewOrder, kept: StakesKept, key: Hashable) -> int:
    """Return how many reviews `trace_stakes` would read."""
    return order.size - kept.get(key, order).size


Tables = Callable[[Block], tuple[Floats, Numbers]]
"""Returns a table of what each kind of review adds to the totals, and the column of the table of each review."""


def _make_tables(order: ReviewOrder, reviews: int) -> Tables:
    """Return the tables of blocks: one for all if that is less work than one for each."""
    levels, level = order.levels.numbered
    if len(levels) <= min(4 * reviews, COLUMNS_MAX // VALUES_COUNT):
        table = _additions(np.repeat(levels, VALUES_COUNT), np.tile(CODE_VALUES, len(levels)))
        return lambda block: (table, level[block.cell] * VALUES_COUNT + block.code)

    def tables(block: Block) -> tuple[Floats, Numbers]:
        codes, columns = np.unique(level[block.cell] * VALUES_COUNT + block.code, return_inverse=True)
        return _additions(levels[codes // VALUES_COUNT], CODE_VALUES[codes % VALUES_COUNT]), columns

    return tables


def _additions(confidence: Floats, outcome: Floats) -> Floats:
    """Return what a review with each confidence and outcome adds to the totals if it is a cluster of its own."""
    difference = outcome - confidence
    square = difference**2
    over, under = log_factors_over(confidence, outcome), log_factors_under(confidence, outcome)
    sums = [difference, confidence, square, square, difference, np.ones_like(difference)]
    return np.concatenate([over, under, sums])


def select_reviews(order: ReviewOrder, grouping: Grouping, start: int, stop: int) -> tuple[Block, Numbers]:
    """Return the selected ones of some consecutive reviews, and their groups."""
    places = slice(start, stop)
    if not order.reviews.touches(places, grouping.since_us, grouping.until_us):
        return NO_REVIEWS, np.zeros(0, dtype=np.intp)
    return _select(order.reviews.take(places), grouping)


def _select(block: Block, grouping: Grouping) -> tuple[Block, Numbers]:
    """Return the selected reviews of a block, and their groups."""
    group = grouping.group[block.cell]
    within = (block.time_us >= grouping.since_us) & (block.time_us <= grouping.until_us)
    selected = np.flatnonzero((group >= 0) & ~np.isnan(CODE_VALUES[block.code]) & within)
    return block.take(selected), group[selected]


def _add_reviews(stakes: Stakes, order: ReviewOrder, grouping: Grouping, tables: Tables, check: Check) -> Stakes:
    """Add the reviews up to the end of a block, in place."""
    stop = min(order.size, (stakes.size // BLOCK_REVIEWS + 1) * BLOCK_REVIEWS)
    block, group = select_reviews(order, grouping, stakes.size, stop)
    before, stakes = stakes.size, stakes._replace(size=stop)
    if not len(group):
        return stakes
    dropped = stakes.open.dropped_of(block.cluster + 1)
    if len(dropped):
        stakes = stakes._replace(open=_sum_again(stakes.open, dropped, order, grouping, before, tables, check))
    table, columns = tables(block)
    sums = _sum_block(stakes, block, group, table, columns)
    check()
    sides = can_support(stakes, sums.bounds)
    if sides.any():
        find_support(stakes, sums.bounds.present, sides, Reviews(table, columns, group, block.cluster), check)
    present = sums.bounds.present
    stakes.totals[:, present] += sums.totals
    stakes.reviewed[present] += sums.bounds.n
    stakes.clusters[present] += sums.clusters
    stakes.largest[present] = sums.bounds.largest
    return stakes if sums.open is None else stakes._replace(open=sums.open.trimmed())


def _sum_again(
    known: ClusterSums,
    clusters: npt.NDArray[np.bool_],
    order: ReviewOrder,
    grouping: Grouping,
    stop: int,
    tables: Tables,
    check: Check,
) -> ClusterSums:
    """Return the sums with those of clusters that were dropped, made again from their reviews up to a number."""
    parts = [(known.key[:0], known.sums[:, :0])]
    for start in range(0, stop, BLOCK_REVIEWS):
        check()
        part = order.reviews.of_clusters(slice(start, min(stop, start + BLOCK_REVIEWS)), clusters)
        block, group = _select(part, grouping)
        if len(group):
            table, columns = tables(block)
            values = np.concatenate([np.exp(table[STAKES]), table[[DIFFERENCE]], np.ones((1, table.shape[1]))])
            parts.append(((group << CLUSTER_BITS) | (block.cluster + 1), np.take(values, columns, axis=1)))
    keys, sums = zip(*parts, strict=True)
    return known.restated(clusters, np.concatenate(keys), np.concatenate(sums, axis=1), stop)


class _BlockSums(NamedTuple):
    """What a block adds to the groups that are present in it. `open` has all clusters after it; None: as before."""

    totals: Floats
    clusters: Ints
    open: ClusterSums | None
    bounds: BlockBounds


def _sum_block(stakes: Stakes, block: Block, group: Numbers, table: Floats, columns: Numbers) -> _BlockSums:
    """Sum the reviews of a block by group, with those of a named cluster as one."""
    width = table.shape[1]
    keys = (group << CLUSTER_BITS) | (block.cluster + 1)
    pairs, n = np.unique(keys * width + columns, return_counts=True)
    of_pair, column = np.divmod(pairs, width)
    first, _ = split_runs(of_pair)
    key = of_pair[first]
    added = np.take(table, column, axis=1) * n
    totals, reviews = np.add.reduceat(added, first, axis=1), np.add.reduceat(n, first)
    gains = np.add.reduceat(np.maximum(added[STAKES], 0), first, axis=1)
    rises = np.add.reduceat(np.maximum(added[DIFFERENCE], 0), first)
    falls = rises - totals[DIFFERENCE]
    clusters, largest, freed, joined = reviews.copy(), np.ones_like(reviews), np.zeros(len(key)), None
    named = np.flatnonzero(key & NAMED)
    if len(named):
        factors = np.add.reduceat(np.exp(table[STAKES])[:, column] * n, first, axis=1)[:, named]
        before = stakes.open.of(key[named])
        after = before + np.concatenate([factors, totals[[DIFFERENCE]][:, named], reviews[np.newaxis, named]])
        log_before = log_means(before)
        totals[STAKES, named] = log_means(after) - log_before
        (*_, difference_before, n_before), (*_, difference, n_after) = before, after
        totals[CLUSTER_SQUARE, named] = difference**2 - difference_before**2
        totals[CLUSTER_PRODUCT, named] = difference * n_after - difference_before * n_before
        totals[CLUSTER_SIZE, named] = n_after**2 - n_before**2
        gains[:, named] = np.maximum(0, table[STAKES][:, column].max(axis=1, keepdims=True) - log_before)
        clusters[named], largest[named], freed[named] = n_before == 0, n_after, difference_before**2
        joined = stakes.open.put(key[named], after, stakes.size)
    starts, _ = split_runs(key >> CLUSTER_BITS)
    present = (key >> CLUSTER_BITS)[starts]
    bounds = BlockBounds(
        present,
        np.add.reduceat(reviews, starts),
        np.maximum(np.maximum.reduceat(largest, starts), stakes.largest[present]),
        *(np.add.reduceat(each, starts, axis=-1) for each in (gains, rises, falls, freed)),
    )
    return _BlockSums(np.add.reduceat(totals, starts, axis=1), np.add.reduceat(clusters, starts), joined, bounds)
