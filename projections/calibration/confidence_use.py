"""What stated confidences are good for: acting above a threshold, ranking decisions, and losses at every threshold."""

from typing import TypedDict

import numpy as np

from projections.arrays import Floats
from projections.calibration.confidence_bins import REVIEWED_VALUES, ConfidenceBins
from projections.calibration.named_clusters import ClusterPart
from projections.stats.clustered_mean import DesignEffect
from projections.stats.concordance import measure_concordance
from projections.stats.elementary_score import THRESHOLDS, elementary_score_intervals, mean_elementary_scores
from projections.stats.isotonic_fit import fit_isotonic
from projections.stats.net_benefit import OutcomeSums, use_threshold
from tallystick.shapes.confidence_use import Concordance, MurphyPoint, ThresholdUse

_TOLERANCE = 1e-9
"""A confidence this little below a threshold reaches it."""


class UseFields(TypedDict, total=False):
    """The fields of `ConfidenceUse` that are present."""

    threshold: ThresholdUse
    auc: Concordance | None
    murphy: tuple[MurphyPoint, ...]


def score_use(
    bins: ConfidenceBins,
    threshold: float | None,
    *,
    curves: bool,
    effective_reviews: float | None = None,
    named: ClusterPart | None = None,
) -> UseFields:
    """Return the fields of `ConfidenceUse` that the caller asked for, of at least one reviewed decision.

    `effective_reviews` is how many independent reviews contain as much evidence; None: all are independent. `named`
    are the named clusters.
    """
    fields = UseFields()
    if threshold is not None:
        fields["threshold"] = act_above(bins, threshold)
    if curves:
        fields |= {"auc": rank_outcomes(bins, named), "murphy": tuple(draw_murphy(bins, effective_reviews))}
    return fields


def act_above(bins: ConfidenceBins, threshold: float) -> ThresholdUse:
    """Compute what acting only on at least one decision above a threshold (0 to below 1) would have come to."""
    above = bins.confidence >= threshold - _TOLERANCE
    acted, left = (
        OutcomeSums(float(bins.outcome_sum[part].sum()), float(bins.n[part].sum())) for part in (above, ~above)
    )
    return use_threshold(threshold, acted, left)


def rank_outcomes(bins: ConfidenceBins, named: ClusterPart | None = None) -> Concordance | None:
    """Return how well stated confidences rank decisions by outcome (AUC); None if all outcomes are alike."""
    counts = bins.value_counts
    if named is None:
        return measure_concordance(counts)

    def effect_of(values: Floats) -> DesignEffect:
        each = values[np.searchsorted(bins.confidence, named.confidence), (2 * named.outcome).astype(np.intp)]
        return named.design_effect(each, float((counts * values**2).sum()), bins.reviewed)

    return measure_concordance(counts, effect_of)


def draw_murphy(bins: ConfidenceBins, effective_reviews: float | None = None) -> list[MurphyPoint]:
    """Return the Murphy diagram of the stated confidences, of their recalibration, and of the mean outcome."""
    counts, values = bins.value_counts, np.unique(REVIEWED_VALUES)
    recalibrated = fit_isotonic(bins.rate, bins.n)
    mean = np.array([bins.outcome_total / bins.reviewed])
    scores = [
        mean_elementary_scores(bins.confidence, counts, values),
        mean_elementary_scores(recalibrated, counts, values),
        mean_elementary_scores(mean, counts.sum(axis=0, keepdims=True), values),
    ]
    share = 1.0 if effective_reviews is None else effective_reviews / bins.reviewed
    return [
        MurphyPoint(
            threshold=threshold,
            stated=stated,
            recalibrated=best,
            base_rate=constant,
            stated_interval=found.score,
            difference=found.difference,
            difference_interval=found.difference_interval,
        )
        for threshold, stated, best, constant, found in zip(
            THRESHOLDS.tolist(),
            *(column.tolist() for column in scores),
            elementary_score_intervals(bins.confidence, share * counts, values),
            strict=True,
        )
    ]
