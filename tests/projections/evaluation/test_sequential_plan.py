"""Looks at sequential runs: where they are, how they share alpha, and the error rate over all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.arrays import Floats, Ints
from projections.evaluation.sequential_plan import HOPELESS, PLAN, level_at, level_of, looks_in, looks_of, plan_text
from projections.evaluation.view_types import ScenarioPasses
from projections.stats.stratified_loss import Strata, loss_p_values

ALPHA = 0.05


@given(st.integers(1, 1_000), st.floats(0.001, 0.5))
def test_the_levels_of_the_looks_sum_to_alpha(attempts: int, alpha: float) -> None:
    looks = looks_of(attempts)
    assert looks[-1] == attempts
    assert looks == tuple(sorted(set(looks)))
    assert sum(level_at(looks, look, alpha) for look in looks) == pytest.approx(alpha)
    assert looks_in({PLAN: plan_text(looks)}) == looks


@pytest.mark.parametrize("text", ["", "x", "3,3", "6,3", "0,1", "1,2,3,4", "01", " 3", "99999", "-1,2"])
def test_what_something_else_wrote_is_not_a_plan(text: str) -> None:
    passes = (ScenarioPasses(scenario_id="s", attempts_before=3, passed_before=3, attempts_now=3, passed_now=1),)
    assert level_of({PLAN: text}, passes, ALPHA) == ALPHA
    assert level_of(None, passes, ALPHA) == ALPHA
    assert level_of({PLAN: "3,6,12"}, passes, ALPHA) == pytest.approx(0.15 * ALPHA)


def simulate(rates: Floats, later: Floats, attempts: int, runs: int) -> tuple[Floats, Ints]:
    """Return which sequential runs end as worse, and after how many attempts each ends."""
    random, looks = np.random.default_rng(31), looks_of(attempts)
    shape = (runs, len(rates))
    before = np.full(shape, attempts)
    passed_before = random.binomial(before, rates)
    passed_now, done = np.zeros(shape, dtype=np.int64), 0
    worse, ended = np.zeros(runs), np.zeros(runs, dtype=np.int64)
    for look in looks:
        passed_now += random.binomial(look - done, np.broadcast_to(later, shape))
        done = look
        now = Strata(before, passed_before, np.full(shape, look), passed_now)
        p_values = loss_p_values(now, 1 << 14)
        going = ended == 0
        found = going & (p_values <= level_at(looks, look, ALPHA))
        hopeless = going & (look != looks[0]) & (p_values >= HOPELESS)
        worse[found] = 1
        ended[found | hopeless | (going & (look == attempts))] = look
    return worse, ended


@pytest.mark.slow
def test_over_all_looks_an_unchanged_agent_is_worse_in_at_most_alpha() -> None:
    rates = np.full(14, 0.9)
    worse, ended = simulate(rates, rates, 12, 1_000)
    assert worse.mean() <= ALPHA
    assert ended.mean() < 9.5


def test_a_drop_is_found_with_fewer_attempts() -> None:
    rates = np.full(14, 0.9)
    worse, ended = simulate(rates, np.where(np.arange(14) < 3, 0.5, 0.9), 12, 500)
    assert worse.mean() >= 0.8
    worse, ended = simulate(rates, rates - 0.4, 12, 500)
    assert worse.mean() == 1
    assert ended.mean() < 4
