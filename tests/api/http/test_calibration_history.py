"""Trend, drift and comparison: /calibration and getCalibration give the same, and only on request."""

from datetime import datetime, timedelta
from re import sub
from typing import Any

import pytest

from projections.calibration.words import HISTORY_PARTS
from tests.api.cstp.client import Caller, recorded, reviewed

DAWN = datetime.fromisoformat("2025-01-01T00:00:00+00:00")
SNAKE_TO_CAMEL = {
    "step_days": "stepDays", "brier_score": "brierScore", "mean_confidence": "meanConfidence",
    "gap_interval": "gapInterval", "false_alarm_rate": "falseAlarmRate", "reviews_needed": "reviewsNeeded",
    "reviewed_before": "reviewedBefore", "reviewed_after": "reviewedAfter", "gap_before": "gapBefore",
    "gap_before_interval": "gapBeforeInterval", "gap_after": "gapAfter", "gap_after_interval": "gapAfterInterval",
    "brier_scores": "brierScores", "mean_difference": "meanDifference", "left_out": "leftOut",
    "adjusted_p": "adjustedP", "e_value": "eValue", "effective_questions": "effectiveQuestions",
}  # fmt: skip


def plain(cstp: Caller, project: str, **asked: object) -> Any:  # noqa: ANN401 - JSON
    response = cstp.http.get("/calibration", params={"project": project, **asked})  # type: ignore[dict-item]
    assert response.status_code == 200, response.text
    return response.json()


def asked_of(name: str, question: str) -> dict[str, object]:
    return {"type": "decision.asked.v1", "data": {"decision_id": name, "question": question}}


PARTS = "must be a list of at most 5 items, each one of {comparison, drift, plots, reviews_by_age, trend}"


@pytest.fixture
def year(cstp: Caller, project: str) -> str:
    """One decision a day by each of two agents on the same questions; both get worse after 200 days."""
    events: list[dict[str, object]] = []
    for day in range(365):
        for agent in ("ada", "bo"):
            name, at = f"{project[:40]}-{agent}-{day}", (DAWN + timedelta(days=day)).isoformat()
            fails = day % 10 == 0 if day < 200 else day % (2 if agent == "ada" else 3) == 0
            about = {"project": project, "category": "c", "confidence": 0.9 if agent == "ada" else 0.85}
            source = f"/agents/{agent}"
            events += [recorded(name, at, source, **about), reviewed(name, "failure" if fails else "success", source)]
            events += [{**asked_of(name, f"q{day}"), "source": source}]
    cstp.events(events)
    return project


def snake(value: object) -> object:
    """Return CSTP's answer with the names and times of HTTP."""
    camel_to_snake = {camel: name for name, camel in SNAKE_TO_CAMEL.items()}
    if isinstance(value, dict):
        names = {
            name: camel_to_snake.get(name, sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)) for name in value
        }
        return {names[name]: snake(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [snake(inner) for inner in value]
    return value.replace("+00:00", "Z") if isinstance(value, str) else value


def test_http_and_cstp_give_the_same_history(cstp: Caller, year: str) -> None:
    there = plain(cstp, year, include=",".join(HISTORY_PARTS), trend_days=60)
    here = cstp.result("getCalibration", {"project": year, "include": list(HISTORY_PARTS), "trendDays": 60})
    for name in HISTORY_PARTS:
        assert snake(here[name]) == there[name]


def test_what_is_not_asked_for_is_absent(cstp: Caller, year: str) -> None:
    assert not set(plain(cstp, year)) & set(HISTORY_PARTS)
    assert not set(cstp.result("getCalibration", {"project": year})) & set(HISTORY_PARTS)
    for name in HISTORY_PARTS:
        assert set(plain(cstp, year, include=name)) & set(HISTORY_PARTS) == {name}
        assert set(cstp.result("getCalibration", {"project": year, "include": [name]})) & set(HISTORY_PARTS) == {name}


def test_the_history_of_a_year(cstp: Caller, year: str) -> None:
    answer = plain(cstp, year, include="trend,drift,comparison")
    trend = answer["trend"]
    assert (trend["days"], trend["step_days"], len(trend["windows"])) == (30, 10, 35)
    assert trend["windows"][0]["since"] == "2025-01-01T00:00:00Z"
    assert trend["windows"][0]["reviewed"] == 60
    assert trend["windows"][-1]["gap"] < -0.2 < -0.1 < trend["windows"][0]["gap"]
    drift = answer["drift"]
    assert (drift["alarm"], drift["reviewed"]) == (True, 730)
    assert abs(drift["change"]["index"] - 400) <= 20
    changed = datetime.fromisoformat(drift["change"]["time"])
    assert abs(changed - (DAWN + timedelta(days=200))) <= timedelta(days=10)
    assert (drift["strata"], drift["left_out"], drift["reason"]) == (2, 0, None)
    earliest, latest = (datetime.fromisoformat(drift["change"][name]) for name in ("earliest", "latest"))
    assert earliest <= DAWN + timedelta(days=200) <= latest
    assert (latest - earliest < timedelta(days=60), drift["change"]["coverage"]) == (True, 0.9)
    assert drift["change"]["shift"]["interval"][0] < drift["change"]["shift"]["amount"] < -0.2
    (pair,) = answer["comparison"]["pairs"]
    assert (pair["agents"], pair["paired"], pair["shared"]) == (["ada", "bo"], True, 365)
    assert pair["interval"][0] < pair["mean_difference"] < pair["interval"][1]
    assert "note" in pair


def test_filters_and_time_apply(cstp: Caller, year: str) -> None:
    one = plain(cstp, year, include="trend,drift,comparison", agent="ada", until="2025-04-10")
    assert (one["drift"]["alarm"], one["drift"]["reviewed"]) == (False, 100)
    assert one["comparison"] == {"pairs": [], "left_out": 0, "ranks": []}
    assert one["trend"]["windows"][-1]["until"] == "2025-04-11T00:00:00Z"
    before = plain(cstp, year, include="drift", as_of=0)
    assert before["drift"]["reviewed"] == 0
    assert before["drift"]["reviews_needed"] == 60


def test_no_decisions_have_an_empty_history(cstp: Caller, project: str) -> None:
    answer = plain(cstp, project, include="comparison,drift,trend")
    assert answer["trend"]["windows"] == []
    assert (answer["drift"]["alarm"], answer["drift"]["p"], answer["drift"]["reviews_needed"]) == (False, None, 60)
    assert answer["comparison"] == {"pairs": [], "left_out": 0, "ranks": []}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"include": "trends"}, "include"),
        ({"include": ""}, "include"),
        ({"include": "trend,,drift"}, "include"),
        ({"trend_days": "0"}, "trend_days"),
        ({"trend_days": "3651"}, "trend_days"),
        ({"trend_days": "week"}, "trend_days"),
    ],
)
def test_what_is_wrong_is_named(cstp: Caller, project: str, given: dict[str, str], field: str) -> None:
    response = cstp.http.get("/calibration", params={"project": project, **given})
    assert (response.status_code, response.json()["field"]) == (400, field)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"include": "trend"}, f"include: {PARTS}"),
        ({"trendDays": 0}, "trendDays: must be a whole number from 1 to 3650"),
        ({"trend_days": 3651}, "trend_days: must be a whole number from 1 to 3650"),
        ({"trendDays": "many"}, "trendDays: must be a whole number from 1 to 3650, got str"),
    ],
)
def test_what_is_wrong_is_named_in_cstp(cstp: Caller, project: str, given: dict[str, object], said: str) -> None:
    code, message = cstp.error("getCalibration", {"project": project, **given})
    assert code == -32602
    assert message.startswith(f"Validation failed: {said}")


def test_outcomes_by_day_come_with_curves_where_reviews_are_missing(cstp: Caller, project: str) -> None:
    about: dict[str, Any] = {"project": project, "category": "tooling", "confidence": 0.8}
    names = [f"{project}-{number}" for number in range(12)]
    cstp.events([recorded(name, "2026-01-02T03:04:05Z", **about) for name in names])
    cstp.events([reviewed(name, "success") for name in names[:5]])
    found = plain(cstp, project, detail="curves")["by_day"]
    assert (found["decisions"], found["at_risk"], found["other_rate"]) == (12, 12, 0)
    assert found["success_rate"] + found["unreviewed_rate"] == pytest.approx(1)
    assert "by_day" in plain(cstp, project, include="reviews_by_age")
    assert "by_day" not in plain(cstp, project)
    cstp.events([reviewed(name, "failure") for name in names[5:]])
    assert "by_day" not in plain(cstp, project, detail="curves")
