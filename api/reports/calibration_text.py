"""Calibration in words: the verdict with its evidence, as the command line prints it and pages show it."""

from collections.abc import Iterator

from api.text_format import format_count, format_figure, format_interval, format_odds, format_p, one_line, pluralize
from projections.calibration.calibration_view import CalibrationGroup, CalibrationView
from projections.calibration.figure_text import format_percent
from projections.calibration.gap_evidence import Clusters, Dependence
from projections.calibration.score_recommendations import describe_small_gap
from projections.calibration.scores import TOLERANCE, Bucket, CalibrationScores, Coverage, ZTest, gap_side
from projections.stats.gap_martingale import E_VALUE_SUPPORTED


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
    """Return the verdict as a sentence: supported, or how many reviews are needed."""
    surely_off = any(one.type == "small_gap" for one in view.recommendations)
    return describe_small_gap(overall) if surely_off else _judge(overall)


def _judge(overall: CalibrationScores) -> str:
    verdict = overall.interpretation.replace("_", " ")
    odds = format_odds(overall.gap_e_values.of(gap_side(overall.interpretation)))
    if overall.supported:
        return f"It is {verdict}: the evidence is {odds}."
    unsure = (
        f"It looks {verdict}, but there is not enough data to be sure: the evidence is {odds}, and "
        f"{E_VALUE_SUPPORTED:.0f} to 1 is called sure."
    )
    if overall.reviews_needed is None:
        return unsure
    needed, gap = pluralize(overall.reviews_needed, "more review"), format_figure(overall.reviews_needed_gap, "+")
    return f"{unsure} If its true gap is {gap}, about {needed} will be enough in 4 of 5 cases."


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
    if scores.skill is None or interval is None:
        return "Skill is not defined, because all outcomes are alike."
    figure = f"Skill {format_figure(scores.skill, '+')} ({format_interval(interval, '+')})"
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
        return "Tests of perfect calibration are not defined, because every decision was stated with certainty."
    if overall.spiegelhalter is not None or "spiegelhalter" in overall.too_few_for:
        return None
    if overall.partial:
        return "Spiegelhalter's test is not defined with partial outcomes."
    return "Spiegelhalter's test is not defined, because every confidence is 0, 0.5 or 1."


def describe_coverage(coverage: Coverage) -> str | None:
    """Say how many decisions are not counted, and why, where a decision can be in both numbers; None if all are."""
    left_out = {"without a review": coverage.unreviewed, "without a stated confidence": coverage.without_confidence}
    reasons = [f"{format_count(number)} {reason}" for reason, number in left_out.items() if number]
    if not reasons:
        return None
    return f"Not counted, of {pluralize(coverage.total, 'decision')}: {', '.join(reasons)}."


def row_verdict(row: CalibrationGroup | Bucket) -> str:
    """Return the verdict of a row, with a question mark if the data cannot confirm it yet."""
    if row.interpretation is None:
        return "too few"
    return row.interpretation.replace("_", " ") + ("" if row.supported else "?")
