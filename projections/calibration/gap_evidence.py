"""The evidence for a verdict that holds at every look, its confidence sequence, and whether decisions are alike."""

from math import exp, floor, log, log10
from typing import Final, NamedTuple

import msgspec
import numpy as np

from projections.arrays import Floats
from projections.stats.autocorrelation import Autocorrelation
from projections.stats.clustered_mean import ClusteredMean, ClusterSpread, robust_mean
from projections.stats.gap_martingale import LOG_E_VALUE_MAX, LOG_SUPPORTED, log_e_values
from projections.stats.gap_sequence import gap_sequence, log_e_within
from projections.stats.intervals import GapSide, Interval, gap_interval, supports

_E_VALUE_DIGITS: Final = 6
_INTERVAL_PLACES: Final = 9
_ALIKE: Final = 1e-9


class Dependence(msgspec.Struct, frozen=True, kw_only=True):
    """How alike the outcomes of decisions are that were made one after another.

    `autocorrelation` is the sum of the correlations of outcome minus confidence at distances 1 to 8, over the newest
    `reviewed` decisions; `z` is the standard score of that sum, in which near decisions count most.
    `effective_reviews` is the number of independent reviews that contain about as much evidence. If the dependence is
    `material`, verdicts and intervals are too sure.
    """

    reviewed: int
    autocorrelation: float
    z: float
    effective_reviews: float
    material: bool


class Clusters(msgspec.Struct, frozen=True, kw_only=True):
    """The clusters that decisions name, whose outcomes may depend on each other.

    `clusters` is their number; a review without one counts as one of its own. `largest` is the number of reviews of the
    largest. `effective_reviews` is the number of independent reviews with the same variance of the mean gap.
    """

    clusters: int
    largest: int
    effective_reviews: float


class GapEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence about a gap. The logarithms of both e-values are natural ones.

    `log_within` is that of the e-value against gaps outside plus and minus GAP_MARGIN.
    `supported_at` has the review at which "over", "under" and "well" became supported; a side that did not is missing.
    With `clusters`, `interval` is the interval of the gap at one look; None otherwise.
    """

    log_over: float
    log_under: float
    log_within: float
    gap_sequence: Interval
    supported_at: dict[GapSide, int]
    clusters: Clusters | None = None
    interval: Interval | None = None

    @property
    def e_value(self) -> float:
        """The mean of both e-values: large if the agent is not calibrated."""
        log_mean = float(np.logaddexp(self.log_over, self.log_under)) - log(2)
        return round_figures(exp(min(log_mean, LOG_E_VALUE_MAX)))

    def supports(self, side: GapSide) -> bool:
        """Return whether the evidence supports a verdict, now or at an earlier review."""
        if side in self.supported_at:
            return True
        if side == "well":
            return supports("well", self.gap_sequence)
        return (self.log_over if side == "over" else self.log_under) >= LOG_SUPPORTED


class ReviewEvidence(NamedTuple):
    """Evidence of reviews in their order: about the gap (None: not followed), and about dependence (None: too few)."""

    gap: GapEvidence | None = None
    dependence: Dependence | None = None


NO_ORDER: Final = ReviewEvidence()


class GapSums(NamedTuple):
    """Sums over n reviews in clusters; a review without a cluster is one of its own.

    `difference` is outcome minus confidence. The last three are sums over clusters: of the square of a cluster's sum of
    differences, of this sum times the cluster's number of reviews, and of the square of that number.
    """

    n: int
    clusters: int
    largest: int
    difference: float
    confidence: float
    square: float
    cluster_square: float
    cluster_product: float
    cluster_size_square: float


def evidence_of_counts(confidence: Floats, outcome: Floats, n: Floats) -> GapEvidence:
    """Return the evidence at present of `n` reviews with each confidence and outcome, without their order."""
    difference, total = outcome - confidence, int(n.sum())
    sum_, square = float(difference @ n), float(difference**2 @ n)
    sums = GapSums(total, total, 1, sum_, float(confidence @ n), square, square, sum_, float(total))
    return evidence_of_sums(log_e_values(confidence, outcome, n), sums, {})


def evidence_of_sums(logs: tuple[float, float], sums: GapSums, supported_at: dict[GapSide, int]) -> GapEvidence:
    """Return evidence, given the logarithms of both e-values and the sums of reviews."""
    n, mean_confidence = sums.n, sums.confidence / sums.n
    sums_of_gap = n, sums.difference, sums.cluster_square, sums.largest
    within = log_e_within(*(np.array([float(value)]) for value in sums_of_gap))
    sequence = gap_sequence(*sums_of_gap)
    clusters, interval = _judge_clusters(sums)
    return GapEvidence(
        log_over=logs[0],
        log_under=logs[1],
        log_within=float(within[0]),
        gap_sequence=cut_interval(sequence, mean_confidence),
        supported_at=supported_at,
        clusters=clusters,
        interval=interval,
    )


def _judge_clusters(sums: GapSums) -> tuple[Clusters | None, Interval | None]:
    """Return the clusters and the interval of the gap at one look; None where every review is one of its own."""
    n, gap, mean_confidence = sums.n, sums.difference / sums.n, sums.confidence / sums.n
    if sums.clusters == n:
        return None, None
    variance = sums.square / n - gap**2
    if variance < _ALIKE:
        found = ClusteredMean(gap, None, None, sums.clusters, float(sums.clusters))
    else:
        excess = sums.cluster_square - 2 * gap * sums.cluster_product + gap**2 * sums.cluster_size_square
        spread = ClusterSpread(n, sums.clusters, variance, max(0.0, excess), sums.cluster_size_square)
        found = robust_mean(gap, spread, -1.0, 1.0)
    effective = round_figures(found.effective_n)
    clusters = Clusters(clusters=sums.clusters, largest=sums.largest, effective_reviews=effective)
    return clusters, cluster_interval(found, mean_confidence)


def cluster_interval(found: ClusteredMean, mean_confidence: float) -> Interval:
    """Return the interval of the gap at one look, given that of the mean difference.

    If all reviews are alike, their variance tells nothing: then each cluster counts as a single review.
    """
    interval = found.interval
    if interval is None or interval.high - interval.low < _ALIKE:
        interval = gap_interval((found.mean + mean_confidence) * found.clusters, found.clusters, mean_confidence)
    return cut_interval(interval, mean_confidence)


def cut_interval(found: Interval, mean_confidence: float) -> Interval:
    """Return an interval of a gap, rounded, and cut to the gaps that are possible at a mean confidence."""
    low, high = max(found.low, -mean_confidence), min(found.high, 1 - mean_confidence)
    return Interval(round(low, _INTERVAL_PLACES) + 0.0, round(high, _INTERVAL_PLACES) + 0.0)


def round_figures(value: float) -> float:
    """Return a number above 0 rounded to six significant digits, so that it does not depend on the order of sums."""
    return round(value, _E_VALUE_DIGITS - 1 - floor(log10(value))) if value > 0 else 0.0


def dependence_of(found: Autocorrelation | None) -> Dependence | None:
    """Return the figures of an autocorrelation."""
    if found is None:
        return None
    return Dependence(
        reviewed=found.reviews,
        autocorrelation=round(found.total, _INTERVAL_PLACES) + 0.0,
        z=round(found.z, _INTERVAL_PLACES) + 0.0,
        effective_reviews=round_figures(found.effective),
        material=found.material,
    )
