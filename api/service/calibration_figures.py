"""What the figures of calibration are drawn from: an answer, and the name of its decisions."""

from collections.abc import Mapping

from api.reports.plots.figure_source import FigureSource
from api.service.calibration import CalibrationAnswer
from projections.calibration.history_view import CalibrationHistory


def figure_source(answer: CalibrationAnswer, parameters: Mapping[str, str]) -> FigureSource:
    """Return what figures of an answer are drawn from. `parameters` are those of its query."""
    history = CalibrationHistory(
        trend=answer.trend, drift=answer.drift, comparison=answer.comparison, plots=answer.plots
    )
    group_by = parameters.get("group_by", "confidence_bucket")
    return FigureSource(answer, history, describe_selection(parameters), answer.as_of.position, group_by)


def describe_selection(parameters: Mapping[str, str]) -> str:
    """Return the name of the selected decisions: the agent and the filters."""
    filters = [parameters[name] for name in ("model", "category", "stakes", "project", "feature") if name in parameters]
    return ", ".join([parameters.get("agent", "All agents"), *filters])
