"""Intervals of gaps at one look where decisions name few clusters: signs of whole clusters are flipped.

With many clusters the variance between them is estimated from sums (`gap_evidence.py`). With few, the sum of each is
needed, and so all reviews of the group.
"""

from collections.abc import Collection

import numpy as np

from projections.calibration.evidence_trace import Grouping, Stakes, select_reviews
from projections.calibration.first_reviews import BLOCK_REVIEWS, CODE_VALUES, ReviewOrder
from projections.calibration.gap_evidence import cluster_interval
from projections.query_check import Check
from projections.stats.clustered_mean import FLIPPED_MAX, clustered_mean
from projections.stats.intervals import Interval


def groups_of_few_clusters(stakes: Stakes) -> list[int]:
    """Return the numbers of the groups with clusters of several reviews, and few clusters."""
    few = (stakes.clusters < stakes.reviewed) & (stakes.clusters <= FLIPPED_MAX)
    return np.flatnonzero(few).tolist()


def compute_cluster_intervals(
    order: ReviewOrder, grouping: Grouping, groups: Collection[int], check: Check
) -> dict[int, Interval]:
    """Return the interval of the gap of each of some groups, by number. Each has at least two reviews."""
    if not groups:
        return {}
    wanted = np.array(sorted(groups))
    differences, confidences, clusters, numbers = [], [], [], []
    for start in range(0, order.size, BLOCK_REVIEWS):
        check()
        block, group = select_reviews(order, grouping, start, min(order.size, start + BLOCK_REVIEWS))
        places = np.flatnonzero(np.isin(group, wanted))
        block = block.take(places)
        confidence = order.confidence[block.cell]
        differences.append(CODE_VALUES[block.code] - confidence)
        confidences.append(confidence)
        alone = -1 - start - places  # a review without a cluster is one of its own
        clusters.append(np.where(block.cluster < 0, alone, block.cluster))
        numbers.append(group[places])
    difference, confidence, cluster, number = map(np.concatenate, (differences, confidences, clusters, numbers))
    found = {}
    for group in wanted.tolist():
        check()
        rows = np.flatnonzero(number == group)
        mean = clustered_mean(difference[rows], cluster[rows], -1.0, 1.0)
        found[group] = cluster_interval(mean, float(confidence[rows].mean()))
    return found
