"""The interval of a mean over clusters: known values, and how often it covers the truth."""

import numpy as np
import pytest

from projections.stats.clustered_mean import clustered_mean_interval

UNBOUNDED = (-np.inf, np.inf)


def test_with_one_value_in_each_cluster_it_is_students_interval() -> None:
    values = np.array([0.2, 0.5, 0.1, 0.9, 0.4])
    found = clustered_mean_interval(values, np.arange(5), UNBOUNDED)
    assert found is not None
    half = 2.7764451051977987 * values.std(ddof=1) / np.sqrt(5)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=1e-12)


def test_copies_of_the_values_do_not_make_it_narrower() -> None:
    values, cluster = np.array([0.2, 0.5, 0.1, 0.9, 0.4]), np.arange(5)
    once = clustered_mean_interval(values, cluster, UNBOUNDED)
    ten = clustered_mean_interval(np.repeat(values, 10), np.repeat(cluster, 10), UNBOUNDED)
    assert once is not None
    assert ten is not None
    assert tuple(ten.__getattribute__(name) for name in ("low", "high")) == pytest.approx((once.low, once.high))


@pytest.mark.parametrize(("values", "cluster"), [([], []), ([0.5], [0]), ([0.1, 0.9], [3, 3]), ([0.5, 0.5], [0, 1])])
def test_data_that_do_not_show_how_much_they_vary(values: list[float], cluster: list[int]) -> None:
    assert clustered_mean_interval(np.array(values), np.array(cluster, dtype=np.int64), UNBOUNDED) is None


def test_it_stays_within_its_bounds() -> None:
    found = clustered_mean_interval(np.array([1.0, 0.0]), np.array([0, 1]), (-1.0, 1.0))
    assert found is not None
    assert (found.low, found.high) == (-1.0, 1.0)


@pytest.mark.parametrize("attempts", [1, 10])
def test_it_covers_the_truth_in_95_of_100_histories(attempts: int) -> None:
    """40 scenarios, each with a pass probability of its own: a Wald interval over attempts covers in 48% with ten."""
    rng = np.random.default_rng(16)
    histories, scenarios = 2_000, 40
    rate = rng.beta(2, 2, (histories, scenarios))
    passed = rng.random((histories, scenarios, attempts)) < rate[..., None]
    cluster = np.repeat(np.arange(scenarios), attempts)
    covered = 0
    for one in passed:
        found = clustered_mean_interval(one.reshape(-1).astype(np.float64), cluster, UNBOUNDED)
        assert found is not None
        covered += found.low <= 0.5 <= found.high
    assert 0.935 <= covered / histories <= 0.965
