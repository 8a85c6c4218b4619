"""AUC: how often a decision that turned out better had the higher stated confidence.

Of all pairs of decisions with different outcomes, it is the share in which the better outcome had the higher
confidence; equal confidences count half. Without partial outcomes it is the area under the ROC curve. 0.5 is chance.

The interval is the jackknife's, which treats ties and partial outcomes as they are. It is computed on the logit scale,
so that it stays within 0 and 1. If every pair agrees, or every pair disagrees, the jackknife's variance is 0; then, and
wherever it is the wider one, Newcombe's interval is used (2006, Statistics in Medicine 25:559, method 5). In clusters,
the jackknife's values are summed by cluster (Obuchowski, Biometrics 1997).
"""

from collections.abc import Callable
from math import exp, inf, log, sqrt

import numpy as np

from projections.arrays import Floats
from projections.stats.clustered_mean import INDEPENDENT, DesignEffect
from projections.stats.intervals import CONFIDENCE_LEVEL
from tallystick.shapes.confidence_use import Concordance
from tallystick.shapes.parts import Interval

EffectOf = Callable[[Floats], DesignEffect]
"""Returns the design effect of a sum over decisions, given a value for each confidence and outcome; their sum is 0."""


def measure_concordance(counts: Floats, effect_of: EffectOf = lambda _: INDEPENDENT) -> Concordance | None:
    """Return the AUC, or None if all outcomes are alike.

    `counts` has a row for each distinct confidence, ascending, and columns for outcomes, from the worst to the best.
    `effect_of` allows for clusters.
    """
    column = counts.sum(axis=0)
    better, worse = _above(column), _below(column)
    pairs = float(column @ worse)
    if pairs == 0:
        return None
    lower = np.cumsum(counts, axis=0) - counts  # with a lower confidence, by outcome
    higher = column - lower - counts
    # For a decision of each cell: the pairs it is in that agree, ties half.
    agree = _below_each(lower + counts / 2) + _above_each(higher + counts / 2)
    agreeing = float((counts * _below_each(lower + counts / 2)).sum())
    auc = agreeing / pairs
    n = float(column.sum())
    left = pairs - (better + worse)
    usable = (counts > 0) & (left > 0)[np.newaxis, :]
    without = np.where(usable, (agreeing - agree) / np.where(left > 0, left, 1), auc)
    centre = float((counts * without).sum()) / n
    variance = (n - 1) / n * float((counts * (without - centre) ** 2).sum())
    effect = effect_of(without - centre)
    known = effect.known and len(counts) > 1
    return Concordance(
        auc=auc, interval=_interval(auc, variance, column, effect) if known else None, pairs=round(pairs)
    )


def _below(column: Floats) -> Floats:
    """Return the numbers of worse outcomes than each."""
    return np.cumsum(column) - column


def _above(column: Floats) -> Floats:
    """Return the numbers of better outcomes than each."""
    return np.asarray(column.sum() - np.cumsum(column))


def _below_each(rows: Floats) -> Floats:
    return np.cumsum(rows, axis=1) - rows


def _above_each(rows: Floats) -> Floats:
    return np.asarray(rows.sum(axis=1, keepdims=True) - np.cumsum(rows, axis=1))


def _interval(auc: float, variance: float, column: Floats, effect: DesignEffect) -> Interval:
    """Return the wider of the jackknife's interval on the logit scale and Newcombe's."""
    quantile = effect.quantile((1 - CONFIDENCE_LEVEL) / 2)
    newcombe = _newcombe(auc, column / effect.ratio, quantile)
    if not 0 < auc < 1 or variance <= 0:
        return newcombe
    middle, half = log(auc / (1 - auc)), quantile * sqrt(variance * effect.ratio) / (auc * (1 - auc))
    low, high = (1 / (1 + exp(-value)) if value > -700 else 0.0 for value in (middle - half, middle + half))
    return Interval(min(low, newcombe.low), max(high, newcombe.high))


def _newcombe(auc: float, column: Floats, quantile: float) -> Interval:
    """Return the AUCs that are as far from the observed one as their own standard error times a quantile."""
    n = float(column.sum())
    # With partial outcomes, the two groups with as many pairs.
    pairs = float(column @ _below(column))
    first = (n + sqrt(max(0.0, n * n - 4 * pairs))) / 2
    second = pairs / first

    def distance(value: float) -> float:
        extra = max(0.0, n / 2 - 1) * ((1 - value) / (2 - value) + value / (1 + value))
        error = sqrt(value * (1 - value) * (1 + extra) / (first * second))
        return inf if error == 0 and value != auc else abs(value - auc) / error if error else 0.0

    def end(outer: float) -> float:
        inner = auc
        for _ in range(60):
            middle = (inner + outer) / 2
            if distance(middle) <= quantile:
                inner = middle
            else:
                outer = middle
        return inner

    return Interval(end(0.0), end(1.0))
