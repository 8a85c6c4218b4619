"""Print the calibration curve, and what stated confidences are good for: thresholds and ranking."""

from collections.abc import Iterator

import numpy as np
from msgspec import UNSET
from rich.console import Console

from api.cli.output import format_figure, format_interval, make_table
from api.service.calibration import CalibrationAnswer
from api.text_format import format_count, pluralize
from projections.calibration.corp import Corp, CurvePoint
from projections.stats.intervals import Interval
from projections.stats.net_benefit import ThresholdUse

ROWS_MAX = 20
"""Longest table of a curve. A longer curve is printed by level: confidences with the same recalibrated one."""


def print_curve(console: Console, corp: Corp) -> None:
    """Print the curve, with the bands of a calibrated agent at the middle of each row."""
    bands = corp.band or []
    at = [bound.confidence for bound in bands]
    ends = [
        [getattr(bound, name) for bound in bands] for name in ("low", "high", "simultaneous_low", "simultaneous_high")
    ]
    numbers = ("stated", "reviewed", "success", "recalibrated", "if calibrated", "on the whole curve")
    table = make_table(*numbers, right=numbers)
    for points in _rows(corp.curve or []):
        n = sum(point.reviewed for point in points)
        rate, recalibrated, stated = (
            sum(getattr(point, name) * point.reviewed for point in points) / n
            for name in ("rate", "recalibrated", "confidence")
        )
        low, high, lowest, highest = (float(np.interp(stated, at, end)) for end in ends)
        first, last = f"{points[0].confidence:.2f}", f"{points[-1].confidence:.2f}"
        table.add_row(
            first if first == last else f"{first} to {last}",
            format_count(n),
            format_figure(rate),
            format_figure(recalibrated),
            format_interval(Interval(low, high)),
            format_interval(Interval(lowest, highest)),
        )
    console.print()
    console.print(table)
    console.print(
        "Of calibrated agents, 95% are within the first range at that confidence, 95% within the second at every one."
    )


def _rows(curve: list[CurvePoint]) -> Iterator[list[CurvePoint]]:
    """Yield the points of each row: one point, or neighbours if there are more than ROWS_MAX."""
    rows: list[list[CurvePoint]] = []
    for point in curve:
        if rows and len(curve) > ROWS_MAX and point.recalibrated == rows[-1][-1].recalibrated:
            rows[-1].append(point)
        else:
            rows.append([point])
    size = -(-len(rows) // ROWS_MAX)
    for start in range(0, len(rows), max(1, size)):
        yield [point for row in rows[start : start + size] for point in row]


def print_use(console: Console, answer: CalibrationAnswer) -> None:
    """Print how well confidences rank decisions, and what acting above a threshold would have come to."""
    if answer.auc is not UNSET and answer.auc is not None:
        found = answer.auc
        console.print()
        console.print(
            f"AUC {format_figure(found.auc)} ({format_interval(found.interval)}): the decision that turned out better "
            f"had the higher confidence in {found.auc:.0%} of {format_count(found.pairs)} pairs."
        )
    if answer.threshold is not UNSET:
        console.print()
        for line in _describe_use(answer.threshold):
            console.print(line)


def _describe_use(use: ThresholdUse) -> Iterator[str]:
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
