"""Describe skill: what stated confidence adds to knowing the success rate."""

from api.cli.output import format_figure, format_interval
from projections.calibration.figure_text import format_percent
from projections.calibration.scores import TOLERANCE, CalibrationScores


def describe_skill(scores: CalibrationScores) -> str | None:
    """Return a sentence on skill, with its interval; None if too few reviews support one."""
    if "skill" in scores.too_few_for:
        return None
    interval, rate = scores.skill_interval, format_percent(scores.accuracy, 1)
    if scores.skill is None or interval is None:
        return "Skill is not defined, because all outcomes are alike."
    figure = f"Skill {format_figure(scores.skill, '+')} ({format_interval(interval, '+')})"
    if interval.low > TOLERANCE:
        return f"{figure}: better than always stating {rate}."
    if interval.high < -TOLERANCE:
        return f"{figure}: worse than always stating {rate}."
    return f"{figure}: not surely better than always stating {rate}."
