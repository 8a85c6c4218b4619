"""getReasonStats: the fields of the contract, its filters, and what it must not do."""

import pytest

from tests.api.cstp.client import (
    OUTCOMES,
    Caller,
    recorded,
    reviewed,
)

TYPE = [
    "reasonType", "totalUses", "reviewedUses", "successCount", "partialCount", "failureCount", "successRate",
    "avgConfidence", "avgStrength",
]  # fmt: skip
BUCKET = ["distinctReasonTypes", "totalDecisions", "reviewedDecisions", "successRate", "avgConfidence"]


def because(*kinds: str, **more: object) -> list[dict[str, object]]:
    return [{"type": kind, "text": "because", **more} for kind in kinds]


def test_the_answer(cstp: Caller, project: str) -> None:
    cstp.judge(project, [(0.9, "SSP"), (0.6, "FA")], reasons=because("analysis", strength=0.5))
    cstp.judge(project, [(0.8, "S")], reasons=because("analysis", "pattern", "pattern"))
    cstp.record(project=project)
    answer = cstp.result("getReasonStats", {"filters": {"project": project}})
    assert list(answer) == [
        "byReasonType", "diversity", "recommendations", "totalDecisions", "reviewedDecisions", "queryTime",
    ]  # fmt: skip
    assert (answer["totalDecisions"], answer["reviewedDecisions"]) == (6, 6)
    analysis, pattern = answer["byReasonType"]
    assert list(analysis) == [*TYPE, "brierScore", "abandonedCount", "statedConfidences", "statedStrengths"]
    assert [analysis[name] for name in TYPE] == ["analysis", 6, 6, 3, 1, 2, 0.583, 0.783, 0.5]
    assert analysis["brierScore"] == round((0.01 + 0.01 + 0.16 + 0.36 + 0.36 + 0.04) / 6, 4)
    assert [pattern[name] for name in TYPE] == ["pattern", 1, 1, 1, 0, 0, 1.0, 0.8, 0.0]
    assert "brierScore" not in pattern, "one review is fewer than three"
    diversity = answer["diversity"]
    assert (diversity["avgTypesPerDecision"], diversity["avgReasonsPerDecision"]) == (1.17, 1.33)
    one, two = diversity["diversityBuckets"]
    assert list(one) == [*BUCKET, "brierScore", "statedConfidences"]
    assert [one[name] for name in BUCKET] == [1, 5, 5, 0.5, 0.78]
    assert [two[name] for name in BUCKET] == [2, 1, 1, 1.0, 0.8]
    assert {"low_diversity", "unused_types"} == {advice["type"] for advice in answer["recommendations"]}
    assert [set(advice) for advice in answer["recommendations"]] == [{"type", "message", "severity"}] * 2


def test_nothing_there_has_the_same_shape(cstp: Caller, project: str) -> None:
    answer = cstp.result("getReasonStats", {"project": project})
    assert answer["byReasonType"] == answer["recommendations"] == []
    assert answer["diversity"] == {"avgTypesPerDecision": 0.0, "avgReasonsPerDecision": 0.0, "diversityBuckets": []}
    assert (answer["totalDecisions"], answer["reviewedDecisions"]) == (0, 0)


def test_row_1_a_missing_confidence_is_not_averaged_as_one_half(cstp: Caller, project: str) -> None:
    for confidence in (0.9, None):
        cstp.record(project=project, confidence=confidence, reasons=because("analysis"))
    (only,) = cstp.result("getReasonStats", {"project": project})["byReasonType"]
    assert (only["totalUses"], only["statedConfidences"], only["avgConfidence"]) == (2, 1, 0.9)


def test_a_strength_that_came_by_another_interface_without_one_stays_unknown(cstp: Caller, project: str) -> None:
    cstp.events([recorded(f"{project}-1", project=project, reasons=because("analysis"))])
    cstp.record(project=project, reasons=because("analysis", strength=0))
    (only,) = cstp.result("getReasonStats", {"project": project})["byReasonType"]
    assert (only["totalUses"], only["statedStrengths"], only["avgStrength"]) == (2, 1, 0.0)


def test_row_13_many_decisions_are_counted_exactly_and_none_is_left_out(cstp: Caller, project: str) -> None:
    """Its server reads every file for each call; here the figures follow the log."""
    letters = "SPFA" * 750
    events = [
        event
        for number, letter in enumerate(letters)
        for event in (
            recorded(f"{project}-{number}", project=project, confidence=0.75, reasons=because("empirical")),
            reviewed(f"{project}-{number}", OUTCOMES[letter]),
        )
    ]
    cstp.events(events)
    answer = cstp.result("getReasonStats", {"project": project})
    (only,) = answer["byReasonType"]
    assert (answer["totalDecisions"], answer["reviewedDecisions"]) == (3000, 3000)
    assert [only[name] for name in TYPE[1:6]] == [3000, 3000, 750, 750, 1500]
    assert (only["successRate"], only["avgConfidence"], only["brierScore"]) == (0.375, 0.75, 0.3125)


def test_filters_stand_inside_and_beside(cstp: Caller, project: str) -> None:
    cstp.events(
        [
            recorded(f"{project}-old", "2026-02-05T23:59:59.999999Z", project=project, reasons=because("analysis")),
            recorded(f"{project}-new", "2026-02-06T00:00:00Z", project=project, reasons=because("pattern")),
        ]
    )
    cstp.record(project=project, category="security", stakes="high", reasons=because("constraint"))

    def kinds(**asked: object) -> list[str]:
        inside = cstp.result("getReasonStats", {"filters": {"project": project, **asked}})
        beside = cstp.result("getReasonStats", {"project": project, "filters": {}, **asked})
        for answer in (inside, beside):
            answer.pop("queryTime")
        assert inside == beside
        return sorted(one["reasonType"] for one in inside["byReasonType"])

    assert kinds(category="security") == kinds(stakes="high") == ["constraint"]
    assert kinds(until="2026-02-05") == ["analysis"]
    assert kinds(since="2026-02-06", until="2026-02-06") == ["pattern"]
    assert kinds(agent="nobody") == []


def test_an_amendment_after_the_review_changes_no_figure(cstp: Caller, project: str) -> None:
    (decision_id,) = cstp.judge(project, [(0.9, "F")], reasons=because("intuition"))
    before = cstp.result("getReasonStats", {"project": project})["byReasonType"]
    cstp.result("updateDecision", {"id": decision_id, "updates": {"reasons": because("empirical"), "confidence": 0.1}})
    assert cstp.result("getReasonStats", {"project": project})["byReasonType"] == before
    cstp.result("reviewDecision", {"id": decision_id, "outcome": "success"})
    (only,) = cstp.result("getReasonStats", {"project": project})["byReasonType"]
    assert (only["reasonType"], only["successCount"], only["failureCount"]) == ("intuition", 1, 0)


def test_the_least_number_of_reviews_is_the_callers(cstp: Caller, project: str) -> None:
    cstp.judge(project, [(0.9, "FF")], reasons=because("authority"))
    for name in ("minReviewed", "min_reviewed"):
        few = cstp.result("getReasonStats", {"project": project, name: 2})
        assert "overconfident_type" in {advice["type"] for advice in few["recommendations"]}
        assert few["byReasonType"][0]["brierScore"] == 0.81
    assert cstp.result("getReasonStats", {"project": project})["recommendations"] == []


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"minReviewed": 0}, "minReviewed: must be a whole number from 1"),
        ({"min_reviewed": "three"}, "min_reviewed: must be a whole number from 1, got string"),
        ({"filters": []}, "filters: must be an object, got array"),
        ({"filters": {"stakes": 5}}, "stakes: must be one of {critical, high, low, medium}"),
        ({"since": "yesterday"}, "since: 'yesterday' is neither a date nor an RFC 3339 time."),
        ({"since": "2026-02-06", "until": "2026-02-05"}, "since: begins after until ends."),
        ({"project": 5}, "project: must be a text, got number"),
    ],
)
def test_what_is_wrong_is_named(cstp: Caller, params: dict[str, object], message: str) -> None:
    code, reported = cstp.error("getReasonStats", params)
    assert code == -32602
    assert reported.startswith(f"Validation failed: {message}")
