"""The map that some decisions are offered."""

from projections.calibration.confidence_bins import ConfidenceBins
from projections.calibration.named_clusters import ClusterPart
from projections.calibration.recalibration import describe_map, fit_map
from tallystick.shapes.recalibration import Recalibration


def fit_recalibration(bins: ConfidenceBins, named: ClusterPart | None = None) -> Recalibration | None:
    """The map of some decisions, or None if it does not surely lower the Brier score of new ones."""
    found = fit_map(bins, named=named)
    return None if found is None else describe_map(bins, found, named)
