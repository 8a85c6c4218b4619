"""Drawings as SVG within the page: bars, intervals, and the course of versions. Lengths are percent of the width."""

from collections.abc import Iterable, Sequence

from api.reports.escape import line, markup
from api.reports.format import between, points
from projections.evaluation.view_types import TrendPoint
from projections.stats.intervals import Interval

WIDTH, HEIGHT = 760, 240
LEFT, RIGHT, TOP, BOTTOM = 34, 14, 12, 34

LABELS_MAX = 8
"""Versions whose names are written below; the others are told when pointed at."""


def bar(value: float | None, colour: str, mark: float | None = None) -> str:
    """Points as a bar, with a tick at the mark."""
    filled = "" if not value else f'<rect class="f-{colour}" width="{value:.1f}%" height="8" rx="4"/>'
    tick = "" if mark is None else f'<line class="tick" x1="{mark:.1f}%" x2="{mark:.1f}%" y2="8"/>'
    return (
        f'<svg height="8" aria-hidden="true"><rect class="track" width="100%" height="8" rx="4"/>{filled}{tick}</svg>'
    )


def interval(value: float | None, around: Interval | None, full: float) -> str:
    """A figure with its interval, on a scale up to `full`."""
    if value is None:
        return ""
    band = ""
    if around is not None:
        low, high = (100 * max(0.0, min(full, end)) / full for end in (around.low, around.high))
        band = f'<rect class="band" x="{low:.1f}%" width="{high - low:.1f}%" height="8" rx="4"/>'
    at = f"{100 * value / full:.1f}%"
    track = '<rect class="track" width="100%" height="8" rx="4"/>'
    return f'<svg height="8" aria-hidden="true">{track}{band}<circle class="dot" cx="{at}" cy="4" r="4"/></svg>'


def stacked(parts: Iterable[tuple[str, int]]) -> str:
    """Counts side by side, each in the colour of its name."""
    shown = [(name, number) for name, number in parts if number]
    total, at, drawn = sum(number for _, number in shown), 0.0, []
    for name, number in shown:
        wide = 100 * number / total
        drawn.append(f'<rect class="f-{name}" x="{at:.2f}%" width="{wide:.2f}%" height="8"/>')
        at += wide
    return f'<svg height="8" aria-hidden="true"><rect class="track" width="100%" height="8"/>{"".join(drawn)}</svg>'


def course(trend: Sequence[TrendPoint], version: str | None) -> str:
    """Mean points by version, with intervals; the version that is reported is a ring."""
    step = (WIDTH - LEFT - RIGHT) / len(trend)
    places = [LEFT + step * (number + 0.5) for number in range(len(trend))]
    drawn = [_grid(level) for level in (0, 25, 50, 75, 100)]
    line_ = " ".join(
        f"{x:.1f},{_height(point.mean):.1f}" for x, point in zip(places, trend, strict=True) if point.mean is not None
    )
    drawn.append(f'<polyline class="series" points="{line_}"/>')
    every = -(-len(trend) // LABELS_MAX)
    for number, (x, point) in enumerate(zip(places, trend, strict=True)):
        drawn.append(_point(x, point, here=point.agent_version == version))
        if (len(trend) - 1 - number) % every == 0:
            label = markup(line(point.agent_version or "not said", max(6, int(step * every / 7))))
            drawn.append(f'<text x="{x:.1f}" y="{HEIGHT - 12}" text-anchor="middle">{label}</text>')
    said = f"Mean points of {len(trend)} versions, from {points(trend[0].mean)} to {points(trend[-1].mean)}"
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}">{"".join(drawn)}</svg>'


def _point(x: float, point: TrendPoint, *, here: bool) -> str:
    if point.mean is None:
        return ""
    around, whisker = point.mean_interval, ""
    if around is not None:
        low, high = _height(around.low), _height(around.high)
        whisker = f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
    told = f"{line(point.agent_version or 'not said')}: {points(point.mean)}"
    told += f" ({between(around)})" if around is not None else ""
    dot = f'class="{"here" if here else "dot"}" cx="{x:.1f}" cy="{_height(point.mean):.1f}" r="{5 if here else 4}"'
    return f"<g><title>{markup(told)}</title>{whisker}<circle {dot}/></g>"


def _grid(level: int) -> str:
    y = _height(level)
    rule = f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return f'{rule}<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{level}</text>'


def _height(value: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * max(0.0, min(100.0, value)) / 100
