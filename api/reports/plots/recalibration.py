"""Draw the recalibration map: which confidence to state instead, and what the stated ones have meant."""

from collections.abc import Iterator, Sequence

from api.reports.plots.figure_source import FigureMissing, FigureSource
from api.reports.plots.panel import (
    LEFT,
    LEGEND_BELOW,
    RIGHT,
    TOP,
    Panel,
    Scale,
    draw_dot,
    draw_legend,
    height_with_legend,
    round_ticks,
)
from api.reports.plots.svg import Heading, draw_figure, draw_position
from tallystick.shapes.recalibration import ConfidenceMeaning, Recalibration

READING = (
    "The line gives the confidence to state instead of each stated one. Dots are what stated confidences have "
    "meant so far, with their 95% intervals. On the dashed line nothing changes."
)
"""How to read the drawing."""

BOTTOM = 560
HEIGHT = height_with_legend(BOTTOM, 3)


def draw_recalibration(source: FigureSource) -> str:
    """Draw the recalibration map. Errors: FigureMissing, if none is offered.

    Shapes: the confidence to state instead of each stated one, and for each range of stated confidences its mean
            outcome with the 95% interval. The dashed diagonal changes nothing.
    """
    found = _map(source)
    low = min(min(row.low, row.interval.low, row.mapped) for row in found.meanings)
    ticks = [value for value in round_ticks(low, 1.0) if value <= 1.0]
    panel = Panel(Scale(ticks[0], 1.0, LEFT, RIGHT), Scale(ticks[0], 1.0, BOTTOM, TOP))
    labels = [(value, f"{value:.0%}") for value in ticks]
    family = found.family.replace("_", " ")
    return draw_figure(
        HEIGHT,
        f"Recalibration map of {source.subject}: which confidence to state instead",
        Heading(
            source.subject,
            f"{found.reviewed:,} reviews ({family}): Brier {found.stated_brier_score:.3f} to "
            f"{found.mapped_brier_score:.3f}",
            f"Gain on new decisions {found.gain:.4f}, 95% lower bound {found.gain_lower_bound:.4f}",
        ),
        READING,
        [
            *panel.draw_grid(labels, labels),
            *panel.draw_titles("stated confidence", "confidence to state instead"),
            panel.draw_line("perfect", ((ticks[0], ticks[0]), (1.0, 1.0))),
            *_draw_outcomes(panel, found.meanings),
            panel.draw_line("curve", ((_middle(row), row.mapped) for row in found.meanings)),
            *draw_legend(
                BOTTOM + LEGEND_BELOW,
                (
                    ("curve", "the map: state this instead"),
                    ("dot", "what it has meant so far, with the 95% interval"),
                    ("perfect", "as stated"),
                ),
            ),
            draw_position(source.position, HEIGHT),
        ],
    )


def _map(source: FigureSource) -> Recalibration:
    scores, found = source.scores(), source.answer.recalibration
    if found is not None:
        return found
    others = source.answer.recalibration_by_category
    if others:
        raise FigureMissing(
            "no map for all of these decisions surely lowers their Brier score.",
            f"Some categories have maps of their own: select category {others[0].category!r}.",
        )
    raise FigureMissing(
        f"no map surely lowers the Brier score of new decisions ({scores.reviewed:,} reviews).",
        "State the confidences as they are.",
    )


def _draw_outcomes(panel: Panel, rows: Sequence[ConfidenceMeaning]) -> Iterator[str]:
    for row in rows:
        x = panel.x.at(_middle(row))
        top, bottom = panel.y.at(row.interval.high), panel.y.at(row.interval.low)
        yield f'<line class="whisker" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
        yield draw_dot(x, panel.y.at(row.meant), sure=True)


def _middle(row: ConfidenceMeaning) -> float:
    return (row.low + row.high) / 2
