"""The figures that can be drawn, by name, and what each needs of an answer."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from api.reports.plots import (
    calibration_curve,
    comparison,
    drift,
    evidence,
    groups,
    missing_reviews,
    murphy_diagram,
    recalibration,
    tables,
    threshold,
    trend,
)
from api.reports.plots.figure_source import FigureSource
from api.reports.plots.figure_table import FigureTable
from projections.calibration.words import HistoryPart


class Figure(NamedTuple):
    """How to draw a figure, its title, how to read it, its numbers, and the parts of an answer that it needs.

    Drawing raises FigureMissing if the answer has no such figure.
    """

    draw: Callable[[FigureSource], str]
    title: str
    reading: str
    tabulate: Callable[[FigureSource], FigureTable]
    curves: bool = False
    include: tuple[HistoryPart, ...] = ()


FIGURES: Mapping[str, Figure] = {
    "curve": Figure(
        calibration_curve.draw_calibration_curve,
        "Reliability curve",
        calibration_curve.READING,
        tables.tabulate_curve,
        curves=True,
    ),
    "murphy": Figure(
        murphy_diagram.draw_murphy_diagram,
        "Murphy diagram",
        murphy_diagram.READING,
        tables.tabulate_murphy,
        curves=True,
    ),
    "evidence": Figure(
        evidence.draw_evidence,
        "Evidence, review by review",
        evidence.READING,
        tables.tabulate_evidence,
        include=("plots",),
    ),
    "drift": Figure(
        drift.draw_drift,
        "Outcome minus confidence, added up",
        drift.READING,
        tables.tabulate_drift,
        include=("drift", "plots"),
    ),
    "recalibration": Figure(
        recalibration.draw_recalibration,
        "Recalibration map",
        recalibration.READING,
        tables.tabulate_recalibration,
        curves=True,
    ),
    "missing": Figure(
        missing_reviews.draw_missing_reviews,
        "Reviewed beside unreviewed",
        missing_reviews.READING,
        tables.tabulate_missing_reviews,
        include=("plots",),
    ),
    "groups": Figure(groups.draw_groups, "Groups side by side", groups.READING, tables.tabulate_groups),
    "comparison": Figure(
        comparison.draw_comparison,
        "Pairs on shared questions",
        comparison.READING,
        tables.tabulate_comparison,
        include=("comparison",),
    ),
    "threshold": Figure(
        threshold.draw_threshold,
        "Net benefit at every threshold",
        threshold.READING,
        tables.tabulate_threshold,
        include=("plots",),
    ),
    "trend": Figure(trend.draw_trend, "Trend", trend.READING, tables.tabulate_trend, include=("trend",)),
}
