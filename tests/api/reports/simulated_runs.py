"""Simulated evaluations of agents with known pass rates, as views of runs."""

from collections.abc import Sequence

import numpy as np
from msgspec import structs

from projections.evaluation.run_comparison import compare_runs
from projections.evaluation.view_types import RunComparison, ScenarioResult, ScoreRow
from tests.api.reports.fixed_evaluations import evaluation, result, scored

UNCHANGED = (0.9,) * 14
FALLEN = (0.5,) * 3 + (0.9,) * 11


def outcomes(random: np.random.Generator, rates: Sequence[float], attempts: int) -> list[list[bool]]:
    """Draw whether each attempt at each scenario passes."""
    draws = random.random((len(rates), attempts)).tolist()
    return [[draw < rate for draw in scenario] for scenario, rate in zip(draws, rates, strict=True)]


def compared(
    before: Sequence[Sequence[bool]], now: Sequence[Sequence[bool]], answers: str | None = None
) -> RunComparison:
    """Compare two runs, given the passes of each attempt at each scenario.

    `answers`: None for answers without digests, `different` for a text of its own for each attempt.
    """
    return compare_runs(
        evaluation("a", "1", *_results(before, answers and "before")),
        evaluation("b", "2", *_results(now, answers and "now")),
    )


def _results(passes: Sequence[Sequence[bool]], run: str | None) -> list[ScenarioResult]:
    return [
        result(f"s{number:02}", *(_row(passed, attempt, run) for attempt, passed in enumerate(scenario, 1)))
        for number, scenario in enumerate(passes)
    ]


def _row(passed: bool, attempt: int, run: str | None) -> ScoreRow:
    row = scored(100.0 if passed else 0.0, attempt=attempt)
    if run is None:
        return row
    return structs.replace(row, analysis_digest=f"{run}{attempt}")
