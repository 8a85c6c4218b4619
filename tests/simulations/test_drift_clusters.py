"""Drift where named clusters of decisions succeed or fail together: false alarms of weekly looks, and power."""

import numpy as np
import pytest
from scipy.stats import norm

from projections.arrays import Floats, Ints
from projections.calibration.change_point import detect_change
from tests.projections.calibration.test_drift_rates import times

pytestmark = pytest.mark.slow

Drawn = tuple[Floats, Floats, Ints]


def draw(rng: np.random.Generator, cluster: Ints, alike: float, fall: float = 0.0) -> Drawn:
    """Return confidences, outcomes and clusters. After half of the decisions, successes are rarer by `fall`."""
    n = len(cluster)
    confidence = rng.choice([0.8, 0.9, 0.95], n)
    common, own = rng.standard_normal(int(cluster.max()) + 1)[cluster], rng.standard_normal(n)
    chance = confidence - fall * (np.arange(n) >= n // 2)
    outcome = np.sqrt(alike) * common + np.sqrt(1 - alike) * own < norm.ppf(chance)
    return confidence, outcome.astype(np.float64), cluster


def clusters_of(kind: str, rng: np.random.Generator, n: int) -> Ints:
    """Return the cluster of each decision."""
    if kind == "two at a time":
        return np.arange(n) // 40 * 2 + rng.integers(0, 2, n)
    if kind == "half of decisions":
        return np.repeat(np.arange(n), np.where(rng.random(n) < 0.05, 20, 1))[:n]
    if kind == "sizes differ":
        return np.repeat(np.arange(n), rng.geometric(1 / 20, n))[:n]
    return np.arange(n) // 20


def ever_alarms(a_day: int, drawn: Drawn, *, named: bool) -> bool:
    """Return whether any of the weekly looks of a year raises an alarm. Clusters of one decision are not named."""
    confidence, outcome, cluster = drawn
    cluster = np.where(np.bincount(cluster)[cluster] > 1, cluster, -1) if named else np.full(len(cluster), -1)
    at = times(len(cluster))
    looks = range(7 * a_day, len(cluster) + 1, 7 * a_day)
    return any(detect_change(confidence[:n], outcome[:n], at[:n], None, cluster[:n]).alarm for n in looks)


@pytest.mark.parametrize("kind", ["20 each", "two at a time", "half of decisions", "sizes differ"])
def test_weekly_looks_at_named_clusters_raise_alarms_in_at_most_6_percent_of_years(kind: str) -> None:
    """Without the names, 10% to 33% with clusters of 20."""
    alarms, years = 0, 0
    for a_day in (1, 3):
        rng = np.random.default_rng(a_day)
        for _ in range(100):
            drawn = draw(rng, clusters_of(kind, rng, 365 * a_day), 1.0)
            alarms, years = alarms + ever_alarms(a_day, drawn, named=True), years + 1
    print(f"{kind}: {alarms / years:.3f}")
    assert alarms <= 0.06 * years


def test_without_names_clusters_raise_many_alarms() -> None:
    rng = np.random.default_rng(5)
    alarms = sum(ever_alarms(3, draw(rng, np.arange(1_095) // 20, 1.0), named=False) for _ in range(30))
    print(f"not named: {alarms / 30:.3f}")
    assert alarms > 3


@pytest.mark.parametrize(
    ("n", "size", "alike", "fall", "least"), [(1_095, 5, 1.0, 0.3, 0.5), (3_650, 20, 0.3, 0.15, 0.6)]
)
def test_changes_are_found(n: int, size: int, alike: float, fall: float, least: float) -> None:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(60):
        confidence, outcome, cluster = draw(rng, np.arange(n) // size, alike, fall)
        found.append(detect_change(confidence, outcome, times(n), None, cluster).alarm)
    print(f"{size} each, alike {alike}, change {fall}: {np.mean(found):.2f}")
    assert np.mean(found) >= least
