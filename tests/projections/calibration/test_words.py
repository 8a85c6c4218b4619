"""Words follow the evidence: verdicts on ranges of confidence, praise, exceptions, and figures as they are printed."""

import numpy as np
import pytest

from api.reports.calibration_text import describe_skill
from api.text_format import format_figure
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.confidence_bins import bin_counts
from projections.calibration.figure_text import format_percent, format_rate
from projections.calibration.scores import compute_scores, score_buckets, skill_interval
from tallystick.shapes.calibration import CalibrationView
from tests.projections.short_decisions import Stated, calibration_of, cells, judged


def view_of(*stated: Stated) -> CalibrationView:
    return calibration_of(judged(*stated)).view(CalibrationFilter())


def messages(view: CalibrationView, kind: str) -> list[str]:
    return [one.message for one in view.recommendations if one.type == kind]


@pytest.mark.defect(4)
@pytest.mark.parametrize(
    "stated",
    [(0.49, "S" * 490 + "F" * 510), (0.1, "S" * 100 + "F" * 900), (0.0, "F" * 1_000), (0.5, "S" * 500 + "F" * 500)],
)
def test_a_calibrated_agent_is_calibrated_in_its_range(stated: Stated) -> None:
    """.49 was underconfident? and .10 overconfident?, beside the middle of their range."""
    view = view_of(stated)
    (bucket,) = view.buckets
    assert (bucket.interpretation, bucket.stated_gap) == ("well_calibrated", 0)
    assert (bucket.supported, bucket.reviews_needed) == (True, 0)
    assert messages(view, "bucket_warning") == []
    assert bucket.expected_interpretation in {"well_calibrated", "underconfident", "overconfident"}


@pytest.mark.slow
@pytest.mark.defect(4)
def test_verdicts_on_ranges_follow_the_stated_mean_in_simulations() -> None:
    """500 calibrated agents of 400 decisions, beta(2, 2): a supported verdict off in at most 5% of ranges."""
    rng = np.random.default_rng(4)
    ranges = off = 0
    for _ in range(500):
        confidence = np.round(rng.beta(2, 2, 400), 2)
        right = rng.random(400) < confidence
        counts = np.zeros((400, 5), dtype=np.int64)
        counts[np.arange(400), np.where(right, 1, 3)] = 1
        for bucket in score_buckets(confidence, counts):
            ranges += 1
            off += bucket.supported and bucket.interpretation != "well_calibrated"
    assert off / ranges <= 0.05


@pytest.mark.defect(6)
def test_nobody_is_praised_who_shows_no_skill() -> None:
    """Always 97%, right in 97%: a Brier score of .029, which stating the success rate gives too."""
    view = view_of((0.97, "S" * 970 + "F" * 30))
    assert messages(view, "brier_score") == ["Brier score 0.029 is not surely better than always stating 97%."]
    assert view.overall is not None
    assert view.overall.skill_interval is None
    assert describe_skill(view.overall) == (
        "Skill 0.000 compared with always stating 97.0%; these reviews do not show how much it varies."
    )
    (alike,) = messages(view_of((1.0, "SSSSS")), "brier_score")
    assert alike == "Brier score 0.000; all outcomes are alike, so there is no skill to see."
    (few,) = messages(view_of((0.9, "S" * 8 + "P")), "brier_score")
    assert few.endswith("9 reviews are too few to compare it with always stating 94%.")
    assert not any("excellent" in one.message for one in view.recommendations)


@pytest.mark.defect(6)
def test_a_skill_below_0_is_warned_of() -> None:
    """Confidences that say little of the outcome: a Brier score called good, and a skill surely below 0."""
    view = view_of((0.5, "S" * 90), (0.9, "S" * 90 + "F" * 20))
    (warning,) = messages(view, "skill")
    assert warning.startswith("Stated confidence has a higher Brier score than always stating 90% (skill -")
    assert view.overall is not None
    assert (view.overall.brier_reading, "worse than" in str(describe_skill(view.overall))) == ("good", True)


@pytest.mark.parametrize("n", [100, 400])
def test_the_interval_of_skill_contains_it(n: int) -> None:
    """2,000 samples of agents that are off by .05: the true skill is in the interval in 90 to 97%."""
    rng = np.random.default_rng(n)
    levels = np.array([0.3, 0.5, 0.7, 0.9])
    truth = levels - 0.05
    brier = np.mean((truth - levels) ** 2 + truth * (1 - truth))
    skill = 1 - brier / (truth.mean() * (1 - truth.mean()))
    inside = 0
    for _ in range(2_000):
        number = rng.integers(0, 4, n)
        right = rng.random(n) < truth[number]
        counts = np.zeros((4, 5), dtype=np.int64)
        counts[:, 1] = np.bincount(number[right], minlength=4)
        counts[:, 3] = np.bincount(number[~right], minlength=4)
        interval = skill_interval(bin_counts(levels, counts))
        assert interval is not None
        inside += interval.low <= skill <= interval.high
    assert 0.90 <= inside / 2_000 <= 0.97


@pytest.mark.defect(7)
def test_advice_for_the_whole_names_the_categories_that_contradict_it() -> None:
    drafts = [
        *judged((0.8, "S" * 380 + "F" * 20), prefix="a", category="reading"),
        *judged((0.62, "S" * 31 + "F" * 69), prefix="b", category="games"),
    ]
    view = calibration_of(drafts).view(CalibrationFilter())
    (advice,) = messages(view, "confidence_adjustment")
    assert advice == (
        "Stated confidence runs 6 points below the success rate. Consider stating more. Not in games (62% stated, 31% "
        "right): there it is the other way round."
    )
    alone = view_of((0.8, "S" * 380 + "F" * 20))
    assert messages(alone, "confidence_adjustment")[0].endswith("Consider stating more.")


@pytest.mark.defect(8)
def test_strengths_have_their_question_mark() -> None:
    assert messages(view_of((0.4, "SSFFFF"), (0.95, "S" * 50 + "F" * 50)), "strength") == [], "off by 7 points"
    view = view_of((0.4, "SSFFF"), (0.95, "S" * 50 + "F" * 50))
    (strength,) = [one for one in view.recommendations if one.type == "strength"]
    assert (strength.message, strength.supported) == ("Well calibrated at 0.0-0.5? confidence.", False)


@pytest.mark.defect(9)
def test_each_interval_contains_its_figure() -> None:
    view = view_of((0.5, "P" * 200))
    (bucket,) = view.buckets
    assert view.overall is not None
    for figure, interval in (
        (bucket.success_rate, bucket.success_rate_interval),
        (bucket.stated_gap, bucket.stated_gap_interval),
        (view.overall.accuracy, view.overall.accuracy_interval),
        (view.overall.gap, view.overall.gap_interval),
    ):
        assert interval.low < figure < interval.high


@pytest.mark.defect(12)
def test_a_small_gap_that_is_sure_is_named_by_its_failures() -> None:
    """Stated .99 and right in .96, 2,000 times: four times the failures."""
    view = view_of((0.99, "S" * 1920 + "F" * 80))
    assert view.overall is not None
    assert view.overall.in_the_large is not None
    assert view.overall.in_the_large.z < -10
    assert messages(view, "small_gap") == [
        "It is surely overconfident, though by little: 4.0% failed where 1.0% was stated."
    ]
    assert messages(view_of((0.9, "S" * 900 + "F" * 100)), "small_gap") == []
    at_certainty_only = view_of((1.0, "S" * 180 + "F" * 15), (0.85, "S" * 1050 + "F" * 170))
    assert messages(at_certainty_only, "small_gap") == [], "the whole is off by less than a point"


@pytest.mark.defect(12)
def test_certainty_that_one_failure_refuted_is_named() -> None:
    view = view_of((1.0, "S" * 299 + "F"), (0.5, "SF"))
    assert messages(view, "certainty") == [
        "Of 300 decisions stated with certainty (0% or 100%), 1 turned out otherwise."
    ]
    assert view.overall is not None
    assert (view.overall.certain, view.overall.certain_wrong) == (300, 1)
    assert messages(view_of((1.0, "S" * 300), (0.0, "FA")), "certainty") == []
    half = compute_scores(*cells((0.0, "FP"), (1.0, "SA")))
    assert half is not None
    assert (half.certain, half.certain_wrong) == (4, 2)


@pytest.mark.defect(14)
def test_figures_are_printed_as_they_are() -> None:
    assert [format_figure(value, "+") for value in (-0.0001, 0.0, 0.0004, -0.0006, 1.0)] == [
        "0.000", "0.000", "0.000", "-0.001", "+1.000",
    ]  # fmt: skip
    assert [format_figure(value) for value in (0.9996, 0.99999, 1.0, 1 - 1e-12)] == [
        "0.9996", "0.99999", "1.000", "1.000",
    ]  # fmt: skip
    assert [format_rate(value) for value in (0.999, 0.001, 1.0, 0.0, -0.0, 0.97)] == [
        "0.999", "0.001", "1.00", "0.00", "0.00", "0.97",
    ]  # fmt: skip
    assert [format_percent(value) for value in (0.999, 0.004, 1.0, 0.0, 0.97)] == [
        "99.9%", "0.4%", "100%", "0%", "97%",
    ]  # fmt: skip
    assert format_percent(0.99996, 1) == "99.996%"
