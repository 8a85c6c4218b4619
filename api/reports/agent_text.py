"""The verdict on an agent and its drift in a few words, for rows of a table."""

from typing import Literal, NamedTuple

from api.reports.escape import one_line
from api.reports.format import gap
from api.reports.history_text import NO_TEST
from api.text_format import pluralize
from tallystick.shapes.calibration import CalibrationGroup, CalibrationScores
from tallystick.shapes.history import Drift

NAME_CHARS_MAX = 80

Tone = Literal["stable", "flaky", "failing", "skipped"]


class VerdictText(NamedTuple):
    """A verdict, the evidence for it, and the tone in which it is shown; `skipped` if the evidence is not enough."""

    verdict: str
    evidence: str
    tone: Tone


def describe_row(row: CalibrationGroup | CalibrationScores | None, reviewed: int, min_decisions: int) -> VerdictText:
    """Say whether an agent is calibrated, and what that rests on."""
    if row is None or row.interpretation is None:
        return VerdictText("too few reviews", f"{reviewed:,} of at least {min_decisions:,}", "skipped")
    verdict = row.interpretation.replace("_", " ")
    if not row.supported:
        return VerdictText(f"looks {verdict}", _missing(row), "skipped")
    tone: Tone = "stable" if row.interpretation == "well_calibrated" else "failing"
    if row.interpretation in {"underconfident", "slightly_underconfident"}:
        tone = "flaky"
    return VerdictText(verdict, "supported, however often one looks", tone)


def _missing(row: CalibrationGroup | CalibrationScores) -> str:
    """Say how much evidence is missing, or why more of it is not what is missing."""
    if row.unsure_because == "missing_reviews":
        return "not sure: decisions without a review could reverse it"
    if row.unsure_because == "each_confidence":
        return "on average, but not at each confidence"
    if not row.reviews_needed or row.reviews_needed_gap is None:
        return "not enough evidence to be sure"
    reviews, true_gap = pluralize(row.reviews_needed, "more review"), gap(row.reviews_needed_gap)
    return f"not sure yet: about {reviews} will do in 4 of 5 cases if the true gap is {true_gap}"


def describe_look(drift: Drift) -> str:
    """Say in one sentence what a look for drift found, with the interval of the date."""
    change = drift.change
    if change is not None:
        before = f"{gap(change.gap_before)} (n={change.reviewed_before:,})"
        after = f"{gap(change.gap_after)} (n={change.reviewed_after:,})"
        return (
            f"The gap changed from {before} to {after} between {change.earliest:%Y-%m-%d} and {change.latest:%Y-%m-%d} "
            f"({change.coverage:.0%} interval), most likely on {change.time:%Y-%m-%d}.{_model_change(drift)}"
        )
    if drift.reviews_needed:
        return f"Too few reviews to look for drift: {drift.reviews_needed:,} more are needed."
    reviews = pluralize(drift.reviewed, "review")
    if drift.reason is not None:
        return f"No test for drift in {reviews}: {NO_TEST[drift.reason]}."
    p = "" if drift.p is None else f" (p = {drift.p:.2g})"
    return f"No drift found in {reviews}{p}."


def _model_change(drift: Drift) -> str:
    """Name the change of a model that may be the reason: the nearest one, if it was within the interval of the date."""
    nearest = drift.models.nearest if drift.models else None
    if not nearest or not nearest.within:
        return ""
    agent, before, after = (one_line(name, NAME_CHARS_MAX) for name in (nearest.agent, nearest.before, nearest.after))
    return f" Within that interval {agent} changed its model from {before} to {after}."
