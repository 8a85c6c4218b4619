"""Draw the sum of outcome minus stated confidence over time, and the date of a change with its interval."""

from collections.abc import Iterator
from datetime import datetime

from api.reports.history_text import NO_TEST
from api.reports.plots.figure_source import Figure, FigureMissing, FigureSource
from api.reports.plots.panel import Panel, chart_with_legend, date_ticks, round_ticks
from api.reports.plots.svg import Chart, Heading
from api.reports.plots.tables import tabulate_drift
from api.text_format import format_figure, format_p
from tallystick.shapes.history import ChangePoint, Drift
from tallystick.shapes.plots import GapSum

BOTTOM = 520


def chart_drift(source: FigureSource) -> Chart:
    """Chart the sum of outcome minus confidence. Errors: FigureMissing, if no test for drift was possible.

    Shapes: the sum of outcome minus confidence minus the mean of the agent and category, by the time of the decision;
            if the gap changed, the most likely date and the interval of the date.
    """
    drift, sums = _drift(source)
    values = round_ticks(min(0.0, *(point.sum for point in sums)), max(0.0, *(point.sum for point in sums)))
    first, last = sums[0].time, sums[-1].time
    ticks = [(value, f"{value:+g}" if value else "0") for value in values]
    panel = Panel.between(date_ticks(first, last), ticks, BOTTOM)
    entries = [("curve", "outcome minus confidence, less its mean, added up")]
    if drift.change is not None:
        entries += [
            ("mark", f"the most likely date of the change: {drift.change.time:%Y-%m-%d}"),
            ("span", f"{drift.change.coverage:.0%} interval of that date"),
        ]
    return chart_with_legend(
        f"Drift of {source.subject}: outcomes minus stated confidence, added up over time",
        Heading(source.subject, _result(drift), _gaps(drift.change)),
        [
            *panel.draw_axes("time of the decision", "sum (decisions)"),
            *_draw_change(panel, drift.change, first),
            panel.draw_level("perfect", 0),
            panel.draw_line("curve", (((point.time - first).total_seconds(), point.sum) for point in sums)),
        ],
        BOTTOM,
        entries,
    )


def _drift(source: FigureSource) -> tuple[Drift, tuple[GapSum, ...]]:
    drift, plots = source.answer.drift, source.answer.plots
    if drift is None or plots is None or drift.reviews_needed:
        more = 0 if drift is None else drift.reviews_needed
        raise FigureMissing(f"{more:,} more reviews are needed to look for drift.", "Review more decisions.")
    if drift.reason is not None:
        raise FigureMissing(f"{NO_TEST[drift.reason]}.", "Choose other decisions.")
    return drift, plots.gap_sums


def _result(drift: Drift) -> str:
    p = "" if drift.p is None else f", p {format_p(drift.p)}"
    return f"{drift.reviewed:,} reviews: {'the gap changed' if drift.alarm else 'no drift found'}{p}"


def _gaps(change: ChangePoint | None) -> str:
    if change is None:
        return "The sum stays near 0 while the gap does not change"
    before, after = format_figure(change.gap_before, "+"), format_figure(change.gap_after, "+")
    return f"Gap before {before} (n={change.reviewed_before:,}), after {after} (n={change.reviewed_after:,})"


def _draw_change(panel: Panel, change: ChangePoint | None, first: datetime) -> Iterator[str]:
    if change is None:
        return
    low, high = (panel.x.at((time - first).total_seconds()) for time in (change.earliest, change.latest))
    height = panel.y.start - panel.y.end
    yield f'<rect class="span" x="{low:.1f}" y="{panel.y.end:.1f}" width="{high - low:.1f}" height="{height:.1f}"/>'
    yield panel.draw_place("mark", (change.time - first).total_seconds())


FIGURE = Figure(
    "Outcome minus confidence, added up",
    "The sum of outcome minus confidence rises while the agent does better than its own average and falls while "
    "it does worse. A lasting change bends it: its highest or lowest point is the most likely date.",
    chart_drift,
    tabulate_drift,
    include=("drift", "plots"),
)
