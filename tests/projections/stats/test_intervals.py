"""Verdicts and their evidence: intervals that hold, labels that a calibrated agent does not get, gaps that are found.

Agents are simulated from fixed seeds. What must hold "in at most 5% of samples" is counted over 2,000.
"""

import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.arrays import Floats
from projections.calibration.scores import compute_scores, gap_side
from projections.stats.intervals import gap_interval, mean_outcome_interval, supports, wilson_interval
from tallystick.shapes.calibration import CalibrationScores
from tallystick.shapes.parts import Interval
from tests.projections.short_decisions import KNOWN, cells

SAMPLES = 2_000

Stating = Callable[[np.random.Generator, int], Floats]

STATING: dict[str, Stating] = {
    "every hundredth": lambda rng, n: rng.integers(0, 101, n) / 100,
    "mostly sure": lambda rng, n: rng.choice([0.7, 0.8, 0.9, 0.95, 0.99], n),
    "always .95": lambda _, n: np.full(n, 0.95),
    "always .5": lambda _, n: np.full(n, 0.5),
    "sure or not": lambda rng, n: rng.choice([0.02, 0.98], n),
}


def sample(confidence: Floats, chance: Floats, rng: np.random.Generator) -> CalibrationScores:
    """The figures of decisions that succeed by chance."""
    outcomes = np.where(rng.random(len(confidence)) < chance, "S", "F")
    found = compute_scores(*cells(*zip(confidence.tolist(), outcomes.tolist(), strict=True)))
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 20, 50, 500])
@pytest.mark.parametrize("stating", STATING.values(), ids=STATING.keys())
def test_a_calibrated_agent_is_hardly_ever_called_something_else(stating: Stating, n: int) -> None:
    """The bare rule calls it so in most samples of five; a supported verdict does in at most 5% of samples."""
    rng = np.random.default_rng([2021, n])
    bare = supported = 0
    for _ in range(SAMPLES if n < 500 else 500):
        confidence = stating(rng, n)
        found = sample(confidence, confidence, rng)
        bare += found.interpretation != "well_calibrated"
        supported += found.supported and found.interpretation != "well_calibrated"
    samples = SAMPLES if n < 500 else 500
    assert supported / samples <= 0.05
    if n <= 20 and stating is not STATING["sure or not"]:
        assert bare / samples > 0.2, "the rule without its evidence, which is why there is evidence"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("confidence", "chance"), [(0.9, 0.8), (0.8, 0.7), (0.85, 0.75), (0.7, 0.8), (0.75, 0.85), (0.8, 0.9)]
)
def test_a_true_gap_of_a_tenth_is_found_in_350_reviews(confidence: float, chance: float) -> None:
    """With 80% power: the verdict is supported, and on the right side, although one may look after each review."""
    rng = np.random.default_rng([350, int(100 * confidence)])
    side, other = ("over", "under") if confidence > chance else ("under", "over")
    found = [sample(np.full(350, confidence), np.full(350, chance), rng) for _ in range(SAMPLES // 4)]
    assert sum(one.supported and gap_side(one.interpretation) == side for one in found) / len(found) >= 0.80
    assert not any(one.supported and gap_side(one.interpretation) == other for one in found)


def test_a_calibrated_agent_is_called_so_once_there_is_evidence() -> None:
    rng = np.random.default_rng(1)
    found = [sample(np.full(600, 0.8), np.full(600, 0.8), rng) for _ in range(200)]
    assert sum(one.supported and one.interpretation == "well_calibrated" for one in found) / 200 > 0.95
    small = [sample(np.full(20, 0.8), np.full(20, 0.8), rng) for _ in range(200)]
    assert not any(one.supported and one.interpretation == "well_calibrated" for one in small)


@pytest.mark.parametrize("n", [1, 2, 5, 20, 99, 100, 150, 400])
def test_the_interval_of_the_gap_covers_the_true_one(n: int) -> None:
    """Whatever the chances, and with partial outcomes among them: in at least 95% of samples."""
    rng = np.random.default_rng([7, n])
    for _ in range(10):
        chance = rng.beta(0.7, 0.4, n)
        halves = rng.random(n) < 0.5
        # A success or failure has its chance; of two halves, one is sure and the other has twice the chance left.
        won = (rng.random((SAMPLES, n)) < chance).astype(float)
        sure = np.minimum(chance, 1 - chance)
        part = np.where(rng.random((SAMPLES, n)) < 2 * sure, 0.5, np.where(chance >= 0.5, 1.0, 0.0))
        worth = np.where(halves, part, won).sum(axis=1)
        truth = chance.mean() - 0.3
        covered = [gap_interval(total, n, 0.3) for total in worth.tolist()]
        assert sum(one.low <= truth + 1e-12 and truth - 1e-12 <= one.high for one in covered) / SAMPLES >= 0.945


@pytest.mark.skipif(not KNOWN.is_file(), reason="the known answers are not beside this checkout")
def test_wilson_by_known_answers() -> None:
    for answer in json.loads(KNOWN.read_bytes())["datasets"]:
        exact = answer["expected"]
        n = exact["n"]
        strict = wilson_interval(exact["n_success"], n)
        assert [strict.low, strict.high] == pytest.approx(exact["wilson95_strict"], abs=1e-12)
        fractional = wilson_interval(exact["n_success"] + exact["n_partial"] / 2, n)
        assert [fractional.low, fractional.high] == pytest.approx(
            exact["wilson95_mean_outcome_conservative"], abs=1e-12
        )


@given(st.integers(1, 10_000), st.floats(0, 1), st.floats(0, 1))
def test_intervals_hold_what_they_are_of(n: int, share: float, mean: float) -> None:
    worth = round(2 * share * n) / 2
    for found in (wilson_interval(worth, n), mean_outcome_interval(worth, n)):
        assert 0 <= found.low <= worth / n <= found.high <= 1
        assert found.low < found.high
    gap = gap_interval(worth, n, mean)
    assert gap.low <= worth / n - mean <= gap.high


def test_the_ends_of_an_interval_are_exact_where_all_is_alike() -> None:
    assert wilson_interval(0, 9).low == mean_outcome_interval(0, 9).low == 0
    assert wilson_interval(9, 9).high == mean_outcome_interval(9, 9).high == 1
    assert mean_outcome_interval(0, 9).high == pytest.approx(1 - 0.025 ** (1 / 9), abs=1e-12)
    assert mean_outcome_interval(9, 9).low == pytest.approx(0.025 ** (1 / 9), abs=1e-12)


def test_what_supports_a_verdict() -> None:
    low, high = Interval(-0.3, -0.01), Interval(0.01, 0.3)
    assert [supports(side, low) for side in ("over", "under", "well")] == [True, False, False]
    assert [supports(side, high) for side in ("over", "under", "well")] == [False, True, False]
    assert [supports("over", Interval(-0.3, 0.0)), supports("under", Interval(0.0, 0.3))] == [False, False]
    assert [supports("well", Interval(-0.1, 0.1)), supports("well", Interval(-0.1001, 0.0))] == [True, False]
