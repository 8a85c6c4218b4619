"""The passes of two runs by scenario, and which of their attempts may be copies of each other.

Attempts that are copies prove nothing: an agent that answers always the same gains no evidence by more attempts. The
answers are compared by their digests; where a score has no digest, by whether it passed. Attempts count as one

- at a scenario where all answers of a run are known and the same, in each of the two runs;
- at all scenarios, if no scenario has two different answers in a run;
- g at a time, if each answer of each scenario occurs a multiple of g times in both runs.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import gcd

import numpy as np

from projections.evaluation.view_types import ScenarioPasses, ScoreRow
from projections.stats.stratified_loss import Strata

_Answer = tuple[str | None, bool]


class Attempts:
    """The attempts at one scenario in both runs, at least one each."""

    def __init__(self, scenario_id: str, before: Sequence[ScoreRow], now: Sequence[ScoreRow]) -> None:
        self.scenario_id = scenario_id
        self.runs = tuple(Counter((row.analysis_digest, row.passed is True) for row in rows) for rows in (before, now))

    @property
    def alike(self) -> bool:
        """Whether no run has two different answers."""
        return all(len(run) == 1 for run in self.runs)

    @property
    def known(self) -> bool:
        """Whether each answer has a digest."""
        return all(digest is not None for run in self.runs for digest, _ in run)


def count_passes(scenarios: Iterable[Attempts]) -> tuple[ScenarioPasses, ...]:
    """Count the attempts and the passes of each scenario, and how many of its attempts count as one."""
    found = list(scenarios)
    all_alike = all(scenario.alike for scenario in found)
    together = gcd(*(number for scenario in found for run in scenario.runs for number in run.values()))
    passes = []
    for scenario in found:
        before, now = (run.total() for run in scenario.runs)
        one = scenario.alike and (all_alike or scenario.known)
        copies_before, copies_now = (before, now) if one else (together, together)
        passes.append(
            ScenarioPasses(
                scenario_id=scenario.scenario_id,
                attempts_before=before,
                passed_before=_passed(scenario.runs[0]),
                attempts_now=now,
                passed_now=_passed(scenario.runs[1]),
                copies_before=copies_before,
                copies_now=copies_now,
            )
        )
    return tuple(passes)


def strata_of(passes: Sequence[ScenarioPasses]) -> Strata:
    """Return the passes as strata for the test of losses, with copies counted once."""
    columns = (
        [each.attempts_before // each.copies_before for each in passes],
        [each.passed_before // each.copies_before for each in passes],
        [each.attempts_now // each.copies_now for each in passes],
        [each.passed_now // each.copies_now for each in passes],
    )
    return Strata(*(np.array(column, dtype=np.int64) for column in columns))


def _passed(run: Counter[_Answer]) -> int:
    return sum(number for (_, passed), number in run.items() if passed)
