"""Views as people read them."""

from rich.console import Console

from api.answers import AsOf, CalibrationAnswer, DecisionPage
from api.printing import count, cut, figure, many, moment, one_line, out, say, table
from projections import Bucket, Figures, Group, Spread, Standing

VERDICTS = {
    "well_calibrated": "it is about as good as it thinks it is",
    "overconfident": "it is surer than it should be",
    "slightly_overconfident": "it is slightly surer than it should be",
    "underconfident": "it is better than it thinks it is",
    "slightly_underconfident": "it is slightly better than it thinks it is",
}


def print_calibration(answer: CalibrationAnswer, agent: str | None, group_by: str) -> None:
    """The figures: a sentence, groups, buckets, spread, recommendations."""
    console = out()
    console.print(_sentence(answer.overall, agent))
    if answer.overall is not None:
        console.print(
            f"Brier score {figure(answer.overall.brier_score)} ({answer.overall.brier_reading}), "
            f"gap {figure(answer.overall.gap, '+')}."
        )
        if others := answer.overall.total - answer.overall.reviewed:
            console.print(f"Not counted: {many(others, 'decision')} without a review or a stated confidence.")
    if group_by not in {"confidence_bucket", "confidenceBucket"}:
        _print_groups(console, answer.groups, group_by)
    _print_buckets(console, answer.buckets)
    if answer.confidence_stats is not None:
        _print_spread(console, answer.confidence_stats)
    if answer.recommendations:
        console.print()
        for advice in answer.recommendations:
            style = "yellow" if advice.severity == "warning" else ""
            console.print(f"{'!' if advice.severity == 'warning' else '-'} {advice.message}", style=style)
    console.print()
    console.print(_dated(answer.as_of), style="dim")


def _sentence(overall: Figures | None, agent: str | None) -> str:
    if overall is None:
        return "Too few decisions are reviewed to tell."
    return (
        f"{one_line(agent) if agent else 'All agents'}: of {many(overall.reviewed, 'reviewed decision')} "
        f"{overall.accuracy:.1%} turned out well, and {overall.mean_confidence:.1%} was stated on average: "
        f"{VERDICTS[overall.interpretation]}."
    )


def _print_groups(console: Console, groups: list[Group], group_by: str) -> None:
    numbers = ("reviewed", "total", "success", "stated", "gap", "Brier")
    shown = table(group_by, *numbers, "", right=numbers)
    for group in groups:
        shown.add_row(
            one_line(group.group) if group.group is not None else "(not stated)",
            count(group.reviewed),
            count(group.total),
            figure(group.accuracy),
            figure(group.mean_confidence),
            figure(group.gap, "+"),
            figure(group.brier_score),
            (group.interpretation or "too few").replace("_", " "),
        )
    console.print()
    console.print(shown)


def _print_buckets(console: Console, buckets: list[Bucket]) -> None:
    if not buckets:
        return
    numbers = ("reviewed", "success", "expected", "stated", "gap")
    shown = table("confidence", *numbers, "", right=numbers)
    for bucket in buckets:
        shown.add_row(
            bucket.bucket,
            count(bucket.decisions),
            figure(bucket.success_rate),
            figure(bucket.expected_rate),
            figure(bucket.mean_confidence),
            figure(bucket.gap, "+"),
            bucket.interpretation.replace("_", " "),
        )
    console.print()
    console.print(shown)


def _print_spread(console: Console, spread: Spread) -> None:
    console.print()
    console.print(
        f"Stated confidence: {count(spread.count)} stated, mean {figure(spread.mean)}, deviation "
        f"{figure(spread.std_dev)}, from {figure(spread.min)} to {figure(spread.max)}."
    )


def _dated(as_of: AsOf) -> str:
    if as_of.time is None:
        return "As of position 0: before the first event."
    return f"As of position {count(as_of.position)}, recorded {moment(as_of.time)} UTC."


def print_decisions(page: DecisionPage) -> None:
    """Decisions, one a line."""
    shown = table(
        "id",
        "time (UTC)",
        "agent",
        "category",
        "stakes",
        "confidence",
        "outcome",
        "decision",
        right=("confidence",),
        wrap=("agent", "category", "decision"),
    )
    for standing in page.decisions:
        shown.add_row(
            standing.decision_id,
            moment(standing.recorded_at),
            cut(one_line(standing.agent)),
            cut(one_line(standing.decision.category)),
            standing.decision.stakes or "-",
            figure(standing.decision.confidence),
            standing.review.outcome if standing.review is not None else "-",
            cut(one_line(standing.decision.decision)),
        )
    out().print(shown)
    more = f" The next: --offset {page.next}." if page.next is not None else ""
    say(f"{count(len(page.decisions))} of {many(page.total, 'decision')}.{more}")


def print_decision(standing: Standing) -> None:
    """One decision: how it stands, and how it came to."""
    console = out()
    decision, review = standing.decision, standing.review
    console.print(f"{standing.decision_id}  {one_line(decision.decision)}", style="bold")
    shown = table("", "", wrap=("",))
    shown.show_header = False
    shown.add_row("agent", one_line(standing.agent))
    shown.add_row("recorded", f"{moment(standing.recorded_at)} UTC")
    shown.add_row("confidence", figure(decision.confidence))
    for name in ("category", "stakes", "project", "feature", "context", "pattern"):
        if (value := getattr(decision, name)) is not None:
            shown.add_row(name, one_line(value))
    if decision.tags:
        shown.add_row("tags", one_line(", ".join(decision.tags)))
    for reason in decision.reasons:
        shown.add_row(reason.type, one_line(reason.text))
    if review is not None:
        shown.add_row(
            "outcome", f"{review.outcome}, reviewed {moment(review.reviewed_at)} by {one_line(review.reviewed_by)}"
        )
        for name in ("actual_result", "lessons", "notes"):
            if (value := getattr(review, name)) is not None:
                shown.add_row(name.replace("_", " "), one_line(value))
    for thought in standing.thoughts:
        shown.add_row("thought", one_line(thought))
    console.print(shown)
    history = table("position", "time (UTC)", "type", "agent", right=("position",))
    for entry in standing.history:
        history.add_row(str(entry.position), moment(entry.time), entry.type, one_line(entry.agent))
    console.print()
    console.print(history)
