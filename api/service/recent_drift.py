"""Use case of recent drift: whether some agents got worse lately."""

from datetime import datetime

from msgspec import structs

from api.service.ledger import View
from api.service.model_names import MODEL_NAMES, find_model_names, model_resolver
from api.service.view_queries import query_check
from ledger.threads import run_on_thread
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.window_comparison import (
    DriftLimits,
    RecentDrift,
    compare_windows,
    examined_range,
)


async def detect_recent_drift(
    view: View, selection: CalibrationFilter, now: datetime, limits: DriftLimits
) -> RecentDrift:
    """Compare the last 30 days of some decisions with the 90 days before. The filter's own time range is not used."""
    projection, _ = await view.at(Calibration, also=MODEL_NAMES)
    decisions = projection.decisions(structs.replace(selection, range=examined_range(now)))
    resolve = model_resolver(await find_model_names(view))
    history = await run_on_thread(decisions.history, query_check())
    return await run_on_thread(compare_windows, history, now, limits, resolve)
