"""Draw the Murphy diagram: the loss at each threshold."""

from math import ceil

from msgspec import UNSET

from api.reports.plots.figure_source import FigureSource
from api.reports.plots.panel import LEFT, RIGHT, TOP, Panel, Scale, draw_legend, even_values, percent_ticks
from api.reports.plots.svg import draw_heading, draw_page, draw_position

HEIGHT = 700
BOTTOM = 520
"""The lower edge of the area of the curves, in SVG units."""

TICKS = 0.04
"""The scale ends at a multiple of this, so that each quarter of it has two decimals."""


def draw_murphy_diagram(source: FigureSource) -> str:
    """Draw the Murphy diagram of all decisions. Errors: FigureMissing, without enough reviews.

    Shapes: the mean elementary score at each threshold of the stated confidences, of the calibration curve, and of
            always stating the mean outcome. Lower is better; the area under a curve is its Brier score.
    """
    scores, points = source.scores("curve"), source.view.murphy
    if points is UNSET or not points:
        raise source.too_few("curve")
    top = max(max(point.stated, point.recalibrated, point.base_rate) for point in points)
    scale = max(1, ceil(top / TICKS)) * TICKS
    panel = Panel(Scale(0.0, 1.0, LEFT, RIGHT), Scale(0.0, scale, BOTTOM, TOP))
    return draw_page(
        HEIGHT,
        f"Murphy diagram of {source.subject}: loss at each threshold",
        [
            *draw_heading(
                source.subject,
                f"{scores.reviewed:,} reviews, Brier score {scores.brier_score:.3f}",
                "Loss by acting above a threshold: lower is better",
            ),
            *panel.draw_grid(percent_ticks(), [(value, f"{value:.2f}") for value in even_values(0.0, scale, 4)]),
            *panel.draw_titles("threshold: act at this confidence or above", "mean elementary score"),
            panel.draw_line("base", ((point.threshold, point.base_rate) for point in points)),
            panel.draw_line("best", ((point.threshold, point.recalibrated) for point in points)),
            panel.draw_line("curve", ((point.threshold, point.stated) for point in points)),
            *draw_legend(
                HEIGHT - 98,
                (
                    ("curve", "stated confidence"),
                    ("best", "recalibrated on the same decisions"),
                    ("base", "always stating the mean outcome"),
                ),
            ),
            draw_position(source.position, HEIGHT),
        ],
    )
