"""reviews_needed: after so many reviews, 80% of such agents have the verdict. Simulated with fixed seeds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.arrays import Floats
from projections.calibration.scores import compute_scores
from projections.stats.verdict_power import CELLS_MAX, Record, reviews_for_verdict
from tallystick.shapes.calibration import CalibrationScores, GapSide
from tests.projections.short_decisions import cells
from tests.projections.stats.evidence import STATING, Stating, bins_of, has_support, outcomes

AGENTS = 2_000

GAPS: list[tuple[GapSide, float]] = [
    ("over", -0.2), ("over", -0.15), ("over", -0.1), ("over", -0.07), ("under", 0.1),
    ("well", 0.0), ("well", -0.03), ("well", 0.02),
]  # fmt: skip


def share_with_verdict(stating: Stating, side: GapSide, gap: float, seed: int) -> tuple[int, float]:
    """Return the number of reviews for new agents, and the share of simulated ones that then have the verdict."""
    rng = np.random.default_rng([seed, round(1000 * (gap + 1))])
    levels, n = np.unique(stating(rng, (50_000,)), return_counts=True)
    nothing = np.stack([np.zeros(len(n)), np.zeros(len(n)), n * 1e-9], axis=1)
    needed = reviews_for_verdict(side, Record(levels, nothing), gap)
    assert needed is not None
    confidence = stating(rng, (AGENTS, needed))
    return needed, float(has_support(side, confidence, outcomes(rng, confidence, gap)).mean())


def possible(stating: Stating, gap: float) -> bool:
    """Return whether agents can succeed more often than they state by so much, and not all of them always."""
    stated = stating(np.random.default_rng(0), (10_000,))
    return gap <= 0 or float((stated + gap < 1).mean()) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("side", "gap"), GAPS)
@pytest.mark.parametrize("stating", STATING.values(), ids=STATING.keys())
def test_of_such_agents_80_percent_have_the_verdict_by_then(stating: Stating, side: GapSide, gap: float) -> None:
    """The issue asks for 75 to 85%. 2,000 agents measure it within 1.8 points in 95% of runs; seeds are fixed."""
    if not possible(stating, gap):
        pytest.skip("these confidences leave no such gap")
    needed, share = share_with_verdict(stating, side, gap, seed=16)
    assert 0.74 <= share <= 0.86, f"{share:.3f} after {needed}"


@pytest.mark.parametrize(("name", "gap"), [("heaped", -0.1), ("beta(8,2)", -0.15), ("all .8", -0.2)])
def test_the_number_is_enough_in_four_of_five_cases(name: str, gap: float) -> None:
    needed, share = share_with_verdict(STATING[name], "over", gap, seed=80)
    assert 0.75 <= share <= 0.85, f"{share:.3f} after {needed}"


@pytest.mark.parametrize(("n", "successes"), [(8, 6), (20, 16), (60, 48)])
def test_it_counts_from_the_reviews_that_there_are(n: int, successes: int) -> None:
    """Always stated .9: agents with this record, whose gap stays as it is, have the verdict in 75 to 85% by then."""
    record = np.array([1.0] * successes + [0.0] * (n - successes))
    needed = reviews_for_verdict(
        "over", Record(np.array([0.9]), np.array([[n - successes, 0, successes]]) + 0.0), successes / n - 0.9
    )
    assert needed is not None
    rng = np.random.default_rng([n, successes])
    further = (rng.random((AGENTS, needed)) < successes / n).astype(float)
    history = np.concatenate([np.broadcast_to(record, (AGENTS, n)), further], axis=1)
    share = float(has_support("over", np.full(history.shape, 0.9), history).mean())
    assert 0.75 <= share <= 0.85, f"{share:.3f} after {needed} more"


def scores(confidence: Floats, successes: int) -> CalibrationScores:
    found = compute_scores(
        *cells(*((c, "S" if number < successes else "F") for number, c in enumerate(confidence.tolist())))
    )
    assert found is not None
    return found


def test_the_figures_name_the_gap_for_which_it_holds() -> None:
    found = scores(np.full(20, 0.9), 16)
    assert not found.supported
    assert found.reviews_needed_gap == pytest.approx(-0.1)
    assert found.reviews_needed is not None
    assert found.reviews_needed > 100, "as the reference says: 80% power takes more than 100 reviews"
    sure = scores(np.full(400, 0.9), 200)
    assert (sure.supported, sure.reviews_needed, sure.reviews_needed_gap) == (True, 0, None)


def test_some_verdicts_no_number_of_reviews_would_confirm() -> None:
    record = Record(np.array([0.5]), np.array([[50.0, 0, 50]]))
    assert reviews_for_verdict("over", record, 0.0) is None
    assert reviews_for_verdict("under", record, -0.1) is None
    assert reviews_for_verdict("well", record, 0.1) is None


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 30), st.integers(0, 3), st.integers(0, 30)), min_size=1),
    st.floats(-0.6, 0.6),
    st.sampled_from(["over", "under", "well"]),
)
def test_any_record_has_a_number_or_none(rows: list[tuple[int, int, int, int]], gap: float, side: GapSide) -> None:
    rows = [row for row in {row[0]: row for row in rows}.values() if sum(row[1:])]
    if rows:
        record = Record(np.array([row[0] / 100 for row in rows]), np.array([row[1:] for row in rows], dtype=float))
        needed = reviews_for_verdict(side, record, gap)
        assert needed is None or needed >= 1


def test_many_distinct_confidences_are_merged() -> None:
    rng = np.random.default_rng(7)
    confidence = rng.beta(8, 2, 60)
    fine = np.clip(np.repeat(confidence, 3) + rng.normal(0, 1e-4, 180), 0, 1)
    outcome = np.repeat((rng.random(60) < confidence - 0.1).astype(float), 3)
    bins, merged = bins_of(fine, outcome), bins_of(np.round(fine, 2), outcome)
    assert len(bins.n) > CELLS_MAX
    first, second = (reviews_for_verdict("over", Record(b.confidence, b.value_counts), -0.1) for b in (bins, merged))
    assert first is not None
    assert second is not None
    assert abs(first / second - 1) < 0.1
