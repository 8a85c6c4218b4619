"""Draw the recalibration map: which confidence to state instead, and what the stated ones have meant."""

from api.reports.plots.figure_source import Figure, FigureMissing, FigureSource
from api.reports.plots.panel import Panel, chart_with_legend, percent_ticks, round_ticks
from api.reports.plots.svg import Chart, Heading
from api.reports.plots.tables import tabulate_recalibration
from tallystick.shapes.recalibration import ConfidenceMeaning, Recalibration

BOTTOM = 560


def chart_recalibration(source: FigureSource) -> Chart:
    """Chart the recalibration map. Errors: FigureMissing, if none is offered.

    Shapes: the confidence to state instead of each stated one, and for each range of stated confidences its mean
            outcome with the 95% interval. The dashed diagonal changes nothing.
    """
    found = _map(source)
    low = min(min(row.low, row.interval.low, row.mapped) for row in found.meanings)
    ticks = percent_ticks([value for value in round_ticks(low, 1.0) if value <= 1.0])
    panel = Panel.between(ticks, ticks, BOTTOM)
    family = found.family.replace("_", " ")
    return chart_with_legend(
        f"Recalibration map of {source.subject}: which confidence to state instead",
        Heading(
            source.subject,
            f"{found.reviewed:,} reviews ({family}): Brier {found.stated_brier_score:.3f} to "
            f"{found.mapped_brier_score:.3f}",
            f"Gain on new decisions {found.gain:.4f}, 95% lower bound {found.gain_lower_bound:.4f}",
        ),
        [
            *panel.draw_axes("stated confidence", "confidence to state instead"),
            panel.draw_line("perfect", ((panel.x.low, panel.x.low), (1.0, 1.0))),
            *(line for row in found.meanings for line in panel.draw_estimate(_middle(row), row.meant, row.interval)),
            panel.draw_line("curve", ((_middle(row), row.mapped) for row in found.meanings)),
        ],
        BOTTOM,
        (
            ("curve", "the map: state this instead"),
            ("dot", "what it has meant so far, with the 95% interval"),
            ("perfect", "as stated"),
        ),
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


def _middle(row: ConfidenceMeaning) -> float:
    return (row.low + row.high) / 2


FIGURE = Figure(
    "Recalibration map",
    "The line gives the confidence to state instead of each stated one. Dots are what stated confidences have "
    "meant so far, with their 95% intervals. On the dashed line nothing changes.",
    chart_recalibration,
    tabulate_recalibration,
    curves=True,
)
