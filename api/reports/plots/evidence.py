"""Draw the evidence for a verdict over reviews, and the intervals of the gap for one look and for every look."""

from collections.abc import Iterable, Iterator
from math import log10

from api.reports.plots.figure_source import FigureMissing, FigureSource
from api.reports.plots.panel import (
    LEFT,
    LEGEND_BELOW,
    RIGHT,
    TOP,
    Panel,
    Scale,
    Tick,
    draw_legend,
    height_with_legend,
    round_ticks,
    signed_ticks,
)
from api.reports.plots.svg import Heading, draw_figure, draw_position, format_gap
from projections.stats.gap_martingale import E_VALUE_SUPPORTED
from tallystick.shapes.calibration import CalibrationScores
from tallystick.shapes.parts import Interval
from tallystick.shapes.plots import EvidencePoint

EVIDENCE_BOTTOM, GAP_TOP, GAP_BOTTOM = 360, 424, 656
"""The lower edge of the evidence, and the edges of the gap below it, in SVG units."""

READING = (
    "Above, evidence of over- and of underconfidence after each review: a verdict is supported while its line "
    "is above the level, however often one looks. Below, the gap with its interval for one look and the wider one "
    "for every look."
)
"""How to read the drawing."""

E_VALUE_SHOWN_MIN = 0.001
"""Evidence below this is drawn at the lower edge."""

SETTLED_SHARE = 0.1
"""The scale of the gap fits the intervals after this share of the reviews. The first ones are far wider."""

_EXPONENTS = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def draw_evidence(source: FigureSource) -> str:
    """Draw the evidence after each review. Errors: FigureMissing, without enough reviews.

    Shapes: above, both e-values on a logarithmic scale, and the level that supports a verdict; below, the gap with both
            intervals.
    """
    scores, points = source.scores(), _points(source)
    reviews = Scale(0, points[-1].reviews, LEFT, RIGHT)
    above = Panel(reviews, Scale(*_exponents(points), EVIDENCE_BOTTOM, TOP))
    below = Panel(reviews, Scale(*_gap_limits(points), GAP_BOTTOM, GAP_TOP))
    entries = [
        ("curve", "evidence of overconfidence; below: the gap"),
        ("best", "evidence of underconfidence"),
        ("base", f"level of support: {E_VALUE_SUPPORTED:.0f}"),
        ("band", "95% interval of the gap for one look"),
        ("whole", "95% interval of the gap for every look"),
    ]
    height = height_with_legend(GAP_BOTTOM, len(entries))
    return draw_figure(
        height,
        f"Evidence of {source.subject} over {points[-1].reviews:,} reviews",
        Heading(source.subject, _result(source, scores), _intervals(scores)),
        READING,
        [
            *_draw_e_values(above, points),
            *_draw_gap(below, points),
            *draw_legend(GAP_BOTTOM + LEGEND_BELOW, entries),
            draw_position(source.position, height),
        ],
    )


def _points(source: FigureSource) -> tuple[EvidencePoint, ...]:
    plots = source.answer.plots
    if plots is None or not plots.evidence:
        raise FigureMissing("no decision was reviewed.", "Review some decisions.")
    return plots.evidence


def _result(source: FigureSource, scores: CalibrationScores) -> str:
    text = f"{scores.reviewed:,} reviews: {source.verdict(scores)}"
    if not source.small_gap and not scores.supported:
        return f"{text} Not supported yet"
    return text


def _intervals(scores: CalibrationScores) -> str:
    return f"Gap {format_gap(scores.gap)}, for every look {_range(scores.gap_sequence)}"


def _range(interval: Interval) -> str:
    return f"{format_gap(interval.low)} to {format_gap(interval.high)}"


def _exponents(points: tuple[EvidencePoint, ...]) -> tuple[float, float]:
    """Return the ends of the scale of evidence, as powers of ten: the level is always on it."""
    found = [log10(max(value, E_VALUE_SHOWN_MIN)) for p in points for value in (p.e_value_over, p.e_value_under)]
    ticks = round_ticks(min(found), max(*found, log10(E_VALUE_SUPPORTED)))
    return ticks[0], ticks[-1]


def _gap_limits(points: tuple[EvidencePoint, ...]) -> tuple[float, float]:
    settled = points[int(SETTLED_SHARE * len(points)) :]
    ticks = round_ticks(
        min(0.0, *(point.gap_sequence.low for point in settled)),
        max(0.0, *(point.gap_sequence.high for point in settled)),
    )
    return ticks[0], ticks[-1]


def _draw_e_values(panel: Panel, points: tuple[EvidencePoint, ...]) -> Iterator[str]:
    powers = round_ticks(panel.y.low, panel.y.high)
    yield from panel.draw_grid(_review_ticks(panel), [(power, _power(power)) for power in powers])
    yield from panel.draw_titles("", "evidence (e-value)")
    yield panel.draw_level("base", log10(E_VALUE_SUPPORTED))
    yield panel.draw_line("best", [(0, 0.0), *((p.reviews, log10(p.e_value_under)) for p in points)])
    yield panel.draw_line("curve", [(0, 0.0), *((p.reviews, log10(p.e_value_over)) for p in points)])


def _draw_gap(panel: Panel, points: tuple[EvidencePoint, ...]) -> Iterator[str]:
    yield from panel.draw_grid(_review_ticks(panel), signed_ticks(round_ticks(panel.y.low, panel.y.high)))
    yield from panel.draw_titles("reviews", "gap")
    yield _band(panel, "whole", ((p.reviews, p.gap_sequence) for p in points))
    yield _band(panel, "band", ((p.reviews, p.gap_interval) for p in points))
    yield panel.draw_level("perfect", 0)
    yield panel.draw_line("curve", ((p.reviews, p.gap) for p in points))


def _band(panel: Panel, css_class: str, intervals: Iterable[tuple[int, Interval]]) -> str:
    found = list(intervals)
    return panel.draw_band(css_class, [(n, i.high) for n, i in found], [(n, i.low) for n, i in found])


def _review_ticks(panel: Panel) -> list[Tick]:
    inside = [value for value in round_ticks(0, panel.x.high) if value <= panel.x.high]
    return [(value, f"{value:,.0f}") for value in inside if value == int(value)]


def _power(power: float) -> str:
    """Return a power of ten as a number, or with an exponent if it is long."""
    return f"{10**power:g}" if -3 <= power <= 3 else f"10{f'{power:.0f}'.translate(_EXPONENTS)}"
