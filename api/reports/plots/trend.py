"""Draw the gap in rolling windows of time, with the interval of each window."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

from api.reports.plots.figure_source import FigureMissing, FigureSource
from api.reports.plots.panel import (
    LEFT,
    LEGEND_BELOW,
    RIGHT,
    TOP,
    Panel,
    Scale,
    date_ticks,
    draw_dot,
    draw_legend,
    height_with_legend,
    round_ticks,
    signed_ticks,
)
from api.reports.plots.svg import Heading, draw_figure, draw_position, format_gap
from tallystick.shapes.history import Trend, Window

READING = (
    "Each point is the gap of the decisions made in one window of time, at the middle of it, with its 95% interval. "
    "Below 0 the agent was overconfident, above it underconfident. Windows overlap, so neighbours are alike."
)
"""How to read the drawing."""

BOTTOM = 520
ENTRIES = (("curve", "gap of the window"), ("near", "its 95% interval"), ("perfect", "no gap"))
HEIGHT = height_with_legend(BOTTOM, len(ENTRIES))


def draw_trend(source: FigureSource) -> str:
    """Draw the gap over time. Errors: FigureMissing, without a reviewed decision.

    Shapes: the gap of each window at the middle of it, with its interval. Windows without a review leave a space; one
            between two such is a dot.
    """
    trend, windows = _windows(source)
    first, last = _middle(windows[0]), _middle(windows[-1])
    intervals = [window.gap_interval for window in windows if window.gap_interval is not None]
    ticks = round_ticks(min(0.0, *(each.low for each in intervals)), max(0.0, *(each.high for each in intervals)))
    panel = Panel(
        Scale(0, max((last - first).total_seconds(), 1.0), LEFT, RIGHT), Scale(ticks[0], ticks[-1], BOTTOM, TOP)
    )
    latest = windows[-1]
    return draw_figure(
        HEIGHT,
        f"Trend of the gap of {source.subject} in windows of {trend.days} days",
        Heading(
            source.subject,
            f"Gap in windows of {trend.days} days",
            f"Last: {format_gap(latest.gap or 0.0)}, n={latest.reviewed:,}, before {latest.until:%Y-%m-%d}",
        ),
        READING,
        [
            *panel.draw_grid(date_ticks(first, last), signed_ticks(ticks)),
            *panel.draw_titles("time of the decision", "gap"),
            panel.draw_level("perfect", 0),
            *_draw_runs(panel, trend.windows, first),
            *draw_legend(BOTTOM + LEGEND_BELOW, ENTRIES),
            draw_position(source.position, HEIGHT),
        ],
    )


def _windows(source: FigureSource) -> tuple[Trend, list[Window]]:
    """Return the trend, and its windows with a review."""
    trend = source.answer.trend
    windows = [] if trend is None else [window for window in trend.windows if window.gap_interval is not None]
    if trend is None or not windows:
        raise FigureMissing("no decision was reviewed.", "Review some decisions.")
    return trend, windows


def _middle(window: Window) -> datetime:
    return window.since + (window.until - window.since) / 2


def _draw_runs(panel: Panel, windows: Sequence[Window], first: datetime) -> Iterator[str]:
    """Draw each run of windows with reviews: a line with a band, or a dot with its interval."""
    for empty, run in groupby(windows, lambda window: window.gap_interval is None):
        if empty:
            continue
        points = [
            ((_middle(window) - first).total_seconds(), window.gap or 0.0, window.gap_interval)
            for window in run
            if window.gap_interval is not None
        ]
        if len(points) == 1:
            ((seconds, gap, interval),) = points
            x, top, bottom = panel.x.at(seconds), panel.y.at(interval.high), panel.y.at(interval.low)
            yield f'<line class="whisker" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
            yield draw_dot(x, panel.y.at(gap), sure=True)
        else:
            upper, lower = ([(x, i.high) for x, _, i in points], [(x, i.low) for x, _, i in points])
            yield panel.draw_band("near", upper, lower)
            yield panel.draw_line("curve", ((x, gap) for x, gap, _ in points))
