"""The figures that can be drawn, by name."""

from collections.abc import Mapping

from api.reports.plots import (
    calibration_curve,
    comparison,
    drift,
    evidence,
    groups,
    missing_reviews,
    murphy_diagram,
    recalibration,
    threshold,
    trend,
)
from api.reports.plots.figure_source import Figure

FIGURES: Mapping[str, Figure] = {
    "curve": calibration_curve.FIGURE,
    "murphy": murphy_diagram.FIGURE,
    "evidence": evidence.FIGURE,
    "drift": drift.FIGURE,
    "recalibration": recalibration.FIGURE,
    "missing": missing_reviews.FIGURE,
    "groups": groups.FIGURE,
    "comparison": comparison.FIGURE,
    "threshold": threshold.FIGURE,
    "trend": trend.FIGURE,
}
