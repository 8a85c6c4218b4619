"""A small drawing of a trend, for a row of a table: the gap over time with its interval, without axes."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from api.reports.escape import escape_html, one_line
from api.reports.format import gap, gap_interval
from api.reports.plots.panel import Panel, Scale
from api.reports.plots.trend import middle
from tallystick.shapes.history import Window

WIDTH, HEIGHT = 144, 32
MARGIN = 3

NAME_CHARS_MAX = 80

GAP_SHOWN_MIN = 0.2
"""The smallest gap at the top and the bottom of a drawing, so that chance does not look like a change."""

SCALED_REVIEWS_MIN = 10
"""A window with fewer reviews has no influence on the scale: its gap may be drawn at the edge."""


class SparkScale(NamedTuple):
    """What drawings below each other have in common: the last time, and the area with its scales of time and gap."""

    last: datetime
    panel: Panel

    @classmethod
    def of(cls, trends: Sequence[Sequence[Window]]) -> "SparkScale | None":
        """Return the scale of several trends; None if no window of them has a reviewed decision."""
        windows = [window for trend in trends for window in trend if window.gap is not None]
        if not windows:
            return None
        sizes = [abs(_gap(window)) for window in windows if window.reviewed >= SCALED_REVIEWS_MIN]
        gap_max = max([GAP_SHOWN_MIN, *sizes])
        first, last = min(map(middle, windows)), max(map(middle, windows))
        x = Scale(min((first - last).total_seconds(), -1.0), 0.0, MARGIN, WIDTH - MARGIN)
        return cls(last, Panel(x, Scale(-gap_max, gap_max, HEIGHT - MARGIN, MARGIN), (), ()))

    def seconds(self, window: Window) -> float:
        """Return the time of a window on the scale."""
        return (middle(window) - self.last).total_seconds()


def draw_sparkline(windows: Sequence[Window], scale: SparkScale, name: str, drawing_id: str) -> str:
    """Return the drawing of the trend of one agent, with its figures in words. `drawing_id` is unique on the page."""
    runs = [list(run) for known, run in groupby(windows, lambda window: window.gap is not None) if known]
    last = runs[-1][-1]
    x, y = scale.panel.x.at(scale.seconds(last)), scale.panel.y.at(_gap(last))
    labelled = f'aria-labelledby="{drawing_id}-t" aria-describedby="{drawing_id}-d"'
    return "".join(
        [
            f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" {labelled}>',
            f'<title id="{drawing_id}-t">Gap of {escape_html(one_line(name, NAME_CHARS_MAX))} over time</title>',
            f'<desc id="{drawing_id}-d">{escape_html(describe_trend(windows))}</desc>',
            f'<line class="zero" x1="0" x2="{WIDTH}" y1="{HEIGHT / 2:g}" y2="{HEIGHT / 2:g}"/>',
            *(line for run in runs for line in _draw_run(run, scale)),
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


def _draw_run(windows: Sequence[Window], scale: SparkScale) -> Iterator[str]:
    """Draw windows that follow each other: the band of their intervals, and the line of their gaps."""
    panel = scale.panel
    band = [(scale.seconds(one), one.gap_interval) for one in windows if one.gap_interval is not None]
    if len(windows) > 1:
        yield panel.draw_band("near", band)
        yield panel.draw_line("curve", ((scale.seconds(one), _gap(one)) for one in windows))
        return
    for seconds, ends in band:
        x, low, high = panel.x.at(seconds), panel.y.at(ends.low), panel.y.at(ends.high)
        yield f'<line class="range" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'


def _gap(window: Window) -> float:
    assert window.gap is not None
    return window.gap
