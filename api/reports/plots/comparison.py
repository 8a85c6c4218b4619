"""Draw the differences between agents that answered the same questions, each with its interval."""

from api.reports.escape import one_line
from api.reports.plots.figure_source import Figure, FigureMissing, FigureSource
from api.reports.plots.interval_rows import IntervalRow, chart_of_rows
from api.reports.plots.svg import Chart, Heading
from api.reports.plots.tables import tabulate_comparison
from projections.calibration.agent_comparison import SHARED_QUESTIONS_MIN
from projections.stats.false_discovery import FALSE_DISCOVERY_RATE
from tallystick.shapes.comparison import AgentPair

NAME_CHARS_MAX = 26


def chart_comparison(source: FigureSource) -> Chart:
    """Chart the pairs of a comparison. Errors: FigureMissing, without a pair that answered the same questions.

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
    return chart_of_rows(
        f"Comparison of {len(pairs):,} pairs: difference of Brier scores on shared questions",
        Heading(
            source.subject,
            f"{len(pairs):,} pairs on shared questions: difference of Brier scores",
            f"Supported: false discovery rate at most {FALSE_DISCOVERY_RATE:.0%}",
        ),
        [_row(pair) for pair in pairs],
        "below 0 the first is better, above 0 the second",
        filled="supported, with the 95% interval",
        hollow="not supported",
        left_out=len(comparison.pairs) - len(pairs),
        left_out_are="pairs have too few questions in common",
    )


def _row(pair: AgentPair) -> IntervalRow:
    first, second = (one_line(name, NAME_CHARS_MAX) for name in pair.agents)
    difference = pair.mean_difference or 0.0
    better = first if difference < 0 else second
    note = "neither is better" if not difference else f"{better} is better{'' if pair.supported else '?'}"
    return IntervalRow(
        f"{first} minus {second}", f"n={pair.shared:,}: {note}", difference, pair.interval, sure=bool(pair.supported)
    )


FIGURE = Figure(
    "Pairs on shared questions",
    "Each row is a pair on the questions that both answered. Left of 0 the first has the lower, better Brier "
    "score. A filled dot is supported among all pairs, however often one looks; a hollow one is not. "
    "Intervals are for one look.",
    chart_comparison,
    tabulate_comparison,
    include=("comparison",),
)
