"""What stated confidences are good for, in words: ranking decisions, and acting above a threshold."""

from collections.abc import Iterator

from api.text_format import format_count, format_figure, format_interval, pluralize
from tallystick.shapes.confidence_use import Concordance, ThresholdUse
from tallystick.shapes.parts import Interval


def describe_auc(found: Concordance) -> str:
    """Say how well stated confidences rank decisions by outcome."""
    interval = "" if found.interval is None else f" ({format_interval(found.interval)})"
    return (
        f"AUC {format_figure(found.auc)}{interval}: of {pluralize(found.pairs, 'pair')} of decisions with different "
        f"outcomes, the better one had the higher confidence in {found.auc:.0%}; equal confidences count half."
    )


def describe_threshold(use: ThresholdUse) -> Iterator[str]:
    """Yield sentences on what acting only above a threshold would have come to."""
    if use.success_rate is None:
        yield f"No reviewed decision had a stated confidence of {use.threshold:g} or more."
    else:
        yield (
            f"Acting only at {use.threshold:g} or more: {format_count(use.acted_on)} of "
            f"{pluralize(use.reviewed, 'reviewed decision')}, success {format_figure(use.success_rate)} "
            f"({format_interval(use.success_interval)})."
        )
    benefit = f"{format_figure(use.net_benefit, '+')} ({format_interval(use.net_benefit_interval, '+')})"
    yield (
        f"Net benefit for each decision, if a failure costs as much as {use.failure_cost:.3g} successes gain: "
        f"{benefit if use.acted_on else '0'}."
    )
    yield (
        f"Acting on all: {format_figure(use.net_benefit_all, '+')} "
        f"({format_interval(use.net_benefit_all_interval, '+')}). Acting on none: 0."
    )
    none = _compare(use.net_benefit_interval, "none", same=use.acted_on == 0)
    yield f"{none} {_compare(use.gain_over_all_interval, 'all', same=use.acted_on == use.reviewed)}"


def _compare(gain: Interval, other: str, *, same: bool) -> str:
    """Say whether the data confirm that the threshold is better than acting on all, or on none."""
    if same:
        return f"Here it is the same as acting on {other}."
    if gain.low > 0:
        return f"It is better than acting on {other}."
    if gain.high < 0:
        return f"It is worse than acting on {other}."
    return f"The data cannot confirm that it is better than acting on {other}, or worse."
