"""Calibration within an evaluation: the confidences that answers state, and whether the answers passed."""

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats
from projections.evaluation.aggregation import FAILED, PASSED
from projections.evaluation.view_types import StatedConfidence
from projections.stats.clustered_mean import clustered_mean


def measure_stated(
    confidence: Floats, outcome: npt.NDArray[np.uint8], scenario: npt.NDArray[np.integer]
) -> StatedConfidence | None:
    """Compare the stated confidences of scored answers with their results; None if no scored answer states one.

    Shapes: one entry per score; confidence 0..1, NaN where the answer states none.
    The clusters of the interval are the scenarios.
    """
    rows = ~np.isnan(confidence) & ((outcome == PASSED) | (outcome == FAILED))
    if not rows.any():
        return None
    c, passed = confidence[rows], (outcome[rows] == PASSED).astype(np.float64)
    difference = passed - c
    gap = float(difference.mean())
    return StatedConfidence(
        n=len(c),
        mean_confidence=float(c.mean()),
        pass_rate=float(passed.mean()),
        gap=gap,
        brier_score=float((difference**2).mean()),
        gap_interval=None if len(c) == 1 else clustered_mean(difference, scenario[rows], -1.0, 1.0).interval,
    )
