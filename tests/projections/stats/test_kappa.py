"""Cohen's kappa: its value and variance against other libraries, its interval, and when it is unknown."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.arrays import Floats
from projections.stats.intervals import Z
from projections.stats.kappa import Kappa, measure_kappa
from tests.sdks.conftest import install
from tests.support.paths import ROOT

Table = tuple[int, int, int, int]
"""How many pairs both raters pass, only the first, only the second, neither."""

TABLES: list[Table] = [
    (20, 5, 10, 15), (45, 15, 25, 15), (90, 3, 4, 3), (1, 9, 0, 10), (0, 10, 10, 0), (400, 30, 70, 500), (7, 1, 1, 0),
    (3, 2, 1, 4), (118, 5, 2, 0), (30, 0, 0, 20),
]  # fmt: skip

OTHERS = """
import json, sys
import numpy as np
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa
found = []
for both, first, second, neither in json.load(sys.stdin):
    a = [1] * both + [1] * first + [0] * second + [0] * neither
    b = [1] * both + [0] * first + [1] * second + [0] * neither
    theirs = cohens_kappa(np.array([[both, first], [second, neither]]))
    found.append([theirs.kappa, theirs.var_kappa, cohen_kappa_score(a, b)])
print(json.dumps(found))
"""


def raters(table: Table) -> tuple[Floats, Floats]:
    first = np.repeat([1.0, 1.0, 0.0, 0.0], table)
    second = np.repeat([1.0, 0.0, 1.0, 0.0], table)
    return first, second


def kappa_of(table: Table) -> Kappa:
    found = measure_kappa(*raters(table))
    assert found is not None
    return found


def published(table: Table) -> tuple[float, float]:
    """Kappa and its variance, as Fleiss, Cohen and Everitt (1969) write them, equation 13."""
    p = np.array(table, dtype=np.float64).reshape(2, 2) / sum(table)
    row, column = p.sum(axis=1), p.sum(axis=0)
    agreement, chance = np.trace(p), float(row @ column)
    diagonal = sum(p[i, i] * ((1 - chance) - (column[i] + row[i]) * (1 - agreement)) ** 2 for i in range(2))
    others = (1 - agreement) ** 2 * sum(p[i, 1 - i] * (column[i] + row[1 - i]) ** 2 for i in range(2))
    rest = (agreement * chance - 2 * chance + agreement) ** 2
    return (agreement - chance) / (1 - chance), (diagonal + others - rest) / (sum(table) * (1 - chance) ** 4)


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_kappa_and_its_variance_are_the_published_ones(table: Table) -> None:
    found, (kappa, variance) = kappa_of(table), published(table)
    assert found.kappa == pytest.approx(kappa, abs=1e-12)
    assert found.variance == pytest.approx(variance, abs=1e-12)


@pytest.mark.slow
def test_kappa_and_its_variance_agree_with_statsmodels_and_scikit_learn(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path], check=True)
    python = str(tmp_path / "bin/python")
    packages = str(ROOT / "requirements-statistics.txt")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    install([*pip, "--require-hashes", "-r", packages], tmp_path)
    rng = np.random.default_rng(1969)
    tables = [*TABLES, *(tuple(rng.integers(1, 400, 4).tolist()) for _ in range(200))]
    done = subprocess.run([python, "-c", OTHERS], input=json.dumps(tables), capture_output=True, text=True, check=True)
    for table, (kappa, variance, by_scikit_learn) in zip(tables, json.loads(done.stdout), strict=True):
        found = kappa_of(table)
        assert found.kappa == pytest.approx(kappa, abs=1e-9)
        assert found.kappa == pytest.approx(by_scikit_learn, abs=1e-9)
        assert found.variance == pytest.approx(variance, abs=1e-9)


def test_the_indices_of_a_table() -> None:
    """Byrt, Bishop and Carlin: prevalence (a - d) / n, bias (b - c) / n, PABAK 2 po - 1."""
    found = kappa_of((45, 15, 25, 15))
    assert found.prevalence_index == pytest.approx(0.3)
    assert found.bias_index == pytest.approx(-0.1)
    assert (found.agreement, found.pabak) == pytest.approx((0.6, 0.2))
    assert (found.n, found.clusters) == (100, 100)


def test_a_rater_that_always_says_the_same_has_no_kappa() -> None:
    for table in ((9, 0, 0, 0), (0, 0, 0, 9), (0, 0, 0, 0), (5, 0, 4, 0), (0, 6, 0, 3)):
        assert measure_kappa(*raters(table)) is None


def test_agreement_of_few_pairs_is_not_certainty() -> None:
    found = kappa_of((3, 0, 0, 3))
    assert found.kappa == 1
    assert found.interval is not None
    assert found.interval.high == 1
    assert found.interval.low < 0.3


def test_copies_in_a_cluster_are_one_pair() -> None:
    first, second = raters((20, 5, 10, 15))
    alone = measure_kappa(first, second, np.arange(50))
    copied = measure_kappa(np.repeat(first, 8), np.repeat(second, 8), np.repeat(np.arange(50), 8))
    assert alone is not None
    assert copied is not None
    assert (copied.n, copied.clusters) == (400, 50)
    assert copied.kappa == pytest.approx(alone.kappa)
    assert copied.variance == pytest.approx(alone.variance * 50 / 49)


def test_one_scenario_tells_no_interval() -> None:
    found = measure_kappa(*raters((4, 1, 1, 4)), np.zeros(10, dtype=np.int64))
    assert found is not None
    assert found.interval is None


@given(table=st.tuples(*[st.integers(0, 60)] * 4))
def test_swapping_the_raters_changes_only_the_bias(table: Table) -> None:
    first, second = raters(table)
    found, swapped = measure_kappa(first, second), measure_kappa(second, first)
    if found is None or swapped is None:
        assert found is swapped
        return
    assert found.kappa == pytest.approx(swapped.kappa, abs=1e-12)
    assert found.variance == pytest.approx(swapped.variance, abs=1e-12)
    assert found.bias_index == pytest.approx(-swapped.bias_index, abs=1e-12)
    assert found.variance >= 0
    assert found.interval is not None
    assert -1 <= found.interval.low <= found.kappa + 1e-12
    assert found.kappa - 1e-12 <= found.interval.high <= 1


def test_the_interval_covers_the_true_kappa_of_simulated_raters() -> None:
    """Raters who pass .6, and agree by kappa .5: 1,000 samples of 150 pairs."""
    rng = np.random.default_rng(13)
    both = 0.6 * 0.6 + 0.5 * 0.6 * 0.4
    cells = [both, 0.6 - both, 0.6 - both, 0.4 - (0.6 - both)]
    covered = 0
    for counts in rng.multinomial(150, cells, 1_000).tolist():
        found = kappa_of(tuple(counts))
        assert found.interval is not None
        covered += found.interval.low <= 0.5 <= found.interval.high
        assert found.interval.high - found.interval.low == pytest.approx(2 * Z * found.variance**0.5, abs=1e-9)
    assert 0.93 <= covered / 1_000 <= 0.97
