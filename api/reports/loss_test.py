"""The gate's test: whether fewer attempts pass than before, by more than chance explains, and what it can find."""

from collections.abc import Sequence
from functools import lru_cache
from math import comb

import msgspec
import numpy as np

from projections.evaluation.scenario_passes import strata_of
from projections.evaluation.view_types import RunComparison, ScenarioPasses
from projections.stats.loss_power import ATTEMPTS_TRIED, Drop, attempts_needed, loss_power, shrunk_rates
from projections.stats.stratified_loss import least_p_value, loss_p_value

ALPHA = 0.05
DROP = 0.2


class GateTest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of the test. p values, levels, powers and drops are 0 to 1; absent figures cannot be computed.

    p: the probability of a loss at least as large in an unchanged agent; `worse` from `level` down.
    level: alpha, or the part of it that belongs to this look at a sequential run.
    least_p: p if every attempt had passed before and none passed now. If it is above `level`, nothing can be found.
    power: how often a drop of the pass rate by `drop` in `drop_scenarios` scenarios (absent: in all) is found.
    attempts_needed: attempts at each scenario, in both runs, that find it in 80%; absent if more than `attempts_tried`.
    attempts_to_detect: attempts with different answers at each scenario from which on any loss can be found at all.
    copied: scenarios whose attempts count as one, because they may be copies of each other.
    """

    p: float
    alpha: float
    level: float
    least_p: float
    power: float
    drop: float
    drop_scenarios: int | None = None
    attempts_needed: int | None = None
    attempts_tried: int = ATTEMPTS_TRIED[-1]
    attempts_to_detect: int
    copied: int = 0

    @property
    def lost(self) -> bool:
        """Whether fewer attempts pass, by more than chance explains."""
        return self.p <= self.level

    @property
    def blind(self) -> bool:
        """Whether no result of the candidate could be called worse."""
        return self.least_p > self.level


def run_loss_test(contrast: RunComparison, alpha: float, level: float, drop: Drop) -> GateTest | None:
    """Test a comparison; None if no scenario is comparable. `level` is at most `alpha`."""
    if not contrast.passes:
        return None
    strata = strata_of(contrast.passes)
    if drop.scenarios is not None:
        drop = drop._replace(scenarios=min(drop.scenarios, len(contrast.passes)))
    power, needed = _power(_named(contrast.passes), drop, level)
    sizes = zip(strata.attempts_before.tolist(), strata.attempts_now.tolist(), strict=True)
    return GateTest(
        p=loss_p_value(strata),
        alpha=alpha,
        level=level,
        least_p=least_p_value(sizes),
        power=power,
        drop=drop.size,
        drop_scenarios=drop.scenarios,
        attempts_needed=needed,
        attempts_to_detect=_attempts_to_detect(len(contrast.passes), level),
        copied=sum(max(each.copies_before, each.copies_now) > 1 for each in contrast.passes),
    )


def _named(passes: Sequence[ScenarioPasses]) -> tuple[tuple[int, int, int, bool], ...]:
    """Return what the power depends on: attempts before and now, passes before, and whether attempts are repeated."""
    strata = strata_of(passes)
    columns = (column.tolist() for column in (strata.attempts_before, strata.attempts_now, strata.passed_before))
    copied = (max(each.copies_before, each.copies_now) > 1 for each in passes)
    return tuple((*row, not copy) for *row, copy in zip(*columns, copied, strict=True))


@lru_cache(maxsize=64)
def _power(rows: tuple[tuple[int, int, int, bool], ...], drop: Drop, level: float) -> tuple[float, int | None]:
    before, now, passed, repeated = np.array(rows, dtype=np.int64).T
    rates = shrunk_rates(before, passed)
    return loss_power(rates, before, now, drop, level), attempts_needed(rates, repeated, drop, level)


def _attempts_to_detect(scenarios: int, level: float) -> int:
    attempts = 1
    while comb(2 * attempts, attempts) ** -scenarios > level:
        attempts += 1
    return attempts
