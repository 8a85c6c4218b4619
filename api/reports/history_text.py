"""Drift and the comparison of agents in words, as the command line prints them and pages show them."""

from collections.abc import Iterator, Mapping, Sequence

from api.text_format import format_count, format_figure, format_interval, format_odds, format_p, one_line, pluralize
from projections.calibration.agent_comparison import e_value_sure
from tallystick.shapes.comparison import AgentComparison, AgentPair
from tallystick.shapes.history import ChangePoint, Drift, DriftModels, ModelChange, ModelCount, NoTest
from tallystick.shapes.parts import Interval

NO_TEST: Mapping[NoTest, str] = {
    "too few times": "too few reviews have a time that says when the decision was made",
    "too few clusters": "too few whole clusters of decisions are before or after any time",
    "all outcomes alike": "all outcomes are alike",
    "no category before and after": "no agent and category has enough reviews both before and after any time",
}
"""Why there is no test for drift."""

SHOWN_CHANGES_MAX = 3
"""Changes of models that are named without an alarm: the latest."""


def describe_drift(drift: Drift) -> Iterator[str]:
    """Yield sentences: whether the gap changed, and when; or why there was no test."""
    if drift.change is not None and drift.p is not None:
        yield f"Drift: the gap changed (p {format_p(drift.p)}): {_change(drift.change)}."
        yield _interval(drift.change, drift.strata)
    elif drift.reviews_needed:
        yield f"Too few reviews to look for drift: {format_count(drift.reviews_needed)} more are needed."
    elif drift.reason is not None:
        yield f"No test for drift in {pluralize(drift.reviewed, 'review')}: {NO_TEST[drift.reason]}."
    else:
        p = "" if drift.p is None else f" (p {format_p(drift.p)})"
        yield f"No drift found in {pluralize(drift.reviewed, 'review')}{p}."


def describe_drift_further(drift: Drift) -> Iterator[str]:
    """Yield sentences on the models before and after a change, and on the reviews that were left out."""
    if drift.models:
        yield from _models(drift.models)
    if drift.left_out:
        yield f"{pluralize(drift.left_out, 'review')} left out: their times do not say when they were made."
    if drift.unsettled:
        yield (
            f"{pluralize(drift.unsettled, 'review')} of young decisions left out: others as young still lack a review, "
            "and may turn out otherwise."
        )


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
            yield f"{format_count(models.changes_total)} changes of models in all; the JSON answer lists them."
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


def describe_pair(pair: AgentPair, comparison: AgentComparison) -> Iterator[str]:
    """Yield sentences on a pair of agents of a comparison."""
    agents = " and ".join(one_line(name) for name in pair.agents)
    if pair.paired:
        yield f"{agents} on {_paired(pair)}."
        if pair.interval is not None and pair.p is not None:
            yield f"At this one look its interval is {format_interval(pair.interval, '+')}, p {format_p(pair.p)}."
        yield f"{_conclusion(pair, comparison)}."
    else:
        yield f"{agents}: {pair.note}, {format_count(pair.shared)} shared. {_skills(pair)}"


def describe_ranks(comparison: AgentComparison) -> Iterator[str]:
    """Yield a line for each agent of at least three: its rank, and the share of the others that are worse."""
    if len(comparison.ranks) < 3:
        return
    for each in comparison.ranks:
        low, high = each.rank_interval
        rank = f"{low} to {high}" if each.rank is None else f"{each.rank} ({low} to {high})"
        least, most = f"{each.worse_interval.low:.0%}", f"{each.worse_interval.high:.0%}"
        worse = f"{least} to {most}" if each.worse is None else f"{each.worse:.0%} ({least} to {most})"
        yield f"{one_line(each.agent)}: rank {rank} of {len(comparison.ranks)}; {worse} of the others are worse."


def _paired(pair: AgentPair) -> str:
    clusters = f" in {pluralize(pair.clusters, 'cluster')}" if pair.clusters and pair.clusters < pair.shared else ""
    first, second = (format_figure(score) for score in pair.brier_scores or (None, None))
    return (
        f"{pluralize(pair.shared, 'shared question')}{clusters}: Brier {first} and {second}, difference "
        f"{format_figure(pair.mean_difference, '+')}"
    )


def _conclusion(pair: AgentPair, comparison: AgentComparison) -> str:
    """Say which agent is better, with a question mark if the data cannot confirm it among all pairs."""
    if not pair.mean_difference:
        text = "Neither is better"
    else:
        better = one_line(pair.agents[0] if pair.mean_difference < 0 else pair.agents[1])
        text = f"{better} is better{'' if pair.supported else '?'}"
        among = f" among {comparison.compared} pairs" if comparison.compared > 1 else ""
        if pair.e_value is not None and pair.supported:
            text += f",{among and among + ' and'} however often you look: the evidence is {format_odds(pair.e_value)}"
        elif pair.e_value is not None:
            text += f" There is not enough data to be sure: the evidence is {format_odds(pair.e_value)}, and "
            text += f"{format_odds(e_value_sure(comparison))} is called sure{among}"
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
