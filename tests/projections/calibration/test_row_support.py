"""Verdicts on many rows at once: how often calibrated categories are called off, and how often bad ones are found."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from projections.arrays import Floats
from projections.calibration.row_evidence import RowEvidence
from projections.calibration.row_support import gap_sides, support_rows
from projections.calibration.scores import gap_side, judge_gap
from projections.stats.gap_martingale import log_e_values, log_factors
from projections.stats.gap_sequence import log_e_within

CATEGORIES = 20
DISTRIBUTIONS = {
    "heaped": [0.8, 0.9, 0.95],
    "all .8": [0.8],
    "all .99": [0.99],
    "uniform": np.linspace(0.5, 1, 51).tolist(),
    "low": [0.1, 0.3, 0.5],
}


class Table(NamedTuple):
    """The gaps and the evidence of 20 categories."""

    gap: Floats
    evidence: RowEvidence

    @property
    def surely_off(self) -> np.ndarray:
        """The rows that are printed as over- or underconfident without a question mark."""
        found: np.ndarray = support_rows(self.gap, self.evidence).supported & (gap_sides(self.gap) != "well")
        return found


def tables(levels: list[float], n: int, histories: int, off: float = 0.0, bad: int = 0) -> Iterator[Table]:
    """Yield tables of 20 categories with n reviews each, of which the first `bad` have a true gap of `off`."""
    rng = np.random.default_rng(n)
    for _ in range(histories):
        c = rng.choice(levels, (CATEGORIES, n))
        truth = np.clip(c + np.where(np.arange(CATEGORIES) < bad, off, 0.0)[:, np.newaxis], 0, 1)
        yield table_of(c, (rng.random(c.shape) < truth).astype(float))


def table_of(c: Floats, o: Floats) -> Table:
    logs = log_e_values(log_factors(c.ravel(), o.ravel()).reshape(-1, *c.shape).sum(axis=-1))
    d, size = o - c, np.full(len(c), float(c.shape[1]))
    within = log_e_within(size, d.sum(axis=1), (d**2).sum(axis=1), np.ones(len(c)))
    return Table(d.mean(axis=1), RowEvidence(logs.over, logs.under, within))


@pytest.mark.parametrize("levels", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS.keys())
@pytest.mark.parametrize("n", [20, 50, 100, 200, 500])
def test_twenty_calibrated_categories_have_a_sure_row_in_at_most_5_percent(levels: list[float], n: int) -> None:
    histories = 500
    called = sum(table.surely_off.any() for table in tables(levels, n, histories))
    assert called / histories <= 0.05 + 0.02, "two standard errors of 500 histories"


@pytest.mark.slow
@pytest.mark.parametrize("levels", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS.keys())
@pytest.mark.parametrize("n", [20, 50, 100, 200, 500])
def test_twenty_calibrated_categories_in_many_histories(levels: list[float], n: int) -> None:
    histories = 4_000
    called = sum(table.surely_off.any() for table in tables(levels, n, histories))
    assert called / histories <= 0.055, "5%, and a standard error and a half"


@pytest.mark.parametrize("off", [-0.15, 0.15])
@pytest.mark.parametrize("level", [0.65, 0.8])
def test_five_bad_categories_of_twenty_are_found(level: float, off: float) -> None:
    found = np.array([table.surely_off for table in tables([level], 200, 800, off, bad=5)])
    share = found[:, 5:].sum(axis=1) / np.maximum(1, found.sum(axis=1))
    assert share.mean() <= 0.05
    assert found[:, :5].mean() >= 0.75


def test_sides_are_those_of_the_verdicts() -> None:
    gaps = np.concatenate([np.linspace(-1, 1, 401), [-0.05, 0.05, 0.0, 0.1, -0.1]])
    assert gap_sides(gaps).tolist() == [gap_side(judge_gap(gap)) for gap in gaps.tolist()]


def rows_of(rates: list[float]) -> Table:
    """A table with 200 reviews in each row, all stated .80, and a success rate each."""
    o = np.array([np.arange(200) < round(200 * rate) for rate in rates], dtype=float)
    return table_of(np.full(o.shape, 0.8), o)


def test_a_row_that_is_off_among_nineteen_needs_more() -> None:
    """Its own evidence is enough for a single row; of twenty such rows one may be so by chance."""
    alone, table = rows_of([0.69]), rows_of([0.69] + [0.8] * 19)
    assert support_rows(*alone).supported.tolist() == [True]
    support = support_rows(*table)
    assert not support.supported[0]
    assert support.log_needed[0] == pytest.approx(np.log(20 / 0.05))
    needed = support.reviews_needed(0, 200)
    assert needed is not None
    assert needed == pytest.approx(200 * (support.log_needed[0] / support.log_e[0] - 1), abs=1)


def test_a_row_without_evidence_has_no_number_of_reviews() -> None:
    off = np.array([-1.0, 9.0])
    support = support_rows(np.array([-0.06, -0.2]), RowEvidence(off, off, np.zeros(2)))
    assert support.supported.tolist() == [False, True]
    assert support.reviews_needed(0, 50) is None


@pytest.mark.slow
def test_looking_after_every_review_calls_no_calibrated_table_off() -> None:
    """In at most 5% of 200 histories of twenty calibrated categories is any row ever sure, in 100 looks."""
    rng = np.random.default_rng(20)
    ever = 0
    for _ in range(200):
        c = rng.choice([0.8, 0.9, 0.95], (CATEGORIES, 300))
        o = (rng.random(c.shape) < c).astype(float)
        ever += any(table_of(c[:, :n], o[:, :n]).surely_off.any() for n in range(3, 301, 3))
    assert ever / 200 <= 0.05
