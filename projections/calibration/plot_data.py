"""What drawings need and no other part of an answer has: evidence over reviews, sums over time, histograms.

- The evidence after each review (`projections/stats/gap_martingale.py`), with the gap, its interval for one look and
  its confidence sequence (`projections/stats/gap_sequence.py`), in the order in which decisions were due.
- The sum of outcome minus stated confidence minus the mean of the agent and category, in the order in which decisions
  were made, of those that drift examines. It is near 0 without a change, and has its lowest or highest point at one
  (`change_point.py`).
- How many decisions of each tenth of stated confidence are reviewed.
- Net benefit at each threshold (`projections/stats/net_benefit.py`).
"""

from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from ledger.clock import moment_of
from projections.calibration.cluster_trace import trace_clusters
from projections.calibration.confidence_bins import ConfidenceBins, bin_counts, merge_cells
from projections.calibration.confidence_use import act_above
from projections.calibration.count_table import CountSelection, CountTable
from projections.calibration.counted_columns import OPEN
from projections.calibration.counted_decisions import CountedDecisions
from projections.calibration.gap_evidence import evidence_of_totals
from projections.calibration.named_clusters import OrderedReviews
from projections.calibration.review_moments import find_dated, number_moments
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.outcome_codes import OUTCOMES_COUNT, UNREVIEWED
from projections.query_check import Check, no_check
from projections.stats.intervals import gap_interval
from tallystick.shapes.confidence_use import ThresholdUse
from tallystick.shapes.plots import ConfidenceTenth, EvidencePoint, GapSum, PlotData

POINTS_MAX: Final = 200
"""Most points over reviews or over time: at equal distances, the first and the last included."""

THRESHOLDS: Final = tuple(number / 100 for number in range(100))
"""The thresholds of net benefit."""

TENTHS: Final = 10
_TOLERANCE: Final = 1e-9


class SelectedReviews(msgspec.Struct, frozen=True):
    """The decisions to draw: their cells, and each of them."""

    selection: CountSelection
    decisions: CountedDecisions


def build_plot_data(selected: SelectedReviews, check: Check = no_check) -> PlotData:
    """Compute what drawings of some decisions need. A million reviews take about a second, in named clusters many."""
    table = selected.selection.table(check)
    bins = bin_counts(*merge_cells(table.confidence, table.counts))
    check()
    evidence = trace_evidence(selected.decisions.in_order_of_due(check), check)
    check()
    sums = sum_gaps(selected.decisions.history(check, asked=False))
    check()
    return PlotData(
        evidence=tuple(evidence),
        gap_sums=tuple(sums),
        tenths=tuple(count_tenths(table)),
        net_benefit=tuple(net_benefits(bins, check)),
    )


def trace_evidence(reviews: OrderedReviews, check: Check = no_check) -> list[EvidencePoint]:
    """Return the evidence after numbers of reviews."""
    kinds, cluster = reviews.kinds(), reviews.cluster
    del reviews  # of a million reviews these are 20 MB
    kind, confidence, outcome = kinds
    sizes = _places(len(kind)) + 1
    counts, points, before = np.zeros(len(confidence)), [], 0
    for size, named in zip(sizes.tolist(), trace_clusters(kinds, cluster, sizes, check), strict=True):
        check()
        counts += np.bincount(kind[before:size], minlength=len(counts))
        before = size
        present = np.flatnonzero(counts)
        found = evidence_of_totals(confidence[present], outcome[present], counts[present], named)
        total, mean = float(outcome @ counts), float(confidence @ counts) / size
        points.append(
            EvidencePoint(
                reviews=size,
                e_value_over=found.gap_e_values.over,
                e_value_under=found.gap_e_values.under,
                gap=total / size - mean,
                gap_interval=found.interval or gap_interval(total, size, mean),
                gap_sequence=found.gap_sequence,
            )
        )
    return points


def sum_gaps(history: ReviewedDecisions) -> list[GapSum]:
    """Return the sum over time of outcome minus confidence minus the mean of the agent and category."""
    if not len(history.time_us):
        return []
    used = find_dated(number_moments(history.time_us))
    if history.settled is not None:
        used &= history.settled
    numbers: dict[tuple[str, str | None], int] = {}
    group_stratum = np.array(
        [numbers.setdefault((source, category), len(numbers)) for source, category, *_ in history.groups],
        dtype=np.int32,
    )
    stratum = group_stratum[history.group[used]]
    excess = history.outcome_value
    excess -= history.confidence
    time_us = history.time_us
    if not used.all():
        excess, time_us = excess[used], time_us[used]
    if not len(excess):
        return []
    size = np.maximum(np.bincount(stratum), 1)
    excess -= (np.bincount(stratum, excess) / size)[stratum]
    sums = np.cumsum(excess, out=excess)
    return [
        GapSum(time=moment_of(int(time_us[place])), decisions=place + 1, sum=round(float(sums[place]), 9) + 0.0)
        for place in _places(len(sums)).tolist()
    ]


def count_tenths(table: CountTable) -> list[ConfidenceTenth]:
    """Return how many decisions of each tenth of stated confidence are reviewed and are not."""
    stated = ~np.isnan(table.confidence)
    place = np.minimum(np.floor((table.confidence[stated] + _TOLERANCE) * TENTHS), TENTHS - 1).astype(np.intp)
    counts = table.counts[stated]
    unreviewed = np.bincount(place, counts[:, UNREVIEWED] + counts[:, OPEN:].sum(axis=1), TENTHS)
    reviewed = np.bincount(place, counts[:, UNREVIEWED + 1 : OUTCOMES_COUNT].sum(axis=1), TENTHS)
    return [
        ConfidenceTenth(
            low=number / TENTHS,
            high=(number + 1) / TENTHS,
            reviewed=int(reviewed[number]),
            unreviewed=int(unreviewed[number]),
        )
        for number in range(TENTHS)
    ]


def net_benefits(bins: ConfidenceBins, check: Check = no_check) -> list[ThresholdUse]:
    """Return what acting above each of THRESHOLDS would have come to."""
    found = []
    for threshold in THRESHOLDS if bins.reviewed else ():
        check()
        found.append(act_above(bins, threshold))
    return found


def _places(n: int) -> npt.NDArray[np.intp]:
    """Return up to POINTS_MAX places from 0 to n - 1, both included."""
    return np.unique(np.linspace(0, n - 1, min(n, POINTS_MAX)).round().astype(np.intp))
