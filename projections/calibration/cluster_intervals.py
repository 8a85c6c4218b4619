"""Intervals of gaps at one look where decisions name few clusters: signs of whole clusters are flipped.

With many clusters the variance between them is estimated from sums (`gap_evidence.py`). With few, the sum of each is
needed. Those of named clusters are in the stakes; only if a group has reviews without a cluster too, all are read.
"""

from collections.abc import Collection

import numpy as np

from projections.calibration.cluster_sums import CLUSTER_BITS
from projections.calibration.evidence_trace import Grouping, select_reviews
from projections.calibration.first_reviews import BLOCK_REVIEWS, CODE_VALUES, ReviewOrder
from projections.calibration.gap_evidence import cluster_interval
from projections.calibration.stakes import CONFIDENCE, DIFFERENCE, SQUARE, Stakes
from projections.query_check import Check
from projections.stats.clustered_mean import (
    FLIPPED_MAX,
    ClusteredMean,
    ClusterMoments,
    clustered_mean,
    mean_of_clusters,
)
from projections.stats.intervals import Interval


def compute_cluster_intervals(
    order: ReviewOrder, grouping: Grouping, stakes: Stakes, check: Check
) -> dict[int, Interval]:
    """Return the interval of the gap of each group with clusters of several reviews, and few clusters, by number.

    `stakes` are those after the last review of the order.
    """
    few = (stakes.clusters < stakes.reviewed) & (stakes.clusters <= FLIPPED_MAX)
    found, rest = {}, []
    bounds = np.searchsorted(stakes.open.key >> CLUSTER_BITS, np.arange(len(stakes.reviewed) + 1))
    for group in np.flatnonzero(few).tolist():
        clusters = slice(bounds[group], bounds[group + 1])
        if clusters.stop - clusters.start == stakes.clusters[group]:
            check()
            found[group] = _interval(_mean_of_sums(stakes, group, clusters), stakes, group)
        else:
            rest.append(group)
    return {**found, **_read_intervals(order, grouping, stakes, rest, check)}


def _interval(mean: ClusteredMean, stakes: Stakes, group: int) -> Interval:
    return cluster_interval(mean, float(stakes.totals[CONFIDENCE, group] / stakes.reviewed[group]))


def _mean_of_sums(stakes: Stakes, group: int, clusters: slice) -> ClusteredMean:
    """Return the mean of a group whose clusters are all named."""
    n, totals = int(stakes.reviewed[group]), stakes.totals[:, group]
    sums, sizes = stakes.open.sums[-2:, clusters]
    mean = float(totals[DIFFERENCE]) / n
    variance = max(0.0, float(totals[SQUARE]) / n - mean**2)
    return mean_of_clusters(ClusterMoments(mean, variance, sums - mean * sizes, sizes), -1.0, 1.0)


def _read_intervals(
    order: ReviewOrder, grouping: Grouping, stakes: Stakes, groups: Collection[int], check: Check
) -> dict[int, Interval]:
    """Return the intervals of groups of which every review is read."""
    if not groups:
        return {}
    wanted = np.array(groups)
    differences, clusters, numbers = [], [], []
    for start in range(0, order.size, BLOCK_REVIEWS):
        check()
        block, group = select_reviews(order, grouping, start, min(order.size, start + BLOCK_REVIEWS))
        places = np.flatnonzero(np.isin(group, wanted))
        block = block.take(places)
        differences.append(CODE_VALUES[block.code] - order.levels.of_cell[block.cell])
        alone = -1 - start - places  # a review without a cluster is one of its own
        clusters.append(np.where(block.cluster < 0, alone, block.cluster))
        numbers.append(group[places])
    difference, cluster, number = map(np.concatenate, (differences, clusters, numbers))
    found = {}
    for group in wanted.tolist():
        check()
        rows = np.flatnonzero(number == group)
        found[group] = _interval(clustered_mean(difference[rows], cluster[rows], -1.0, 1.0), stakes, group)
    return found
