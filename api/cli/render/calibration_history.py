"""The course of calibration as people read it: windows over time, a change with its date, agents side by side."""

from rich.console import Console

from api.cli.output import chance, figure, span, table
from api.service.calibration import CalibrationAnswer
from api.text import count, many, one_line
from projections.calibration.agent_comparison import AgentComparison, AgentPair
from projections.calibration.change_point import ChangePoint, Drift
from projections.calibration.trend import Trend


def print_course(console: Console, answer: CalibrationAnswer) -> None:
    """What was asked for of trend, drift and comparison."""
    if answer.trend:
        _print_trend(console, answer.trend)
    if answer.drift:
        _print_drift(console, answer.drift)
    if answer.comparison:
        _print_comparison(console, answer.comparison)


def _print_trend(console: Console, trend: Trend) -> None:
    numbers = ("reviewed", "success", "stated", "gap", "its interval", "Brier")
    shown = table("from", "before", *numbers, right=numbers)
    for window in trend.windows:
        shown.add_row(
            f"{window.since:%Y-%m-%d}",
            f"{window.until:%Y-%m-%d}",
            count(window.reviewed),
            figure(window.accuracy),
            figure(window.mean_confidence),
            figure(window.gap, "+"),
            span(window.gap_interval, "+"),
            figure(window.brier_score),
        )
    console.print()
    console.print(shown)


def _print_drift(console: Console, drift: Drift) -> None:
    console.print()
    if drift.change is not None and drift.p is not None:
        console.print(f"Its gap changed (p {chance(drift.p)}): {_changed(drift.change)}.", style="yellow")
    elif drift.reviews_needed:
        console.print(f"Too few reviews to look for drift: {count(drift.reviews_needed)} more are needed.")
    else:
        p = "" if drift.p is None else f" (p {chance(drift.p)})"
        console.print(f"No drift is found in {many(drift.reviewed, 'review')}{p}.")


def _changed(change: ChangePoint) -> str:
    before = f"{figure(change.gap_before, '+')} ({span(change.gap_before_interval, '+')}), n={count(change.index)}"
    after = (
        f"{figure(change.gap_after, '+')} ({span(change.gap_after_interval, '+')}), n={count(change.reviewed_after)}"
    )
    return f"before {change.time:%Y-%m-%d %H:%M} it was {before}; from then on it is {after}"


def _print_comparison(console: Console, compared: AgentComparison) -> None:
    console.print()
    if not compared.pairs:
        console.print("There are no two agents to compare.")
    for pair in compared.pairs:
        one, other = (one_line(name) for name in pair.agents)
        if pair.paired and pair.brier_scores and pair.interval and pair.p is not None:
            first, second = (figure(score) for score in pair.brier_scores)
            console.print(
                f"{one} and {other} on {many(pair.shared, 'shared question')}: Brier {first} and {second}, difference "
                f"{figure(pair.mean_difference, '+')} ({span(pair.interval, '+')}), p {chance(pair.p)}."
            )
        else:
            console.print(f"{one} and {other}: {pair.note}, {count(pair.shared)} shared. {_skills(pair)}")
    if compared.left_out:
        console.print(f"{many(compared.left_out, 'agent')} with fewer reviews left out.")


def _skills(pair: AgentPair) -> str:
    """Skill by category, side by side."""
    said = []
    for common in pair.categories:
        sides = " and ".join(f"{figure(side.skill, '+')} (n={count(side.reviewed)})" for side in common.sides)
        said.append(f"{one_line(common.category) if common.category else '(no category)'} {sides}")
    return f"Skill: {'; '.join(said)}." if said else "No category in common."
