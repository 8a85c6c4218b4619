"""Texts and properties that pytest reports for a score."""

from api.reports.escape import visible
from api.reports.format import points
from api.reports.score_text import score_lines
from events.evaluation import EvalScored
from projections.evaluation.view_types import ScoreRow

_shared = [name for name in ScoreRow.__struct_fields__ if name in EvalScored.__struct_fields__]


def properties(score: EvalScored) -> tuple[tuple[str, str | float], ...]:
    """Return the properties of a test in JUnit XML: scenario, state, points, and the points of each component."""
    named_values: list[tuple[str, str | float]] = [
        ("scenario", score.scenario_id),
        ("state", score.failure or score.state),
    ]
    if score.total_score is not None and score.pass_threshold is not None:
        named_values += [("total_score", score.total_score), ("pass_threshold", score.pass_threshold)]
    named_values += [(part.name, part.score) for part in score.components if part.applicable and part.score is not None]
    return tuple(named_values)


def failure_text(score: EvalScored) -> str:
    """Return the points of an answer that did not pass, with the expected patterns and whether each matched."""
    total = f"{points(score.total_score)} points, {points(score.pass_threshold)} needed"
    return "\n".join((total, *score_lines(_row(score))))


def error_text(score: EvalScored) -> str:
    """Return why an attempt has no score, with the last lines of the agent's output."""
    lines = [f"{score.failure}: {score.detail}", *score_lines(_row(score))]
    return visible("\n".join([*lines, *(["", *score.said.splitlines()] if score.said else [])]))


def _row(score: EvalScored) -> ScoreRow:
    return ScoreRow(position=0, **{name: getattr(score, name) for name in _shared})
