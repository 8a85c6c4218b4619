"""The corrected pass rate: its formula, when it is unknown, and how often its interval covers the true rate."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.stats.corrected_rate import CorrectedRate, Sample, correct_rate

NONE = Sample(0, 0)


def test_it_is_the_published_formula() -> None:
    found = correct_rate(Sample(1_000, 620), NONE, good=Sample(100, 90), bad=Sample(50, 10))
    assert isinstance(found, CorrectedRate)
    assert found.rate == pytest.approx((0.62 + 0.8 - 1) / (0.8 + 0.9 - 1), abs=1e-12)
    assert found.interval.low < found.rate < found.interval.high


def test_labels_on_the_same_answers_give_the_formula_over_all_answers() -> None:
    """100 of 400 answers are labelled: 60 are good, of which 54 passed, 40 bad, of which 8 passed."""
    found = correct_rate(Sample(300, 200), Sample(100, 60), good=Sample(60, 54), bad=Sample(40, 8))
    assert isinstance(found, CorrectedRate)
    assert found.rate == pytest.approx(((200 + 54 + 8) / 400 + 0.8 - 1) / (0.8 + 0.9 - 1), abs=1e-12)


def test_where_every_answer_has_a_label_the_judge_is_not_needed() -> None:
    found = correct_rate(NONE, Sample(50, 30), good=Sample(30, 29), bad=Sample(20, 1))
    assert isinstance(found, CorrectedRate)
    assert found.rate == pytest.approx(0.6)
    assert (found.interval.low, found.interval.high) == pytest.approx((0.4618, 0.7239), abs=1e-4)  # Wilson's


@pytest.mark.parametrize(
    ("unlabelled", "good", "bad", "reason"),
    [
        (Sample(100, 50), Sample(0, 0), Sample(10, 1), "no labels that pass"),
        (Sample(100, 50), Sample(10, 9), Sample(0, 0), "no labels that fail"),
        (Sample(100, 50), Sample(10, 5), Sample(10, 5), "errors too frequent"),
        (Sample(100, 50), Sample(10, 2), Sample(10, 9), "errors too frequent"),
        (NONE, Sample(10, 9), Sample(10, 1), "no verdicts"),
    ],
)
def test_unknown_rates(unlabelled: Sample, good: Sample, bad: Sample, reason: str) -> None:
    assert correct_rate(unlabelled, NONE, good, bad) == reason


def test_a_judge_that_may_be_a_coin_leaves_everything_possible() -> None:
    found = correct_rate(Sample(100, 60), NONE, good=Sample(4, 3), bad=Sample(4, 2))
    assert isinstance(found, CorrectedRate)
    assert (found.interval.low, found.interval.high) == (0.0, 1.0)


def test_dependent_answers_widen_the_interval() -> None:
    counts = Sample(400, 260), NONE, Sample(60, 54), Sample(60, 12)
    alone = correct_rate(*counts)
    clustered = correct_rate(*(sample._replace(effect=4.0) for sample in counts))
    assert isinstance(alone, CorrectedRate)
    assert isinstance(clustered, CorrectedRate)
    assert clustered.rate == alone.rate
    assert clustered.interval.high - clustered.interval.low > 1.8 * (alone.interval.high - alone.interval.low)


@st.composite
def samples(draw: st.DrawFn, least: int = 0) -> Sample:
    n = draw(st.integers(least, 300))
    return Sample(n, draw(st.integers(0, n)))


@given(unlabelled=samples(), labelled=samples(), good=samples(), bad=samples())
def test_every_rate_is_within_its_interval_and_within_0_and_1(
    unlabelled: Sample, labelled: Sample, good: Sample, bad: Sample
) -> None:
    found = correct_rate(unlabelled, labelled, good, bad)
    if isinstance(found, CorrectedRate):
        assert 0 <= found.interval.low <= found.rate <= found.interval.high <= 1
    else:
        unknown = not good.n or not bad.n or unlabelled.n + labelled.n == 0
        assert unknown or good.passed / good.n <= bad.passed / bad.n


@dataclass(frozen=True)
class Cell:
    """What a simulation draws: answers, labels, sensitivity, specificity, true rate; whether they overlap."""

    n: int
    labels: int
    q1: float
    q0: float
    rate: float
    overlap: bool


def coverage(cell: Cell, runs: int) -> tuple[float, float]:
    """Return how often the interval covers the true rate, and how often there is one."""
    rng = np.random.default_rng([2511, 21140, cell.n, cell.labels, int(100 * cell.rate)])
    covered = found_in = 0
    for _ in range(runs):
        good_labels = int(rng.binomial(cell.labels, cell.rate if cell.overlap else 0.5))
        bad_labels = cell.labels - good_labels
        good = Sample(good_labels, int(rng.binomial(good_labels, cell.q1)))
        bad = Sample(bad_labels, int(rng.binomial(bad_labels, 1 - cell.q0)))
        labelled = Sample(cell.labels, good_labels) if cell.overlap else NONE
        n = cell.n - int(labelled.n)
        passed = int(rng.binomial(n, cell.rate * cell.q1 + (1 - cell.rate) * (1 - cell.q0)))
        found = correct_rate(Sample(n, passed), labelled, good, bad)
        if isinstance(found, CorrectedRate):
            found_in += 1
            covered += found.interval.low <= cell.rate <= found.interval.high
    return covered / found_in, found_in / runs


CELLS = [
    Cell(n, labels, q1, q0, rate, overlap)
    for overlap in (False, True)
    for n, labels in ((100, 40), (300, 60), (300, 100), (1_000, 100), (1_000, 300), (1_000, 400))
    for q1, q0 in ((0.9, 0.8), (0.8, 0.8), (0.7, 0.9))
    for rate in (0.3, 0.5, 0.7)
]
FEW_LABELS = [
    Cell(n, 20, q1, q0, rate, overlap)
    for overlap in (False, True)
    for n in (100, 1_000)
    for q1, q0 in ((0.9, 0.8), (0.95, 0.95), (0.7, 0.9))
    for rate in (0.1, 0.5, 0.9)
]


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_in_2000_simulations_the_interval_covers_93_to_97_percent(cell: Cell) -> None:
    covered, found_in = coverage(cell, 2_000)
    assert found_in > 0.98
    assert 0.93 <= covered <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("cell", FEW_LABELS, ids=str)
def test_with_20_labels_the_interval_is_never_too_narrow(cell: Cell) -> None:
    covered, _ = coverage(cell, 2_000)
    assert covered >= 0.93


@pytest.mark.parametrize("cell", [CELLS[4], CELLS[31], CELLS[64], CELLS[95]], ids=str)
def test_the_interval_covers_the_true_rate_in_a_short_simulation(cell: Cell) -> None:
    covered, _ = coverage(cell, 500)
    assert 0.92 <= covered <= 0.98
