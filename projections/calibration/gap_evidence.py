"""The evidence for a verdict that holds at every look, its confidence sequence, and whether decisions are alike."""

from math import exp, floor, log, log10
from typing import Final, NamedTuple

import msgspec

from projections.arrays import Floats
from projections.stats.autocorrelation import Autocorrelation
from projections.stats.gap_martingale import LOG_E_VALUE_MAX, LOG_SUPPORTED, log_e_values
from projections.stats.gap_sequence import gap_sequence
from projections.stats.intervals import GapSide, Interval, supports

_E_VALUE_DIGITS: Final = 6
_INTERVAL_PLACES: Final = 9


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


class GapEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence about a gap. The logarithms of both e-values are natural ones.

    `supported_at` has the review at which "over", "under" and "well" became supported; a side that did not is missing.
    """

    log_over: float
    log_under: float
    gap_sequence: Interval
    supported_at: dict[GapSide, int]

    @property
    def e_value(self) -> float:
        """The mean of both e-values: large if the agent is not calibrated."""
        top = max(self.log_over, self.log_under)
        mean = top + log((exp(self.log_over - top) + exp(self.log_under - top)) / 2)
        return round_figures(exp(min(mean, LOG_E_VALUE_MAX)))

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


def evidence_of_counts(confidence: Floats, outcome: Floats, n: Floats) -> GapEvidence:
    """Return the evidence at present of `n` reviews with each confidence and outcome, without their order."""
    over, under = log_e_values(confidence, outcome, n)
    difference = outcome - confidence
    sequence = gap_sequence(int(n.sum()), float(difference @ n), float(difference**2 @ n))
    cut = cut_interval(sequence, float(confidence @ n) / float(n.sum()))
    return GapEvidence(log_over=over, log_under=under, gap_sequence=cut, supported_at={})


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
