"""The figures that can be drawn, by name, and what each needs of an answer."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from api.reports.plots.calibration_curve import draw_calibration_curve
from api.reports.plots.comparison import draw_comparison
from api.reports.plots.drift import draw_drift
from api.reports.plots.evidence import draw_evidence
from api.reports.plots.figure_source import FigureSource
from api.reports.plots.groups import draw_groups
from api.reports.plots.missing_reviews import draw_missing_reviews
from api.reports.plots.murphy_diagram import draw_murphy_diagram
from api.reports.plots.recalibration import draw_recalibration
from api.reports.plots.threshold import draw_threshold
from projections.calibration.history_view import HistoryPart


class Figure(NamedTuple):
    """How to draw a figure, and the parts of an answer that it needs. Drawing raises FigureMissing if it has none."""

    draw: Callable[[FigureSource], str]
    curves: bool = False
    include: tuple[HistoryPart, ...] = ()


FIGURES: Mapping[str, Figure] = {
    "curve": Figure(draw_calibration_curve, curves=True),
    "murphy": Figure(draw_murphy_diagram, curves=True),
    "evidence": Figure(draw_evidence, include=("plots",)),
    "drift": Figure(draw_drift, include=("drift", "plots")),
    "recalibration": Figure(draw_recalibration, curves=True),
    "missing": Figure(draw_missing_reviews, include=("plots",)),
    "groups": Figure(draw_groups),
    "comparison": Figure(draw_comparison, include=("comparison",)),
    "threshold": Figure(draw_threshold, include=("plots",)),
}
