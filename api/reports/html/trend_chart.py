"""Draw the mean points by version: x in percent of the width, y in pixels from the top."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from api.reports.escape import escape_html, one_line
from api.reports.format import bracketed, point_interval, points
from api.reports.plots.panel import Scale
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

_points = Scale(0.0, 100.0, HEIGHT - BOTTOM, TOP)


def draw_versions(trend: Sequence[TrendPoint], version: str | None) -> str:
    """Draw at least one version as SVG. `version` is that of the report, which is marked."""
    step = (100 - LEFT - RIGHT) / len(trend)
    places = [f"{LEFT + step * (number + 0.5):.2f}%" for number in range(len(trend))]
    known = [(x, _points.at(point.mean)) for x, point in zip(places, trend, strict=True) if point.mean is not None]
    name = f"Mean points of {len(trend)} versions, from {points(trend[0].mean)} to {points(trend[-1].mean)}"
    levels = [(level, _points.at(level)) for level in (0, 25, 50, 75, 100)]
    return "\n".join(
        [
            f'<svg class="chart" height="{HEIGHT}" role="img" aria-label="{name}">',
            *(
                f'<line class="grid" x1="{LEFT}%" x2="100%" y1="{y}" y2="{y}"/><text x="0" y="{y + 4}">{level}</text>'
                for level, y in levels
            ),
            *(
                f'<line class="series" x1="{start}" y1="{before:.1f}" x2="{end}" y2="{after:.1f}"/>'
                for (start, before), (end, after) in pairwise(known)
            ),
            *("".join(_draw_version(trend, number, x, version)) for number, x in enumerate(places)),
            "</svg>",
        ]
    )


def _draw_version(trend: Sequence[TrendPoint], number: int, x: str, version: str | None) -> Iterator[str]:
    """Draw the dot of a version with its interval, and its label if that fits."""
    point, name = trend[number], trend[number].agent_version or "unknown"
    title = f"{one_line(name)}: {points(point.mean)}{bracketed(point_interval(point.mean_interval))}"
    yield f"<g><title>{escape_html(title)}</title>"
    if point.mean_interval is not None:
        low, high = _points.at(point.mean_interval.low), _points.at(point.mean_interval.high)
        yield f'<line class="whisker" x1="{x}" x2="{x}" y1="{low:.1f}" y2="{high:.1f}"/>'
    if point.mean is not None:
        css_class, radius = ("here", 5) if point.agent_version == version else ("dot", 4)
        yield f'<circle class="{css_class}" cx="{x}" cy="{_points.at(point.mean):.1f}" r="{radius}"/>'
    if _has_label(number, len(trend), LABELS_MAX):
        label = escape_html(one_line(name, LABEL_CHARS // min(len(trend), NARROW_LABELS_MAX)))
        narrow = "" if _has_label(number, len(trend), NARROW_LABELS_MAX) else ' class="wide-only"'
        yield f'<text{narrow} x="{x}" y="{HEIGHT - 12}" text-anchor="middle">{label}</text>'
    yield "</g>"


def _has_label(number: int, versions: int, labels_max: int) -> bool:
    """Return whether a version has a label, if at most `labels_max` fit; the latest version always has one."""
    interval = -(-versions // labels_max)
    return (versions - 1 - number) % interval == 0
