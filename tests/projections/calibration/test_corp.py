"""Scores, parts and tests of calibration: exact answers worked out elsewhere, published ones, and their laws."""

import csv
import json
from fractions import Fraction
from itertools import accumulate
from math import erfc, log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from projections.arrays import Floats
from projections.calibration.confidence_bins import bin_counts
from projections.calibration.corp import BAND_LEVEL, CURVE_MAX, POINTS_MAX, decompose_brier
from projections.calibration.scores import REVIEWS_MIN, compute_scores
from tallystick.shapes.calibration import CalibrationScores
from tests.projections import reference_model
from tests.projections.short_decisions import KNOWN, Stated, cells

LETTERS = {1.0: "S", 0.5: "P", 0.0: "F"}
NIAMEY = KNOWN.with_name("niamey_precip_2016.csv")
needs_data = pytest.mark.skipif(not KNOWN.is_file(), reason="the known answers are not beside this checkout")

Certain = tuple[float, str]
"""A stated confidence, and the outcomes of the decisions that stated it."""

confidences = st.integers(0, 100).map(lambda hundredths: hundredths / 100)
stated = st.lists(st.tuples(confidences, st.text("SPFA", min_size=1, max_size=6)), min_size=1, max_size=12)
strict = st.lists(st.tuples(confidences, st.text("SFA", min_size=1, max_size=6)), min_size=1, max_size=12)


def figures_of(*given: Stated, curves: bool = False) -> CalibrationScores:
    found = compute_scores(*cells(*given), curves=curves)
    assert found is not None
    return found


def known() -> Any:  # noqa: ANN401 - a file of JSON
    return json.loads(KNOWN.read_bytes()) if KNOWN.is_file() else {"datasets": []}


@needs_data
@pytest.mark.parametrize("answer", known()["datasets"], ids=lambda answer: answer["id"])
def test_the_exact_answers(answer: dict[str, Any]) -> None:
    exact = answer["expected"]
    letters = [LETTERS[outcome] for outcome in answer["outcomes"]]
    found = figures_of(*zip(answer["confidences"], letters, strict=True), curves=True)
    for field, part in [("miscalibration", "MCB"), ("discrimination", "DSC"), ("uncertainty", "UNC")]:
        reference_model.agree(getattr(found.corp, field), Fraction(exact["corp"][part]["fraction"]))
    assert found.corp.curve is not None
    assert [point.confidence for point in found.corp.curve] == [c for c, _ in exact["corp"]["recalibrated"]]
    for point, (_, recalibrated) in zip(found.corp.curve, exact["corp"]["recalibrated"], strict=True):
        reference_model.agree(point.recalibrated, Fraction(recalibrated))
    skill = exact["brier_skill_score_vs_climatology"]
    if skill is None:
        assert found.skill is None
    else:
        assert found.skill is not None
        reference_model.agree(found.skill, Fraction(skill["fraction"]))
    assert [found.success_interval.low, found.success_interval.high] == pytest.approx(
        exact["wilson95_strict"], abs=1e-12
    )
    assert found.log_score == pytest.approx(exact["log_score_mean_nats"], abs=1e-12) or found.log_score_infinite
    if isinstance(exact["spiegelhalter"], str):
        assert found.spiegelhalter is None
    else:
        assert found.spiegelhalter is not None
        assert found.spiegelhalter.z == pytest.approx(exact["spiegelhalter"]["z"], abs=1e-12)
        assert found.spiegelhalter.p == pytest.approx(exact["spiegelhalter"]["p_two_sided"], abs=1e-12)
    assert (found.success, found.partial) == (exact["n_success"], exact["n_partial"])
    assert found.failure + found.abandoned == exact["n_failure"]


@needs_data
@pytest.mark.parametrize("forecaster", ["Logistic", "EMOS", "ENS", "EPC"])
def test_the_published_decomposition_of_the_niamey_forecasts(forecaster: str) -> None:
    exact = known()["real_niamey_2016"]["computed"][forecaster]
    with NIAMEY.open(newline="") as rows:
        found = figures_of(*((float(row[forecaster]), "FS"[int(row["obs"])]) for row in csv.DictReader(rows)))
    parts = {"MCB": found.corp.miscalibration, "DSC": found.corp.discrimination, "UNC": found.corp.uncertainty}
    seen = {"n": found.reviewed, "brier": found.brier_score, "gap": found.gap, **parts}
    assert seen == {name: pytest.approx(exact[name], abs=1e-9) for name in seen}
    assert found.spiegelhalter is not None
    assert found.spiegelhalter.z == pytest.approx(exact["spiegelhalter_z"], abs=1e-9)
    assert found.spiegelhalter.p == pytest.approx(exact["p"], rel=1e-9)


@needs_data
def test_the_decomposition_of_four_language_models() -> None:
    answers: dict[str, list[Certain]] = {}
    with KNOWN.with_name("llm_confidence.csv").open(newline="") as rows:
        for row in csv.DictReader(rows):
            answers.setdefault(row["agent"], []).append((float(row["confidence"]), "FS"[int(row["outcome"])]))
    for agent, exact in known()["real_llm"]["per_agent"].items():
        parts = figures_of(*answers[agent]).corp
        assert parts.miscalibration == pytest.approx(exact["MCB"], abs=1e-9)
        assert parts.discrimination == pytest.approx(exact["DSC"], abs=1e-9)
        assert parts.uncertainty == pytest.approx(exact["UNC"], abs=1e-9)


@given(stated)
def test_the_parts_make_the_brier_score_and_none_is_negative(given: list[Certain]) -> None:
    found = figures_of(*given)
    parts = found.corp
    assert parts.miscalibration - parts.discrimination + parts.uncertainty == pytest.approx(
        found.brier_score, abs=1e-12
    )
    assert min(parts.miscalibration, parts.discrimination, parts.uncertainty) >= 0


@given(stated, st.randoms(use_true_random=False))
def test_order_does_not_matter(given: list[Certain], order: Any) -> None:  # noqa: ANN401
    single = [(c, letter) for c, letters in given for letter in letters]
    shuffled = list(single)
    order.shuffle(shuffled)
    assert figures_of(*single, curves=True) == figures_of(*shuffled, curves=True)


@given(stated)
def test_every_review_twice_leaves_the_four_unchanged(given: list[Certain]) -> None:
    once, twice = figures_of(*given), figures_of(*given, *given)
    assert twice.reviewed == 2 * once.reviewed
    for name in ("miscalibration", "discrimination", "uncertainty"):
        assert getattr(twice.corp, name) == pytest.approx(getattr(once.corp, name), abs=1e-12)
    assert twice.brier_score == pytest.approx(once.brier_score, abs=1e-12)


@given(stated, st.sampled_from([lambda c: c**2, sqrt, lambda c: c / 3 + 0.5, lambda c: (3 * c + c**3) / 4]))
def test_what_only_the_order_of_confidences_decides(given: list[Certain], transform: Any) -> None:  # noqa: ANN401
    """A strictly increasing transform of the confidences leaves discrimination and uncertainty as they are."""
    moved = [(transform(c), letters) for c, letters in given]
    assert len({c for c, _ in given}) == len({c for c, _ in moved})
    before, after = figures_of(*given).corp, figures_of(*moved).corp
    assert after.discrimination == pytest.approx(before.discrimination, abs=1e-12)
    assert after.uncertainty == pytest.approx(before.uncertainty, abs=1e-12)


@given(confidences, st.text("SPFA", min_size=1, max_size=40))
def test_a_constant_confidence_tells_nothing_apart(confidence: float, letters: str) -> None:
    parts = figures_of((confidence, letters)).corp
    assert parts.discrimination == 0
    assert parts.miscalibration == pytest.approx(figures_of((confidence, letters)).gap ** 2, abs=1e-12)


@given(stated)
@settings(max_examples=60)
def test_the_curve_is_the_isotonic_regression(given: list[Certain]) -> None:
    """By its definition: the greatest of the least averages, over all the runs of confidences around each one."""
    found = bin_counts(*cells(*given))
    curve = decompose_brier(found, curves=True).curve
    assert curve is not None
    n, worth = [0, *accumulate(found.n.tolist())], [0, *accumulate(found.outcome_sum.tolist())]
    size = len(found.n)
    for place, point in enumerate(curve):
        expected = max(
            min((worth[end] - worth[start]) / (n[end] - n[start]) for end in range(place + 1, size + 1))
            for start in range(place + 1)
        )
        assert point.recalibrated == pytest.approx(expected, abs=1e-12)
        assert point.reviewed == n[place + 1] - n[place]
        assert point.rate == pytest.approx((worth[place + 1] - worth[place]) / point.reviewed, abs=1e-12)


@given(strict)
def test_the_scores_said_the_plainest_way(given: list[Certain]) -> None:
    found = figures_of(*given)
    single = [(c, 1 if letter == "S" else 0) for c, letters in given for letter in letters]
    n, mean = len(single), sum(c for c, _ in single) / len(single)
    chances = [c if o else 1 - c for c, o in single]
    if min(chances) == 0:
        assert (found.log_score, found.log_score_infinite) == (None, True)
    else:
        assert found.log_score == pytest.approx(-sum(map(log, chances)) / n, abs=1e-12)
        assert not found.log_score_infinite
    assert found.sharpness == pytest.approx(sum((c - mean) ** 2 for c, _ in single) / n, abs=1e-12)
    for test, slope in [(found.in_the_large, 0), (found.spiegelhalter, 2)]:
        variance = sum((1 - slope * c) ** 2 * c * (1 - c) for c, _ in single)
        if variance == 0:
            assert test is None
            continue
        assert test is not None
        assert test.z == pytest.approx(sum((o - c) * (1 - slope * c) for c, o in single) / sqrt(variance), abs=1e-9)
        assert test.p == pytest.approx(erfc(abs(test.z) / sqrt(2)), abs=1e-15)


def test_certainty_that_was_wrong_has_no_finite_log_score() -> None:
    for wrong in [(1.0, "SSF"), (0.0, "FFS"), (1.0, "P"), (0.0, "P"), (1.0, "A")]:
        found = figures_of(wrong, (0.7, "SSF"))
        assert (found.log_score, found.log_score_infinite) == (None, True)
    assert figures_of((1.0, "SSS"), (0.0, "FA")).log_score == 0


def test_what_is_not_defined_is_missing() -> None:
    assert figures_of((0.9, "SSS")).skill is None, "all outcomes are equal: the uncertainty is 0"
    assert figures_of((1.0, "SSS"), (0.0, "F")).in_the_large is None, "nothing was left to chance"
    assert figures_of((0.5, "SSFF")).spiegelhalter is None, "a half is as far from both"
    assert figures_of((0.8, "SSPF")).spiegelhalter is None, "it is for two outcomes"


def test_figures_name_those_that_need_more_reviews() -> None:
    assert REVIEWS_MIN == {"in_the_large": 10, "spiegelhalter": 20, "corp": 50, "skill": 50}
    names = {n: figures_of((0.8, "S" * n)).too_few_for for n in (9, 10, 19, 20, 49, 50)}
    assert names == {
        9: ("in_the_large", "spiegelhalter", "corp", "skill"),
        10: ("spiegelhalter", "corp", "skill"),
        19: ("spiegelhalter", "corp", "skill"),
        20: ("corp", "skill"),
        49: ("corp", "skill"),
        50: (),
    }


def test_a_curve_and_a_band_are_there_where_they_were_asked_for() -> None:
    assert (figures_of((0.8, "SSF")).corp.curve, figures_of((0.8, "SSF")).corp.band) == (None, None)
    parts = figures_of((0.8, "SSF"), curves=True).corp
    assert parts.curve is not None
    assert parts.band is not None
    assert [bound.confidence for bound in parts.band] == [0.8]


def drawn(rng: np.random.Generator, confidence: Floats) -> list[Certain]:
    """Decisions of a perfectly calibrated agent."""
    return [(c, "S" if rng.random() < c else "F") for c in confidence.tolist()]


@pytest.mark.slow
def test_the_band_holds_the_curve_of_a_calibrated_agent_at_its_level() -> None:
    """At each confidence in 95% of samples: counted over 200 samples of 500, on a grid of ten confidences."""
    rng = np.random.default_rng(11)
    inside = total = 0
    for _ in range(200):
        parts = figures_of(*drawn(rng, rng.integers(1, 11, 500) / 11), curves=True).corp
        assert parts.curve is not None
        assert parts.band is not None
        for point, bound in zip(parts.curve, parts.band, strict=True):
            inside += bound.low <= point.recalibrated <= bound.high
            total += 1
    assert BAND_LEVEL == 0.95
    assert 0.94 <= inside / total <= 0.985


WHOLE_CURVES = {
    "heaped": (300, lambda rng, n: rng.choice([0.8, 0.9, 0.95], n)),
    "whole per cents": (200, lambda rng, n: np.round(rng.beta(8, 2, n), 2)),
    "all different": (100, lambda rng, n: rng.beta(8, 2, n)),
}


@pytest.mark.slow
@pytest.mark.defect(10)
@pytest.mark.parametrize(("samples", "stating"), WHOLE_CURVES.values(), ids=WHOLE_CURVES.keys())
def test_the_wider_band_contains_whole_curves_of_calibrated_agents(samples: int, stating: Any) -> None:  # noqa: ANN401
    """In 95% of samples of 450 (measured: 95.7 to 96%). Most curves leave the band of single points somewhere."""
    rng = np.random.default_rng(450)
    left = left_points = 0
    for _ in range(samples):
        parts = figures_of(*drawn(rng, stating(rng, 450)), curves=True).corp
        assert parts.curve is not None
        assert parts.band is not None
        curve = {point.confidence: point.recalibrated for point in parts.curve}
        ends = [(curve[bound.confidence], bound) for bound in parts.band]
        left += any(not b.simultaneous_low - 1e-8 <= at <= b.simultaneous_high + 1e-8 for at, b in ends)
        left_points += any(not b.low - 1e-8 <= at <= b.high + 1e-8 for at, b in ends)
        assert all(b.simultaneous_low <= b.low and b.high <= b.simultaneous_high for _, b in ends)
    assert left / samples <= 0.08
    if stating is not WHOLE_CURVES["heaped"][1]:
        assert left_points / samples > 0.4, "which is why there are two bands"


def test_the_band_leaves_out_the_curve_of_an_overconfident_agent() -> None:
    parts = figures_of((0.95, "S" * 70 + "F" * 30), (0.6, "S" * 30 + "F" * 70), curves=True).corp
    assert parts.curve is not None
    assert parts.band is not None
    assert all(point.recalibrated < bound.low for point, bound in zip(parts.curve, parts.band, strict=True))


def test_a_thousand_distinct_confidences_are_drawn_and_a_million_are_thinned() -> None:
    rng = np.random.default_rng(5)
    confidence = np.sort(rng.random(4_000))
    parts = figures_of(*drawn(rng, confidence), curves=True).corp
    assert parts.curve is not None
    assert parts.band is not None
    assert len(parts.band) == POINTS_MAX
    assert len(parts.curve) < CURVE_MAX
    assert (parts.curve[0].confidence, parts.curve[-1].confidence) == (confidence[0], confidence[-1])
    levels = [point.recalibrated for point in parts.curve]
    assert levels == sorted(levels)
    assert all(low.confidence < high.confidence for low, high in zip(parts.band, parts.band[1:], strict=False))
    assert all(0 <= bound.low <= bound.high <= 1 for bound in parts.band)


@given(stated, st.integers(2, 5))
def test_how_decisions_are_spread_over_cells_does_not_matter(given: list[Certain], cells_each: int) -> None:
    assume(all(len(letters) >= 1 for _, letters in given))
    split = [(c, letters[start::cells_each]) for c, letters in given for start in range(cells_each)]
    assert figures_of(*given) == figures_of(*split)
