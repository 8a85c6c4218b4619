"""Draw how reviewed and unreviewed decisions differ in stated confidence, and what gap the missing reviews allow."""

from collections.abc import Iterator, Sequence

from api.reports.plots.figure_source import Figure, FigureMissing, FigureSource
from api.reports.plots.interval_rows import IntervalRow, draw_rows, rows_height
from api.reports.plots.panel import LEGEND_BELOW, Panel, draw_legend, percent_ticks, round_ticks
from api.reports.plots.svg import Chart, Heading
from api.reports.plots.tables import tabulate_missing_reviews
from api.text_format import format_figure, format_interval
from tallystick.shapes.calibration import CalibrationScores
from tallystick.shapes.missing_reviews import MissingReviews
from tallystick.shapes.plots import ConfidenceTenth

BOTTOM = 336
"""The lower edge of the bars, in SVG units."""

ROWS_TOP = 470

WHOLE = 0.9995
"""A share of decisions from here on is called all of them."""


def chart_missing_reviews(source: FigureSource) -> Chart:
    """Chart reviewed beside unreviewed decisions. Errors: FigureMissing, if none or too many are unreviewed.

    Shapes: above, the share of reviewed and of unreviewed decisions in each tenth of stated confidence; below, the gap
            of reviewed decisions, the gap weighted to represent all, and the bounds of the gap of all decisions.
    """
    scores, plots = source.scores(), source.answer.plots
    found = source.answer.missing_reviews
    if found is None or plots is None:
        raise FigureMissing("every decision with a stated confidence is reviewed.", "Nothing is missing.")
    rows = _rows(scores, found)
    return Chart(
        ROWS_TOP + rows_height(rows) + 34,
        f"Missing reviews of {source.subject}: {found.unreviewed:,} of {found.total:,} decisions",
        Heading(source.subject, _result(found), _judgement(found)),
        [
            *_draw_bars(plots.tenths),
            *draw_legend(
                BOTTOM + LEGEND_BELOW,
                (
                    ("count", f"reviewed decisions, n={found.total - found.unreviewed:,}"),
                    ("outline", f"unreviewed decisions, n={found.unreviewed:,}"),
                ),
            ),
            *draw_rows(rows, ROWS_TOP, "gap, success minus stated: 95% intervals, and bounds"),
        ],
    )


def _result(found: MissingReviews) -> str:
    return (
        f"Stated on average {found.mean_confidence_reviewed:.0%} if reviewed, "
        f"{found.mean_confidence_unreviewed:.0%} if not"
    )


def _judgement(found: MissingReviews) -> str:
    if found.qualified:
        return "The verdict holds for the reviewed decisions only"
    if found.reasons:
        return "The missing reviews cannot change the verdict"
    return "No sign that the unreviewed decisions differ"


def _rows(scores: CalibrationScores, found: MissingReviews) -> list[IntervalRow]:
    gap = scores.gap
    rows = [IntervalRow("reviewed decisions", f"gap {format_figure(gap, '+')}", gap, scores.gap_interval, sure=True)]
    weighted = found.weighted_gap
    if weighted is not None:
        share = "all" if weighted.represented >= WHOLE else f"{weighted.represented:.0%} of all"
        label = f"weighted to represent {share}"
        note = f"gap {format_figure(weighted.gap, '+')}"
        rows.append(IntervalRow(label, note, weighted.gap, weighted.interval, sure=True))
    bounds = found.gap_bounds
    return [*rows, IntervalRow("all, whatever the missing are", format_interval(bounds, "+"), None, bounds, sure=True)]


def _draw_bars(tenths: Sequence[ConfidenceTenth]) -> Iterator[str]:
    """Draw two bars for each tenth: the share of the reviewed and of the unreviewed decisions in it."""
    reviewed = max(sum(tenth.reviewed for tenth in tenths), 1)
    unreviewed = max(sum(tenth.unreviewed for tenth in tenths), 1)
    shares = [(tenth, tenth.reviewed / reviewed, tenth.unreviewed / unreviewed) for tenth in tenths]
    first = min(0.5, *(tenth.low for tenth, *pair in shares if any(pair)))
    edges = [tenth.low for tenth in tenths if tenth.low >= first] + [1.0]
    ticks = round_ticks(0.0, max(max(pair) for _, *pair in shares), 4)
    panel = Panel.between(percent_ticks(edges), percent_ticks(ticks), BOTTOM)
    yield from panel.draw_axes("stated confidence", "share of decisions")
    for tenth, of_reviewed, of_unreviewed in shares:
        if not of_reviewed and not of_unreviewed:
            continue
        left, middle, right = (panel.x.at(value) for value in (tenth.low, (tenth.low + tenth.high) / 2, tenth.high))
        yield _bar(panel, "count", left + 4, middle - 1, of_reviewed)
        yield _bar(panel, "outline", middle + 2, right - 4, of_unreviewed)


def _bar(panel: Panel, css_class: str, left: float, right: float, share: float) -> str:
    top = panel.y.at(share)
    size = f'width="{right - left:.1f}" height="{panel.y.start - top:.1f}"'
    return f'<rect class="{css_class}" x="{left:.1f}" y="{top:.1f}" {size}/>'


FIGURE = Figure(
    "Reviewed beside unreviewed",
    "Above, how confident reviewed and unreviewed decisions were. Below, the gap of the reviewed ones, the gap "
    "weighted to represent all, and the bounds: every missing outcome a failure, or every one a success.",
    chart_missing_reviews,
    tabulate_missing_reviews,
    include=("plots",),
)
