"""getCalibration: the fields, the known cases, the filters, and the rows of what its users suffer from."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api.cstp.client import (
    OUTCOMES,
    Caller,
    recorded,
    reviewed,
)

Cases = Sequence[tuple[float, str]]
SIX = [(0.95, "S"), (0.92, "S"), (0.91, "F"), (0.75, "S"), (0.72, "S"), (0.71, "S")]
SIXTY_TWO = [(0.95, "SSSSSSSSSFFF"), (0.8, "SSSSSSSSSSSSSSFFFF"), (0.6, "SSSSSFFF")]
OVERALL = [
    "brierScore", "accuracy", "totalDecisions", "reviewedDecisions", "calibrationGap", "interpretation",
]  # fmt: skip
ADDED = {
    "meanConfidence", "brierReading", "total_decisions", "reviewed_decisions", "brier_score", "success", "partial",
    "failure", "abandoned", "unreviewed", "withoutConfidence", "successInterval", "gapInterval", "supported",
    "reviewsNeeded", "logScore", "logScoreInfinite", "skill", "sharpness", "corp", "inTheLarge", "spiegelhalter",
    "tooFewFor",
}  # fmt: skip


def post(cstp: Caller, project: str, cases: Cases, time: str | None = None, **data: object) -> None:
    """The same as `Caller.judge`, as events: many at once, and at any time."""
    events = []
    for number, (confidence, letter) in enumerate((confidence, one) for confidence, all_ in cases for one in all_):
        name = f"{project[:40]}-{time[:10] if time else 'now'}-{number}"
        events += [recorded(name, time, None, project=project, confidence=confidence, **data)]
        events += [reviewed(name, OUTCOMES[letter])] if letter in OUTCOMES else []
    cstp.events(events)


def ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


def figures(overall: dict[str, Any]) -> tuple[float, float, float, str]:
    return overall["brierScore"], overall["accuracy"], overall["calibrationGap"], overall["interpretation"]


def buckets(answer: dict[str, Any]) -> dict[str, tuple[float, float]]:
    return {bucket["bucket"]: (bucket["successRate"], bucket["gap"]) for bucket in answer["byConfidenceBucket"]}


@pytest.mark.parametrize(
    ("cases", "overall", "found"),
    [
        ([(1.0, "SSSSS")], (0, 1, 0, "well_calibrated"), {"0.9-1.0": (1.0, 0.05)}),
        ([(0.9, "FFFSS")], (0.49, 0.4, -0.5, "overconfident"), {"0.9-1.0": (0.4, -0.55)}),
        ([(0.5, "PPPPP")], (0, 0.5, 0, "well_calibrated"), {"0.5-0.7": (0.5, -0.1)}),
        (SIX, (0.177, 0.833, 0.007, "well_calibrated"), {"0.9-1.0": (0.67, -0.28), "0.7-0.9": (1.0, 0.2)}),
    ],
)
def test_known_cases(
    cstp: Caller,
    project: str,
    cases: Cases,
    overall: tuple[float, float, float, str],
    found: dict[str, tuple[float, float]],
) -> None:
    cstp.judge(project, cases)
    answer = cstp.calibration(project)
    assert figures(answer["overall"]) == overall
    assert buckets(answer) == found


def test_known_case_of_three_buckets(cstp: Caller, project: str) -> None:
    cstp.judge(project, SIXTY_TWO)
    answer = cstp.calibration(project)
    assert figures(answer["overall"])[:3] == (0.203, 0.737, -0.068)
    assert {name: gap for name, (_, gap) in buckets(answer).items()} == {
        "0.9-1.0": -0.2,
        "0.7-0.9": -0.02,
        "0.5-0.7": 0.03,
    }


def test_known_case_of_two_reviews(cstp: Caller, project: str) -> None:
    cstp.judge(project, [(0.95, "S"), (0.92, "S")])
    answer = cstp.calibration(project)
    assert (answer["overall"], answer["byConfidenceBucket"]) == (None, [])
    (only,) = answer["recommendations"]
    assert only == {
        "type": "insufficient_data",
        "message": "Only 2 reviewed decisions found. Need at least 5 for calibration.",
        "severity": "info",
    }


def test_the_fields_of_the_answer(cstp: Caller, project: str) -> None:
    cstp.judge(project, SIX, category="process")
    cstp.record(project=project, confidence=0.1, category="process")
    answer = cstp.calibration(project)
    overall = answer["overall"]
    assert list(answer)[:4] == ["overall", "byConfidenceBucket", "recommendations", "queryTime"]
    assert set(answer) == {*list(answer)[:4], "confidenceStats", "by_category", "groups", "coverage"}
    assert list(overall)[: len(OVERALL)] == OVERALL
    assert set(overall) == {*OVERALL, *ADDED}
    assert (overall["totalDecisions"], overall["reviewedDecisions"]) == (7, 6)
    assert (overall["total_decisions"], overall["reviewed_decisions"]) == (7, 6)
    assert overall["brier_score"] == overall["brierScore"]
    assert datetime.now(UTC) - datetime.fromisoformat(answer["queryTime"]) < timedelta(minutes=1)
    first = answer["byConfidenceBucket"][0]
    assert list(first)[:6] == ["bucket", "decisions", "successRate", "expectedRate", "gap", "interpretation"]
    assert (first["decisions"], first["expectedRate"], first["interpretation"]) == (3, 0.95, "overconfident")
    assert answer["by_category"] == [
        {"category": "process", "total_decisions": 7, "reviewed_decisions": 6, "accuracy": 0.833, "brier_score": 0.177}
    ]
    for recommendation in answer["recommendations"]:
        assert set(recommendation) - {"supported"} == {"type", "message", "severity"}


def test_confidence_stats_include_what_is_pending(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.2, "--"), (0.4, "S"), (1.0, "F")])
    assert cstp.calibration(project)["confidenceStats"] == {
        "mean": 0.45,
        "stdDev": 0.328,
        "min": 0.2,
        "max": 1.0,
        "count": 4,
        "bucketCounts": {"0.9-1.0": 1, "0.4-0.5": 1, "0.2-0.3": 2},
    }


def test_row_7_a_confidence_below_a_half_is_counted_where_it_is(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.05, "FFF"), (0.3, "FFF"), (0.49, "SSS")])
    answer = cstp.calibration(project)
    assert answer["confidenceStats"]["bucketCounts"] == {"0.4-0.5": 3, "0.3-0.4": 3, "0.0-0.1": 3}
    assert buckets(answer) == {"0.0-0.5": (0.33, 0.08)}


@pytest.mark.parametrize(("confidence", "letters"), [(0.7, "SSSSSSSFFF"), (0.5, "SSSSSFFFFF"), (0.9, "SSSSSSSSSF")])
def test_row_8_what_was_stated_and_achieved_is_calibrated_in_every_bucket(
    cstp: Caller, project: str, confidence: float, letters: str
) -> None:
    post(cstp, project, [(confidence, letters)])
    answer = cstp.calibration(project)
    assert answer["byConfidenceBucket"][0]["interpretation"] == "well_calibrated"
    assert answer["overall"]["interpretation"] == "well_calibrated"
    assert answer["overall"]["calibrationGap"] == 0


@pytest.mark.parametrize(
    "cases", [[(0.7, "SSSSSSSFFF")], [(0.1, "SFFFFFFFFF")], [(0.95, "S" * 19 + "F")], [(0.9, "SSSSP"), (0.1, "FFFFF")]]
)
def test_row_8_there_is_no_minus_zero(cstp: Caller, project: str, cases: Cases) -> None:
    post(cstp, project, cases)
    frame = {"jsonrpc": "2.0", "id": 1, "method": "cstp.getCalibration", "params": {"project": project}}
    assert "-0.0," not in cstp.http.post("/cstp", json=frame).text


@pytest.mark.parametrize(
    ("gap_points", "verdict"),
    [
        (-11, "overconfident"),
        (-10, "slightly_overconfident"),
        (-5, "slightly_overconfident"),
        (-4, "well_calibrated"),
        (4, "well_calibrated"),
        (5, "slightly_underconfident"),
        (10, "slightly_underconfident"),
        (11, "underconfident"),
    ],
)
def test_the_cut_offs_of_the_gap(cstp: Caller, project: str, gap_points: int, verdict: str) -> None:
    post(cstp, project, [(0.5, "S" * (50 + gap_points) + "F" * (50 - gap_points))])
    overall = cstp.calibration(project)["overall"]
    assert (overall["calibrationGap"], overall["interpretation"]) == (gap_points / 100, verdict)


def test_abandoned_counts_as_failure(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.5, "AAFSS")])
    assert cstp.calibration(project)["overall"]["accuracy"] == 0.4


@pytest.mark.parametrize(
    ("count", "least", "shown"), [(2, 1, True), (2, 2, True), (2, 3, False), (5, 5, True), (4, 5, False)]
)
def test_row_4_min_decisions_is_honoured_exactly(
    cstp: Caller, project: str, count: int, least: int, shown: bool
) -> None:
    post(cstp, project, [(0.5, "S" * count)])
    answer = cstp.calibration(project, minDecisions=least)
    assert (answer["overall"] is not None) == shown
    insufficient = [one["message"] for one in answer["recommendations"] if one["type"] == "insufficient_data"]
    assert insufficient == (
        [] if shown else [f"Only {count} reviewed decisions found. Need at least {least} for calibration."]
    )


def test_buckets_are_shown_where_the_whole_is_not(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.95, "SSS")])
    answer = cstp.calibration(project)
    assert answer["overall"] is None
    assert buckets(answer) == {"0.9-1.0": (1.0, 0.05)}


@pytest.mark.parametrize("where", ["filters", "beside"])
def test_row_5_an_unknown_window_is_ignored_by_name_and_labels_nothing(cstp: Caller, project: str, where: str) -> None:
    post(cstp, project, [(0.5, "SSSSS")], ago(400))
    params = {"filters": {"window": "7d"}} if where == "filters" else {"window": "7d"}
    answer = cstp.result("getCalibration", {**params, "project": project})
    assert answer["ignored"] == ["window"]
    assert answer["overall"]["totalDecisions"] == 5
    assert not {"window", "periodStart", "periodEnd"} & answer["overall"].keys()


def test_windows_count_back_from_now_and_are_labelled(cstp: Caller, project: str) -> None:
    for days in (1, 45, 75, 400):
        post(cstp, project, [(0.5, "SSSSS")], ago(days))
    for window, found in (("30d", 5), ("60d", 10), ("90d", 15), ("all", 20)):
        overall = cstp.result("getCalibration", {"project": project, "window": window})["overall"]
        assert (overall["totalDecisions"], overall["window"]) == (found, window)
        if window == "all":
            assert "periodStart" not in overall
        else:
            start, end = (datetime.fromisoformat(overall[name]) for name in ("periodStart", "periodEnd"))
            assert end - start == timedelta(days=int(window[:-1]))


def test_a_window_beats_since(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.5, "SSSSS")], ago(45))
    asked = {"project": project, "window": "60d", "since": ago(1)}
    assert cstp.result("getCalibration", asked)["overall"]["totalDecisions"] == 5


def test_row_9_since_and_until_are_instants_and_include_the_whole_last_day(cstp: Caller, project: str) -> None:
    for day, time in enumerate(("2026-02-04T23:59:59.9Z", "2026-02-05T00:00:00Z", "2026-02-05T23:59:59.999999Z")):
        name = f"{project[:40]}-{day}"
        cstp.events([recorded(name, time, project=project, confidence=0.5), reviewed(name, "success")])
    for since, until, found in (
        ("2026-02-05", "2026-02-05", 2),
        (None, "2026-02-05", 3),
        ("2026-02-05T02:00:00+02:00", "2026-02-05T02:00:00+02:00", 1),
        ("2026-02-04T22:00:00-02:00", None, 2),
    ):
        overall = cstp.calibration(project, since=since, until=until, minDecisions=1)["overall"]
        assert overall["totalDecisions"] == found, (since, until)
        assert ("periodStart" in overall) == (since is not None)
        assert "periodEnd" in overall


def test_filters_in_filters_and_beside_them(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.5, "SSSSS")], category="tooling", stakes="low", feature="f")
    cstp.judge(project, [(0.9, "F")], category="security", stakes="high")
    for wanted, found in (
        ({"category": "tooling"}, 5),
        ({"category": "security"}, 1),
        ({"stakes": "high"}, 1),
        ({"feature": "f"}, 5),
        ({"agent": "anonymous"}, 6),
        ({"category": "security", "stakes": None, "feature": ""}, 1),
    ):
        for params in (
            {"filters": wanted, "project": project, "minDecisions": 1},
            {"project": project, "min_decisions": 1, **wanted},
        ):
            assert cstp.result("getCalibration", params)["overall"]["totalDecisions"] == found, params
    assert cstp.result("getCalibration", {"filters": {"project": project}, "project": "other"})["overall"] is not None


def test_an_agent_without_decisions_has_no_figures(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.5, "SSSSS")])
    answer = cstp.calibration(project, agent="nobody")
    assert (answer["overall"], answer["byConfidenceBucket"], answer["by_category"]) == (None, [], [])
    assert "confidenceStats" not in answer


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"filters": "5"}, "filters"),
        ({"filters": []}, "filters"),
        ({"filters": {"minDecisions": "five"}}, "minDecisions"),
        ({"filters": {"minDecisions": 0}}, "minDecisions"),
        ({"filters": {"minDecisions": True}}, "minDecisions"),
        ({"filters": {"stakes": 5}}, "stakes"),
        ({"filters": {"since": "yesterday"}}, "since"),
        ({"filters": {"until": 5}}, "until"),
        ({"filters": {"agent": ["a"]}}, "agent"),
        ({"window": 30}, "window"),
        ({"groupBy": 5}, "groupBy"),
        ({"group_by": []}, "group_by"),
    ],
)
def test_row_19_what_is_wrong_is_named_and_no_fault(cstp: Caller, params: dict[str, object], field: str) -> None:
    code, message = cstp.error("getCalibration", params)
    assert code == -32602
    assert message.startswith(f"Validation failed: {field}: ")


def test_group_by(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.95, "SSSSS")], category="tooling", stakes="low")
    cstp.judge(project, [(0.6, "F")], category="security", stakes="high")
    answer: dict[str, Any] = {}
    for group_by, groups in (
        ("confidenceBucket", ["0.9-1.0", "0.5-0.7"]),
        ("category", ["security", "tooling"]),
        ("stakes", ["high", "low"]),
        ("agent", ["anonymous"]),
    ):
        answer = cstp.result("getCalibration", {"project": project, "groupBy": group_by})
        assert [group["group"] for group in answer["groups"]] == groups
    thin, full = cstp.result("getCalibration", {"project": project, "group_by": "category"})["groups"]
    assert (thin["accuracy"], thin["reviewedDecisions"]) == (None, 1)
    assert (full["accuracy"], full["calibrationGap"], full["interpretation"]) == (1.0, 0.05, "slightly_underconfident")
    assert [row["category"] for row in answer["by_category"]] == ["security", "tooling"]


@pytest.mark.parametrize(
    ("cases", "warnings", "infos"),
    [
        ([(0.9, "FFFSS")], {"confidence_adjustment", "bucket_warning", "brier_score"}, set()),
        (
            [(0.95, "S" * 18 + "FF")],
            set(),
            {"confidence_adjustment", "brier_score", "low_variance", "overconfident_habit"},
        ),
        ([(0.6, "S" * 13 + "F" * 7)], set(), {"confidence_adjustment", "low_variance", "underconfident_habit"}),
        (SIXTY_TWO, {"bucket_warning"}, {"confidence_adjustment", "strength"}),
    ],
)
def test_recommendations(cstp: Caller, project: str, cases: Cases, warnings: set[str], infos: set[str]) -> None:
    post(cstp, project, cases)
    found = cstp.calibration(project)["recommendations"]
    assert {one["type"] for one in found if one["severity"] == "warning"} == warnings
    assert {one["type"] for one in found if one["severity"] == "info"} == infos


def test_a_bucket_warning_names_the_rate_seen(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.95, "SSSFFF")])
    messages = [
        one["message"] for one in cstp.calibration(project)["recommendations"] if one["type"] == "bucket_warning"
    ]
    assert messages == ["At 0.9-1.0 confidence, actual success is 50%. Consider using ~50% instead."]


@pytest.mark.slow
def test_row_6_twenty_thousand_decisions_are_all_counted(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.9, "F" * 10_000 + "S" * 10_000)])
    overall = cstp.calibration(project)["overall"]
    assert (overall["totalDecisions"], overall["reviewedDecisions"], overall["accuracy"]) == (20_000, 20_000, 0.5)


def test_the_later_review_counts(cstp: Caller, project: str) -> None:
    made = cstp.judge(project, [(0.9, "SSSSS")])
    for decision_id in made:
        cstp.result("reviewDecision", {"id": decision_id, "outcome": "failure"})
    overall = cstp.calibration(project)["overall"]
    assert (overall["accuracy"], overall["reviewedDecisions"]) == (0, 5)
