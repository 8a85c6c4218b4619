"""Draw the gap in rolling windows of time, with the interval of each window."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

from api.reports.plots.figure_source import Figure, FigureMissing, FigureSource
from api.reports.plots.panel import Panel, chart_with_legend, date_ticks, round_ticks, signed_ticks
from api.reports.plots.svg import Chart, Heading
from api.reports.plots.tables import tabulate_trend
from api.text_format import format_figure
from tallystick.shapes.history import Trend, Window

BOTTOM = 520


def chart_trend(source: FigureSource) -> Chart:
    """Chart the gap over time. Errors: FigureMissing, without a reviewed decision.

    Shapes: the gap of each window at the middle of it, with its interval. Windows without a review leave a space; one
            between two such is a dot.
    """
    trend, windows = _windows(source)
    first, last = middle(windows[0]), middle(windows[-1])
    intervals = [window.gap_interval for window in windows if window.gap_interval is not None]
    gaps = round_ticks(min(0.0, *(each.low for each in intervals)), max(0.0, *(each.high for each in intervals)))
    panel = Panel.between(date_ticks(first, last), signed_ticks(gaps), BOTTOM)
    latest = windows[-1]
    return chart_with_legend(
        f"Trend of the gap of {source.subject} in windows of {trend.days} days",
        Heading(
            source.subject,
            f"Gap in windows of {trend.days} days",
            f"Last: {format_figure(latest.gap, '+')}, n={latest.reviewed:,}, before {latest.until:%Y-%m-%d}",
        ),
        [
            *panel.draw_axes("time of the decision", "gap"),
            panel.draw_level("perfect", 0),
            *_draw_runs(panel, trend.windows, first),
        ],
        BOTTOM,
        (("curve", "gap of the window"), ("near", "its 95% interval"), ("perfect", "no gap")),
    )


def _windows(source: FigureSource) -> tuple[Trend, list[Window]]:
    """Return the trend, and its windows with a review."""
    trend = source.answer.trend
    windows = [] if trend is None else [window for window in trend.windows if window.gap_interval is not None]
    if trend is None or not windows:
        raise FigureMissing("no decision was reviewed.", "Review some decisions.")
    return trend, windows


def middle(window: Window) -> datetime:
    """Return the time at which a window is drawn."""
    return window.since + (window.until - window.since) / 2


def _draw_runs(panel: Panel, windows: Sequence[Window], first: datetime) -> Iterator[str]:
    """Draw each run of windows with reviews: a line with a band, or a dot with its interval."""
    for empty, run in groupby(windows, lambda window: window.gap_interval is None):
        if empty:
            continue
        points = [
            ((middle(window) - first).total_seconds(), window.gap or 0.0, window.gap_interval)
            for window in run
            if window.gap_interval is not None
        ]
        if len(points) == 1:
            yield from panel.draw_estimate(*points[0])
        else:
            yield panel.draw_band("near", ((x, interval) for x, _, interval in points))
            yield panel.draw_line("curve", ((x, gap) for x, gap, _ in points))


FIGURE = Figure(
    "Trend",
    "Each point is the gap of the decisions made in one window of time, at the middle of it, with its 95% interval. "
    "Below 0 the agent was overconfident, above it underconfident. Windows overlap, so neighbours are alike.",
    chart_trend,
    tabulate_trend,
    include=("trend",),
)
