"""The error rate and the power of the gate, by simulation through the gate itself; copies; what decides."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.reports import GateLimits, judge, verdict_sentence
from api.reports.gate_text import gate_lines
from projections.evaluation.scenario_passes import strata_of
from projections.stats.stratified_loss import loss_p_value
from tests.api.reports.simulated_runs import FALLEN, UNCHANGED, compared, outcomes

DIFFERENT = "different"
Passes = list[list[bool]]


def called_worse(gates: int, attempts: int, rates: tuple[float, ...], *, strict: bool = False) -> float:
    """Return the share of gates that call a candidate worse; the baseline passes 90% at each scenario."""
    random = np.random.default_rng(21)
    limits = GateLimits(strict=strict, drop=0.4, drop_scenarios=3)
    verdicts = [
        judge(
            compared(outcomes(random, UNCHANGED, attempts), outcomes(random, rates, attempts), DIFFERENT), limits
        ).verdict
        for _ in range(gates)
    ]
    return verdicts.count("worse") / gates


@pytest.mark.slow
def test_an_unchanged_agent_in_a_few_gates() -> None:
    assert called_worse(15, 3, UNCHANGED) <= 1 / 15
    assert called_worse(15, 3, UNCHANGED, strict=True) >= 0.9


def lost_by_test(attempts: int, rates: tuple[float, ...]) -> float:
    """Return the share of 200 comparisons that the gate's test alone calls worse: without the simulation of power."""
    random = np.random.default_rng(21)
    found = 0
    for _ in range(200):
        before, now = outcomes(random, UNCHANGED, attempts), outcomes(random, rates, attempts)
        found += loss_p_value(strata_of(compared(before, now, DIFFERENT).passes)) <= 0.05
    return found / 200


@pytest.mark.slow
def test_what_200_comparisons_find() -> None:
    assert lost_by_test(3, UNCHANGED) <= 0.05
    assert 0.25 <= lost_by_test(3, FALLEN) <= 0.45  # no valid test finds it in 80%: see below
    assert lost_by_test(10, UNCHANGED) <= 0.05 + 2 * (0.05 * 0.95 / 200) ** 0.5  # its true rate is nearly 5%
    assert lost_by_test(10, FALLEN) >= 0.8


@pytest.mark.slow
def test_an_unchanged_agent_is_called_worse_in_at_most_5_percent_of_200_gates() -> None:
    assert called_worse(200, 3, UNCHANGED) <= 0.05


def best_power(attempts: int) -> float:
    """Return the power of the best test at 5% if the pass rates before are known, by Neyman and Pearson.

    It knows that each scenario passed at .9, and that 3 of the 14 fell to .5, but not which. Its statistic is the
    mean likelihood ratio over all choices of 3. No test that knows less, as from attempts before, has more power on
    average over these choices.
    """
    failed = range(attempts + 1)
    chances = [comb(attempts, x) * 0.1**x * 0.9 ** (attempts - x) for x in failed]
    ratios = [(0.5 / 0.1) ** x * (0.5 / 0.9) ** (attempts - x) for x in failed]
    draw = np.random.default_rng(5).choice(len(chances), (400_000, 14), p=np.array(chances) / sum(chances))
    sums = np.zeros((len(draw), 4))
    sums[:, 0] = 1  # elementary symmetric polynomials of the scenarios' ratios
    for scenario in np.array(ratios)[draw].T:
        sums[:, 1:] += sums[:, :-1] * scenario[:, np.newaxis]
    ratio = np.sort(sums[:, 3] / comb(14, 3))[::-1]
    return float(ratio[: len(ratio) // 20].sum() / len(ratio))


@pytest.mark.slow
def test_no_valid_test_finds_that_drop_in_80_percent_with_3_attempts() -> None:
    assert best_power(3) == pytest.approx(0.633, abs=0.02)
    assert best_power(4) < 0.8 < best_power(5)


@st.composite
def two_runs(draw: st.DrawFn) -> tuple[Passes, Passes]:
    attempts, width = draw(st.integers(1, 3)), draw(st.integers(1, 7))
    passes = st.lists(st.lists(st.booleans(), min_size=attempts, max_size=attempts), min_size=width, max_size=width)
    return draw(passes), draw(passes)


@pytest.mark.slow
@given(two_runs(), st.integers(2, 4))
@settings(max_examples=15)
def test_copies_of_all_attempts_change_no_verdict(runs: tuple[Passes, Passes], times: int) -> None:
    """Without digests; two scenarios with different results keep runs of several attempts from being all alike."""
    before, now = ([scenario * times for scenario in run] for run in runs)
    once, often = judge(compared(*runs), GateLimits()), judge(compared(before, now), GateLimits())
    assert once.test is not None
    assert often.test is not None
    assert often.verdict == once.verdict
    assert often.test.p == pytest.approx(once.test.p)


def test_an_agent_that_answers_always_the_same_gets_the_sign_test_of_its_scenarios() -> None:
    for attempts in (1, 3, 10):
        before = [[True] * attempts] * 14
        now = [[False] * attempts] * 4 + before[4:]
        judged = judge(compared(before, now), GateLimits())
        assert judged.test is not None
        assert judged.verdict == "passed"
        assert judged.test.p == pytest.approx(1 / 16)
    different = judge(compared([[True] * 3] * 14, [[False] * 3] * 4 + [[True] * 3] * 10, DIFFERENT), GateLimits())
    assert different.verdict == "worse"


@pytest.mark.slow
@given(two_runs())
@settings(max_examples=10)
def test_an_agent_compared_with_itself_is_never_worse(runs: tuple[Passes, Passes]) -> None:
    judged = judge(compared(runs[0], runs[0]), GateLimits())
    assert judged.exit == 0
    assert judged.test is not None
    assert judged.test.p >= 0.5


def test_the_reports_say_what_decided() -> None:
    worse = compared([[True] * 3] * 8, [[False] * 3] * 6 + [[True] * 3] * 2)
    by_test = judge(worse, GateLimits())
    assert verdict_sentence(by_test, worse) == "Worse: fewer attempts pass than before, p = 0.016."
    rule, power = gate_lines(by_test)
    assert rule == "Rule: test of losses, p = 0.016, alpha 0.05; attempts at 8 scenarios count as one: all alike."
    assert power.startswith("Power: ")
    assert power.endswith(" for a drop of the pass rate by 0.2 in all scenarios; 80% takes more than 50 attempts at "
                          "each scenario in both runs.")  # fmt: skip
    by_count = judge(worse, GateLimits(strict=True, regressions=6))
    assert (by_count.verdict, by_count.rule) == ("passed", "count")
    assert next(gate_lines(by_count)).startswith("Rule: regressions are counted (strict). The test of losses has p = ")


def test_a_gate_that_can_find_nothing_says_so() -> None:
    few = compared([[True]] * 4, [[False]] * 4)
    judged = judge(few, GateLimits())
    assert (judged.verdict, judged.exit) == ("unusable", 2)
    assert verdict_sentence(judged, few) == "Unusable: 4 regressions, and too few attempts to test for chance."
    _, power = gate_lines(judged)
    assert power == (
        "This gate can find no loss: if no attempt passed, p would be 0.062. It takes 2 attempts with different "
        "answers at each scenario, or more scenarios."
    )
    same = compared([[True]] * 4, [[True]] * 4)
    assert judge(same, GateLimits()).exit == 0


def test_a_regression_within_chance_passes() -> None:
    one = compared([[True] * 3] * 14, [[True, True, False]] + [[True] * 3] * 13, DIFFERENT)
    judged = judge(one, GateLimits())
    assert verdict_sentence(judged, one) == "Passed: 14 scenarios compared, 1 regression within chance (p = 0.500)."
    assert judge(one, GateLimits(strict=True)).exit == 1
