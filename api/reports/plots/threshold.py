"""Draw what acting only above a stated confidence would have come to, at every threshold (a decision curve)."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from api.reports.plots.figure_source import Figure, FigureMissing, FigureSource
from api.reports.plots.panel import Panel, chart_with_legend, percent_ticks, round_ticks
from api.reports.plots.svg import Chart, Heading
from api.reports.plots.tables import tabulate_threshold
from tallystick.shapes.confidence_use import ThresholdUse

BOTTOM = 520
BELOW_NONE = 0.35
"""How far the scale goes below 0, as a share of what is above."""


def chart_threshold(source: FigureSource) -> Chart:
    """Chart net benefit at every threshold. Errors: FigureMissing, without enough reviews.

    Shapes: the net benefit of acting at a stated confidence or above, with its 95% interval, of acting on every
            decision, and of acting on none (0). A threshold that the caller chose is marked.
    """
    scores, plots = source.scores(), source.answer.plots
    if plots is None or not plots.net_benefit:
        raise FigureMissing("no decision was reviewed.", "Review some decisions.")
    uses = plots.net_benefit
    top = round_ticks(0.0, max(use.net_benefit_interval.high for use in uses))[-1]
    low = max(-BELOW_NONE * top, min(0.0, *(use.net_benefit_interval.low for use in uses)))
    panel = Panel.between(percent_ticks(), [(value, f"{value:g}") for value in round_ticks(low, top)], BOTTOM)
    entries = [
        ("curve", "act at this stated confidence or above"),
        ("near", "its 95% interval"),
        ("best", "act on every decision"),
        ("perfect", "act on none"),
    ]
    chosen = source.answer.threshold or None
    if chosen is not None:
        entries.append(("mark", f"the threshold {chosen.threshold:.0%}"))
    return chart_with_legend(
        f"Net benefit of {source.subject} at each threshold",
        Heading(
            source.subject,
            _result(chosen, scores.reviewed),
            "At threshold t a failure costs t / (1 - t) successes",
        ),
        [
            *panel.draw_axes("threshold: act at this confidence or above", "net benefit (successes a decision)"),
            *_draw_curves(panel, uses),
            *([panel.draw_place("mark", chosen.threshold)] if chosen is not None else []),
        ],
        BOTTOM,
        entries,
    )


def _result(chosen: ThresholdUse | None, reviewed: int) -> str:
    if chosen is None:
        return f"{reviewed:,} reviews: net benefit of acting above a threshold"
    benefit, all_of_them = chosen.net_benefit, chosen.net_benefit_all
    return f"{reviewed:,} reviews: at {chosen.threshold:.0%} {benefit:+.3f}; acting on all {all_of_them:+.3f}"


def _draw_curves(panel: Panel, uses: Sequence[ThresholdUse]) -> Iterator[str]:
    shown = [use for use in uses if use.net_benefit_interval.high >= panel.y.low]
    yield panel.draw_band("near", ((use.threshold, use.net_benefit_interval) for use in shown))
    yield panel.draw_level("perfect", 0.0)
    every = takewhile(lambda use: use.net_benefit_all >= panel.y.low, uses)
    yield panel.draw_line("best", ((use.threshold, use.net_benefit_all) for use in every))
    yield panel.draw_line("curve", ((use.threshold, use.net_benefit) for use in shown))


FIGURE = Figure(
    "Net benefit at every threshold",
    "Net benefit is what acting only at a confidence or above would have gained, in successes a decision, if "
    "failures cost what the threshold implies. Where the line is highest above both others, choosing by "
    "confidence pays most.",
    chart_threshold,
    tabulate_threshold,
    include=("plots",),
)
