"""The recalibration map: what a stated confidence has meant so far, as an isotonic curve.

The map is offered only if it lowers the Brier score of decisions that it was not fitted to (ten-fold cross-validation)
by more than one standard error of that improvement. The curve of a calibrated agent is only noise, and without the
standard error it would be offered in one of twelve samples.
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
    """What confidences from `low` to `high` have meant: the mean outcome of the decisions with these confidences."""

    low: float
    high: float
    meant: float
    interval: Interval
    reviewed: int


class Recalibration(msgspec.Struct, frozen=True, kw_only=True):
    """A map, and the Brier scores of the confidences as stated and as mapped (cross-validated)."""

    stated_brier_score: float
    mapped_brier_score: float
    meanings: list[ConfidenceMeaning]


def fit_recalibration(bins: ConfidenceBins) -> Recalibration | None:
    """Return the map of some decisions, or None if it does not clearly lower the cross-validated Brier score."""
    if bins.reviewed < REVIEWS_MIN:
        return None
    stated, tested = brier_score(bins), cross_validate(bins)
    if stated - tested.brier_score <= tested.standard_error:
        return None
    return Recalibration(stated_brier_score=stated, mapped_brier_score=tested.brier_score, meanings=_meanings(bins))


class CrossValidation(NamedTuple):
    """A cross-validated Brier score, and the standard error of its difference from the stated one."""

    brier_score: float
    standard_error: float


def cross_validate(bins: ConfidenceBins) -> CrossValidation:
    """Score the map on decisions that it was not fitted to.

    Folds are drawn from the counts: each decision goes to a random fold, and which one it was does not matter.
    """
    folds = np.random.default_rng(SEED).multinomial(bins.outcomes, np.full(FOLDS, 1 / FOLDS))
    lowered, squares, n = 0.0, 0.0, bins.reviewed
    for fold in range(FOLDS):
        test = folds[:, :, fold]
        known = (bins.outcomes - test).sum(axis=1) > 0
        if known.any():
            training = bin_reviews(bins.confidence[known], (bins.outcomes - test)[known])
            mapped = np.interp(bins.confidence, training.confidence, fit_isotonic(training.rate, training.n))
            by = (bins.confidence[:, None] - REVIEWED_VALUES) ** 2 - (mapped[:, None] - REVIEWED_VALUES) ** 2
            lowered += float((test * by).sum())
            squares += float((test * by**2).sum())
    return CrossValidation(brier_score(bins) - lowered / n, sqrt(max(0.0, squares / n - (lowered / n) ** 2) / n))


def _meanings(bins: ConfidenceBins) -> list[ConfidenceMeaning]:
    """Return one row for each level of the curve, the lowest first."""
    fitted = fit_isotonic(bins.rate, bins.n)
    level = np.concatenate([[0], np.cumsum(np.diff(fitted) != 0)])
    rows = []
    for number in range(level[-1] + 1):
        inside = level == number
        n, worth = int(bins.n[inside].sum()), float(bins.worth[inside].sum())
        stated = bins.confidence[inside]
        rows.append(
            ConfidenceMeaning(
                low=float(stated[0]),
                high=float(stated[-1]),
                meant=worth / n,
                interval=wilson_interval(worth, n),
                reviewed=n,
            )
        )
    return rows
