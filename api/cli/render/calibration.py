"""Print calibration: the verdict, scores, groups, buckets, curve, and recommendations."""

from msgspec import UNSET
from rich.console import Console

from api.cli.output import format_figure, format_interval, format_p, make_table, open_console
from api.cli.render.calibration_history import print_history
from api.cli.render.confidence_use import print_curve, print_use
from api.cli.render.missing_reviews import print_missing_reviews, print_reviews_by_age
from api.cli.render.recalibration import print_recalibration
from api.cli.render.skill import describe_skill
from api.service.as_of import AsOf
from api.service.calibration import CalibrationAnswer
from api.text_format import (
    format_count,
    format_time,
    one_line,
    pluralize,
)
from projections.calibration.calibration_view import CalibrationGroup
from projections.calibration.figure_text import format_percent
from projections.calibration.gap_evidence import Clusters, Dependence
from projections.calibration.score_recommendations import describe_small_gap
from projections.calibration.scores import Bucket, CalibrationScores, ConfidenceSpread, Coverage, ZTest

BY_BUCKET = {"confidence_bucket", "confidenceBucket"}


def print_calibration(answer: CalibrationAnswer, agent: str | None, group_by: str) -> None:
    """Print an answer. Figures that too few reviews support are left out."""
    console, overall = open_console(), answer.overall
    if overall is None:
        console.print("Too few decisions are reviewed for figures.")
    else:
        _print_overall(
            console, overall, agent, surely_off=any(one.type == "small_gap" for one in answer.recommendations)
        )
        print_missing_reviews(console, answer)
    _print_coverage(console, answer.coverage)
    if answer.retracted is not UNSET:
        console.print(f"{pluralize(answer.retracted, 'decision')} retracted and not counted.")
    if group_by not in BY_BUCKET:
        _print_groups(console, answer.groups, group_by)
        if answer.groups_total is not UNSET:
            rest = f"; --offset {answer.groups_next} shows the next" if answer.groups_next else ""
            console.print(f"{len(answer.groups):,} of {answer.groups_total:,} groups{rest}.")
    _print_buckets(console, answer.buckets)
    if overall is not None and overall.corp.curve is not None:
        print_curve(console, overall.corp)
        print_recalibration(console, answer.recalibration, answer.recalibration_by_category)
    print_use(console, answer)
    if answer.confidence_stats is not None:
        _print_spread(console, answer.confidence_stats)
    print_history(console, answer)
    print_reviews_by_age(console, answer)
    if recommendations := [one for one in answer.recommendations if one.type != "small_gap"]:  # the verdict says it
        console.print()
        for advice in recommendations:
            unsupported = " (More reviews are needed to be sure.)" if advice.supported is False else ""
            style = "yellow" if advice.severity == "warning" and not unsupported else ""
            mark = "!" if advice.severity == "warning" else "-"
            console.print(f"{mark} {advice.message}{unsupported}", style=style)
    console.print()
    console.print(format_as_of(answer.as_of), style="dim")


def _print_overall(console: Console, overall: CalibrationScores, agent: str | None, *, surely_off: bool) -> None:
    console.print(
        f"{one_line(agent) if agent else 'All agents'}: {format_percent(overall.accuracy, 1)} of "
        f"{pluralize(overall.reviewed, 'reviewed decision')} succeeded, "
        f"with {format_percent(overall.mean_confidence, 1)} mean confidence: "
        f"gap {format_figure(overall.gap, '+')} ({format_interval(overall.gap_interval, '+')})."
    )
    console.print(
        f"This interval is for one look; for every look it is {format_interval(overall.gap_sequence, '+')}, "
        f"e-value {overall.e_value:.3g}."
    )
    console.print(describe_small_gap(overall) if surely_off else _verdict(overall))
    if overall.clusters:
        console.print(_clusters(overall.reviewed, overall.clusters))
    if overall.dependence is not None and overall.dependence.material:
        console.print(_dependence(overall.dependence), style="yellow")
    if skill := describe_skill(overall):
        console.print(skill)
    console.print(", ".join(_scores(overall)) + ".")
    if tests := _tests(overall):
        console.print(f"Tests of perfect calibration: {'; '.join(tests)}.")
    if undefined := _undefined_test(overall):
        console.print(undefined)


def _verdict(overall: CalibrationScores) -> str:
    verdict = overall.interpretation.replace("_", " ")
    if overall.supported:
        since = "" if overall.supported_at is None else f", supported since review {format_count(overall.supported_at)}"
        return f"It is {verdict}{since}."
    if overall.reviews_needed is None:
        return f"It looks {verdict}, but there is not enough data to be sure."
    needed, gap = pluralize(overall.reviews_needed, "more review"), format_figure(overall.reviews_needed_gap, "+")
    return (
        f"It looks {verdict}, but there is not enough data to be sure. If its true gap is {gap}, about {needed} "
        "will be enough in 4 of 5 cases."
    )


def _clusters(reviewed: int, found: Clusters) -> str:
    effective = round(found.effective_reviews)
    return (
        f"They are in {pluralize(found.clusters, 'cluster')}, the largest with {pluralize(found.largest, 'review')}: "
        f"{pluralize(reviewed, 'review')} contain about as much evidence as {format_count(effective)} independent "
        f"{'one' if effective == 1 else 'ones'}. Verdicts and intervals allow for that."
    )


def _dependence(found: Dependence) -> str:
    return (
        f"! Decisions made one after another turn out alike: {pluralize(found.reviewed, 'review')} contain about as "
        f"much evidence as {format_count(round(found.effective_reviews))} independent ones. "
        "The verdict and the intervals are too sure."
    )


def _scores(overall: CalibrationScores) -> list[str]:
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
    return texts


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


def _print_coverage(console: Console, coverage: Coverage) -> None:
    """Print how many decisions are not used, and why; a decision can be in both numbers."""
    left_out = {"without a review": coverage.unreviewed, "without a stated confidence": coverage.without_confidence}
    reasons = [f"{format_count(number)} {reason}" for reason, number in left_out.items() if number]
    if reasons:
        console.print(f"Not counted, of {pluralize(coverage.total, 'decision')}: {', '.join(reasons)}.")


def _row_verdict(row: CalibrationGroup | Bucket) -> str:
    """Return the verdict of a row, with a question mark if the data cannot confirm it yet."""
    if row.interpretation is None:
        return "too few"
    return row.interpretation.replace("_", " ") + ("" if row.supported else "?")


def _print_groups(console: Console, groups: list[CalibrationGroup], group_by: str) -> None:
    has_shrunk_gaps = any(group.shrunk_gap is not None for group in groups)
    numbers = (
        "reviewed",
        "total",
        "success",
        "stated",
        "gap",
        "its interval",
        *(["shrunk"] if has_shrunk_gaps else []),
        "Brier",
    )
    drop = ("total", "Brier", "shrunk", "stated", "its interval", "success", "reviewed")
    table = make_table(group_by, *numbers, "", right=numbers, wrap=(group_by,), drop=drop)
    for group in groups:
        table.add_row(
            one_line(group.group) if group.group is not None else "(not stated)",
            format_count(group.reviewed),
            format_count(group.total),
            format_figure(group.accuracy),
            format_figure(group.mean_confidence),
            format_figure(group.gap, "+"),
            format_interval(group.gap_interval, "+"),
            *([_shrunk_gap(group)] if has_shrunk_gaps else []),
            format_figure(group.brier_score),
            _row_verdict(group),
        )
    console.print()
    console.print(table)


def _shrunk_gap(group: CalibrationGroup) -> str:
    """Return the shrunk gap, with the weight of the group's own data in percent."""
    if group.shrunk_weight is None:
        return "-"
    return f"{format_figure(group.shrunk_gap, '+')} ({group.shrunk_weight:.0%} own)"


def _print_buckets(console: Console, buckets: list[Bucket]) -> None:
    if not buckets:
        return
    numbers = ("reviewed", "success", "stated", "gap", "its interval")
    drop = ("stated", "its interval", "success")
    table = make_table("confidence", *numbers, "", right=numbers, drop=drop)
    for bucket in buckets:
        table.add_row(
            bucket.bucket,
            format_count(bucket.decisions),
            format_figure(bucket.success_rate),
            format_figure(bucket.mean_confidence),
            format_figure(bucket.stated_gap, "+"),
            format_interval(bucket.stated_gap_interval, "+"),
            _row_verdict(bucket),
        )
    console.print()
    console.print(table)


def _print_spread(console: Console, spread: ConfidenceSpread) -> None:
    console.print()
    console.print(
        f"Stated confidence: {format_count(spread.count)} stated, mean {format_figure(spread.mean)}, deviation "
        f"{format_figure(spread.std_dev)}, from {format_figure(spread.min)} to {format_figure(spread.max)}."
    )


def format_as_of(as_of: AsOf) -> str:
    """Return the position and time of an answer as a sentence."""
    if as_of.time is None:
        return "As of position 0: before the first event."
    return f"As of position {format_count(as_of.position)}, recorded {format_time(as_of.time)} UTC."
