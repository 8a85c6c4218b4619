"""An area of a drawing with two axes: scales, grid, lines, bands, marks and a legend."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from math import ceil, floor, log10
from typing import NamedTuple

from api.reports.plots.svg import MARGIN, WIDTH, Chart, Heading, draw_text
from tallystick.shapes.parts import Interval

LEFT, RIGHT, TOP = 78, 604, 128
"""The edges of an area that fills a drawing's width, below its heading."""

LEGEND_LINE = 28
"""The distance of two lines of a legend."""

LEGEND_BELOW = 82
"""How far the first line of a legend is below an area with a titled axis."""

DATES = 3
"""Dates are written at this many equal distances."""

HOURS_BELOW = timedelta(days=DATES)
"""In a shorter time, hours are written."""

_STEPS = (1.0, 2.0, 5.0, 10.0)
_ROUNDING = 1e-9
_HALF_LETTER = 6.0
"""Half the width of a letter, generously, in SVG units."""

Point = tuple[float, float]
Tick = tuple[float, str]
"""A value and its label."""


class Scale(NamedTuple):
    """A linear scale: the values `low` and `high` are at the coordinates `start` and `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the coordinate of a value; a value beyond the scale is at its end."""
        inside = min(max(value, self.low), self.high)
        return self.start + (self.end - self.start) * (inside - self.low) / (self.high - self.low)


class Panel(NamedTuple):
    """An area of a drawing, with the ticks of its axes."""

    x: Scale
    y: Scale
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]

    @classmethod
    def between(cls, x_ticks: Sequence[Tick], y_ticks: Sequence[Tick], bottom: float, top: float = TOP) -> "Panel":
        """Return an area that fills a drawing's width, and whose scales go from the first to the last tick."""
        x = Scale(x_ticks[0][0], x_ticks[-1][0], LEFT, RIGHT)
        return cls(x, Scale(y_ticks[0][0], y_ticks[-1][0], bottom, top), x_ticks, y_ticks)

    def draw_axes(self, x_title: str, y_title: str) -> Iterator[str]:
        """Draw a line and a label for each tick, and what the axes show, with their units."""
        left, right, bottom, top = self.x.start, self.x.end, self.y.start, self.y.end
        for value, label in self.y_ticks:
            y = self.y.at(value)
            yield f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>'
            yield draw_text(left - 8, y + 6, label, "", "end")
        for value, label in self.x_ticks:
            x = self.x.at(value)
            yield f'<path class="grid" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>'
            yield draw_text(min(x, WIDTH - _HALF_LETTER * len(label)), bottom + 24, label, "", "middle")
        middle = (bottom + top) / 2
        yield f'<text transform="translate(20 {middle:.1f}) rotate(-90)" text-anchor="middle">{y_title}</text>'
        yield draw_text((left + right) / 2, bottom + 46, x_title, "", "middle")

    def draw_line(self, css_class: str, points: Iterable[Point]) -> str:
        """Draw a line through points."""
        return f'<polyline class="{css_class}" points="{self.path(points)}"/>'

    def draw_band(self, css_class: str, intervals: Iterable[tuple[float, Interval]]) -> str:
        """Draw the area between the ends of intervals over the values before them."""
        ends = list(intervals)
        lower = self.path((x, interval.low) for x, interval in reversed(ends))
        return f'<polygon class="{css_class}" points="{self.path((x, each.high) for x, each in ends)} {lower}"/>'

    def draw_estimate(self, value: float, figure: float, interval: Interval) -> Iterator[str]:
        """Draw a figure as a dot over a value, with its interval."""
        x, top, bottom = self.x.at(value), self.y.at(interval.high), self.y.at(interval.low)
        yield f'<line class="whisker" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
        yield draw_dot(x, self.y.at(figure), sure=True)

    def draw_level(self, css_class: str, value: float) -> str:
        """Draw a line across at a value of the vertical axis."""
        return f'<path class="{css_class}" d="M{self.x.start:.1f} {self.y.at(value):.1f}H{self.x.end:.1f}"/>'

    def draw_place(self, css_class: str, value: float) -> str:
        """Draw a line from top to bottom at a value of the horizontal axis."""
        return f'<path class="{css_class}" d="M{self.x.at(value):.1f} {self.y.end:.1f}V{self.y.start:.1f}"/>'

    def path(self, points: Iterable[Point]) -> str:
        """Return the coordinates of points."""
        return " ".join(f"{self.x.at(x):.1f},{self.y.at(y):.1f}" for x, y in points)


def percent_ticks(shares: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0)) -> list[Tick]:
    """Return ticks of shares, labelled in per cent."""
    return [(share, f"{share:.0%}") for share in shares]


def date_ticks(first: datetime, last: datetime) -> list[Tick]:
    """Return ticks in seconds after the first time, labelled with dates, or hours in a short time."""
    form = "%d %H:%M" if last - first < HOURS_BELOW else "%Y-%m-%d"
    seconds = even_values(0.0, max((last - first).total_seconds(), 1.0), DATES)
    return [(after, f"{first + timedelta(seconds=after):{form}}") for after in seconds]


def even_values(low: float, high: float, steps: int) -> list[float]:
    """Return values at equal distances from `low` to `high`, both included."""
    return [low + (high - low) * number / steps for number in range(steps + 1)]


def round_ticks(low: float, high: float, steps: int = 5) -> list[float]:
    """Return round values at equal distances, at most about `steps`, the first at most `low`, the last at least `high`.

    They are multiples of 1, 2 or 5 times a power of ten.
    """
    rough = max(high - low, _ROUNDING) / steps
    power = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in _STEPS if power * factor >= rough * (1 - _ROUNDING))
    first, last = floor(low / step + _ROUNDING), ceil(high / step - _ROUNDING)
    return [round(number * step, 12) + 0.0 for number in range(first, max(last, first + 1) + 1)]


def signed_ticks(values: Sequence[float]) -> list[Tick]:
    """Return ticks of gaps, labelled with their sign."""
    decimals = 2 if any(abs(value * 10 - round(value * 10)) > _ROUNDING for value in values) else 1
    return [(value, f"{value:+.{decimals}f}" if value else "0") for value in values]


def chart_with_legend(
    title: str, heading: Heading, lines: Iterable[str], bottom: float, legend: Sequence[tuple[str, str]]
) -> Chart:
    """Return a chart with a legend below its lowest area, which ends at `bottom`."""
    height = bottom + LEGEND_BELOW + LEGEND_LINE * (len(legend) - 1) + 44
    return Chart(height, title, heading, [*lines, *draw_legend(bottom + LEGEND_BELOW, legend)])


def draw_legend(y: float, entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Draw a legend from y on: a line of the drawing for each entry, its CSS class and its label.

    The classes of lines, areas, and of dots with their intervals are drawn as such.
    """
    for number, (css_class, label) in enumerate(entries):
        at = y + LEGEND_LINE * number
        yield from _sample(css_class, at)
        yield draw_text(MARGIN + 44, at, label, "", "start")


def draw_dot(x: float, y: float, *, sure: bool) -> str:
    """Draw a dot; it is hollow if what it shows is not supported."""
    return f'<circle class="{"dot" if sure else "open"}" cx="{x:.1f}" cy="{y:.1f}" r="6"/>'


def _sample(css_class: str, y: float) -> Iterator[str]:
    if css_class in ("band", "whole", "near", "span", "count", "outline"):
        yield f'<rect class="{css_class}" x="{MARGIN}" y="{y - 14:.1f}" width="34" height="16"/>'
    elif css_class in ("dot", "open"):
        yield f'<path class="whisker" d="M{MARGIN} {y - 6:.1f}h34"/>'
        yield draw_dot(MARGIN + 17, y - 6, sure=css_class == "dot")
    else:
        yield f'<path class="{css_class}" d="M{MARGIN} {y - 6:.1f}h34"/>'
