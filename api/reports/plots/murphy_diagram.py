"""Draw the Murphy diagram: the loss at each threshold."""

from math import ceil
from operator import attrgetter

from api.reports.plots.figure_source import FigureSource
from api.reports.plots.panel import (
    LEFT,
    LEGEND_BELOW,
    RIGHT,
    TOP,
    Panel,
    Scale,
    draw_legend,
    even_values,
    height_with_legend,
    percent_ticks,
)
from api.reports.plots.svg import Heading, draw_figure, draw_position

READING = (
    "Each threshold is a rule: act if the confidence is at least so high. Lower is better. Where the line of the "
    "stated confidence is above the line of the mean outcome, knowing only the success rate would have been "
    "better; where that line is outside the area too, surely so."
)
"""How to read the drawing."""

BOTTOM = 520
"""The lower edge of the area of the curves, in SVG units."""

TICKS = 0.04
"""The scale ends at a multiple of this, so that each quarter of it has two decimals."""


def draw_murphy_diagram(source: FigureSource) -> str:
    """Draw the Murphy diagram of all decisions. Errors: FigureMissing, without enough reviews.

    Shapes: the mean elementary score at each threshold of the stated confidences, of the calibration curve, and of
            always stating the mean outcome. Lower is better; the area under a curve is its Brier score. The area
            about the first is the interval of its difference from the last, drawn from the last.
    """
    scores, points = source.scores("curve"), source.answer.murphy
    if not points:
        raise source.too_few("curve")
    ends = [
        [(point.threshold, max(0.0, point.base_rate + bound(point.difference_interval))) for point in points]
        for bound in (attrgetter("high"), attrgetter("low"))
    ]
    top = max(max(high, point.stated, point.base_rate) for point, (_, high) in zip(points, ends[0], strict=True))
    scale = max(1, ceil(top / TICKS)) * TICKS
    panel = Panel(Scale(0.0, 1.0, LEFT, RIGHT), Scale(0.0, scale, BOTTOM, TOP))
    entries = (
        ("curve", "stated confidence"),
        ("near", "95% interval of its distance from the dashed line"),
        ("best", "recalibrated on the same decisions"),
        ("base", "always stating the mean outcome"),
    )
    height = height_with_legend(BOTTOM, len(entries))
    return draw_figure(
        height,
        f"Murphy diagram of {source.subject}: loss at each threshold",
        Heading(
            source.subject,
            f"{scores.reviewed:,} reviews, Brier score {scores.brier_score:.3f}",
            "Loss by acting above a threshold: lower is better",
        ),
        READING,
        [
            *panel.draw_grid(percent_ticks(), [(value, f"{value:.2f}") for value in even_values(0.0, scale, 4)]),
            *panel.draw_titles("threshold: act at this confidence or above", "mean elementary score"),
            panel.draw_band("near", *ends),
            panel.draw_line("base", ((point.threshold, point.base_rate) for point in points)),
            panel.draw_line("best", ((point.threshold, point.recalibrated) for point in points)),
            panel.draw_line("curve", ((point.threshold, point.stated) for point in points)),
            *draw_legend(BOTTOM + LEGEND_BELOW, entries),
            draw_position(source.position, height),
        ],
    )
