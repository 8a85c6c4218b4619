"""Calibration in words: the verdict with its evidence, as the command line prints it and pages show it."""

from collections.abc import Iterator, Sequence

from api.text_format import format_count, format_figure, format_interval, format_odds, format_p, one_line, pluralize
from projections.calibration.figure_text import format_percent
from projections.calibration.score_recommendations import describe_small_gap
from projections.calibration.scores import TOLERANCE, gap_side
from projections.stats.gap_martingale import E_VALUE_SUPPORTED
from tallystick.shapes.calibration import (
    Bucket,
    CalibrationGroup,
    CalibrationScores,
    CalibrationView,
    Coverage,
    ReviewsNeeded,
    ZTest,
)
from tallystick.shapes.dependence import Clusters, Dependence
from tallystick.shapes.missing_reviews import MissingReviews, TippingPoints

REVIEWS_SHOWN_MAX = 100_000
"""A larger number of reviews is not printed."""


def describe_gap(overall: CalibrationScores, agent: str | None) -> str:
    """Say how often decisions succeeded, with which confidence they were stated, and the gap with its interval."""
    return (
        f"{one_line(agent) if agent else 'All agents'}: {format_percent(overall.accuracy, 1)} of "
        f"{pluralize(overall.reviewed, 'reviewed decision')} succeeded, "
        f"with {format_percent(overall.mean_confidence, 1)} mean confidence: "
        f"gap {format_figure(overall.gap, '+')} ({format_interval(overall.gap_interval, '+')})."
    )


def describe_looks(overall: CalibrationScores, *, window: bool) -> str:
    """Give the interval that holds however often one looks; or say that none does, in a window that ends now."""
    if window:
        return (
            "The window moves: the next look has other decisions. The interval and the verdict hold for this one look."
        )
    return f"If you look again and again: {format_interval(overall.gap_sequence, '+')}."


def describe_verdict(view: CalibrationView, overall: CalibrationScores) -> str:
    """Return the verdict in sentences: the evidence for it, and if it is not sure, why."""
    return " ".join(_judge(view, overall))


def _judge(view: CalibrationView, overall: CalibrationScores) -> Iterator[str]:
    verdict, side = overall.interpretation.replace("_", " "), gap_side(overall.interpretation)
    odds = format_odds(overall.gap_e_values.of(side))
    small = any(one.type == "small_gap" for one in view.recommendations)
    if small:
        yield describe_small_gap(overall)
    elif overall.supported:
        yield f"It is {verdict}: the evidence is {odds}."
    elif overall.unsure_because == "missing_reviews":
        yield f"It looks {verdict}: of the reviewed decisions alone the evidence is {odds}. But it is not sure."
    elif overall.unsure_because == "each_confidence":
        yield f"It is {verdict} on average, but not at each confidence: {_name_opposite_gaps(view.buckets)}."
        yield f"The evidence against each stated confidence being right is {format_odds(overall.e_value)}."
    else:
        yield (
            f"It looks {verdict}, but there is not enough data to be sure: the evidence is {odds}, and "
            f"{E_VALUE_SUPPORTED:.0f} to 1 is called sure."
        )
        if view.reviews_needed_by_gap:
            yield _describe_needed(view.reviews_needed_by_gap)
    sure = small or overall.supported
    if view.missing_reviews and view.missing_reviews.tipping_points is not None:
        yield _describe_tipping_points(view.missing_reviews, view.missing_reviews.tipping_points, overall.accuracy)
        if not sure and view.coverage.unreviewed > view.coverage.pending + view.coverage.overdue:
            yield (
                "Decisions recorded with review_by are counted once they are due, so that outcomes still to come "
                "cannot change a verdict."
            )


def _name_opposite_gaps(buckets: Sequence[Bucket]) -> str:
    """Name the range with the lowest gap, and that with the highest."""
    ends = {min(buckets, key=lambda one: one.stated_gap).bucket, max(buckets, key=lambda one: one.stated_gap).bucket}
    return ", ".join(
        f"in {one.bucket}, {format_percent(one.mean_confidence)} was stated and {format_percent(one.success_rate)} "
        "succeeded"
        for one in buckets
        if one.bucket in ends
    )


def _describe_needed(needed: Sequence[ReviewsNeeded]) -> str:
    """Say how many more reviews are needed, which depends on the true gap."""
    numbers = [f"{_describe_number(one.reviews)} if it is {format_figure(one.gap, '+')}" for one in needed]
    return f"How many more are enough, in 4 of 5 cases, depends on its true gap: {', '.join(numbers)}."


def _describe_number(reviews: int | None) -> str:
    if reviews is None:
        return "no number"
    return format_count(reviews) if reviews <= REVIEWS_SHOWN_MAX else f"more than {format_count(REVIEWS_SHOWN_MAX)}"


def _describe_tipping_points(missing: MissingReviews, points: TippingPoints, rate: float) -> str:
    """Say which outcomes of the decisions without a review would take the evidence away."""
    lacking = f"the {pluralize(missing.unreviewed, 'decision')} that lack a review"
    shares = [
        f"{side} than {format_percent(share)}"
        for side, share in (("fewer", points.below), ("more", points.above))
        if share is not None
    ]
    if not shares:
        return f"No outcomes of {lacking} would take that evidence away."
    return (
        f"The evidence would not be enough if {' or '.join(shares)} of {lacking} succeeded "
        f"({format_percent(rate)} of the reviewed did)."
    )


def describe_clusters(reviewed: int, found: Clusters) -> str:
    """Say how much independent evidence the reviews of clusters contain."""
    effective = round(found.effective_reviews)
    return (
        f"They are in {pluralize(found.clusters, 'cluster')}, the largest with {pluralize(found.largest, 'review')}: "
        f"{pluralize(reviewed, 'review')} contain about as much evidence as {format_count(effective)} independent "
        f"{'one' if effective == 1 else 'ones'}. Verdicts and intervals allow for that."
    )


def describe_dependence(found: Dependence) -> str:
    """Say how much independent evidence reviews contain that depend on each other."""
    return (
        f"Decisions made one after another turn out alike: {pluralize(found.reviewed, 'review')} contain about as "
        f"much evidence as {format_count(round(found.effective_reviews))} independent ones. "
        "The verdict and the intervals are too sure."
    )


def describe_skill(scores: CalibrationScores) -> str | None:
    """Return a sentence on skill, with its interval; None if too few reviews support one."""
    if "skill" in scores.too_few_for:
        return None
    interval, rate = scores.skill_interval, format_percent(scores.accuracy, 1)
    if scores.skill is None:
        return "Skill is not defined, because all outcomes are alike."
    figure = f"Skill {format_figure(scores.skill, '+')}"
    if interval is None:
        return f"{figure} compared with always stating {rate}; these reviews do not show how much it varies."
    figure += f" ({format_interval(interval, '+')})"
    if interval.low > TOLERANCE:
        return f"{figure}: at this one look better than always stating {rate}."
    if interval.high < -TOLERANCE:
        return f"{figure}: at this one look worse than always stating {rate}."
    return f"{figure}: not surely better than always stating {rate}."


def describe_scores(overall: CalibrationScores) -> str:
    """Return the scores that enough reviews support."""
    log_score = "infinite" if overall.log_score_infinite else format_figure(overall.log_score)
    texts = [f"Brier score {format_figure(overall.brier_score)}", f"log score {log_score}"]
    if "corp" not in overall.too_few_for:
        corp = overall.corp
        texts += [
            f"miscalibration {format_figure(corp.miscalibration)}",
            f"discrimination {format_figure(corp.discrimination)}",
            f"uncertainty {format_figure(corp.uncertainty)}",
        ]
    return ", ".join(texts) + "."


def describe_tests(overall: CalibrationScores) -> Iterator[str]:
    """Yield sentences on the tests of perfect calibration that enough reviews support, or why one is undefined."""
    if tests := _tests(overall):
        yield f"Tests of perfect calibration: {'; '.join(tests)}."
    if undefined := _undefined_test(overall):
        yield undefined


def _tests(overall: CalibrationScores) -> list[str]:
    tests: dict[str, tuple[str, ZTest | None]] = {
        "in_the_large": ("in the large", overall.in_the_large),
        "spiegelhalter": ("Spiegelhalter's", overall.spiegelhalter),
    }
    return [
        f"{name} z = {test.z:+.2f}, p {format_p(test.p)}"
        for field, (name, test) in tests.items()
        if test is not None and field not in overall.too_few_for
    ]


def _undefined_test(overall: CalibrationScores) -> str | None:
    """Say why a test that enough reviews support is not defined; None if each is."""
    if overall.in_the_large is None and "in_the_large" not in overall.too_few_for:
        if overall.certain < overall.reviewed:
            return "Tests of perfect calibration are not defined, because one cluster has most of the reviews."
        return "Tests of perfect calibration are not defined, because every decision was stated with certainty."
    if overall.spiegelhalter is not None or "spiegelhalter" in overall.too_few_for:
        return None
    if overall.partial:
        return "Spiegelhalter's test is not defined with partial outcomes."
    return "Spiegelhalter's test is not defined, because every confidence is 0, 0.5 or 1."


def describe_coverage(coverage: Coverage) -> str | None:
    """Say how many decisions are not counted, and why, where a decision can be in two numbers; None if all are."""
    left_out = {
        "not due yet": coverage.pending,
        "reviewed before they are due": coverage.early,
        "due and without a review": coverage.overdue,
        "without a review": coverage.unreviewed - coverage.pending - coverage.overdue,
        "without a stated confidence": coverage.without_confidence,
    }
    reasons = [f"{format_count(number)} {reason}" for reason, number in left_out.items() if number]
    if not reasons:
        return None
    return f"Not counted, of {pluralize(coverage.total, 'decision')}: {', '.join(reasons)}."


def row_verdict(row: CalibrationGroup | Bucket) -> str:
    """Return the verdict of a row, with a question mark if the data cannot confirm it yet."""
    if row.interpretation is None:
        return "too few"
    return row.interpretation.replace("_", " ") + ("" if row.supported else "?")
