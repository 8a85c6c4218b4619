"""pass^k and pass@k: from all subsets of the attempts, and without bias."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.evaluation.aggregation import pool_scores, tally_scores
from projections.stats.pass_at_k import all_pass, any_passes


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(1, 10))
def test_they_are_the_shares_of_all_subsets(passes: list[bool], k: int) -> None:
    n, c = len(passes), sum(passes)
    if k > n:
        assert all_pass(n, c, k) is None
        assert any_passes(n, c, k) is None
        return
    subsets = list(combinations(passes, k))
    assert all_pass(n, c, k) == pytest.approx(sum(map(all, subsets)) / len(subsets))
    assert any_passes(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@given(st.integers(1, 8), st.floats(0, 1), st.data())
def test_they_have_no_bias(n: int, rate: float, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    chances = [comb(n, c) * rate**c * (1 - rate) ** (n - c) for c in range(n + 1)]
    everything = sum(chance * (all_pass(n, c, k) or 0.0) for c, chance in enumerate(chances))
    anything = sum(chance * (any_passes(n, c, k) or 0.0) for c, chance in enumerate(chances))
    assert everything == pytest.approx(rate**k)
    assert anything == pytest.approx(1 - (1 - rate) ** k)


def test_a_suite_has_the_means_over_its_scenarios() -> None:
    scenario = np.repeat(np.arange(3), [4, 3, 3])
    outcome = np.array([1, 1, 0, 0, 1, 1, 1, 0, 0, 2])  # 2 of 4, 3 of 3, 0 of 3 with an error
    pooled = pool_scores(tally_scores(scenario, outcome, np.full(10, 50.0), 3), np.ones(3))["pass_of"]
    assert [each.k for each in pooled] == [2, 3]
    assert [each.all for each in pooled] == pytest.approx([(1 / 6 + 1) / 3, 1 / 3])
    assert [each.any for each in pooled] == pytest.approx([(5 / 6 + 1) / 3, 2 / 3])
    alone = pool_scores(tally_scores(scenario[:1], outcome[:1], np.full(1, 50.0), 1), np.ones(1))
    assert alone["pass_of"] == ()
