"""A small drawing of a trend, for a row of a table: the gap over time with its interval, without axes."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from api.reports.escape import escape_html, one_line
from api.reports.format import gap, gap_interval
from tallystick.shapes.history import Window

WIDTH, HEIGHT = 144, 32
MARGIN = 3

NAME_CHARS_MAX = 80

GAP_SHOWN_MIN = 0.2
"""The smallest gap at the top and the bottom of a drawing, so that chance does not look like a change."""

SCALED_REVIEWS_MIN = 10
"""A window with fewer reviews has no influence on the scale: its gap may be drawn at the edge."""


class SparkScale(NamedTuple):
    """What drawings below each other have in common: the first and the last time, and the gap at the top."""

    first: datetime
    last: datetime
    gap: float

    @classmethod
    def of(cls, trends: Sequence[Sequence[Window]]) -> "SparkScale | None":
        """Return the scale of several trends; None if no window of them has a reviewed decision."""
        windows = [window for trend in trends for window in trend if window.gap is not None]
        if not windows:
            return None
        sizes = [abs(_gap(window)) for window in windows if window.reviewed >= SCALED_REVIEWS_MIN]
        largest = max(sizes, default=0.0)
        return cls(min(map(_middle, windows)), max(map(_middle, windows)), max(GAP_SHOWN_MIN, largest))

    def x(self, when: datetime) -> float:
        """Return the place of a time."""
        span = (self.last - self.first).total_seconds()
        share = (when - self.first).total_seconds() / span if span else 1.0
        return MARGIN + (WIDTH - 2 * MARGIN) * share

    def y(self, gap: float) -> float:
        """Return the place of a gap. A gap of 0 is in the middle."""
        return HEIGHT / 2 - (HEIGHT / 2 - MARGIN) * max(-1.0, min(1.0, gap / self.gap))


def draw_sparkline(windows: Sequence[Window], scale: SparkScale, name: str, drawing_id: str) -> str:
    """Return the drawing of the trend of one agent, with its figures in words. `drawing_id` is unique on the page."""
    drawn = [window for window in windows if window.gap is not None]
    stretches = groupby(windows, lambda window: window.gap is not None)
    parts = [line for known, part in stretches if known for line in _draw_part(list(part), scale)]
    last = drawn[-1]
    x, y = scale.x(_middle(last)), scale.y(_gap(last))
    labelled = f'aria-labelledby="{drawing_id}-t" aria-describedby="{drawing_id}-d"'
    return "".join(
        [
            f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" {labelled}>',
            f'<title id="{drawing_id}-t">Gap of {escape_html(one_line(name, NAME_CHARS_MAX))} over time</title>',
            f'<desc id="{drawing_id}-d">{escape_html(describe_trend(windows))}</desc>',
            f'<line class="zero" x1="0" x2="{WIDTH}" y1="{HEIGHT / 2:g}" y2="{HEIGHT / 2:g}"/>',
            *parts,
            f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>',
            "</svg>",
        ]
    )


def describe_trend(windows: Sequence[Window]) -> str:
    """Say in words what a trend shows: its first, lowest, highest and last gap, each with its time and reviews."""
    known = [window for window in windows if window.gap is not None]
    if len(known) == 1:
        return f"One window: {_describe(known[0])}."
    lowest, highest = min(known, key=_gap), max(known, key=_gap)
    return (
        f"{len(known)} windows. First {_describe(known[0])}; lowest {_describe(lowest)}; highest {_describe(highest)};"
        f" last {_describe(known[-1])}."
    )


def _describe(window: Window) -> str:
    days = f"{window.since:%Y-%m-%d} to {window.until:%Y-%m-%d}"
    return f"{gap(window.gap)} ({gap_interval(window.gap_interval)}), n={window.reviewed:,}, {days}"


def _draw_part(windows: Sequence[Window], scale: SparkScale) -> list[str]:
    """Draw windows that follow each other: the band of their intervals, and the line of their gaps."""
    top = [f"{scale.x(_middle(one)):.1f},{scale.y(one.gap_interval.high):.1f}" for one in windows if one.gap_interval]
    bottom = [f"{scale.x(_middle(one)):.1f},{scale.y(one.gap_interval.low):.1f}" for one in windows if one.gap_interval]
    line = " ".join(f"{scale.x(_middle(one)):.1f},{scale.y(_gap(one)):.1f}" for one in windows)
    if len(windows) == 1:
        x = f"{scale.x(_middle(windows[0])):.1f}"
        ends = windows[0].gap_interval
        if ends is None:
            return []
        return [f'<line class="range" x1="{x}" x2="{x}" y1="{scale.y(ends.low):.1f}" y2="{scale.y(ends.high):.1f}"/>']
    band = " ".join([*top, *reversed(bottom)])
    return [f'<polygon class="near" points="{band}"/>', f'<polyline class="curve" points="{line}"/>']


def _middle(window: Window) -> datetime:
    return window.since + (window.until - window.since) / 2


def _gap(window: Window) -> float:
    assert window.gap is not None
    return window.gap
