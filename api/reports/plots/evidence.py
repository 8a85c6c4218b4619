"""Draw the evidence for a verdict over reviews, and the intervals of the gap for one look and for every look."""

from collections.abc import Iterator
from math import log10

from api.reports.plots.figure_source import Figure, FigureMissing, FigureSource
from api.reports.plots.panel import LEFT, RIGHT, Panel, Scale, Tick, chart_with_legend, round_ticks, signed_ticks
from api.reports.plots.svg import Chart, Heading
from api.reports.plots.tables import tabulate_evidence
from api.text_format import format_count, format_figure, format_interval
from projections.stats.gap_martingale import E_VALUE_SUPPORTED
from tallystick.shapes.calibration import CalibrationScores
from tallystick.shapes.plots import EvidencePoint

EVIDENCE_BOTTOM, GAP_TOP, GAP_BOTTOM = 360, 424, 656
"""The lower edge of the evidence, and the edges of the gap below it, in SVG units."""

E_VALUE_SHOWN_MIN = 0.001
"""Evidence below this is drawn at the lower edge."""

SETTLED_SHARE = 0.1
"""The scale of the gap fits the intervals after this share of the reviews. The first ones are far wider."""

_EXPONENTS = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def chart_evidence(source: FigureSource) -> Chart:
    """Chart the evidence after each review. Errors: FigureMissing, without enough reviews.

    Shapes: above, both e-values on a logarithmic scale, and the level that supports a verdict; below, the gap with both
            intervals.
    """
    scores, points = source.scores(), _points(source)
    reviews = _review_ticks(points[-1].reviews)
    across = Scale(0, points[-1].reviews, LEFT, RIGHT)
    above = Panel.between(reviews, _evidence_ticks(points), EVIDENCE_BOTTOM)._replace(x=across)
    below = Panel.between(reviews, _gap_ticks(points), GAP_BOTTOM, GAP_TOP)._replace(x=across)
    entries = [
        ("curve", "evidence of overconfidence; below: the gap"),
        ("best", "evidence of underconfidence"),
        ("base", f"level of support: {E_VALUE_SUPPORTED:.0f}"),
        ("band", "95% interval of the gap for one look"),
        ("whole", "95% interval of the gap for every look"),
    ]
    return chart_with_legend(
        f"Evidence of {source.subject} over {points[-1].reviews:,} reviews",
        Heading(source.subject, _result(source, scores), _intervals(scores)),
        [*_draw_e_values(above, points), *_draw_gap(below, points)],
        GAP_BOTTOM,
        entries,
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
    return f"Gap {format_figure(scores.gap, '+')}, for every look {format_interval(scores.gap_sequence, '+')}"


def _evidence_ticks(points: tuple[EvidencePoint, ...]) -> list[Tick]:
    """Return the ticks of evidence, which are powers of ten: the level is always between them."""
    found = [log10(max(value, E_VALUE_SHOWN_MIN)) for p in points for value in (p.e_value_over, p.e_value_under)]
    return [(power, _power(power)) for power in _few_ticks(min(found), max(*found, log10(E_VALUE_SUPPORTED)))]


def _gap_ticks(points: tuple[EvidencePoint, ...]) -> list[Tick]:
    settled = [point.gap_sequence for point in points[int(SETTLED_SHARE * len(points)) :]]
    lowest, highest = min(each.low for each in settled), max(each.high for each in settled)
    return signed_ticks(_few_ticks(min(0.0, lowest), max(0.0, highest)))


def _few_ticks(low: float, high: float) -> list[float]:
    """Return round values in wider steps, since each area is low: those of the range between rounded ends."""
    ends = round_ticks(low, high)
    return round_ticks(ends[0], ends[-1])


def _draw_e_values(panel: Panel, points: tuple[EvidencePoint, ...]) -> Iterator[str]:
    yield from panel.draw_axes("", "evidence (e-value)")
    yield panel.draw_level("base", log10(E_VALUE_SUPPORTED))
    yield panel.draw_line("best", [(0, 0.0), *((p.reviews, log10(p.e_value_under)) for p in points)])
    yield panel.draw_line("curve", [(0, 0.0), *((p.reviews, log10(p.e_value_over)) for p in points)])


def _draw_gap(panel: Panel, points: tuple[EvidencePoint, ...]) -> Iterator[str]:
    yield from panel.draw_axes("reviews", "gap")
    yield panel.draw_band("whole", ((p.reviews, p.gap_sequence) for p in points))
    yield panel.draw_band("band", ((p.reviews, p.gap_interval) for p in points))
    yield panel.draw_level("perfect", 0)
    yield panel.draw_line("curve", ((p.reviews, p.gap) for p in points))


def _review_ticks(reviews: int) -> list[Tick]:
    inside = (int(value) for value in round_ticks(0, reviews) if value <= reviews and value == int(value))
    return [(value, format_count(value)) for value in inside]


def _power(power: float) -> str:
    """Return a power of ten as a number, or with an exponent if it is long."""
    return f"{10**power:g}" if -3 <= power <= 3 else f"10{f'{power:.0f}'.translate(_EXPONENTS)}"


FIGURE = Figure(
    "Evidence, review by review",
    "Above, evidence of over- and of underconfidence after each review: a verdict is supported while its line "
    "is above the level, however often one looks. Below, the gap with its interval for one look and the wider one "
    "for every look.",
    chart_evidence,
    tabulate_evidence,
    include=("plots",),
)
