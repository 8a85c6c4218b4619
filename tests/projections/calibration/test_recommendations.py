"""Each kind of recommendation: a case that gives it, and one beside it that does not."""

import pytest

from projections.calibration.score_recommendations import recommend_from_scores, recommend_more_reviews
from projections.calibration.scores import compute_scores, measure_spread, score_buckets
from tallystick.shapes.calibration import Recommendation
from tests.projections.short_decisions import Stated, cells

Advice = dict[str, list[Recommendation]]


def advice(*stated: Stated) -> Advice:
    """What these decisions recommend, by kind."""
    table = cells(*stated)
    overall = compute_scores(*table)
    assert overall is not None
    found: Advice = {}
    for one in recommend_from_scores(overall, list(score_buckets(*table)), measure_spread(*table)):
        found.setdefault(one.type, []).append(one)
    return found


def test_too_few_names_what_was_found_and_needed() -> None:
    one = recommend_more_reviews(2, 5)
    assert (one.type, one.severity) == ("insufficient_data", "info")
    assert one.message == "Only 2 reviewed decisions found. Need at least 5 for calibration."


@pytest.mark.parametrize(
    ("stated", "severity", "word"),
    [
        ((0.9, "SSFFF"), "warning", "less"),
        ((0.9, "SSSSSSSSFF"), "info", "less"),
        ((0.7, "SSSSSSSSFF"), "info", "more"),
        ((0.2, "SSSFF"), "info", "more"),
    ],
)
def test_a_gap_asks_for_another_confidence(stated: Stated, severity: str, word: str) -> None:
    (one,) = advice(stated)["confidence_adjustment"]
    assert one.severity == severity
    assert f"stating {word}" in one.message


def test_no_gap_asks_for_nothing() -> None:
    assert "confidence_adjustment" not in advice((0.8, "SSSSF"))


def test_a_bucket_that_fails_names_the_rate_seen() -> None:
    (one,) = advice((0.95, "S" * 15 + "F" * 5))["bucket_warning"]
    assert one.severity == "warning"
    assert one.message == "At 0.9-1.0 confidence, actual success is 75%. Consider using ~75% instead."
    assert "bucket_warning" not in advice((0.9, "S" * 15 + "F" * 5)), "a gap of 15 points to what was stated"
    (none,) = advice((0.3, "F" * 20))["bucket_warning"]
    assert none.message == "At 0.0-0.5 confidence, actual success is 0%. Consider stating less."


@pytest.mark.parametrize(
    "stated",
    [(0.95, "S" * 16 + "F" * 4), (0.8, "S" * 13 + "F" * 7), (0.6, "S" * 9 + "F" * 11), (0.25, "S" * 2 + "F" * 18)],
)
def test_a_bucket_off_by_15_points_is_not_warned_of(stated: Stated) -> None:
    """.80 of .95, .65 of .80, .45 of .60, .10 of .25: the same gap, whatever the floats make of it."""
    assert "bucket_warning" not in advice(stated)


def test_a_bucket_that_does_better_is_not_warned_of() -> None:
    assert "bucket_warning" not in advice((0.5, "SSSSS"))


def test_the_brier_score_is_praised_or_warned_of() -> None:
    (praise,) = advice((1.0, "SSSSS"))["brier_score"]
    assert (praise.severity, "excellent" in praise.message) == ("info", False)
    (warning,) = advice((0.9, "SFFFF"))["brier_score"]
    assert warning.severity == "warning"


@pytest.mark.parametrize("stated", [(0.5, "SSSFF"), (0.9, "S" * 71 + "F" * 9), (0.8, "SSSSF")])
def test_a_score_between_is_not_spoken_of(stated: Stated) -> None:
    """The first is at .25, the second at .10, the third between."""
    assert "brier_score" not in advice(stated)


def test_strength_names_the_calibrated_buckets() -> None:
    mixed = advice((0.95, "SSSF"), (0.8, "SSSSF"), (0.6, "SSSFF"))
    (one,) = mixed["strength"]
    assert one.severity == "info"
    assert one.message == "Well calibrated at 0.7-0.9?, 0.5-0.7? confidence."
    assert one.supported is False
    assert "0.9-1.0" not in one.message
    (every,) = advice((0.8, "SSSSF"), (0.6, "SSSFF"))["strength"]
    assert every.message == one.message


@pytest.mark.parametrize("stated", [[(0.95, "SFFF")], [(0.95, "SFFF"), (0.8, "FFF")]])
def test_strength_is_silent_where_none_is_calibrated(stated: list[Stated]) -> None:
    assert "strength" not in advice(*stated)


def test_low_variance_needs_over_70_percent_in_one_tenth() -> None:
    (one,) = advice((0.75, "SSSSSSSF"), (0.69, "SF"))["low_variance"]
    assert (one.severity, "80%" in one.message, "0.7-0.8" in one.message) == ("info", True, True)


@pytest.mark.parametrize("tens", [1, 2, 3, 9])
def test_low_variance_is_silent_at_70_percent(tens: int) -> None:
    assert "low_variance" not in advice((0.71, "S" * 7 * tens), (0.69, "F" * 3 * tens))
    assert "low_variance" in advice((0.71, "S" * (7 * tens + 1)), (0.69, "F" * (3 * tens - 1)))


def test_low_variance_needs_a_small_deviation_and_ten_stated() -> None:
    assert "low_variance" not in advice((0.75, "SSSSSSSS"), (0.1, "FF"))
    assert "low_variance" not in advice((0.75, "SSSSSSSSS"))
    assert "low_variance" in advice((0.75, "SSSSS-----"))
    assert "low_variance" not in advice((0.75, "S" * 8), (0.625, "SS")), "a deviation of .05 is not below it"


def test_an_overconfident_habit() -> None:
    (one,) = advice((0.9, "SSSSSSSSS"), (0.8, "F"))["overconfident_habit"]
    assert one.severity == "info"
    assert "0.80" in one.message
    for stated in ([(0.85, "S" * 10)], [(0.95, "S" * 9), (0.75, "F")], [(0.95, "S" * 9)]):
        assert "overconfident_habit" not in advice(*stated)


def test_an_underconfident_habit() -> None:
    (one,) = advice((0.6, "SSSSSSSSS"), (0.7, "F"))["underconfident_habit"]
    assert one.severity == "info"
    assert "0.70" in one.message
    for stated in ([(0.65, "S" * 10)], [(0.5, "S" * 9), (0.75, "F")], [(0.5, "S" * 9)]):
        assert "underconfident_habit" not in advice(*stated)


def test_the_whole_is_spoken_of_before_its_parts() -> None:
    found = advice((0.95, "SFFFFFF"), (0.8, "SSSSF"))
    kinds = ["confidence_adjustment", "bucket_warning", "brier_score", "strength", "overconfident_habit"]
    assert list(found) == kinds
