"""Draw rows of figures with their intervals below each other (a forest plot)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from api.reports.escape import one_line
from api.reports.plots.panel import LEGEND_LINE, TOP, Scale, Tick, draw_dot, draw_legend, round_ticks, signed_ticks
from api.reports.plots.svg import MARGIN, WIDTH, Chart, Heading, draw_text
from tallystick.shapes.parts import Interval

LEFT, RIGHT = 48, 592
"""The edges of the scale, in SVG units."""

ROW_HEIGHT, STACKED_HEIGHT = 58, 82
"""The height of a row; where the texts of some row are too long for one line, all have two."""

LINE_CHARS_MAX = 56
AXIS_HEIGHT = 60
"""The height of the axis below the rows, with its title."""


class IntervalRow(NamedTuple):
    """A figure and its interval; each may be None. `note` is at the right. A row that is not sure has a hollow dot."""

    label: str
    note: str
    value: float | None
    interval: Interval | None
    sure: bool


def chart_of_rows(
    title: str,
    heading: Heading,
    rows: Sequence[IntervalRow],
    axis: str,
    *,
    ticks: Sequence[Tick] = (),
    filled: str,
    hollow: str,
    left_out: int,
    left_out_are: str,
) -> Chart:
    """Return a chart of rows, with what filled and hollow dots mean, and how many rows are left out, and why."""
    legend_y = TOP + rows_height(rows) + 34
    lines = [*draw_rows(rows, TOP, axis, ticks), *draw_legend(legend_y, (("dot", filled), ("open", hollow)))]
    if left_out:
        lines.append(draw_text(MARGIN, legend_y + 2 * LEGEND_LINE, f"{left_out:,} {left_out_are}", "", "start"))
    return Chart(legend_y + 84, title, heading, lines)


def rows_height(rows: Sequence[IntervalRow]) -> int:
    """Return the height of rows and of their axis, in SVG units."""
    return _row_height(rows) * len(rows) + AXIS_HEIGHT


def draw_rows(rows: Sequence[IntervalRow], top: float, title: str, ticks: Sequence[Tick] = ()) -> Iterator[str]:
    """Draw rows from a height on, and below them an axis with a title, from the first tick to the last.

    Without ticks the rows are gaps: the axis has signs, and 0 is a dashed line.
    """
    dashed = None if ticks else 0.0
    if not ticks:
        values = [row.value for row in rows if row.value is not None]
        ends = [*values, *(end for row in rows if row.interval for end in (row.interval.low, row.interval.high))]
        ticks = signed_ticks(round_ticks(min(0.0, *ends), max(0.0, *ends)))
    scale, height = Scale(ticks[0][0], ticks[-1][0], LEFT, RIGHT), _row_height(rows)
    bottom = top + height * len(rows)
    for value, label in ticks:
        yield draw_text(scale.at(value), bottom + 24, label, "", "middle")
    for number, row in enumerate(rows):
        below = top + height * (number + 1)
        yield from _draw_texts(row, below - height, stacked=height == STACKED_HEIGHT)
        for value, _ in ticks:
            css_class = "perfect" if value == dashed else "grid"
            yield f'<path class="{css_class}" d="M{scale.at(value):.1f} {below - 29:.1f}v28"/>'
        yield from _draw_interval(row, scale, below - 15)
    yield draw_text((LEFT + RIGHT) / 2, bottom + 50, title, "", "middle")


def _row_height(rows: Sequence[IntervalRow]) -> int:
    longest = max(len(one_line(row.label)) + len(one_line(row.note)) for row in rows)
    return ROW_HEIGHT if longest <= LINE_CHARS_MAX else STACKED_HEIGHT


def _draw_texts(row: IntervalRow, top: float, *, stacked: bool) -> Iterator[str]:
    yield draw_text(MARGIN, top + 22, one_line(row.label, LINE_CHARS_MAX), "ink", "start")
    x, y, anchor = (MARGIN, top + 45, "start") if stacked else (WIDTH - MARGIN, top + 22, "end")
    yield draw_text(x, y, one_line(row.note, LINE_CHARS_MAX), "", anchor)


def _draw_interval(row: IntervalRow, scale: Scale, y: float) -> Iterator[str]:
    if row.interval is not None:
        low, high = scale.at(row.interval.low), scale.at(row.interval.high)
        yield f'<line class="whisker" x1="{low:.1f}" y1="{y:.1f}" x2="{high:.1f}" y2="{y:.1f}"/>'
        yield f'<path class="whisker" d="M{low:.1f} {y - 6:.1f}v12M{high:.1f} {y - 6:.1f}v12"/>'
    if row.value is not None:
        yield draw_dot(scale.at(row.value), y, sure=row.sure)
