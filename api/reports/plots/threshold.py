"""Draw what acting only above a stated confidence would have come to, at every threshold (a decision curve)."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from api.reports.plots.figure_source import FigureMissing, FigureSource
from api.reports.plots.panel import (
    LEFT,
    LEGEND_BELOW,
    RIGHT,
    TOP,
    Panel,
    Scale,
    draw_legend,
    height_with_legend,
    percent_ticks,
    round_ticks,
)
from api.reports.plots.svg import Heading, draw_figure, draw_position
from tallystick.shapes.confidence_use import ThresholdUse
from tallystick.shapes.parts import Interval

READING = (
    "Net benefit is what acting only at a confidence or above would have gained, in successes a decision, if "
    "failures cost what the threshold implies. Where the line is highest above both others, choosing by "
    "confidence pays most."
)
"""How to read the drawing."""

BOTTOM = 520
BELOW_NONE = 0.35
"""How far the scale goes below 0, as a share of what is above."""


def draw_threshold(source: FigureSource) -> str:
    """Draw net benefit at every threshold. Errors: FigureMissing, without enough reviews.

    Shapes: the net benefit of acting at a stated confidence or above, with its 95% interval, of acting on every
            decision, and of acting on none (0). A threshold that the caller chose is marked.
    """
    scores, plots = source.scores(), source.answer.plots
    if plots is None or not plots.net_benefit:
        raise FigureMissing("no decision was reviewed.", "Review some decisions.")
    uses = plots.net_benefit
    top = round_ticks(0.0, max(use.net_benefit_interval.high for use in uses))[-1]
    low = max(-BELOW_NONE * top, min(0.0, *(use.net_benefit_interval.low for use in uses)))
    ticks = round_ticks(low, top)
    panel = Panel(Scale(0.0, 1.0, LEFT, RIGHT), Scale(ticks[0], ticks[-1], BOTTOM, TOP))
    entries = [
        ("curve", "act at this stated confidence or above"),
        ("near", "its 95% interval"),
        ("best", "act on every decision"),
        ("perfect", "act on none"),
    ]
    chosen = source.answer.threshold or None
    if chosen is not None:
        entries.append(("mark", f"the threshold {chosen.threshold:.0%}"))
    height = height_with_legend(BOTTOM, len(entries))
    return draw_figure(
        height,
        f"Net benefit of {source.subject} at each threshold",
        Heading(
            source.subject,
            _result(chosen, scores.reviewed),
            "At threshold t a failure costs t / (1 - t) successes",
        ),
        READING,
        [
            *panel.draw_grid(percent_ticks(), [(value, f"{value:g}") for value in ticks]),
            *panel.draw_titles("threshold: act at this confidence or above", "net benefit (successes a decision)"),
            *_draw_curves(panel, uses),
            *([panel.draw_place("mark", chosen.threshold)] if chosen is not None else []),
            *draw_legend(BOTTOM + LEGEND_BELOW, entries),
            draw_position(source.position, height),
        ],
    )


def _result(chosen: ThresholdUse | None, reviewed: int) -> str:
    if chosen is None:
        return f"{reviewed:,} reviews: net benefit of acting above a threshold"
    benefit, all_of_them = chosen.net_benefit, chosen.net_benefit_all
    return f"{reviewed:,} reviews: at {chosen.threshold:.0%} {benefit:+.3f}; acting on all {all_of_them:+.3f}"


def _draw_curves(panel: Panel, uses: Sequence[ThresholdUse]) -> Iterator[str]:
    shown = [use for use in uses if use.net_benefit_interval.high >= panel.y.low]
    yield panel.draw_band("near", *_ends([(use.threshold, use.net_benefit_interval) for use in shown]))
    yield panel.draw_level("perfect", 0.0)
    every = takewhile(lambda use: use.net_benefit_all >= panel.y.low, uses)
    yield panel.draw_line("best", ((use.threshold, use.net_benefit_all) for use in every))
    yield panel.draw_line("curve", ((use.threshold, use.net_benefit) for use in shown))


def _ends(
    intervals: Sequence[tuple[float, Interval]],
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    return [(x, interval.high) for x, interval in intervals], [(x, interval.low) for x, interval in intervals]
