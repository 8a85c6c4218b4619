"""What the figures of calibration are drawn from: an answer, and the name of its decisions."""

from collections.abc import Mapping

from api.reports.plots.figure_source import FigureSource
from tallystick.shapes.calibration import CalibrationAnswer


def figure_source(answer: CalibrationAnswer, parameters: Mapping[str, str]) -> FigureSource:
    """Return what figures of an answer are drawn from. `parameters` are those of its query."""
    group_by = parameters.get("group_by", "confidence_bucket")
    return FigureSource(answer, describe_selection(parameters), group_by)


def describe_selection(parameters: Mapping[str, str]) -> str:
    """Return the name of the selected decisions: the agent and the filters."""
    filters = [parameters[name] for name in ("model", "category", "stakes", "project", "feature") if name in parameters]
    return ", ".join([parameters.get("agent", "All agents"), *filters])
