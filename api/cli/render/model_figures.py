"""Print how good one model is."""

from rich.console import Console

from api.service.model_figures import ModelFigures
from api.text_format import format_count, format_figure, format_interval, one_line, pluralize
from tallystick.shapes.parts import Interval


def print_figures(console: Console, figures: ModelFigures) -> None:
    """Print a line for the decisions of a model, for each suite and for each probe, with the number of each."""
    decided = figures.decisions
    console.print()
    if decided.gap is None or decided.brier_score is None:
        console.print(f"Decisions: {pluralize(decided.decisions, 'decision')}, none reviewed with a confidence.")
    else:
        console.print(
            f"Decisions: {pluralize(decided.reviewed, 'review')}, gap {decided.gap:+.3f}"
            f"{_bracketed(decided.gap_interval, '+')}, Brier score {decided.brier_score:.3f}."
        )
    for suite in figures.evaluations:
        console.print(
            f"Evaluation {one_line(suite.suite)}: {pluralize(suite.answers, 'answer')}, mean "
            f"{format_figure(suite.mean)}{_bracketed(suite.mean_interval)} of 100 points."
        )
        if (stated := suite.stated) is not None:
            console.print(
                f"  Stated {stated.mean_confidence:.0%} in {pluralize(stated.n, 'answer')}, right in "
                f"{stated.pass_rate:.0%}, Brier score {stated.brier_score:.3f}."
            )
    for probe in figures.probes:
        scorer = probe.scorer_id if probe.scorer_version is None else f"{probe.scorer_id}@{probe.scorer_version}"
        console.print(
            f"Probe {one_line(probe.probe_id)} by {one_line(scorer)}: answered {format_count(probe.answered)} of "
            f"{format_count(probe.counted)}, mean {format_figure(probe.counted_mean)}"
            f"{_bracketed(probe.counted_interval)}."
        )


def _bracketed(interval: Interval | None, sign: str = "") -> str:
    return "" if interval is None else f" ({format_interval(interval, sign)})"
