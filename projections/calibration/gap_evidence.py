"""The evidence for a verdict that holds at any time, its confidence sequence, and whether decisions are alike."""

from collections.abc import Callable
from math import exp, floor, log, log10
from typing import Final, NamedTuple

import msgspec
import numpy as np
from msgspec import structs

from projections.arrays import Floats
from projections.calibration.named_clusters import ClusterPart, ClusterTotals
from projections.stats.autocorrelation import Autocorrelation
from projections.stats.clustered_mean import (
    FLIPPED_MAX,
    ClusteredMean,
    ClusterMoments,
    ClusterSpread,
    mean_of_clusters,
    robust_mean,
)
from projections.stats.gap_martingale import (
    E_VALUE_SURE,
    LOG_E_VALUE_MAX,
    LOG_SUPPORTED,
    log_e_values,
    log_factors,
)
from projections.stats.gap_sequence import gap_sequence, log_e_within
from projections.stats.intervals import gap_interval, supports, wilson_interval
from tallystick.shapes.calibration import GapEValues, GapSide
from tallystick.shapes.dependence import Clusters, Dependence
from tallystick.shapes.missing_reviews import TippingPoints
from tallystick.shapes.parts import Interval

_E_VALUE_DIGITS: Final = 6
_INTERVAL_PLACES: Final = 9
_ALIKE: Final = 1e-9
_SHARE_STEP: Final = 0.001
_DIFFERENCE_DIGITS: Final = 12


class MissingOutcomes(NamedTuple):
    """Decisions that are due and have no review: how many at each of some confidences.

    Outcomes of `open` ones may still come; those of `overdue` ones are missing.
    """

    confidence: Floats
    overdue: Floats
    open: Floats

    def fill(self, overdue_rate: float, open_rate: float) -> "CountedReviews":
        """Return confidences, outcomes (1, then 0) and numbers if they succeed at these rates."""
        good = self.overdue * overdue_rate + self.open * open_rate
        n = np.concatenate([good, self.overdue + self.open - good])
        outcome = np.repeat([1.0, 0.0], len(self.confidence))
        return np.tile(self.confidence, 2), outcome, n


class GapEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence about a gap. The logarithms of e-values are natural ones.

    `log_over` and `log_under` are of those against a mean gap of 0, `log_calibrated` against "each confidence is true",
    and `log_within` against gaps outside plus and minus GAP_MARGIN. With `clusters`, `interval` is the interval of the
    gap at one look; None otherwise. `robust` has the sides that also hold for plausible outcomes of the decisions
    without a review.
    """

    log_over: float
    log_under: float
    log_calibrated: float
    log_within: float
    gap_sequence: Interval
    clusters: Clusters | None = None
    interval: Interval | None = None
    robust: frozenset[GapSide] = frozenset({"over", "under", "well"})

    @property
    def e_value(self) -> float:
        """The e-value against a calibrated agent."""
        return e_value_of(self.log_calibrated)

    @property
    def gap_e_values(self) -> GapEValues:
        """The e-values of verdicts."""
        over, under, well = map(e_value_of, (self.log_over, self.log_under, self.log_within))
        return GapEValues(over=over, under=under, well=well)

    def supports(self, side: GapSide) -> bool:
        """Return whether the evidence supports a verdict. "well" is refuted by gaps that cancel each other."""
        return side in self.robust and self.supports_reviewed(side)

    def supports_reviewed(self, side: GapSide) -> bool:
        """Return whether the evidence supports a verdict on the reviewed decisions."""
        if side == "well":
            return supports("well", self.gap_sequence) and self.log_calibrated < log(E_VALUE_SURE)
        return (self.log_over if side == "over" else self.log_under) >= LOG_SUPPORTED


class ReviewEvidence(NamedTuple):
    """What counts do not tell: the named clusters (None: none), and the dependence (None: too few reviews)."""

    clusters: ClusterPart | None = None
    dependence: Dependence | None = None


NO_ORDER: Final = ReviewEvidence()

CountedReviews = tuple[Floats, Floats, Floats]
"""A confidence, an outcome and a number of reviews for each pair of both."""


def evidence_of_counts(
    confidence: Floats,
    outcome: Floats,
    n: Floats,
    named: ClusterPart | None = None,
    missing: MissingOutcomes | None = None,
) -> GapEvidence:
    """Return the evidence of `n` reviews with each confidence and outcome, of which some may be of named clusters.

    A verdict is robust if it also holds when open decisions turn out against it, and overdue ones succeed at a rate
    that is at the end of the interval of the reviewed ones' rate that is against it.
    """
    found = evidence_of_totals(confidence, outcome, n, None if named is None else named.totals)
    if missing is None or not (missing.overdue.any() or missing.open.any()):
        return found
    rate = wilson_interval(float(outcome @ n), float(n.sum()))
    against: dict[GapSide, list[tuple[float, float]]] = {"over": [(rate.high, 1.0)], "under": [(rate.low, 0.0)]}
    against["well"] = [*against["over"], *against["under"]]
    robust = set[GapSide]()
    for side, filled in against.items():
        if found.supports_reviewed(side) and all(
            _with_outcomes((confidence, outcome, n), missing.fill(*rates), named).supports_reviewed(side)
            for rates in filled
        ):
            robust.add(side)
    return structs.replace(found, robust=frozenset(robust))


def find_tipping_points(
    reviews: CountedReviews, named: ClusterPart | None, missing: MissingOutcomes, side: GapSide
) -> TippingPoints:
    """Return which shares of good outcomes among the missing ones would take away the evidence for a verdict."""
    _, outcome, n = reviews
    rate = float(outcome @ n) / float(n.sum())

    def holds(share: float) -> bool:
        return _with_outcomes(reviews, missing.fill(share, share), named).supports_reviewed(side)

    return TippingPoints(below=_last_share(holds, rate, 0.0), above=_last_share(holds, rate, 1.0))


def _last_share(holds: Callable[[float], bool], inside: float, outside: float) -> float | None:
    """Return the last share, from one that holds on, at which a verdict holds; None if it does up to the other end."""
    if holds(outside):
        return None
    if holds(inside):
        while abs(outside - inside) > _SHARE_STEP:
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return round(inside, 3)


def _with_outcomes(reviews: CountedReviews, more: CountedReviews, named: ClusterPart | None) -> GapEvidence:
    """Return the evidence of reviews and of more outcomes, without the interval at one look."""
    confidence, outcome, n = (np.concatenate(column) for column in zip(reviews, more, strict=True))
    return evidence_of_totals(confidence, outcome, n, None if named is None else named.totals, once=False)


def evidence_of_totals(
    confidence: Floats, outcome: Floats, n: Floats, named: ClusterTotals | None, *, once: bool = True
) -> GapEvidence:
    """Return the evidence of reviews; with `once`, the interval at one look that allows for clusters, too."""
    difference, total = outcome - confidence, float(n.sum())
    gap, mean_confidence = float(difference @ n) / total, float(confidence @ n) / total
    square = float(difference**2 @ n)
    log_stakes = log_factors(confidence, outcome) @ n
    clusters, interval, cluster_square, largest = None, None, square, 1
    if named is not None:
        log_stakes = log_stakes[:, np.newaxis] + named.log_factors
        largest, cluster_square = named.largest, square + named.square
        if once:
            clusters, interval = _judge_clusters(difference, n, named, mean_confidence)
    logs = log_e_values(log_stakes[..., np.newaxis])
    within = log_e_within(*(np.array([value]) for value in (total, gap * total, cluster_square, float(largest))))
    return GapEvidence(
        log_over=float(logs.over[0]),
        log_under=float(logs.under[0]),
        log_calibrated=float(logs.calibrated[0]),
        log_within=float(within[0]),
        gap_sequence=cut_interval(gap_sequence(int(total), gap * total, cluster_square, largest), mean_confidence),
        clusters=clusters,
        interval=interval,
    )


def _judge_clusters(
    difference: Floats, n: Floats, named: ClusterTotals, mean_confidence: float
) -> tuple[Clusters | None, Interval | None]:
    """Return the clusters and the interval of the gap at one look; None where every review is one of its own."""
    total = int(n.sum())
    clusters = named.clusters + total - named.reviews
    if clusters == total:
        return None, None
    gap, square = float(difference @ n) / total, float(difference**2 @ n)
    variance = square / total - gap**2
    if variance < _ALIKE:
        found = ClusteredMean(gap, None, None, clusters, float(clusters))
    elif clusters <= FLIPPED_MAX:
        part = named.read()
        alone = _without(difference, n, part)
        sums, sizes = np.concatenate([part.sums, alone]), np.concatenate([part.sizes, np.ones(len(alone))])
        found = mean_of_clusters(ClusterMoments(gap, variance, sums - gap * sizes, sizes), -1.0, 1.0)
    else:
        size_square = total + named.size_square
        excess = square + named.square - 2 * gap * (gap * total + named.product) + gap**2 * size_square
        spread = ClusterSpread(total, clusters, variance, max(0.0, excess), size_square)
        found = robust_mean(gap, spread, -1.0, 1.0)
    effective = round_figures(found.effective_n)
    judged = Clusters(clusters=clusters, largest=named.largest, effective_reviews=effective)
    return judged, cluster_interval(found, mean_confidence)


def _without(difference: Floats, n: Floats, named: ClusterPart) -> Floats:
    """Return the differences of reviews without a cluster: of all, each occurring `n` times, those not in `named`."""
    values, numbers = np.unique(np.round(difference, _DIFFERENCE_DIGITS), return_inverse=True)
    left = np.bincount(numbers, n, len(values))
    place = np.searchsorted(values, np.round(named.difference, _DIFFERENCE_DIGITS))
    left -= np.bincount(place, named.n, len(values))
    return np.repeat(values, left.astype(np.intp))


def e_value_of(log_e: float) -> float:
    """Return an e-value, rounded, given its natural logarithm."""
    return round_figures(exp(min(log_e, LOG_E_VALUE_MAX)))


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
