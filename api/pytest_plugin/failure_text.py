"""Scores and refusals in the words of a pytest session."""

import os

from api.reports.escape import visible
from api.reports.format import points
from api.reports.score_text import score_lines
from events.errors import TallystickError
from events.evaluation import EvalScored
from projections.evaluation.view_types import ScoreRow

_shared = [name for name in ScoreRow.__struct_fields__ if name in EvalScored.__struct_fields__]


def properties(score: EvalScored) -> tuple[tuple[str, str | float], ...]:
    """The properties of a test in JUnit: scenario, state, points, and the points of each component."""
    found: list[tuple[str, str | float]] = [
        ("scenario", score.scenario_id),
        ("state", score.failure or score.state),
    ]
    if score.total_score is not None and score.pass_threshold is not None:
        found += [("total_score", score.total_score), ("pass_threshold", score.pass_threshold)]
    found += [(part.name, part.score) for part in score.components if part.applicable and part.score is not None]
    return tuple(found)


def failure_text(score: EvalScored) -> str:
    """The points of an answer that did not pass, and what was found of what was expected."""
    total = f"{points(score.total_score)} points, {points(score.pass_threshold)} needed"
    return "\n".join((total, *score_lines(_row(score))))


def error_text(score: EvalScored) -> str:
    """Why there is no score, with the last lines that the agent wrote."""
    lines = [f"{score.failure}: {score.detail}", *score_lines(_row(score))]
    return visible("\n".join([*lines, *(["", *score.said.splitlines()] if score.said else [])]))


def usage_text(error: TallystickError, folder: str) -> str:
    """A refusal that names options as pytest knows them, and paths below the session's folder relative to it."""
    field, detail = str(getattr(error, "field", "")), error.detail
    if field and detail.startswith(f"{field}:"):
        detail = f"--tallystick-{field.replace('_', '-')}{detail[len(field) :]}"
    text = f"{detail} {error.advice}".replace(f"{folder}{os.sep}", "")
    return text.replace(" --agent", " --tallystick-agent").rstrip()


def _row(score: EvalScored) -> ScoreRow:
    return ScoreRow(position=0, **{name: getattr(score, name) for name in _shared})
