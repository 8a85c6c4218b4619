"""Print calibration over time: windows, drift with its date, and agents side by side."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console

from api.cli.output import format_figure, format_interval, format_p, make_table
from api.service.calibration import CalibrationAnswer
from api.text_format import format_count, one_line, pluralize
from projections.calibration.agent_comparison import AgentComparison, AgentPair
from projections.calibration.change_point import ChangePoint, Drift, NoTest
from projections.calibration.model_changes import DriftModels, ModelChange, ModelCount
from projections.calibration.trend import Trend
from projections.stats.intervals import Interval

SHOWN_CHANGES_MAX = 3
"""Changes of models that are printed without an alarm: the latest."""


def print_history(console: Console, answer: CalibrationAnswer) -> None:
    """Print those of trend, drift and comparison that the answer has."""
    if answer.trend:
        _print_trend(console, answer.trend)
    if answer.drift:
        _print_drift(console, answer.drift)
    if answer.comparison:
        _print_comparison(console, answer.comparison)


def _print_trend(console: Console, trend: Trend) -> None:
    numbers = ("reviewed", "success", "stated", "gap", "its interval", "Brier")
    table = make_table("from", "before", *numbers, right=numbers, drop=("Brier", "stated", "success"))
    for window in trend.windows:
        table.add_row(
            f"{window.since:%Y-%m-%d}",
            f"{window.until:%Y-%m-%d}",
            format_count(window.reviewed),
            format_figure(window.accuracy),
            format_figure(window.mean_confidence),
            format_figure(window.gap, "+"),
            format_interval(window.gap_interval, "+"),
            format_figure(window.brier_score),
        )
    console.print()
    console.print(table)
    if trend.step_days < trend.days and len(trend.windows) > 1:
        shared = 1 - trend.step_days / trend.days
        console.print(f"Windows overlap: each has {shared:.0%} of its time in common with the next.")


_NO_TEST: Mapping[NoTest, str] = {
    "too few times": "too few reviews have a time that says when the decision was made",
    "all outcomes alike": "all outcomes are alike",
    "no category before and after": "no agent and category has enough reviews both before and after any time",
}


def _print_drift(console: Console, drift: Drift) -> None:
    console.print()
    if drift.change is not None and drift.p is not None:
        console.print(f"Drift: the gap changed (p {format_p(drift.p)}): {_change(drift.change)}.", style="yellow")
        console.print(_interval(drift.change, drift.strata))
    elif drift.reviews_needed:
        console.print(f"Too few reviews to look for drift: {format_count(drift.reviews_needed)} more are needed.")
    elif drift.reason is not None:
        console.print(f"No test for drift in {pluralize(drift.reviewed, 'review')}: {_NO_TEST[drift.reason]}.")
    else:
        p = "" if drift.p is None else f" (p {format_p(drift.p)})"
        console.print(f"No drift found in {pluralize(drift.reviewed, 'review')}{p}.")
    if drift.models:
        for line in _models(drift.models):
            console.print(line)
    if drift.left_out:
        console.print(f"{pluralize(drift.left_out, 'review')} left out: their times do not say when they were made.")


def _change(change: ChangePoint) -> str:
    before = _gap(change.gap_before, change.gap_before_interval, change.index)
    after = _gap(change.gap_after, change.gap_after_interval, change.reviewed_after)
    return f"before {change.time:%Y-%m-%d %H:%M} it was {before}; since then it is {after}"


def _interval(change: ChangePoint, strata: int) -> str:
    earliest, latest = f"{change.earliest:%Y-%m-%d}", f"{change.latest:%Y-%m-%d}"
    dates = f"The change was between {earliest} and {latest} ({change.coverage:.0%} interval)"
    if strata < 2:
        return f"{dates}."
    difference = f"{format_figure(change.shift.amount, '+')} ({format_interval(change.shift.interval, '+')})"
    return f"{dates}. Within {strata} agents and categories the gap changed by {difference}."


def _models(models: DriftModels) -> Iterator[str]:
    """Yield lines about the models before and after a change, and about changes of models."""
    if not models.named:
        yield "Models: the decisions name none."
        return
    if models.before and models.after:
        yield f"Models before: {_counts(models.before)}. Since then: {_counts(models.after)}."
    if models.nearest:
        within = "within the interval of the date" if models.nearest.within else "not within the interval of the date"
        yield f"The nearest change of a model was {within}: {_model_change(models.nearest)}."
        if models.changes_total > 1:
            yield f"{format_count(models.changes_total)} changes of models in all; --json lists them."
    elif models.changes:
        shown = "; ".join(_model_change(change) for change in models.changes[-SHOWN_CHANGES_MAX:])
        latest = ", the latest" if models.changes_total > SHOWN_CHANGES_MAX else ""
        yield f"{pluralize(models.changes_total, 'change')} of models in the examined reviews{latest}: {shown}."
    elif models.before:
        yield "No agent changed its model."


def _counts(counts: Sequence[ModelCount]) -> str:
    return ", ".join(
        f"{'not named' if count.model is None else one_line(count.model)} {format_count(count.reviewed)}"
        for count in counts
    )


def _model_change(change: ModelChange) -> str:
    before, after = one_line(change.before), one_line(change.after)
    return f"{one_line(change.agent)} from {before} to {after}, first used {change.time:%Y-%m-%d %H:%M}"


def _gap(gap: float, interval: Interval | None, reviewed: int) -> str:
    return f"{format_figure(gap, '+')} ({format_interval(interval, '+')}), n={format_count(reviewed)}"


def _print_comparison(console: Console, comparison: AgentComparison) -> None:
    console.print()
    if not comparison.pairs:
        console.print("There are fewer than two agents to compare.")
    compared = sum(pair.p is not None for pair in comparison.pairs)
    for pair in comparison.pairs:
        agents = " and ".join(one_line(name) for name in pair.agents)
        if pair.paired:
            console.print(f"{agents} on {_paired(pair)}.")
            console.print(f"  {_conclusion(pair, compared)}.")
        else:
            console.print(f"{agents}: {pair.note}, {format_count(pair.shared)} shared. {_skills(pair)}")
    if comparison.left_out:
        console.print(f"{pluralize(comparison.left_out, 'agent')} with fewer reviews left out.")


def _paired(pair: AgentPair) -> str:
    clusters = f" in {pluralize(pair.clusters, 'cluster')}" if pair.clusters and pair.clusters < pair.shared else ""
    first, second = (format_figure(score) for score in pair.brier_scores or (None, None))
    interval = "" if pair.interval is None else f" ({format_interval(pair.interval, '+')})"
    p = "" if pair.p is None else f", p {format_p(pair.p)}"
    return (
        f"{pluralize(pair.shared, 'shared question')}{clusters}: Brier {first} and {second}, difference "
        f"{format_figure(pair.mean_difference, '+')}{interval}{p}"
    )


def _conclusion(pair: AgentPair, compared: int) -> str:
    """Say which agent is better, with a question mark if the data cannot confirm it among the `compared` pairs."""
    if not pair.mean_difference:
        text = "Neither is better"
    else:
        better = one_line(pair.agents[0] if pair.mean_difference < 0 else pair.agents[1])
        text = f"{better} is better{'' if pair.supported else '?'}"
    if compared > 1 and pair.adjusted_p is not None:
        text += f" (adjusted for {compared} pairs, p {format_p(pair.adjusted_p)})"
    return f"{text}; {pair.note}" if pair.note else text


def _skills(pair: AgentPair) -> str:
    """Return the skill of both agents in each category that they share."""
    texts = []
    for category in pair.categories:
        sides = " and ".join(
            f"{format_figure(side.skill, '+')} (n={format_count(side.reviewed)})" for side in category.sides
        )
        texts.append(f"{one_line(category.category) if category.category else '(no category)'} {sides}")
    return f"Skill: {'; '.join(texts)}." if texts else "No category in common."
