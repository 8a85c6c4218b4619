"""checkDrift: its windows, its alerts and the evidence for them; row 10 of its users' problems."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.api.cstp.client import (
    OUTCOMES,
    Caller,
    recorded,
    reviewed,
)

Reported = tuple[float, float, str]
"""How many days ago, the stated confidence, and the outcomes of as many decisions as there are letters."""

WORSE: list[Reported] = [(60, 0.9, "S" * 28 + "F" * 2), (5, 0.9, "S" * 8 + "F" * 12)]


def post(cstp: Caller, project: str, *reported: Reported, **data: object) -> None:
    """Decisions of some days ago, and their reviews."""
    events: list[dict[str, object]] = []
    now = datetime.now(UTC)
    for days, confidence, letters in reported:
        for letter in letters:
            name = f"{project}-{data.get('category', '')}-{len(events)}"
            at = (now - timedelta(days=days)).isoformat()
            events += [recorded(name, at, None, project=project, confidence=confidence, **data)]
            events += [reviewed(name, OUTCOMES[letter])]
    cstp.events(events)


def test_a_decline_is_reported_with_its_evidence(cstp: Caller, project: str) -> None:
    post(cstp, project, *WORSE)
    answer = cstp.result("checkDrift", {"project": project})
    assert list(answer)[:5] == ["driftDetected", "recent", "historical", "alerts", "recommendations"]
    assert answer["driftDetected"] is True
    recent, historical = answer["recent"], answer["historical"]
    assert [recent[name] for name in ("window", "brierScore", "accuracy", "decisions")] == ["30d", 0.49, 0.4, 20]
    assert [historical[name] for name in ("window", "brierScore", "accuracy", "decisions")] == ["90d", 0.063, 0.933, 30]
    brier, accuracy = answer["alerts"]
    assert brier | {"p": 0} == {
        "type": "brier_degradation", "category": None, "recentValue": 0.49, "historicalValue": 0.063,
        "changePct": 673.7, "severity": "error", "message": "Brier score rose by 674% (0.06 to 0.49)", "p": 0,
    }  # fmt: skip
    assert accuracy | {"p": 0} == {
        "type": "accuracy_drop", "category": None, "recentValue": 0.4, "historicalValue": 0.933,
        "changePct": -57.1, "severity": "error", "message": "Accuracy fell by 57% (0.93 to 0.40)", "p": 0,
    }  # fmt: skip
    assert max(brier["p"], accuracy["p"]) < 0.025
    assert [advice["type"] for advice in answer["recommendations"]] == ["recalibrate", "review_process"]
    assert {advice["severity"] for advice in answer["recommendations"]} == {"info"}
    assert answer["unsupported"] == []
    assert (answer["change"]["alarm"], answer["change"]["reviewsNeeded"]) == (False, 10)


def test_what_chance_may_account_for_is_listed_apart(cstp: Caller, project: str) -> None:
    post(cstp, project, (60, 0.9, "SSSSSSSSSF"), (5, 0.9, "SSSFF"))
    answer = cstp.result("checkDrift", {"project": project})
    assert (answer["driftDetected"], answer["alerts"], answer["recommendations"]) == (False, [], [])
    assert [alert["type"] for alert in answer["unsupported"]] == ["brier_degradation", "accuracy_drop"]


def test_a_change_is_dated(cstp: Caller, project: str) -> None:
    reported = [(100 - at, 0.9, "S" if at < 50 or at % 3 == 0 else "F") for at in range(98)]
    post(cstp, project, *reported)
    change = cstp.result("checkDrift", {"project": project})["change"]
    assert change["alarm"] is True
    assert abs(datetime.fromisoformat(change["change"]["time"]) - (datetime.now(UTC) - timedelta(days=50))).days <= 4
    assert change["change"]["gapAfterInterval"][1] < 0


def test_row_10_the_windows_share_nothing_and_end(cstp: Caller, project: str) -> None:
    """One reference server counts 400-day-old decisions as "90d+", and a day in both windows."""
    post(
        cstp, project, (1, 0.9, "SSSSS"), (29.99, 0.9, "S"), (30.01, 0.9, "S"), (60, 0.9, "SSSSS"), (119.9, 0.9, "S"),
        (120.1, 0.9, "F"), (400, 0.9, "F" * 50),
    )  # fmt: skip
    answer = cstp.result("checkDrift", {"project": project})
    assert (answer["recent"]["decisions"], answer["historical"]["decisions"]) == (6, 7)
    assert (answer["historical"]["window"], answer["historical"]["accuracy"]) == ("90d", 1)
    assert answer["recent"]["since"] == answer["historical"]["until"]
    span = datetime.fromisoformat(answer["historical"]["until"]) - datetime.fromisoformat(answer["historical"]["since"])
    assert span == timedelta(days=90)


@pytest.mark.parametrize(
    ("reported", "needed", "message"),
    [
        ([(1, 0.9, "S")], {}, "Need at least 5 recent decisions for drift detection (found 1)"),
        ([], {}, "Need at least 5 recent decisions for drift detection (found 0)"),
        ([(1, 0.9, "SSSSS"), (60, 0.9, "S")], {}, "Need at least 5 historical decisions for drift detection (found 1)"),
        ([(1, 0.9, "SS")], {"minDecisions": 3}, "Need at least 3 recent decisions for drift detection (found 2)"),
        ([(60, 0.9, "SSSSS")], {"min_decisions": 1}, "Need at least 1 recent decisions for drift detection (found 0)"),
    ],
)
def test_too_few_decisions(
    cstp: Caller, project: str, reported: list[Reported], needed: dict[str, int], message: str
) -> None:
    post(cstp, project, *reported)
    answer = cstp.result("checkDrift", {"project": project, **needed})
    assert (answer["driftDetected"], answer["recent"], answer["historical"], answer["alerts"]) == (
        False,
        None,
        None,
        [],
    )
    assert answer["recommendations"] == [{"type": "insufficient_data", "message": message, "severity": "info"}]


def test_a_single_decision_in_each_window_is_enough_where_that_is_asked(cstp: Caller, project: str) -> None:
    post(cstp, project, (60, 0.9, "S"), (1, 0.9, "F"))
    answer = cstp.result("checkDrift", {"project": project, "minDecisions": 1})
    assert (answer["recent"]["decisions"], answer["historical"]["decisions"]) == (1, 1)
    assert (answer["driftDetected"], len(answer["unsupported"])) == (False, 2)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"thresholdBrier": 7}, ["accuracy_drop"]),
        ({"brier_threshold": 7}, ["accuracy_drop"]),
        ({"threshold_brier": 7, "thresholdAccuracy": 0.6}, []),
        ({"accuracy_threshold": 0.6}, ["brier_degradation"]),
        ({"thresholdBrier": 0, "threshold_accuracy": 0}, ["brier_degradation", "accuracy_drop"]),
        ({"thresholdBrier": None}, ["brier_degradation", "accuracy_drop"]),
    ],
)
def test_thresholds_in_every_spelling(cstp: Caller, project: str, given: dict[str, object], found: list[str]) -> None:
    post(cstp, project, *WORSE)
    answer = cstp.result("checkDrift", {"project": project, **given})
    assert [alert["type"] for alert in answer["alerts"]] == found
    assert answer["unsupported"] == []


def test_filters(cstp: Caller, project: str) -> None:
    post(cstp, project, *WORSE, category="tooling")
    post(cstp, project, (60, 0.9, "S" * 9 + "F"), (5, 0.9, "S" * 9 + "F"), category="process")
    assert cstp.result("checkDrift", {"project": project, "category": "process"})["driftDetected"] is False
    (alert, _) = cstp.result("checkDrift", {"project": project, "category": "tooling"})["alerts"]
    assert alert["category"] == "tooling"
    assert alert["message"].startswith("tooling: Brier score rose")
    nobody = cstp.result("checkDrift", {"project": project, "agent": "nobody"})
    assert nobody["recent"] is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"minDecisions": 0}, "minDecisions: must be a whole number from 1"),
        ({"min_decisions": "five"}, "min_decisions: must be a whole number from 1, got string"),
        ({"thresholdBrier": -0.1}, "thresholdBrier: must be a number from 0"),
        ({"brier_threshold": "a"}, "brier_threshold: must be a number from 0, got string"),
        ({"thresholdAccuracy": True}, "thresholdAccuracy: must be a number from 0, got boolean"),
        ({"project": 5}, "project: must be a text, got number"),
    ],
)
def test_what_is_wrong_is_named(cstp: Caller, given: dict[str, object], said: str) -> None:
    assert cstp.error("checkDrift", given) == (-32602, f"Validation failed: {said}")
