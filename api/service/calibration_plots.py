"""What drawings of calibration need, kept: most parts of the calibration pages ask for the same."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

from api.service.ledger import View
from api.service.view_queries import query_check
from ledger.threads import run_on_thread
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.plot_data import SelectedReviews, build_plot_data
from projections.engine import Engine
from tallystick.shapes.plots import PlotData

PLOTS_MAX = 8
"""Answers that are kept for each ledger: those that were asked for last. One has at most about 200 KB."""


class DrawnDecisions(NamedTuple):
    """Which decisions are drawn: a filter, a model or None, and the position as of which they are.

    `left_out` is the number of events of the log that no view could use.
    """

    filter: CalibrationFilter
    model: str | None
    position: int
    left_out: int


_kept: WeakKeyDictionary[Engine, dict[DrawnDecisions, PlotData]] = WeakKeyDictionary()


async def find_plot_data(view: View, asked: DrawnDecisions, selected: SelectedReviews) -> PlotData:
    """Return what drawings of some decisions need, computed once. `selected` are these decisions."""
    kept = _kept.setdefault(view.engine, {})
    plots = kept.pop(asked, None)
    if plots is None:
        plots = await run_on_thread(build_plot_data, selected, query_check())
    kept[asked] = plots
    for oldest in list(kept)[:-PLOTS_MAX]:
        del kept[oldest]
    return plots
