"""Threshold, AUC and Murphy diagram over HTTP: present where they were asked for."""

from typing import Any

import pytest

from tests.api.cstp.client import Caller, recorded, reviewed


@pytest.fixture
def mixed(cstp: Caller, project: str) -> str:
    events = []
    for number in range(40):
        name = f"{project[:40]}-{number}"
        events.append(recorded(name, None, None, project=project, confidence=0.9 if number % 2 else 0.6))
        outcome = "failure" if number % 8 == 0 else "partial" if number % 8 == 1 else "success"
        events.append(reviewed(name, outcome))
    cstp.events(events)
    return project


def figures(cstp: Caller, project: str, **asked: Any) -> Any:  # noqa: ANN401 - JSON
    response = cstp.http.get("/calibration", params={"project": project, **asked})
    assert response.status_code == 200, response.text
    return response.json()


def test_a_threshold_adds_what_acting_above_it_came_to(cstp: Caller, mixed: str) -> None:
    found = figures(cstp, mixed, threshold=0.8)["threshold"]
    assert (found["threshold"], found["reviewed"], found["acted_on"]) == (0.8, 40, 20)
    assert found["success_rate"] == pytest.approx(17.5 / 20)
    assert found["success_interval"][0] < 17.5 / 20 < found["success_interval"][1]
    assert found["net_benefit"] == pytest.approx((17.5 - 4 * 2.5) / 40)
    assert found["net_benefit_all"] == pytest.approx((32.5 - 4 * 7.5) / 40)
    assert found["net_benefit_none"] == 0
    assert found["gain_over_all"] == pytest.approx(found["net_benefit"] - found["net_benefit_all"])
    low, high = found["net_benefit_interval"]
    assert low < found["net_benefit"] < high


def test_they_are_absent_unless_asked_for(cstp: Caller, mixed: str) -> None:
    assert not {"threshold", "auc", "murphy"} & figures(cstp, mixed).keys()
    curves = figures(cstp, mixed, detail="curves")
    assert "threshold" not in curves
    assert curves["auc"]["pairs"] == 5 * 30 + 5 * 5 + 5 * 30
    assert 0 < curves["auc"]["interval"][0] < curves["auc"]["auc"] < curves["auc"]["interval"][1] < 1
    assert len(curves["murphy"]) == 100
    area = sum(point["stated"] for point in curves["murphy"]) / 100
    assert area == pytest.approx(curves["overall"]["brier_score"], abs=1e-12)
    few = figures(cstp, mixed, detail="curves", threshold=0.8, min_decisions=1000)
    assert not {"threshold", "auc", "murphy"} & few.keys(), "no figures without enough reviews"


def test_the_auc_is_null_if_all_outcomes_are_alike(cstp: Caller, project: str) -> None:
    names = [f"{project[:40]}-{number}" for number in range(6)]
    cstp.events([event for name in names for event in (
        recorded(name, None, None, project=project, confidence=0.9), reviewed(name, "success"),
    )])  # fmt: skip
    assert figures(cstp, project, detail="curves")["auc"] is None


def test_a_bad_threshold_is_refused(cstp: Caller) -> None:
    for value in ("1", "1.5", "-1", "x"):
        response = cstp.http.get("/calibration", params={"threshold": value})
        assert response.status_code == 400
        assert response.json()["field"] == "threshold"


def test_cstp_names_the_gap_of_a_range_too(cstp: Caller, mixed: str) -> None:
    here = cstp.result("getCalibration", {"project": mixed})["byConfidenceBucket"]
    there = figures(cstp, mixed)["buckets"]
    assert [row["reviewsNeededGap"] for row in here] == [row["reviews_needed_gap"] for row in there]
