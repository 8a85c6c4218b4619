"""Figures of evaluations as texts, each with its 95% interval; and what a comparison of two runs shows, in words."""

from api.reports.format import bracketed, point_interval, points, rate, rate_interval
from api.text_format import pluralize
from projections.evaluation.view_types import RunComparison
from tallystick.shapes.parts import Interval

P_UNLIKELY = 0.05
"""Below this p-value, chance alone is called unlikely."""


def mean_text(mean: float | None, interval: Interval | None) -> str:
    """Return mean points with their interval."""
    return f"{points(mean)}{bracketed(point_interval(interval))}"


def rate_text(share: float | None, interval: Interval | None) -> str:
    """Return a pass rate with its interval."""
    return f"{rate(share)}{bracketed(rate_interval(interval))}"


def describe_difference(comparison: RunComparison) -> str:
    """Say whether the mean has changed, and how sure that is."""
    difference, interval = comparison.difference, comparison.difference_interval
    if difference is None:
        return "No scenario can be compared, so nothing is known about the difference of the means."
    over = f"over {pluralize(comparison.scenarios, 'scenario')}"
    said = f"The candidate has {points(difference, '+')} points {over}"
    if interval is None:
        return f"{said}. One scenario gives no interval: this may be chance."
    said = f"{said}, 95% interval {point_interval(interval, '+')}"
    if interval.low > 0 or interval.high < 0:
        return f"{said}: the interval leaves out 0, so the mean has {'risen' if difference > 0 else 'fallen'}."
    return f"{said}: the interval has 0 in it, so the mean may not have changed."


def describe_test(comparison: RunComparison) -> str:
    """Say what the paired test found."""
    test = comparison.mcnemar
    pairs = f"Of {pluralize(comparison.pairs, 'pair')} of attempts"
    counts = f"{pairs}, {test.passed_to_failed:,} passed only before and {test.failed_to_passed:,} only now"
    if test.p is None:
        return f"{counts}: no attempt passed in one run alone, so there is nothing to test."
    unlikely = "chance alone is unlikely to explain this" if test.p < P_UNLIKELY else "this may well be chance"
    test_of = f"If both runs were equally good, a split at least this uneven would come up with p {_p(test.p)}"
    return f"{counts}. {test_of}: {unlikely}."


def _p(value: float) -> str:
    return "below 0.001" if value < 0.001 else f"= {value:.3f}"
