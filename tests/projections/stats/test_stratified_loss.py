"""The test of losses: exact against an enumeration, its error rate by simulation, and its laws."""

from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.stats.loss_power import (
    ATTEMPTS_TRIED,
    Drop,
    attempts_needed,
    loss_power,
    shrunk_rates,
)
from projections.stats.stratified_loss import P_MIN, Strata, least_p_value, loss_p_value, loss_p_values

Stratum = tuple[int, int, int, int]


@st.composite
def stratum(draw: st.DrawFn, attempts_max: int = 4) -> Stratum:
    before, now = draw(st.integers(1, attempts_max)), draw(st.integers(1, attempts_max))
    return before, draw(st.integers(0, before)), now, draw(st.integers(0, now))


def strata(rows: list[Stratum]) -> Strata:
    return Strata(*np.array(rows, dtype=np.int64).T)


def enumerated(rows: list[Stratum]) -> float:
    """Return the p value from all ways to deal the failures of each stratum, in fractions."""

    def change(failed_before: int, before: int, failed_now: int, now: int) -> Fraction:
        lost = Fraction(failed_now, now) - Fraction(failed_before, before)
        return lost * abs(lost)

    laws, observed = [], Fraction(0)
    for before, passed_before, now, passed_now in rows:
        failed = before - passed_before + now - passed_now
        observed += change(before - passed_before, before, now - passed_now, now)
        laws.append(
            [
                (change(failed - number, before, number, now), comb(now, number) * comb(before, failed - number))
                for number in range(max(0, failed - before), min(now, failed) + 1)
            ]
        )
    dealings = (tuple(zip(*dealt, strict=True)) for dealt in product(*laws))
    as_bad = sum(prod(ways) for changes, ways in dealings if sum(changes) >= observed)
    return float(as_bad / prod(sum(ways for _, ways in law) for law in laws))


@given(st.lists(stratum(), min_size=1, max_size=5))
def test_the_p_value_is_that_of_all_ways_to_deal_the_results(rows: list[Stratum]) -> None:
    assert loss_p_value(strata(rows)) == pytest.approx(enumerated(rows), abs=1e-9)


@given(st.lists(stratum(6), min_size=1, max_size=8))
def test_the_order_of_scenarios_does_not_matter(rows: list[Stratum]) -> None:
    shuffled = sorted(rows)
    assert loss_p_value(strata(rows)) == pytest.approx(loss_p_value(strata(shuffled)), abs=1e-12)


@pytest.mark.slow
@given(st.lists(stratum(6), min_size=1, max_size=8))
def test_runs_that_are_exchanged_have_complementary_p_values(rows: list[Stratum]) -> None:
    swapped = [(now, passed_now, before, passed) for before, passed, now, passed_now in rows]
    assert loss_p_value(strata(rows)) + loss_p_value(strata(swapped)) >= 1 - 1e-9


@given(st.lists(stratum(6), min_size=1, max_size=8), st.integers(1, 5), st.booleans())
def test_scenarios_without_a_failure_or_without_a_pass_change_nothing(
    rows: list[Stratum], attempts: int, passes: bool
) -> None:
    more = (attempts, attempts * passes, attempts, attempts * passes)
    assert loss_p_value(strata([*rows, more])) == pytest.approx(loss_p_value(strata(rows)), abs=1e-9)


def test_with_one_attempt_it_is_the_sign_test() -> None:
    lost, won, same = (1, 1, 1, 0), (1, 0, 1, 1), (1, 1, 1, 1)
    assert loss_p_value(strata([lost] * 5 + [same] * 9)) == pytest.approx(1 / 32)
    assert loss_p_value(strata([lost] * 5 + [won] + [same] * 8)) == pytest.approx(7 / 64)
    assert loss_p_value(strata([won] * 5)) == pytest.approx(1.0)
    assert loss_p_value(strata([lost] * 50)) == P_MIN


def test_the_least_p_value_is_that_of_all_lost() -> None:
    for before, now, width in ((1, 1, 4), (3, 3, 2), (2, 5, 3)):
        all_lost = strata([(before, before, now, 0)] * width)
        assert least_p_value([(before, now)] * width) == pytest.approx(loss_p_value(all_lost))


@pytest.mark.slow
def test_many_comparisons_are_tested_as_one_is() -> None:
    random = np.random.default_rng(7)
    shape = (50, 9)
    before, now = random.integers(1, 12, shape), random.integers(1, 12, shape)
    many = Strata(before, random.binomial(before, 0.8), now, random.binomial(now, 0.6))
    one_by_one = [loss_p_value(Strata(*(column[row] for column in many))) for row in range(shape[0])]
    assert loss_p_values(many) == pytest.approx(np.array(one_by_one), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("attempts", "rate"), [(1, 0.9), (3, 0.9), (3, 0.5), (8, 0.9), (20, 0.7)])
def test_an_unchanged_agent_is_rarely_worse(attempts: int, rate: float) -> None:
    random = np.random.default_rng(1_000 + attempts)
    shape = (2_000, 14)
    sizes = np.full(shape, attempts)
    rates = np.clip(random.normal(rate, 0.1, 14), 0, 1)  # scenarios differ in difficulty
    drawn = Strata(sizes, random.binomial(sizes, rates), sizes, random.binomial(sizes, rates))
    p_values = loss_p_values(drawn, 1 << 14)
    for alpha in (0.01, 0.05, 0.2):
        assert (p_values <= alpha).mean() <= alpha + 2.6 * (alpha * (1 - alpha) / len(p_values)) ** 0.5


@pytest.mark.parametrize(
    ("width", "before", "now", "drop"),
    [(14, 3, 3, Drop(0.4, 3)), (14, 8, 8, Drop(0.4, 3)), (14, 3, 3, Drop(0.2)), (6, 10, 5, Drop(0.3, 2))],
)
def test_the_power_is_that_of_independent_simulations(width: int, before: int, now: int, drop: Drop) -> None:
    random = np.random.default_rng(99)
    shape = (1_500, width)
    rates, first = np.full(width, 0.9), np.arange(width) < (drop.scenarios or width)
    sizes, later = np.full(shape, before), np.full(shape, now)
    drawn = Strata(
        sizes,
        random.binomial(sizes, rates),
        later,
        random.binomial(later, np.where(first, rates - drop.size, rates)),
    )
    simulated = (loss_p_values(drawn, 1 << 14) <= 0.05).mean()
    assert loss_power(rates, sizes[0], later[0], drop, 0.05) == pytest.approx(simulated, abs=0.09)


def test_the_power_of_many_scenarios_is_nearly_exact() -> None:
    random, width = np.random.default_rng(3), 80
    shape = (1_000, width)
    sizes = np.full(shape, 3)
    rates = np.full(width, 0.85)
    drawn = Strata(sizes, random.binomial(sizes, rates), sizes, random.binomial(sizes, rates - 0.1))
    simulated = (loss_p_values(drawn, 1 << 14) <= 0.05).mean()
    assert loss_power(rates, sizes[0], sizes[0], Drop(0.1), 0.05) == pytest.approx(simulated, abs=0.09)


def test_the_attempts_that_are_needed_reach_the_power() -> None:
    rates, repeated = np.full(14, 0.9), np.ones(14)
    needed = attempts_needed(rates, repeated, Drop(0.4, 3), 0.05)
    assert needed in (8, 9, 10)
    fewer = np.full(14, ATTEMPTS_TRIED[ATTEMPTS_TRIED.index(needed) - 1])
    assert loss_power(rates, np.full(14, needed), np.full(14, needed), Drop(0.4, 3), 0.05) >= 0.8
    assert loss_power(rates, fewer, fewer, Drop(0.4, 3), 0.05) < 0.8
    assert attempts_needed(rates, repeated, Drop(0.01), 0.05) is None
    assert attempts_needed(rates, np.zeros(14), Drop(0.1), 0.05) is None


def test_rates_are_drawn_towards_their_mean() -> None:
    rates = shrunk_rates(np.array([3, 3, 3]), np.array([3, 3, 0]))
    assert rates == pytest.approx([(3 + 7 / 11) / 4, (3 + 7 / 11) / 4, (7 / 11) / 4])
