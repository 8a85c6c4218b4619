"""The recalibration map: which confidence to state instead of each stated one, learnt from past decisions.

Every fit counts PRIOR_DECISIONS further decisions that turned out as stated. So a map from few reviews goes only part
of the way, and one from outcomes that are all alike stays finite.

A map is offered only under three conditions. On decisions that it was not fitted to (ten-fold cross-validation,
repeated ten times), it lowers the Brier score by at least GAIN_MIN. The 95% lower bound of that gain is above 0. The
outcomes contradict the stated confidences in the direction of the map (z test at 1%): this matters with few reviews.

Where decisions name clusters, a fold has whole clusters, and the variance of the gain and of the test is that of
clusters, with Student's t for the normal distribution.

It is not offered either if it would raise the Brier score of all decisions that are due where the outcomes of those
without a review turn out against it, as far as is plausible (`gap_evidence.py`).

The standard error of the gain is never below that of an agent whose confidences are true. So outcomes that are all
alike, whose observed standard error is 0, confirm nothing by themselves.
"""

from collections.abc import Callable, Iterator
from math import copysign, inf, sqrt
from typing import NamedTuple

import numpy as np
from msgspec import structs

from projections.arrays import Floats, Ints, RowNumbers
from projections.calibration.confidence_bins import REVIEWED_VALUES, ConfidenceBins, bin_reviews
from projections.calibration.gap_evidence import MissingOutcomes
from projections.calibration.map_families import EXTREME, REVIEWS_MIN, Fit, fit_family
from projections.calibration.named_clusters import ClusterPart
from projections.calibration.scores import brier_score
from projections.query_check import Check, no_check
from projections.stats.clustered_mean import INDEPENDENT
from projections.stats.intervals import wilson_interval
from tallystick.shapes.recalibration import ConfidenceMeaning, MapFamily, Recalibration

FOLDS = 10
REPEATS = 10

SEED = 20210

PRIOR_DECISIONS = 100
"""Every fit counts this many further decisions, with confidences like the reviewed ones, that turned out as stated."""

GAIN_MIN = 0.002
"""A map that lowers the Brier score by less is not offered."""

BOUND_ERROR = 0.05
"""The lower bound of a gain is above the gain of new decisions with at most this probability."""

CONTRADICTION_ERROR = 0.01
"""The outcomes of an agent whose confidences are true contradict them with at most this probability."""

CONFIDENCES_MAX = 1_000
"""Most confidences that a fit distinguishes. If there are more, neighbours are merged into groups of equal size."""

ROWS_MAX, ROW_REVIEWS_MIN = 20, 10
"""A row of the map has at least ROW_REVIEWS_MIN reviews and about one in ROWS_MAX of all."""


class FittedMap(NamedTuple):
    """A map: ascending confidences and the mapped ones, with the gain over a reference.

    `refitted` has the mapped confidences of each fold, fitted without its decisions.
    """

    family: MapFamily
    confidence: Floats
    mapped: Floats
    refitted: Floats
    gain: "Gain"

    def at(self, confidence: Floats) -> Floats:
        """Return the mapped confidences, interpolated between those that the map was fitted to."""
        return np.asarray(np.interp(confidence, self.confidence, self.mapped))


class Gain(NamedTuple):
    """How much the Brier score falls on decisions that a map was not fitted to, with the standard error.

    `contradiction` is the z test of the forecasts before: how far the outcomes are on the map's side of them.
    `quantile` returns the normal quantile with a tail, or Student's where decisions name clusters.
    """

    mean: float
    standard_error: float
    contradiction: float
    quantile: Callable[[float], float] = INDEPENDENT.quantile


class Folds(NamedTuple):
    """Reviewed decisions split into folds, several times over.

    `test` has the counts of the decisions left out: by fold, confidence and outcome. `successes` and `failures`, by
    fold and confidence, are the sums over the decisions that remain.
    """

    test: Ints
    successes: Floats
    failures: Floats


def describe_map(bins: ConfidenceBins, found: FittedMap, named: ClusterPart | None = None) -> Recalibration:
    """Return a map fitted to some decisions as it is published."""
    stated = brier_score(bins)
    return Recalibration(
        stated_brier_score=stated,
        mapped_brier_score=stated - found.gain.mean,
        meanings=tuple(_meanings(bins, found.at(bins.confidence), named)),
        family=found.family,
        reviewed=bins.reviewed,
        gain=found.gain.mean,
        gain_lower_bound=lower_bound(found.gain),
    )


def lower_bound(gain: Gain, examined: int = 1) -> float:
    """Return the 95% lower bound of a gain: one-sided, and for all of `examined` gains together (Bonferroni)."""
    return gain.mean - gain.quantile(BOUND_ERROR / examined) * gain.standard_error


def fit_map(
    bins: ConfidenceBins,
    reference: FittedMap | None = None,
    examined: int = 1,
    check: Check = no_check,
    named: ClusterPart | None = None,
) -> FittedMap | None:
    """Return the map to offer for some decisions, or None if none surely improves on the reference.

    The reference is another map, or the stated confidences. The map is fitted to its forecasts, so that few reviews
    change little of it. Of the families for which there are enough reviews, it is the one with the largest gain.
    `examined` is the number of sets of decisions for which a map is sought: the levels hold for all together. `named`
    are the named clusters.
    """
    if bins.reviewed < REVIEWS_MIN["logit_shift"]:
        return None
    bins, named = merge_neighbours(bins, named)
    forecast = bins.confidence if reference is None else reference.at(bins.confidence)
    folds: Folds | None = None
    best: FittedMap | None = None
    for family, fit in fit_families(bins, forecast):
        mapped = fit.mapped[0]
        if brier_score(bins, forecast) - brier_score(bins, mapped) < GAIN_MIN:
            continue  # what a map gains on new decisions is less than on those that it was fitted to
        folds = split(bins, named) if folds is None else folds
        refitted = _fit_with_prior(family, bins, forecast, folds.successes, folds.failures, fit).mapped
        check()
        gain = measure_gain(bins, folds, np.broadcast_to(forecast, refitted.shape), refitted, forecast, named)
        check()
        if best is None or gain.mean > best.gain.mean:
            best = FittedMap(family, bins.confidence, mapped, refitted, gain)
    return None if best is None or not is_offered(best.gain, examined) else best


def holds_for_missing(
    found: FittedMap, bins: ConfidenceBins, missing: MissingOutcomes, reference: FittedMap | None = None
) -> bool:
    """Tell whether a map lowers the Brier score of all decisions even if missing outcomes turn out against it."""
    before = missing.confidence if reference is None else reference.at(missing.confidence)
    after = found.at(missing.confidence)
    rate, lowered = wilson_interval(bins.outcome_total, bins.reviewed), after < before
    against = (missing.overdue, np.where(lowered, rate.high, rate.low)), (missing.open, lowered.astype(np.float64))
    gained = sum(float(n @ (before**2 - after**2 - 2 * good * (before - after))) for n, good in against)
    return found.gain.mean * bins.reviewed + gained > 0


def fit_families(bins: ConfidenceBins, forecast: Floats) -> Iterator[tuple[MapFamily, Fit]]:
    """Fit each family for which there are enough reviews to all of them, the simplest first."""
    for family, reviews_min in REVIEWS_MIN.items():
        if bins.reviewed < reviews_min:
            break
        yield family, _fit_with_prior(family, bins, forecast, bins.outcome_sum[None], (bins.n - bins.outcome_sum)[None])


def is_offered(gain: Gain, examined: int = 1) -> bool:
    """Tell whether a map with this gain is offered, as one of `examined`."""
    return (
        gain.mean >= GAIN_MIN
        and lower_bound(gain, examined) > 0
        and gain.contradiction > gain.quantile(CONTRADICTION_ERROR / examined)
    )


def split(bins: ConfidenceBins, named: ClusterPart | None = None) -> Folds:
    """Draw the folds from the counts, because decisions with the same confidence and outcome are interchangeable.

    A named cluster is drawn as a whole. The arguments are those that `merge_neighbours` returns.
    """
    rng, shape = np.random.default_rng(SEED), bins.outcomes.shape
    cell = np.zeros(0, np.intp) if named is None else np.ravel_multi_index(_cells(bins, named), shape)
    n = np.zeros(0) if named is None else named.n
    alone = bins.outcomes - np.bincount(cell, n, bins.outcomes.size).astype(np.int64).reshape(shape)
    drawn = rng.multinomial(alone, np.full(FOLDS, 1 / FOLDS), size=(REPEATS, *shape))
    test = np.moveaxis(drawn, -1, 1).reshape(-1, *shape)
    if named is not None:
        for folds in test.reshape(REPEATS, -1):
            fold = rng.integers(0, FOLDS, len(named.sizes))[named.cluster]
            drawn_n = np.bincount(fold * alone.size + cell, n, len(folds))
            np.add(folds, drawn_n.astype(folds.dtype), out=folds)
    remaining = (bins.outcomes - test).astype(np.float64)
    successes = remaining @ REVIEWED_VALUES
    return Folds(test, successes, remaining.sum(axis=2) - successes)


def _cells(bins: ConfidenceBins, named: ClusterPart) -> tuple[RowNumbers, RowNumbers]:
    """Return the row and the column in `bins.outcomes` of each review of a named cluster."""
    return np.searchsorted(bins.confidence, named.confidence), (2 - 2 * named.outcome).astype(np.intp)


def measure_gain(
    bins: ConfidenceBins,
    folds: Folds,
    before: Floats,
    after: Floats,
    forecast: Floats,
    named: ClusterPart | None = None,
) -> Gain:
    """Return how much lower the Brier score is with one set of forecasts than with another, on the decisions left out.

    `before` and `after` have a row for each fold and a column for each confidence. The gains of single decisions are
    averaged over the repetitions first. Their variance is the observed one, or, if that is larger, the one under
    outcomes drawn with the probabilities `forecast`; each allows for named clusters.
    """
    each = (before - after)[:, :, None] * ((before + after)[:, :, None] - 2 * REVIEWED_VALUES)
    by_cell = (folds.test * each).sum(axis=0) / REPEATS
    n = bins.reviewed
    mean = float(by_cell.sum()) / n
    average = np.divide(by_cell, bins.outcomes, out=np.zeros_like(by_cell), where=bins.outcomes > 0)
    observed = float((bins.outcomes * (average - mean) ** 2).sum())
    step = 2 * (before - after).mean(axis=0)
    expected = float((bins.n * step**2 * forecast * (1 - forecast)).sum())
    tested = INDEPENDENT
    if named is not None:
        row, column = _cells(bins, named)
        observed *= named.design_effect((average - mean)[row, column], observed, n).ratio
        each = step[row] * (named.outcome - forecast[row])
        tested = named.design_effect(each, expected, n, step[row] ** 2 * forecast[row] * (1 - forecast[row]))
        expected *= tested.ratio
    observed, expected = observed / n, expected / n
    product = mean + float((folds.test.sum(axis=2) * (before - after) ** 2).sum()) / REPEATS / n
    contradiction = product * sqrt(n / expected) if expected > 0 else copysign(inf, product)
    return Gain(mean, sqrt(max(observed, expected) / n), contradiction, tested.quantile)


def _fit_with_prior(
    family: MapFamily,
    bins: ConfidenceBins,
    forecast: Floats,
    successes: Floats,
    failures: Floats,
    near: Fit | None = None,
) -> Fit:
    prior, probability = PRIOR_DECISIONS * bins.n / bins.reviewed, np.clip(forecast, EXTREME, 1 - EXTREME)
    return fit_family(family, forecast, successes + prior * probability, failures + prior * (1 - probability), near)


def merge_neighbours(
    bins: ConfidenceBins, named: ClusterPart | None = None
) -> tuple[ConfidenceBins, ClusterPart | None]:
    """Return the bins, with neighbours merged down to CONFIDENCES_MAX, and named clusters with their confidences.

    With named clusters, which do not tell them apart, abandoned decisions become failures.
    """
    if named is not None:
        success, partial, failure, abandoned = bins.outcomes.T
        outcomes = np.stack([success, partial, failure + abandoned, np.zeros_like(failure)], axis=1)
        bins = bins._replace(outcomes=outcomes)
    if len(bins.n) <= CONFIDENCES_MAX:
        return bins, named
    middle = np.cumsum(bins.n) - bins.n / 2
    group = (middle / bins.reviewed * CONFIDENCES_MAX).astype(np.intp)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    confidence = np.add.reduceat(bins.n * bins.confidence, starts) / np.add.reduceat(bins.n, starts)
    if named is not None:
        row = np.searchsorted(bins.confidence, named.confidence)
        named = structs.replace(named, confidence=confidence[np.searchsorted(starts, row, side="right") - 1])
    return bin_reviews(confidence, np.add.reduceat(bins.outcomes, starts, axis=0)), named


def _meanings(bins: ConfidenceBins, mapped: Floats, named: ClusterPart | None) -> Iterator[ConfidenceMeaning]:
    """Yield the rows of the map, the lowest confidence first."""
    enough = max(ROW_REVIEWS_MIN, bins.reviewed / ROWS_MAX)
    starts, inside, rest = [0], 0.0, float(bins.reviewed)
    for place, n in enumerate(bins.n.tolist()):
        if inside >= enough and rest >= enough:
            starts, inside = [*starts, place], 0.0
        inside, rest = inside + n, rest - n
    for start, end in zip(starts, [*starts[1:], len(bins.n)], strict=True):
        n, outcome_sum = int(bins.n[start:end].sum()), float(bins.outcome_sum[start:end].sum())
        low, high, alike = float(bins.confidence[start]), float(bins.confidence[end - 1]), 1.0
        if named is not None:
            square = float((bins.outcomes[start:end] * (REVIEWED_VALUES - outcome_sum / n) ** 2).sum())
            part = named.within(low, high)
            alike = part.design_effect(part.outcome - outcome_sum / n, square, n).ratio
        yield ConfidenceMeaning(
            low=low,
            high=high,
            meant=outcome_sum / n,
            interval=wilson_interval(outcome_sum / alike, n / alike),
            reviewed=n,
            mapped=float((bins.n[start:end] * mapped[start:end]).sum()) / n,
        )
