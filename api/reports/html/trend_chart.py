"""Lay out the chart of mean points by version: x in percent of the width, y in pixels from the top."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from api.reports.escape import one_line
from api.reports.format import point_interval, points
from projections.evaluation.view_types import TrendPoint

HEIGHT, TOP, BOTTOM = 240, 16, 34
"""Pixels: the whole chart, and its margins."""

LEFT, RIGHT = 7.0, 1.0
"""Margins in percent of the width."""

LABELS_MAX = 8
"""The most version labels on a wide screen. Each dot shows its version on hover."""

NARROW_LABELS_MAX = 4
"""The most version labels on a narrow screen."""

LABEL_CHARS = 48
"""The total of characters of the labels on a narrow screen."""


class TrendDot(msgspec.Struct, frozen=True, kw_only=True):
    """The dot of one version: `y` is its mean, `low` and `high` the ends of its interval; None if unknown.

    `label` is None if it would not fit on a wide screen. `is_current` marks the version of the report.
    """

    x: float
    y: float | None
    low: float | None
    high: float | None
    title: str
    label: str | None
    fits_narrow: bool
    is_current: bool


class TrendChart(msgspec.Struct, frozen=True, kw_only=True):
    """The layout of the chart. A segment connects two dots."""

    height: int
    left: float
    levels: tuple[tuple[int, float], ...]
    dots: tuple[TrendDot, ...]
    segments: tuple[tuple[TrendDot, TrendDot], ...]


def trend_chart(trend: Sequence[TrendPoint], version: str | None) -> TrendChart:
    """Lay out the chart of at least one version."""
    dots = tuple(_dot(trend, number, version) for number in range(len(trend)))
    return TrendChart(
        height=HEIGHT,
        left=LEFT,
        levels=tuple((level, _y(level)) for level in (0, 25, 50, 75, 100)),
        dots=dots,
        segments=tuple(pairwise(dot for dot in dots if dot.y is not None)),
    )


def _dot(trend: Sequence[TrendPoint], number: int, version: str | None) -> TrendDot:
    point, interval = trend[number], trend[number].mean_interval
    name = point.agent_version or "unknown"
    step = (100 - LEFT - RIGHT) / len(trend)
    labelled = _has_label(number, len(trend), LABELS_MAX)
    return TrendDot(
        x=LEFT + step * (number + 0.5),
        y=None if point.mean is None else _y(point.mean),
        low=None if interval is None else _y(interval.low),
        high=None if interval is None else _y(interval.high),
        title=f"{one_line(name)}: {points(point.mean)}"
        + (f" ({point_interval(interval)})" if interval is not None else ""),
        label=one_line(name, LABEL_CHARS // min(len(trend), NARROW_LABELS_MAX)) if labelled else None,
        fits_narrow=_has_label(number, len(trend), NARROW_LABELS_MAX),
        is_current=point.agent_version == version,
    )


def _has_label(number: int, versions: int, labels_max: int) -> bool:
    """Return whether a version has a label, if at most `labels_max` fit; the latest version always has one."""
    interval = -(-versions // labels_max)
    return (versions - 1 - number) % interval == 0


def _y(value: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * max(0.0, min(100.0, value)) / 100
