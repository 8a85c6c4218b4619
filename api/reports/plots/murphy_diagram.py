"""Draw the Murphy diagram: the loss at each threshold."""

from math import ceil

from api.reports.plots.figure_source import Figure, FigureSource
from api.reports.plots.panel import Panel, chart_with_legend, even_values, percent_ticks
from api.reports.plots.svg import Chart, Heading
from api.reports.plots.tables import tabulate_murphy
from tallystick.shapes.parts import Interval

BOTTOM = 520
"""The lower edge of the area of the curves, in SVG units."""

TICKS = 0.04
"""The scale ends at a multiple of this, so that each quarter of it has two decimals."""


def chart_murphy_diagram(source: FigureSource) -> Chart:
    """Chart the Murphy diagram of all decisions. Errors: FigureMissing, without enough reviews.

    Shapes: the mean elementary score at each threshold of the stated confidences, of the calibration curve, and of
            always stating the mean outcome. Lower is better; the area under a curve is its Brier score. The area
            about the first is the interval of its difference from the last, drawn from the last.
    """
    scores, points = source.scores("curve"), source.answer.murphy
    if not points:
        raise source.too_few("curve")
    near = [
        Interval(*(max(0.0, point.base_rate + end) for end in (found.low, found.high)))
        for point in points
        for found in (point.difference_interval,)
    ]
    top = max(max(each.high, point.stated, point.base_rate) for point, each in zip(points, near, strict=True))
    losses = even_values(0.0, max(1, ceil(top / TICKS)) * TICKS, 4)
    panel = Panel.between(percent_ticks(), [(value, f"{value:.2f}") for value in losses], BOTTOM)
    entries = (
        ("curve", "stated confidence"),
        ("near", "95% interval of its distance from the dashed line"),
        ("best", "recalibrated on the same decisions"),
        ("base", "always stating the mean outcome"),
    )
    return chart_with_legend(
        f"Murphy diagram of {source.subject}: loss at each threshold",
        Heading(
            source.subject,
            f"{scores.reviewed:,} reviews, Brier score {scores.brier_score:.3f}",
            "Loss by acting above a threshold: lower is better",
        ),
        [
            *panel.draw_axes("threshold: act at this confidence or above", "mean elementary score"),
            panel.draw_band("near", zip((point.threshold for point in points), near, strict=True)),
            panel.draw_line("base", ((point.threshold, point.base_rate) for point in points)),
            panel.draw_line("best", ((point.threshold, point.recalibrated) for point in points)),
            panel.draw_line("curve", ((point.threshold, point.stated) for point in points)),
        ],
        BOTTOM,
        entries,
    )


FIGURE = Figure(
    "Murphy diagram",
    "Each threshold is a rule: act if the confidence is at least so high. Lower is better. Where the line of the "
    "stated confidence is above the line of the mean outcome, knowing only the success rate would have been "
    "better; where that line is outside the area too, surely so.",
    chart_murphy_diagram,
    tabulate_murphy,
    curves=True,
)
