"""Draw the Murphy diagram as one self-contained SVG image, for light and dark pages."""

from collections.abc import Iterator
from math import ceil

from msgspec import UNSET

from api.reports.escape import escape_html, one_line
from api.reports.svg import STYLE, draw_text
from projections.calibration.calibration_view import CalibrationView
from projections.calibration.scores import CalibrationScores
from projections.stats.elementary_score import MurphyPoint

WIDTH, HEIGHT = 640, 700
LEFT, RIGHT, TOP, BOTTOM = 78, 604, 128, 520
"""The edges of the area of the curves, in SVG units."""
TICKS = 0.04
"""The scale ends at a multiple of this, so that each quarter of it has two decimals."""
SUBJECT_CHARS_MAX = 44


def murphy_plot(view: CalibrationView, subject: str, position: int) -> str | None:
    """Draw the Murphy diagram of all the decisions in a view; return None for a view without one.

    Shapes: the mean elementary score at each threshold of the stated confidences, of the calibration curve, and of
            always stating the mean outcome. Lower is better; the area under a curve is its Brier score.
    Units:  `position` is that of the newest event in the view.
    """
    scores, points = view.overall, view.murphy
    if scores is None or points is UNSET or not points:
        return None
    top = max(max(point.stated, point.recalibrated, point.base_rate) for point in points)
    scale = max(1, ceil(top / TICKS)) * TICKS
    curves = (
        ("base", [point.base_rate for point in points]),
        ("best", [point.recalibrated for point in points]),
        ("curve", [point.stated for point in points]),
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="t">',
        f'<title id="t">Murphy diagram of {escape_html(one_line(subject))}: loss at each threshold</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="10"/>',
        *_heading(scores, subject),
        *_axes(scale),
        *(f'<polyline class="{name}" points="{_path(points, losses, scale)}"/>' for name, losses in curves),
        *_legend(position),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _heading(scores: CalibrationScores, subject: str) -> Iterator[str]:
    yield draw_text(28, 44, one_line(subject, SUBJECT_CHARS_MAX), "ink subject", "start")
    yield draw_text(28, 74, f"{scores.reviewed:,} reviews, Brier score {scores.brier_score:.3f}", "ink", "start")
    yield draw_text(28, 100, "Loss by acting above a threshold: lower is better", "", "start")


def _axes(scale: float) -> Iterator[str]:
    for quarter in range(5):
        share = quarter / 4
        x, y = _point(share, share * scale, scale)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{RIGHT}M{x:.1f} {TOP}V{BOTTOM}"/>'
        yield draw_text(LEFT - 8, y + 6, f"{share * scale:.2f}", "", "end")
        yield draw_text(x, BOTTOM + 24, f"{share:.0%}", "", "middle")
    middle = (TOP + BOTTOM) / 2
    yield f'<text transform="translate(24 {middle}) rotate(-90)" text-anchor="middle">mean elementary score</text>'
    yield draw_text((LEFT + RIGHT) / 2, BOTTOM + 46, "threshold: act at this confidence or above", "", "middle")


def _legend(position: int) -> Iterator[str]:
    labels = (
        ("curve", "stated confidence"),
        ("best", "recalibrated on the same decisions"),
        ("base", "always stating the mean outcome"),
    )
    for number, (name, label) in enumerate(labels):
        y = HEIGHT - 98 + 28 * number
        yield f'<path class="{name}" d="M28 {y - 6}h34"/>' + draw_text(72, y, label, "", "start")
    yield draw_text(WIDTH - 28, HEIGHT - 12, f"as of position {position:,}", "", "end")


def _point(threshold: float, loss: float, scale: float) -> tuple[float, float]:
    """Return the coordinates of a threshold and a loss."""
    return LEFT + (RIGHT - LEFT) * threshold, BOTTOM - (BOTTOM - TOP) * loss / scale


def _path(points: list[MurphyPoint], losses: list[float], scale: float) -> str:
    places = (_point(point.threshold, loss, scale) for point, loss in zip(points, losses, strict=True))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
