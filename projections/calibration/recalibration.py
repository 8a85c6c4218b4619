"""What a stated confidence has meant: the isotonic curve as a map, offered only where it pays.

The map is offered where it lowers the Brier score of decisions it was not fitted to (ten-fold cross-validation), and by
more than one standard error of what it lowers it by: a calibrated agent's curve is all noise, and would be offered as a
map in one of twelve samples.
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
"""Reviews below which no map is drawn."""


class ConfidenceMeaning(msgspec.Struct, frozen=True, kw_only=True):
    """What confidences from `low` to `high` have meant: the mean outcome of the decisions that stated them."""

    low: float
    high: float
    meant: float
    interval: Interval
    reviewed: int


class Recalibration(msgspec.Struct, frozen=True, kw_only=True):
    """A map, and both Brier scores: of the confidences as stated, and as mapped, cross-validated."""

    stated_brier_score: float
    mapped_brier_score: float
    meanings: list[ConfidenceMeaning]


def fit_recalibration(found: ConfidenceBins) -> Recalibration | None:
    """The map of some decisions; None where it does not surely lower the cross-validated Brier score."""
    if found.reviewed < REVIEWS_MIN:
        return None
    stated, tested = brier_score(found), cross_validate(found)
    if stated - tested.brier_score <= tested.standard_error:
        return None
    return Recalibration(stated_brier_score=stated, mapped_brier_score=tested.brier_score, meanings=_meanings(found))


class CrossValidation(NamedTuple):
    """A cross-validated Brier score, and the standard error of its difference from that of what was stated."""

    brier_score: float
    standard_error: float


def cross_validate(found: ConfidenceBins) -> CrossValidation:
    """The score of maps on the decisions they were not fitted to.

    Folds are drawn from the counts, each decision into one of them at random: which it was need not be known.
    """
    folds = np.random.default_rng(SEED).multinomial(found.outcomes, np.full(FOLDS, 1 / FOLDS))
    lowered, squares, n = 0.0, 0.0, found.reviewed
    for fold in range(FOLDS):
        held = folds[:, :, fold]
        known = (found.outcomes - held).sum(axis=1) > 0
        if known.any():
            training = bin_reviews(found.confidence[known], (found.outcomes - held)[known])
            mapped = np.interp(found.confidence, training.confidence, fit_isotonic(training.rate, training.n))
            by = (found.confidence[:, None] - REVIEWED_VALUES) ** 2 - (mapped[:, None] - REVIEWED_VALUES) ** 2
            lowered += float((held * by).sum())
            squares += float((held * by**2).sum())
    return CrossValidation(brier_score(found) - lowered / n, sqrt(max(0.0, squares / n - (lowered / n) ** 2) / n))


def _meanings(found: ConfidenceBins) -> list[ConfidenceMeaning]:
    """One row a level of the curve, the lowest first."""
    fitted = fit_isotonic(found.rate, found.n)
    level = np.concatenate([[0], np.cumsum(np.diff(fitted) != 0)])
    rows = []
    for number in range(level[-1] + 1):
        inside = level == number
        n, worth = int(found.n[inside].sum()), float(found.worth[inside].sum())
        stated = found.confidence[inside]
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
