"""The arithmetic: golden cases, exact fractions, and every cut-off read the same wherever it occurs."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from projections.calibration.scores import (
    BUCKETS,
    bucket_numbers,
    compute_scores,
    judge_bucket_gap,
    judge_gap,
    measure_spread,
    rate_brier,
    score_buckets,
)
from tallystick.shapes.calibration import CalibrationScores
from tests.projections import reference_model
from tests.projections.short_decisions import KNOWN, Stated, cells

LETTERS = {1.0: "S", 0.5: "P", 0.0: "F"}
NAMES = [name for name, _, _ in BUCKETS]


def figures_of(*stated: Stated) -> CalibrationScores:
    found = compute_scores(*cells(*stated))
    assert found is not None
    return found


def known_sets() -> list[dict[str, Any]]:
    return list(json.loads(KNOWN.read_bytes())["datasets"]) if KNOWN.is_file() else []


def three(value: float) -> float:
    return round(value, 3)


CASES = [
    ([(1.0, "SSSSS")], (0, 1, 0), "well_calibrated", [("0.9-1.0", 1.0, 0.05)]),
    ([(0.9, "FFFSS")], (0.49, 0.4, -0.5), "overconfident", [("0.9-1.0", 0.4, -0.55)]),
    ([(0.5, "PPPPP")], (0, 0.5, 0), "well_calibrated", [("0.5-0.7", 0.5, -0.1)]),
    (
        [(0.95, "S"), (0.92, "S"), (0.91, "F"), (0.75, "S"), (0.72, "S"), (0.71, "S")],
        (0.177, 0.833, 0.007),
        "well_calibrated",
        [("0.9-1.0", 0.67, -0.28), ("0.7-0.9", 1.0, 0.2)],
    ),
    (
        [(0.95, "S" * 9 + "FFF"), (0.8, "S" * 14 + "FFFF"), (0.6, "SSSSSFFF")],
        (0.203, 0.737, -0.068),
        "slightly_overconfident",
        [("0.9-1.0", 0.75, -0.2), ("0.7-0.9", 0.78, -0.02), ("0.5-0.7", 0.62, 0.03)],
    ),
]


@pytest.mark.parametrize(("stated", "rounded", "verdict", "expected"), CASES)
def test_the_known_cases(
    stated: list[Stated],
    rounded: tuple[float, float, float],
    verdict: str,
    expected: list[tuple[str, float, float]],
) -> None:
    found = figures_of(*stated)
    assert (three(found.brier_score), three(found.accuracy), three(found.gap)) == rounded
    assert found.interpretation == verdict
    rows = [(one.bucket, round(one.success_rate, 2), round(one.gap, 2)) for one in score_buckets(*cells(*stated))]
    assert rows == expected


@pytest.mark.skipif(not KNOWN.is_file(), reason="the known answers are not beside this checkout")
@pytest.mark.parametrize("known", known_sets(), ids=lambda known: known["id"])
def test_the_exact_answers(known: dict[str, Any]) -> None:
    letters = [LETTERS[outcome] for outcome in known["outcomes"]]
    stated = list(zip(known["confidences"], letters, strict=True))
    found, exact = figures_of(*stated), known["expected"]
    assert found.reviewed == found.total == exact["n"]
    for field, name in [
        ("brier_score", "brier"),
        ("mean_confidence", "mean_confidence"),
        ("accuracy", "mean_outcome"),
        ("gap", "gap_mean_outcome_minus_confidence"),
    ]:
        reference_model.agree(getattr(found, field), Fraction(exact[name]["fraction"]))
    assert found.interpretation == exact["interpretation_from_mean_outcome_gap"]
    shown = [one for one in exact["buckets"] if one["n"] >= 3]
    seen = list(score_buckets(*cells(*stated)))
    assert [(one.bucket, one.decisions) for one in seen] == [(one["bucket"], one["n"]) for one in shown]
    for one, bucket in zip(shown, seen, strict=True):
        reference_model.agree(bucket.mean_confidence, Fraction(one["mean_confidence"]["fraction"]))
        reference_model.agree(bucket.success_rate, Fraction(one["mean_outcome"]["fraction"]))


@pytest.mark.parametrize("gap", [-0.11, -0.101, -0.1, -0.099, -0.051, -0.05, -0.049, 0.0])
def test_the_same_gap_reads_the_same_everywhere(gap: float) -> None:
    """Whatever confidence and success rate make it, and with its sign turned."""
    for signed in (gap, -gap):
        for thousandths in range(0, 1001, 20):
            confidence = round(thousandths / 1000 - signed, 4)
            if 0 <= confidence <= 1:
                found = figures_of((confidence, "S" * (thousandths // 20) + "F" * (50 - thousandths // 20)))
                assert found.gap == pytest.approx(signed, abs=1e-12)
                assert found.interpretation == reference_model.verdict(Fraction(repr(signed))), (
                    confidence,
                    thousandths,
                )
                assert repr(found.gap) != "-0.0"


@pytest.mark.parametrize("gap", [-0.16, -0.11, -0.1, -0.09, 0.0])
def test_the_same_gap_reads_the_same_in_every_bucket(gap: float) -> None:
    verdicts = {-1: set[str](), 1: set[str]()}
    for _, low, expected in BUCKETS:
        for sign in (-1, 1):
            hits = round(100 * (expected + sign * gap))
            if 0 <= hits <= 100:
                (bucket,) = score_buckets(*cells((low, "S" * hits + "F" * (100 - hits))))
                assert bucket.gap == pytest.approx(sign * gap, abs=1e-12)
                verdicts[sign].add(bucket.expected_interpretation)
    off = abs(gap) > 0.1
    assert verdicts == {1: {"overconfident" if off else "well_calibrated"}} | {
        -1: {"underconfident" if off else "well_calibrated"}
    }


def test_stated_70_and_achieved_70_is_no_gap() -> None:
    stated = (0.7, "SSSSSSSFFF")
    found = figures_of(stated)
    assert repr(found.gap) == "0.0"
    assert found.interpretation == "well_calibrated"
    (bucket,) = score_buckets(*cells(stated))
    assert (bucket.bucket, round(bucket.gap, 2), bucket.expected_interpretation) == ("0.7-0.9", -0.1, "well_calibrated")
    (below,) = score_buckets(*cells((0.5, "SSSSSFFFFF")))
    assert (below.bucket, round(below.gap, 2), below.expected_interpretation) == ("0.5-0.7", -0.1, "well_calibrated")


def test_the_verdicts_at_their_cut_offs() -> None:
    assert [judge_gap(gap) for gap in (0.0, 0.0499, 0.05, 0.1, 0.1001)] == [
        "well_calibrated",
        "well_calibrated",
        "slightly_underconfident",
        "slightly_underconfident",
        "underconfident",
    ]
    assert [judge_gap(-gap) for gap in (0.0499, 0.05, 0.1, 0.1001)] == [
        "well_calibrated",
        "slightly_overconfident",
        "slightly_overconfident",
        "overconfident",
    ]
    assert [judge_bucket_gap(gap) for gap in (-0.1001, -0.1, 0.1, 0.1001)] == [
        "overconfident",
        "well_calibrated",
        "well_calibrated",
        "underconfident",
    ]


def test_the_brier_score_in_a_word() -> None:
    scores = (0.0, 0.0999, 0.1, 0.1999, 0.2, 0.2999, 0.3, 1.0)
    words = ("excellent", "excellent", "good", "good", "fair", "fair", "poor", "poor")
    assert tuple(rate_brier(score) for score in scores) == words
    assert rate_brier(0.1 + 0.2) == "poor"
    assert rate_brier(1.1 - 1.0 - 2e-16) == "good", "a float beside .10 is .10"


@pytest.mark.parametrize(
    ("confidence", "name"),
    [
        (0.0, "0.0-0.5"),
        (-0.0, "0.0-0.5"),
        (0.499, "0.0-0.5"),
        (0.5, "0.5-0.7"),
        (0.699, "0.5-0.7"),
        (0.7, "0.7-0.9"),
        (0.1 * 7, "0.7-0.9"),
        (1.0 - 0.3, "0.7-0.9"),
        (0.899, "0.7-0.9"),
        (0.9, "0.9-1.0"),
        (0.3 * 3, "0.9-1.0"),
        (1.0, "0.9-1.0"),
    ],
)
def test_the_buckets_hold_their_lower_edge(confidence: float, name: str) -> None:
    assert NAMES[bucket_numbers(np.array([confidence]))[0]] == name
    (bucket,) = score_buckets(*cells((confidence, "SFP")))
    assert (bucket.bucket, bucket.decisions) == (name, 3)


def test_a_bucket_of_two_is_left_out() -> None:
    assert list(score_buckets(*cells((0.95, "SS-----"), (None, "SSS")))) == []
    (bucket,) = score_buckets(*cells((0.95, "SS"), (0.9, "A")))
    assert bucket.decisions == 3


def test_a_missing_confidence_counts_in_the_total_alone() -> None:
    with_missing, without = figures_of((0.8, "SSSSF"), (None, "FFFF--")), figures_of((0.8, "SSSSF"))
    assert (with_missing.reviewed, with_missing.total) == (5, 11)
    assert (with_missing.brier_score, with_missing.gap) == (without.brier_score, without.gap)
    assert compute_scores(*cells((None, "SSSSS"))) is None
    assert measure_spread(*cells((None, "SSSSS"))) is None
    assert list(bucket_numbers(np.array([np.nan]))) == [-1]


def test_what_is_pending_counts_in_the_spread_and_the_total() -> None:
    found = figures_of((0.8, "SSSSF--"), (0.2, "---"))
    assert (found.reviewed, found.total) == (5, 10)
    assert found.mean_confidence == pytest.approx(0.8, abs=1e-12)
    stats = measure_spread(*cells((0.8, "SSSSF--"), (0.2, "---")))
    assert stats is not None
    assert (stats.count, stats.min, stats.max) == (10, 0.2, 0.8)
    assert stats.mean == pytest.approx(0.62, abs=1e-12)
    assert stats.tenths == {"0.8-0.9": 7, "0.2-0.3": 3}


def test_every_tenth_is_in_its_own_bin() -> None:
    stated = [(tenth / 10, "-") for tenth in range(11)]
    stats = measure_spread(*cells(*stated))
    assert stats is not None
    assert stats.tenths == {"0.9-1.0": 2} | {f"{t / 10:.1f}-{(t + 1) / 10:.1f}": 1 for t in range(8, -1, -1)}


def test_a_cell_emptied_by_a_restatement_bounds_nothing() -> None:
    stats = measure_spread(*cells((0.1, ""), (0.6, "S"), (0.9, "")))
    assert stats is not None
    assert (stats.min, stats.max) == (0.6, 0.6)


def test_no_figure_is_minus_zero() -> None:
    found = figures_of((-0.0, "FFFFF"))
    stats = measure_spread(*cells((-0.0, "FFFFF")))
    assert stats is not None
    for value in (
        found.gap,
        found.mean_confidence,
        found.accuracy,
        found.brier_score,
        stats.min,
        stats.max,
        stats.mean,
    ):
        assert repr(value) == "0.0"


def test_abandoned_is_worth_nothing_and_partial_half() -> None:
    found = figures_of((0.5, "SPFA"))
    assert found.accuracy == 0.375
    assert found.brier_score == pytest.approx(0.1875, abs=1e-12)


def test_no_decisions_have_no_figures() -> None:
    assert compute_scores(*cells()) is None
    assert list(score_buckets(*cells())) == []
    assert measure_spread(*cells()) is None
    assert compute_scores(*cells((0.5, "---"))) is None
