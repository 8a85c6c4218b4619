"""The power of the test of losses: how often it finds a drop of a named size, by simulation with a fixed seed.

Each simulation draws the passes of both samples: before, a scenario passes at its rate, and now at a rate that is
lower by the drop, but not below 0. The rate of a scenario is that of its attempts and of one more at the mean rate of
all scenarios, because three passes of three do not mean that it never fails.
"""

from bisect import bisect_left
from math import erfc, sqrt
from typing import NamedTuple

import numpy as np

from projections.arrays import Floats, Ints
from projections.stats.stratified_loss import Strata, loss_moments, loss_p_values

POWER_WANTED = 0.8

ATTEMPTS_TRIED = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30, 40, 50)
"""The numbers of attempts at each scenario that are tried."""

SIMULATIONS = 250
"""The standard error of a power is at most 3.2 percentage points."""

EXACT_SCENARIOS_MAX = 60
"""With more scenarios, the p values of simulated comparisons are those of a normal distribution."""

_SEED = 1_935
_GRID_MAX = 1 << 12


class Drop(NamedTuple):
    """A drop of the pass rate by `size`, 0 to 1, in `scenarios` of the scenarios, drawn at random; None: in all."""

    size: float
    scenarios: int | None = None


def shrunk_rates(attempts: Ints, passed: Ints) -> Floats:
    """Return the pass rate of each scenario, drawn towards the mean rate by the weight of one attempt."""
    overall = (passed.sum() + 1) / (attempts.sum() + 2)
    return np.asarray((passed + overall) / (attempts + 1), dtype=np.float64)


def loss_power(rates: Floats, attempts_before: Ints, attempts_now: Ints, drop: Drop, alpha: float) -> float:
    """Return the share of simulated comparisons with a drop that have a p value of at most `alpha`.

    Shapes: a rate, 0 to 1, and two numbers of attempts for each scenario.
    """
    random = np.random.default_rng(_SEED)
    shape = (SIMULATIONS, len(rates))
    ranks = random.random(shape).argsort(axis=1)
    dropped = ranks < (len(rates) if drop.scenarios is None else drop.scenarios)
    before, now = np.broadcast_to(attempts_before, shape), np.broadcast_to(attempts_now, shape)
    lower = np.where(dropped, np.maximum(rates - drop.size, 0.0), rates)
    drawn = Strata(before, random.binomial(before, rates), now, random.binomial(now, lower))
    exact = len(rates) <= EXACT_SCENARIOS_MAX
    p_values = loss_p_values(drawn, _GRID_MAX) if exact else _normal_p_values(drawn)
    return float((p_values <= alpha).mean())


def attempts_needed(rates: Floats, repeated: Floats, drop: Drop, alpha: float) -> int | None:
    """Return how many attempts at each scenario, in both runs, give a power of 80%.

    `repeated` is 1 for a scenario that is tried so often, and 0 for one whose attempts are copies and count as one.
    The answer is one of ATTEMPTS_TRIED, or None if these are too few.
    """

    def reaches(attempts: int) -> bool:
        sizes = np.where(repeated > 0, attempts, 1)
        return loss_power(rates, sizes, sizes, drop, alpha) >= POWER_WANTED

    place = bisect_left(ATTEMPTS_TRIED, True, key=reaches)
    return ATTEMPTS_TRIED[place] if place < len(ATTEMPTS_TRIED) else None


def _normal_p_values(strata: Strata) -> Floats:
    totals, means, variances = loss_moments(strata)
    deviations = (totals - means) / np.sqrt(np.maximum(variances, np.finfo(np.float64).tiny))
    return np.array([erfc(deviation / sqrt(2)) / 2 for deviation in deviations.tolist()])
