"""Print calibration: the verdict, scores, groups, buckets, curve, and recommendations."""

from collections.abc import Sequence

from rich.console import Console

from api.cli.output import figure, make_table, open_console, table_of
from api.cli.render.calibration_history import print_history
from api.cli.render.recalibration import print_recalibration
from api.reports.calibration_text import (
    describe_clusters,
    describe_coverage,
    describe_dependence,
    describe_gap,
    describe_looks,
    describe_scores,
    describe_skill,
    describe_tests,
    describe_verdict,
    row_verdict,
)
from api.reports.plots.tables import curve_rows
from api.reports.use_text import describe_auc, describe_threshold
from api.text_format import (
    format_count,
    format_figure,
    format_interval,
    format_time,
    one_line,
    pluralize,
)
from tallystick.shapes.calibration import (
    Bucket,
    CalibrationAnswer,
    CalibrationGroup,
    CalibrationScores,
    ConfidenceSpread,
    Corp,
)
from tallystick.shapes.parts import AsOf

BY_BUCKET = {"confidence_bucket", "confidenceBucket"}


def print_calibration(answer: CalibrationAnswer, agent: str | None, group_by: str, *, window: bool) -> None:
    """Print an answer, of a `window` that ends now or not. Figures that too few reviews support are left out."""
    console, overall = open_console(), answer.overall
    if overall is None:
        console.print("Too few decisions are reviewed for figures.")
    else:
        _print_overall(console, answer, overall, agent, window=window)
        print_missing_reviews(console, answer)
    if left_out := describe_coverage(answer.coverage):
        console.print(left_out)
    if answer.retracted:
        console.print(f"{pluralize(answer.retracted, 'decision')} retracted and not counted.")
    if group_by not in BY_BUCKET:
        _print_groups(console, answer.groups, group_by)
        if answer.groups_total is not None:
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
            unsupported = " (This is not sure.)" if advice.supported is False else ""
            style = "yellow" if advice.severity == "warning" and not unsupported else ""
            mark = "!" if advice.severity == "warning" else "-"
            console.print(f"{mark} {advice.message}{unsupported}", style=style)
    console.print()
    console.print(format_as_of(answer.as_of), style="dim")


def _print_overall(
    console: Console, answer: CalibrationAnswer, overall: CalibrationScores, agent: str | None, *, window: bool
) -> None:
    console.print(describe_gap(overall, agent))
    console.print(describe_looks(overall, window=window))
    console.print(describe_verdict(answer, overall))
    if overall.clusters:
        console.print(describe_clusters(overall.reviewed, overall.clusters))
    if overall.dependence is not None and overall.dependence.material:
        console.print(f"! {describe_dependence(overall.dependence)}", style="yellow")
    if skill := describe_skill(overall):
        console.print(skill)
    console.print(describe_scores(overall))
    for line in describe_tests(overall):
        console.print(line)


def _print_groups(console: Console, groups: Sequence[CalibrationGroup], group_by: str) -> None:
    has_shrunk_gaps = any(group.shrunk_gap is not None for group in groups)
    table = table_of(
        groups,
        {group_by: lambda group: one_line(group.group) if group.group is not None else "(not stated)",
         "reviewed": "reviewed", "total": "total", "success": figure("accuracy"), "stated": figure("mean_confidence"),
         "gap": lambda group: format_figure(group.gap, "+"),
         "its interval": lambda group: format_interval(group.gap_interval, "+"),
         **({"shrunk": _shrunk_gap} if has_shrunk_gaps else {}), "Brier": figure("brier_score"), "": row_verdict},
        right=("reviewed", "total", "success", "stated", "gap", "its interval", "shrunk", "Brier"), wrap=(group_by,),
        drop=("total", "Brier", "shrunk", "stated", "its interval", "success", "reviewed"),
    )  # fmt: skip
    console.print()
    console.print(table)


def _shrunk_gap(group: CalibrationGroup) -> str:
    """Return the shrunk gap, with the weight of the group's own data in percent."""
    if group.shrunk_weight is None:
        return "-"
    return f"{format_figure(group.shrunk_gap, '+')} ({group.shrunk_weight:.0%} own)"


def _print_buckets(console: Console, buckets: Sequence[Bucket]) -> None:
    if not buckets:
        return
    table = table_of(
        buckets,
        {"confidence": "bucket", "reviewed": "decisions", "success": figure("success_rate"),
         "stated": figure("mean_confidence"), "gap": lambda bucket: format_figure(bucket.stated_gap, "+"),
         "its interval": lambda bucket: format_interval(bucket.stated_gap_interval, "+"), "": row_verdict},
        right=("reviewed", "success", "stated", "gap", "its interval"), drop=("stated", "its interval", "success"),
    )  # fmt: skip
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


def print_curve(console: Console, corp: Corp) -> None:
    """Print the curve, with the bands of a calibrated agent at the middle of each row."""
    numbers = ("stated", "reviewed", "success", "recalibrated", "if calibrated", "on the whole curve")
    table = make_table(*numbers, right=numbers)
    for row in curve_rows(corp):
        table.add_row(*row)
    console.print()
    console.print(table)
    console.print(
        "Of calibrated agents, 95% are within the first range at that confidence, 95% within the second at every one."
    )


def print_use(console: Console, answer: CalibrationAnswer) -> None:
    """Print how well confidences rank decisions, and what acting above a threshold would have come to."""
    if answer.auc:
        console.print()
        console.print(describe_auc(answer.auc))
    if answer.threshold is not None:
        console.print()
        for line in describe_threshold(answer.threshold):
            console.print(line)


def print_missing_reviews(console: Console, answer: CalibrationAnswer) -> None:
    """Print below the verdict that it holds for the reviewed decisions only, if so, and the outcomes by day."""
    missing = answer.missing_reviews
    if missing and missing.message is not None:
        console.print(f"! {one_line(missing.message)}", style="yellow", markup=False)
        console.print("tallystick review --sample 20 names decisions at random whose reviews show the gap of all.")
    if answer.by_day:
        console.print(answer.by_day.message)


def print_reviews_by_age(console: Console, answer: CalibrationAnswer) -> None:
    """Print how old reviewed and unreviewed decisions are, and the gap weighted by age, if the answer has them."""
    ages = answer.reviews_by_age
    if not ages:
        return
    console.print()
    difference, weighted = ages.difference, ages.weighted_gap
    if difference is None:
        console.print("Age: there are no reviewed and unreviewed decisions to compare.")
        return
    shares = (
        f"{difference.reviewed_share:.0%} of the reviewed and {difference.unreviewed_share:.0%} of the unreviewed "
        f"decisions are in the {difference.most}"
    )
    console.print(f"Age: {shares}.{' They differ by more than chance.' if difference.differs else ''}")
    if weighted is not None:
        console.print(
            f"Weighted by {', '.join(weighted.by)}, the gap is {format_figure(weighted.gap, '+')} "
            f"({format_interval(weighted.interval, '+')}), for {weighted.represented:.0%} of the decisions."
        )
