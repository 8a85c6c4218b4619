"""Calibration as people read it: a figure stands with its evidence, or not at all."""

from rich.console import Console

from api.cli.output import chance, figure, out, span, table
from api.cli.render.calibration_history import print_course
from api.service.as_of import AsOf
from api.service.calibration import CalibrationAnswer
from api.text import count, many, moment, one_line
from projections.calibration.calibration import CalibrationGroup
from projections.calibration.corp import Corp
from projections.calibration.recalibration import Recalibration
from projections.calibration.scores import Bucket, CalibrationScores, ConfidenceSpread, Coverage, ZTest
from projections.stats.intervals import Interval

VERDICTS = {
    "well_calibrated": "about as good as it thinks it is",
    "overconfident": "surer than it should be",
    "slightly_overconfident": "slightly surer than it should be",
    "underconfident": "better than it thinks it is",
    "slightly_underconfident": "slightly better than it thinks it is",
}

BY_BUCKET = {"confidence_bucket", "confidenceBucket"}


def print_calibration(answer: CalibrationAnswer, agent: str | None, group_by: str) -> None:
    """The figures: a sentence, scores, what they leave out, groups, buckets, curve, spread, recommendations."""
    console, overall = out(), answer.overall
    if overall is None:
        console.print("Too few decisions are reviewed to tell.")
    else:
        _print_overall(console, overall, agent)
    _print_coverage(console, answer.coverage)
    if group_by not in BY_BUCKET:
        _print_groups(console, answer.groups, group_by)
    _print_buckets(console, answer.buckets)
    if overall is not None and overall.corp.curve is not None:
        _print_curve(console, overall.corp)
        _print_recalibration(console, answer.recalibration)
    if answer.confidence_stats is not None:
        _print_spread(console, answer.confidence_stats)
    print_course(console, answer)
    if answer.recommendations:
        console.print()
        for advice in answer.recommendations:
            unsupported = " (More reviews are needed to be sure.)" if advice.supported is False else ""
            style = "yellow" if advice.severity == "warning" and not unsupported else ""
            mark = "!" if advice.severity == "warning" else "-"
            console.print(f"{mark} {advice.message}{unsupported}", style=style)
    console.print()
    console.print(dated(answer.as_of), style="dim")


def _print_overall(console: Console, overall: CalibrationScores, agent: str | None) -> None:
    console.print(
        f"{one_line(agent) if agent else 'All agents'}: of {many(overall.reviewed, 'reviewed decision')} "
        f"{overall.accuracy:.1%} turned out well, and {overall.mean_confidence:.1%} was stated on average: "
        f"gap {figure(overall.gap, '+')} ({span(overall.gap_interval, '+')})."
    )
    console.print(_verdict(overall))
    console.print(", ".join(_scores(overall)) + ".")
    if tests := _tests(overall):
        console.print(f"Tests of perfect calibration: {'; '.join(tests)}.")


def _verdict(overall: CalibrationScores) -> str:
    words = VERDICTS[overall.interpretation]
    if overall.supported:
        return f"It is {words}."
    more = "" if overall.reviews_needed is None else f": about {many(overall.reviews_needed, 'more review')} would"
    return f"It looks {words}, but the evidence does not carry that yet{more}."


def _scores(overall: CalibrationScores) -> list[str]:
    """The scores there are enough reviews to read."""
    log_score = "infinite" if overall.log_score_infinite else figure(overall.log_score)
    said = [f"Brier score {figure(overall.brier_score)} ({overall.brier_reading})", f"log score {log_score}"]
    if "corp" not in overall.too_few_for:
        parts = overall.corp
        said.append(
            f"miscalibration {figure(parts.miscalibration)}, discrimination {figure(parts.discrimination)}, "
            f"uncertainty {figure(parts.uncertainty)}"
        )
    if "skill" not in overall.too_few_for:
        said.append(f"skill {figure(overall.skill, '+')}")
    return said


def _tests(overall: CalibrationScores) -> list[str]:
    named: dict[str, tuple[str, ZTest | None]] = {
        "in_the_large": ("in the large", overall.in_the_large),
        "spiegelhalter": ("Spiegelhalter's", overall.spiegelhalter),
    }
    return [
        f"{name} z = {test.z:+.2f}, p {chance(test.p)}"
        for field, (name, test) in named.items()
        if test is not None and field not in overall.too_few_for
    ]


def _print_coverage(console: Console, coverage: Coverage) -> None:
    """Those left out; a decision may be left out for both reasons."""
    left_out = {"without a review": coverage.unreviewed, "without a stated confidence": coverage.without_confidence}
    said = [f"{count(number)} {why}" for why, number in left_out.items() if number]
    if said:
        console.print(f"Not counted, of {many(coverage.total, 'decision')}: {', '.join(said)}.")


def _called(row: CalibrationGroup | Bucket) -> str:
    """A verdict; one that the evidence does not carry is a question."""
    if row.interpretation is None:
        return "too few"
    return row.interpretation.replace("_", " ") + ("" if row.supported else "?")


def _print_groups(console: Console, groups: list[CalibrationGroup], group_by: str) -> None:
    shrunk = any(group.shrunk_gap is not None for group in groups)
    numbers = (
        "reviewed",
        "total",
        "success",
        "stated",
        "gap",
        "its interval",
        *(["shrunk"] if shrunk else []),
        "Brier",
    )
    shown = table(group_by, *numbers, "", right=numbers)
    for group in groups:
        shown.add_row(
            one_line(group.group) if group.group is not None else "(not stated)",
            count(group.reviewed),
            count(group.total),
            figure(group.accuracy),
            figure(group.mean_confidence),
            figure(group.gap, "+"),
            span(group.gap_interval, "+"),
            *([_shrunk(group)] if shrunk else []),
            figure(group.brier_score),
            _called(group),
        )
    console.print()
    console.print(shown)


def _shrunk(group: CalibrationGroup) -> str:
    """The shrunk gap, and how much of it is the group's own."""
    return "-" if group.shrunk_weight is None else f"{figure(group.shrunk_gap, '+')} ({group.shrunk_weight:.0%} own)"


def _print_buckets(console: Console, buckets: list[Bucket]) -> None:
    if not buckets:
        return
    numbers = ("reviewed", "success", "its interval", "expected", "stated", "gap")
    shown = table("confidence", *numbers, "", right=numbers)
    for bucket in buckets:
        shown.add_row(
            bucket.bucket,
            count(bucket.decisions),
            figure(bucket.success_rate),
            span(bucket.success_interval),
            figure(bucket.expected_rate),
            figure(bucket.mean_confidence),
            figure(bucket.gap, "+"),
            _called(bucket),
        )
    console.print()
    console.print(shown)


def _print_curve(console: Console, parts: Corp) -> None:
    """The levels of the curve, each with the band at its first confidence."""
    band = {bound.confidence: bound for bound in parts.band or ()}
    numbers = ("stated", "reviewed", "success", "recalibrated", "if it were calibrated")
    shown = table(*numbers, right=numbers)
    for point in parts.curve or ():
        bound = band.get(point.confidence)
        shown.add_row(
            f"{point.confidence:.2f}",
            count(point.reviewed),
            figure(point.rate),
            figure(point.recalibrated),
            "-" if bound is None else span(Interval(bound.low, bound.high)),
        )
    console.print()
    console.print(shown)


def _print_recalibration(console: Console, found: Recalibration | None) -> None:
    console.print()
    if found is None:
        console.print("No map from what it states to what that means would improve on what it states.")
        return
    for row in found.meanings:
        stated = f"{row.low:.2f}" if row.low == row.high else f"{row.low:.2f} to {row.high:.2f}"
        interval = f"{row.interval.low:.2f} to {row.interval.high:.2f}"
        console.print(f"Stated {stated} has meant {row.meant:.2f} ({interval}), n={count(row.reviewed)}.")
    console.print(
        f"Read so, its Brier score falls from {figure(found.stated_brier_score)} to "
        f"{figure(found.mapped_brier_score)} (cross-validated)."
    )


def _print_spread(console: Console, spread: ConfidenceSpread) -> None:
    console.print()
    console.print(
        f"Stated confidence: {count(spread.count)} stated, mean {figure(spread.mean)}, deviation "
        f"{figure(spread.std_dev)}, from {figure(spread.min)} to {figure(spread.max)}."
    )


def dated(as_of: AsOf) -> str:
    """What a view is as of, in words."""
    if as_of.time is None:
        return "As of position 0: before the first event."
    return f"As of position {count(as_of.position)}, recorded {moment(as_of.time)} UTC."
