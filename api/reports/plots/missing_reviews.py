"""Draw how reviewed and unreviewed decisions differ in stated confidence, and what gap the missing reviews allow."""

from collections.abc import Iterator, Sequence

from api.reports.plots.figure_source import FigureMissing, FigureSource
from api.reports.plots.interval_rows import IntervalRow, draw_rows, rows_height
from api.reports.plots.panel import LEFT, LEGEND_BELOW, RIGHT, TOP, Panel, Scale, draw_legend, round_ticks
from api.reports.plots.svg import Heading, draw_figure, draw_position, format_gap
from tallystick.shapes.calibration import CalibrationScores
from tallystick.shapes.missing_reviews import MissingReviews
from tallystick.shapes.plots import ConfidenceTenth

READING = (
    "Above, how confident reviewed and unreviewed decisions were. Below, the gap of the reviewed ones, the gap "
    "weighted to represent all, and the bounds: every missing outcome a failure, or every one a success."
)
"""How to read the drawing."""

BOTTOM = 336
"""The lower edge of the bars, in SVG units."""

ROWS_TOP = 470

WHOLE = 0.9995
"""A share of decisions from here on is called all of them."""


def draw_missing_reviews(source: FigureSource) -> str:
    """Draw reviewed beside unreviewed decisions. Errors: FigureMissing, if none or too many are unreviewed.

    Shapes: above, the share of reviewed and of unreviewed decisions in each tenth of stated confidence; below, the gap
            of reviewed decisions, the gap weighted to represent all, and the bounds of the gap of all decisions.
    """
    scores, plots = source.scores(), source.answer.plots
    found = source.answer.missing_reviews
    if found is None or plots is None:
        raise FigureMissing("every decision with a stated confidence is reviewed.", "Nothing is missing.")
    rows = _rows(scores, found)
    height = ROWS_TOP + rows_height(rows) + 34
    return draw_figure(
        height,
        f"Missing reviews of {source.subject}: {found.unreviewed:,} of {found.total:,} decisions",
        Heading(source.subject, _result(found), _judgement(found)),
        READING,
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
            draw_position(source.position, height),
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
    rows = [IntervalRow("reviewed decisions", f"gap {format_gap(gap)}", gap, scores.gap_interval, sure=True)]
    weighted = found.weighted_gap
    if weighted is not None:
        share = "all" if weighted.represented >= WHOLE else f"{weighted.represented:.0%} of all"
        label = f"weighted to represent {share}"
        rows.append(IntervalRow(label, f"gap {format_gap(weighted.gap)}", weighted.gap, weighted.interval, sure=True))
    bounds = found.gap_bounds
    note = f"{format_gap(bounds.low)} to {format_gap(bounds.high)}"
    return [*rows, IntervalRow("all, whatever the missing are", note, None, bounds, sure=True)]


def _draw_bars(tenths: Sequence[ConfidenceTenth]) -> Iterator[str]:
    """Draw two bars for each tenth: the share of the reviewed and of the unreviewed decisions in it."""
    reviewed = max(sum(tenth.reviewed for tenth in tenths), 1)
    unreviewed = max(sum(tenth.unreviewed for tenth in tenths), 1)
    shares = [(tenth, tenth.reviewed / reviewed, tenth.unreviewed / unreviewed) for tenth in tenths]
    ticks = round_ticks(0.0, max(max(pair) for _, *pair in shares), 4)
    first = min(tenth.low for tenth, *pair in shares if any(pair))
    panel = Panel(Scale(min(first, 0.5), 1.0, LEFT, RIGHT), Scale(0.0, ticks[-1], BOTTOM, TOP))
    edges = [tenth.low for tenth in tenths if tenth.low >= panel.x.low] + [1.0]
    yield from panel.draw_grid([(edge, f"{edge:.0%}") for edge in edges], [(value, f"{value:.0%}") for value in ticks])
    yield from panel.draw_titles("stated confidence", "share of decisions")
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
