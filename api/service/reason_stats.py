"""The use case of reasons: how decisions turned out by kind of reason."""

from api.service.ledger import View
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.reason_index import ReasonIndex
from projections.calibration.reason_stats import ReasonsView


async def compute_reason_stats(view: View, selection: CalibrationFilter, min_reviewed: int) -> ReasonsView:
    """Compute how decisions turned out by kind of reason."""
    projection, _ = await view.at(ReasonIndex)
    return projection.view(selection, min_reviewed)
