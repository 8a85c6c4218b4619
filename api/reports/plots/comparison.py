"""Draw the differences between agents that answered the same questions, each with its interval."""

from api.reports.escape import one_line
from api.reports.plots.figure_source import FigureMissing, FigureSource
from api.reports.plots.interval_rows import IntervalRow, draw_rows, rows_height
from api.reports.plots.panel import TOP, draw_left_out, draw_legend
from api.reports.plots.svg import Heading, draw_figure, draw_position
from projections.calibration.agent_comparison import SHARED_QUESTIONS_MIN
from projections.stats.false_discovery import FALSE_DISCOVERY_RATE
from tallystick.shapes.comparison import AgentPair

READING = (
    "Each row is a pair on the questions that both answered. Left of 0 the first has the lower, better Brier "
    "score. A filled dot is supported among all pairs, however often one looks; a hollow one is not. "
    "Intervals are for one look."
)
"""How to read the drawing."""

NAME_CHARS_MAX = 26


def draw_comparison(source: FigureSource) -> str:
    """Draw the pairs of a comparison. Errors: FigureMissing, without a pair that answered the same questions.

    Shapes: for each pair the difference of the mean Brier losses with its 95% interval at one look. A hollow dot and a
            question mark mean that the difference is not supported among all pairs.
    """
    comparison = source.answer.comparison
    pairs = [] if comparison is None else [pair for pair in comparison.pairs if pair.paired]
    if comparison is None or not pairs:
        raise FigureMissing(
            f"no two of these agents have {SHARED_QUESTIONS_MIN} reviewed questions in common.",
            "Import the question that each decision answers, or choose other decisions.",
        )
    rows = [_row(pair) for pair in pairs]
    left_out = len(comparison.pairs) - len(pairs)
    legend_top = TOP + rows_height(rows) + 34
    height = legend_top + 84
    return draw_figure(
        height,
        f"Comparison of {len(pairs):,} pairs: difference of Brier scores on shared questions",
        Heading(
            source.subject,
            f"{len(pairs):,} pairs on shared questions: difference of Brier scores",
            f"Supported: false discovery rate at most {FALSE_DISCOVERY_RATE:.0%}",
        ),
        READING,
        [
            *draw_rows(rows, TOP, "below 0 the first is better, above 0 the second"),
            *draw_legend(legend_top, (("dot", "supported, with the 95% interval"), ("open", "not supported"))),
            *draw_left_out(left_out, "pairs have too few questions in common", legend_top),
            draw_position(source.position, height),
        ],
    )


def _row(pair: AgentPair) -> IntervalRow:
    first, second = (one_line(name, NAME_CHARS_MAX) for name in pair.agents)
    difference = pair.mean_difference or 0.0
    better = first if difference < 0 else second
    note = "neither is better" if not difference else f"{better} is better{'' if pair.supported else '?'}"
    return IntervalRow(
        f"{first} minus {second}", f"n={pair.shared:,}: {note}", difference, pair.interval, sure=bool(pair.supported)
    )
