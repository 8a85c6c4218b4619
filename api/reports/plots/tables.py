"""The numbers of each drawing, as rows of texts with counts and intervals. A figure that is missing has no table.

Each function takes what the drawing is drawn from; the texts are those of the command line's tables.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

import numpy as np

from api.reports.calibration_text import row_verdict
from api.reports.escape import one_line
from api.reports.plots.figure_source import FigureSource, FigureTable
from api.text_format import format_count, format_figure, format_interval, format_odds, format_p
from tallystick.shapes.calibration import Corp, CurvePoint
from tallystick.shapes.comparison import AgentPair
from tallystick.shapes.history import Trend
from tallystick.shapes.parts import Interval

CURVE_ROWS_MAX = 20
"""Longest table of a curve. A longer curve is tabled by level: confidences with the same recalibrated one."""

TREND_COLUMNS = ("from", "before", "reviewed", "success", "stated", "gap", "its interval", "Brier")

NO_GROUP = "(not stated)"
NAME_CHARS_MAX = 80

_Row = TypeVar("_Row")


def tabulate(rows: Iterable[_Row], *columns: tuple[str, Callable[[_Row], str]]) -> FigureTable:
    """Return the table whose columns have these names and cells."""
    return FigureTable([name for name, _ in columns], [[cell(row) for _, cell in columns] for row in rows])


def tabulate_curve(source: FigureSource) -> FigureTable:
    """Return the curve, with the bands of a calibrated agent at the middle of each row."""
    columns = ("stated", "reviewed", "success", "recalibrated", "if calibrated", "on the whole curve")
    return FigureTable(columns, list(curve_rows(source.scores("curve").corp)))


def curve_rows(corp: Corp) -> Iterator[tuple[str, ...]]:
    """Yield stated confidences, reviews, success rate, recalibrated confidence and both bands of each row."""
    bands = corp.band or ()
    at = [bound.confidence for bound in bands]
    ends = [
        [getattr(bound, name) for bound in bands] for name in ("low", "high", "simultaneous_low", "simultaneous_high")
    ]
    for points in _curve_groups(corp.curve or ()):
        n = sum(point.reviewed for point in points)
        rate, recalibrated, stated = (
            sum(getattr(point, name) * point.reviewed for point in points) / n
            for name in ("rate", "recalibrated", "confidence")
        )
        low, high, lowest, highest = (float(np.interp(stated, at, end)) for end in ends)
        first, last = f"{points[0].confidence:.2f}", f"{points[-1].confidence:.2f}"
        yield (
            first if first == last else f"{first} to {last}",
            format_count(n),
            format_figure(rate),
            format_figure(recalibrated),
            format_interval(Interval(low, high)),
            format_interval(Interval(lowest, highest)),
        )


def _curve_groups(curve: Sequence[CurvePoint]) -> Iterator[list[CurvePoint]]:
    """Yield the points of each row: one point, or neighbours if there are more than CURVE_ROWS_MAX."""
    rows: list[list[CurvePoint]] = []
    for point in curve:
        if rows and len(curve) > CURVE_ROWS_MAX and point.recalibrated == rows[-1][-1].recalibrated:
            rows[-1].append(point)
        else:
            rows.append([point])
    size = -(-len(rows) // CURVE_ROWS_MAX)
    for start in range(0, len(rows), max(1, size)):
        yield [point for row in rows[start : start + size] for point in row]


def tabulate_murphy(source: FigureSource) -> FigureTable:
    """Return the loss at each threshold, and how much more it is than that of the mean outcome."""
    reviewed = format_count(source.answer.coverage.reviewed)
    return tabulate(
        source.answer.murphy,
        ("threshold", lambda point: f"{point.threshold:.3f}"),
        ("reviewed", lambda _: reviewed),
        ("stated confidence", lambda point: f"{point.stated:.4f}"),
        ("its interval", lambda point: _four_each(point.stated_interval)),
        ("recalibrated", lambda point: f"{point.recalibrated:.4f}"),
        ("mean outcome", lambda point: f"{point.base_rate:.4f}"),
        ("stated minus mean outcome", lambda point: f"{point.difference:+.4f}"),
        ("its interval", lambda point: _four_each(point.difference_interval, "+")),
    )


def tabulate_evidence(source: FigureSource) -> FigureTable:
    """Return both e-values and both intervals after some numbers of reviews."""
    plots = source.answer.plots
    return tabulate(
        () if plots is None else plots.evidence,
        ("reviews", lambda point: format_count(point.reviews)),
        ("e-value, over", lambda point: f"{point.e_value_over:.3g}"),
        ("e-value, under", lambda point: f"{point.e_value_under:.3g}"),
        ("gap", lambda point: format_figure(point.gap, "+")),
        ("for one look", lambda point: format_interval(point.gap_interval, "+")),
        ("for every look", lambda point: format_interval(point.gap_sequence, "+")),
    )


def tabulate_trend(source: FigureSource) -> FigureTable:
    """Return the windows of the trend."""
    trend = source.answer.trend
    return FigureTable(TREND_COLUMNS, [] if trend is None else list(trend_rows(trend)))


def trend_rows(trend: Trend) -> Iterator[tuple[str, ...]]:
    """Yield the columns TREND_COLUMNS of each window."""
    for window in trend.windows:
        yield (
            f"{window.since:%Y-%m-%d}",
            f"{window.until:%Y-%m-%d}",
            format_count(window.reviewed),
            format_figure(window.accuracy),
            format_figure(window.mean_confidence),
            format_figure(window.gap, "+"),
            format_interval(window.gap_interval, "+"),
            format_figure(window.brier_score),
        )


def tabulate_drift(source: FigureSource) -> FigureTable:
    """Return the reviews, and the gap before and after a change with its date; and the sum over time."""
    drift, plots = source.answer.drift, source.answer.plots
    rows = []
    if drift is not None:
        p = "" if drift.p is None else f"p {format_p(drift.p)}"
        rows.append(("all", format_count(drift.reviewed), "", "", p))
        if drift.change is not None:
            change, days = drift.change, f"{drift.change.earliest:%Y-%m-%d} to {drift.change.latest:%Y-%m-%d}"
            before, after = change.gap_before_interval, change.gap_after_interval
            rows += [
                (f"before {_minute(change.time)}", format_count(change.reviewed_before),
                 format_figure(change.gap_before, "+"), format_interval(before, "+"),
                 f"date: {change.coverage:.0%} interval {days}"),
                (f"from {_minute(change.time)}", format_count(change.reviewed_after),
                 format_figure(change.gap_after, "+"), format_interval(after, "+"), ""),
                ("change within agents and categories", format_count(drift.reviewed),
                 format_figure(change.shift.amount, "+"), format_interval(change.shift.interval, "+"), ""),
            ]  # fmt: skip
    rows += [
        (f"until {_minute(point.time)}", format_count(point.decisions), "", "", f"sum {point.sum:+.2f}")
        for point in (() if plots is None else plots.gap_sums)
    ]
    return FigureTable(("decisions", "n", "gap", "its interval", ""), rows)


def tabulate_recalibration(source: FigureSource) -> FigureTable:
    """Return what each stated confidence has meant, and which to state instead."""
    found = source.answer.recalibration
    return tabulate(
        [] if found is None else found.meanings,
        ("stated", lambda row: _range(row.low, row.high)),
        ("reviewed", lambda row: format_count(row.reviewed)),
        ("has meant", lambda row: format_figure(row.meant)),
        ("its interval", lambda row: format_interval(row.interval)),
        ("state instead", lambda row: format_figure(row.mapped)),
    )


def tabulate_missing_reviews(source: FigureSource) -> FigureTable:
    """Return the gaps of reviewed and of all decisions, and how many of each tenth of confidence are reviewed."""
    found, plots, scores = source.answer.missing_reviews, source.answer.plots, source.scores()
    rows = [("reviewed", format_count(scores.reviewed), "", *_gap(scores.gap, scores.gap_interval))]
    if found is not None:
        weighted = found.weighted_gap
        if weighted is not None:
            label = f"weighted to represent {weighted.represented:.0%} of all"
            rows.append((label, format_count(scores.reviewed), "", *_gap(weighted.gap, weighted.interval)))
        missing = format_count(found.unreviewed)
        rows.append(
            ("all, whatever the missing are", format_count(scores.reviewed), missing, *_gap(None, found.gap_bounds))
        )
    rows += [
        (f"stated {_range(tenth.low, tenth.high)}", format_count(tenth.reviewed), format_count(tenth.unreviewed),
         "", "")
        for tenth in (() if plots is None else plots.tenths)
        if tenth.reviewed or tenth.unreviewed
    ]  # fmt: skip
    return FigureTable(("decisions", "reviewed", "unreviewed", "gap", "its interval"), rows)


def tabulate_groups(source: FigureSource) -> FigureTable:
    """Return the groups with their gaps, and all decisions."""
    scores = source.scores()
    table = tabulate(
        source.answer.groups,
        (
            source.group_by.replace("_", " "),
            lambda group: NO_GROUP if group.group is None else one_line(group.group, NAME_CHARS_MAX),
        ),
        ("reviewed", lambda group: format_count(group.reviewed)),
        ("decisions", lambda group: format_count(group.total)),
        ("success", lambda group: format_figure(group.accuracy)),
        ("stated", lambda group: format_figure(group.mean_confidence)),
        ("gap", lambda group: format_figure(group.gap, "+")),
        ("its interval", lambda group: format_interval(group.gap_interval, "+")),
        ("shrunk", lambda group: "" if group.shrunk_gap is None else format_figure(group.shrunk_gap, "+")),
        ("Brier", lambda group: format_figure(group.brier_score)),
        ("verdict", row_verdict),
    )
    last = (
        "all", format_count(scores.reviewed), format_count(scores.total), format_figure(scores.accuracy),
        format_figure(scores.mean_confidence), *_gap(scores.gap, scores.gap_interval), "",
        format_figure(scores.brier_score), source.verdict(scores),
    )  # fmt: skip
    return table._replace(rows=[*table.rows, last])


def tabulate_comparison(source: FigureSource) -> FigureTable:
    """Return the pairs with their difference on shared questions."""
    comparison = source.answer.comparison
    return tabulate(
        [] if comparison is None else comparison.pairs,
        ("pair", lambda pair: " minus ".join(_names(pair))),
        ("shared questions", lambda pair: format_count(pair.shared)),
        ("Brier scores", lambda pair: " and ".join(map(format_figure, pair.brier_scores or ())) or "-"),
        ("difference", lambda pair: format_figure(pair.mean_difference, "+")),
        ("its interval", lambda pair: format_interval(pair.interval, "+")),
        ("p", lambda pair: "-" if pair.p is None else format_p(pair.p)),
        ("adjusted p", lambda pair: "-" if pair.adjusted_p is None else format_p(pair.adjusted_p)),
        ("e-value", lambda pair: "-" if pair.e_value is None else format_odds(pair.e_value)),
        ("verdict", lambda pair: _judge(pair) if pair.paired else pair.note or ""),
    )


def _names(pair: AgentPair) -> list[str]:
    return [one_line(name, NAME_CHARS_MAX) for name in pair.agents]


def _judge(pair: AgentPair) -> str:
    if not pair.mean_difference:
        return "neither is better"
    return f"{_names(pair)[pair.mean_difference > 0]} is better{'' if pair.supported else '?'}"


def tabulate_threshold(source: FigureSource) -> FigureTable:
    """Return net benefit at each threshold."""
    plots = source.answer.plots
    return tabulate(
        () if plots is None else plots.net_benefit,
        ("threshold", lambda use: f"{use.threshold:.2f}"),
        ("acted on", lambda use: format_count(use.acted_on)),
        ("of", lambda use: format_count(use.reviewed)),
        ("success", lambda use: format_figure(use.success_rate)),
        ("its interval", lambda use: format_interval(use.success_interval)),
        ("net benefit", lambda use: format_figure(use.net_benefit, "+")),
        ("its interval", lambda use: format_interval(use.net_benefit_interval, "+")),
        ("acting on all", lambda use: format_figure(use.net_benefit_all, "+")),
    )


def _gap(gap: float | None, interval: Interval | None) -> tuple[str, str]:
    return format_figure(gap, "+"), format_interval(interval, "+")


def _four_each(interval: Interval, sign: str = "") -> str:
    return f"{interval.low:{sign}.4f} to {interval.high:{sign}.4f}"


def _range(low: float, high: float) -> str:
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"


def _minute(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}"
