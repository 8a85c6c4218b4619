"""The recalibration map: the mean outcome of past decisions at each stated confidence, as an isotonic curve.

The map is offered only if it lowers the Brier score of decisions that it was not fitted to (ten-fold cross-validation)
by more than one standard error of that improvement. The curve of a calibrated agent contains only noise. Without the
standard error, such a curve would be offered in one of twelve samples.
"""

from math import sqrt
from typing import NamedTuple

import msgspec
import numpy as np

from projections.calibration.confidence_bins import REVIEWED_VALUES, ConfidenceBins, bin_reviews
from projections.calibration.corp import fit_isotonic
from projections.calibration.scores import brier_score
from projections.stats.intervals import Interval, wilson_interval

FOLDS = 10

SEED = 20210

REVIEWS_MIN = 20
"""With fewer reviews no map is offered."""


class ConfidenceMeaning(msgspec.Struct, frozen=True, kw_only=True):
    """A level of the map: `meant` is the mean outcome of decisions with stated confidences from `low` to `high`."""

    low: float
    high: float
    meant: float
    interval: Interval
    reviewed: int


class Recalibration(msgspec.Struct, frozen=True, kw_only=True):
    """A map, the Brier score of the stated confidences, and the cross-validated one of the mapped confidences."""

    stated_brier_score: float
    mapped_brier_score: float
    meanings: list[ConfidenceMeaning]


def fit_recalibration(bins: ConfidenceBins) -> Recalibration | None:
    """Return the map of some decisions, or None if it does not clearly lower the cross-validated Brier score."""
    if bins.reviewed < REVIEWS_MIN:
        return None
    stated, mapped = brier_score(bins), cross_validate(bins)
    if stated - mapped.brier_score <= mapped.standard_error:
        return None
    return Recalibration(stated_brier_score=stated, mapped_brier_score=mapped.brier_score, meanings=_meanings(bins))


class CrossValidation(NamedTuple):
    """A cross-validated Brier score, and the standard error of its difference from that of the stated confidences."""

    brier_score: float
    standard_error: float


def cross_validate(bins: ConfidenceBins) -> CrossValidation:
    """Score the map on decisions that it was not fitted to.

    Folds are drawn from the counts, because decisions with the same confidence and outcome are interchangeable.
    """
    folds = np.random.default_rng(SEED).multinomial(bins.outcomes, np.full(FOLDS, 1 / FOLDS))
    improvement_sum, improvement_squares, n = 0.0, 0.0, bins.reviewed
    for fold in range(FOLDS):
        test = folds[:, :, fold]
        remaining = bins.outcomes - test
        nonempty = remaining.any(axis=1)
        if nonempty.any():
            training = bin_reviews(bins.confidence[nonempty], remaining[nonempty])
            mapped = np.interp(bins.confidence, training.confidence, fit_isotonic(training.rate, training.n))
            stated_loss, mapped_loss = ((c[:, None] - REVIEWED_VALUES) ** 2 for c in (bins.confidence, mapped))
            improvement = stated_loss - mapped_loss
            improvement_sum += float((test * improvement).sum())
            improvement_squares += float((test * improvement**2).sum())
    mean = improvement_sum / n
    return CrossValidation(brier_score(bins) - mean, sqrt(max(0.0, improvement_squares / n - mean**2) / n))


def _meanings(bins: ConfidenceBins) -> list[ConfidenceMeaning]:
    """Return one row for each level of the curve, the lowest first."""
    fitted = fit_isotonic(bins.rate, bins.n)
    level = np.concatenate([[0], np.cumsum(np.diff(fitted) != 0)])
    rows = []
    for number in range(level[-1] + 1):
        inside = level == number
        n, outcome_sum = int(bins.n[inside].sum()), float(bins.outcome_sum[inside].sum())
        stated = bins.confidence[inside]
        rows.append(
            ConfidenceMeaning(
                low=float(stated[0]),
                high=float(stated[-1]),
                meant=outcome_sum / n,
                interval=wilson_interval(outcome_sum, n),
                reviewed=n,
            )
        )
    return rows
