"""The evidence beside the figures, over HTTP: /calibration and getCalibration tell the same."""

import csv
import json
from typing import Any

import pytest

from tests.api.cstp.client import Caller, recorded, reviewed
from tests.projections.short_decisions import KNOWN

NIAMEY = KNOWN.with_name("niamey_precip_2016.csv")
FORECASTERS = ("Logistic", "EMOS", "ENS", "EPC")
SNAKE_TO_CAMEL = {
    "success_interval": "successInterval",
    "gap_interval": "gapInterval",
    "supported": "supported",
    "reviews_needed": "reviewsNeeded",
    "log_score": "logScore",
    "log_score_infinite": "logScoreInfinite",
    "skill": "skill",
    "sharpness": "sharpness",
    "corp": "corp",
    "in_the_large": "inTheLarge",
    "spiegelhalter": "spiegelhalter",
    "unreviewed": "unreviewed",
    "without_confidence": "withoutConfidence",
    "too_few_for": "tooFewFor",
}


def plain(cstp: Caller, project: str, **asked: Any) -> Any:  # noqa: ANN401 - JSON
    response = cstp.http.get("/calibration", params={"project": project, **asked})
    assert response.status_code == 200, response.text
    return response.json()


@pytest.fixture
def mixed(cstp: Caller, project: str) -> str:
    """Two categories, one of them badly overconfident; some unreviewed, some without a stated confidence."""
    events = []
    for number in range(240):
        name, logic = f"{project[:40]}-{number}", number % 4 == 0
        about: dict[str, Any] = {"project": project, "category": "logic" if logic else "facts"}
        about |= {"confidence": 0.9 if logic else 0.8, "review_by": "2020-01-01T00:00:00Z"}
        if number % 12 == 11:
            del about["confidence"]
        events.append(recorded(name, None, None, **about))
        if number % 10:
            won = number % 16 == 0 if logic else number % 20 != 3
            events.append(reviewed(name, "success" if won else "failure"))
    cstp.events(events)
    return project


@pytest.mark.parametrize("detail", [None, "figures", "curves"])
def test_http_and_cstp_give_the_same_evidence(cstp: Caller, mixed: str, detail: str | None) -> None:
    asked = {} if detail is None else {"detail": detail}
    there = plain(cstp, mixed, group_by="category", **asked)
    here = cstp.result("getCalibration", {"project": mixed, "groupBy": "category", **asked})
    for snake, camel in SNAKE_TO_CAMEL.items():
        assert here["overall"][camel] == there["overall"][snake]
        assert [group[camel] for group in here["groups"]] == [group[snake] for group in there["groups"]]
    for snake, camel in {"shrunk_gap": "shrunkGap", "shrunk_weight": "shrunkWeight"}.items():
        assert [group[camel] for group in here["groups"]] == [group[snake] for group in there["groups"]]
    for bucket, other in zip(here["byConfidenceBucket"], there["buckets"], strict=True):
        assert bucket["supported"] == other["supported"]
        assert bucket["statedGapInterval"] == other["stated_gap_interval"]
    corp = here["overall"]["corp"]
    assert (corp["curve"] is None, corp["band"] is None) == (detail != "curves", detail != "curves")
    assert here["coverage"]["withoutConfidence"] == there["coverage"]["without_confidence"] == 20
    assert here["coverage"]["unreviewed"] == there["coverage"]["unreviewed"] == 24


def test_curves_come_with_a_band(cstp: Caller, mixed: str) -> None:
    found = plain(cstp, mixed, detail="curves")
    corp = found["overall"]["corp"]
    assert [point["confidence"] for point in corp["curve"]] == [0.8, 0.9]
    assert [bound["confidence"] for bound in corp["band"]] == [0.8, 0.9]
    assert all(0 <= bound["low"] <= bound["high"] <= 1 for bound in corp["band"])
    assert plain(cstp, mixed)["recalibration"] is None


def test_http_and_cstp_give_the_same_maps(cstp: Caller, project: str) -> None:
    """Logic is badly overconfident: a map for all decisions, and one for each category."""
    events = []
    for number in range(400):
        name, logic = f"{project[:40]}-{number}", number % 2 == 0
        about: dict[str, Any] = {"project": project, "category": "logic" if logic else "facts", "confidence": 0.9}
        won = number % 8 == 0 if logic else number % 20 != 3
        events += [recorded(name, None, None, **about), reviewed(name, "success" if won else "failure")]
    cstp.events(events)
    there = plain(cstp, project, detail="curves")
    found = there["recalibration"]
    assert found["reviewed"] == 400
    assert sum(meaning["reviewed"] for meaning in found["meanings"]) == 400
    assert found["gain"] == pytest.approx(found["stated_brier_score"] - found["mapped_brier_score"])
    assert 0 < found["gain_lower_bound"] < found["gain"]
    assert found["family"] in {"logit_shift", "beta"}
    assert found["meanings"][0]["mapped"] < 0.8
    assert [one["category"] for one in there["recalibration_by_category"]] == ["facts", "logic"]
    here = cstp.result("getCalibration", {"project": project, "detail": "curves"})
    assert here["recalibration"]["meanings"] == found["meanings"]
    assert here["recalibration"]["gainLowerBound"] == found["gain_lower_bound"]
    for own, other in zip(here["recalibrationByCategory"], there["recalibration_by_category"], strict=True):
        assert own["category"] == other["category"]
        assert own["sharedBrierScore"] == other["shared_brier_score"]
        assert own["meanings"] == other["meanings"]
    for fewer in (plain(cstp, project), plain(cstp, project, detail="curves", category="logic")):
        assert "recalibration_by_category" not in fewer


def test_one_call_shows_the_category_that_the_whole_hides(cstp: Caller, mixed: str) -> None:
    for found in (plain(cstp, mixed), cstp.calibration(mixed)):
        warnings = [one for one in found["recommendations"] if one["type"] == "category_warning"]
        assert [(one["severity"], one["supported"]) for one in warnings] == [("warning", True)] * 2
        assert warnings[0]["message"].startswith("In logic, actual success is ")
        assert warnings[1]["message"].startswith("In facts, actual success is "), "the underconfident category"


def test_unreviewed_decisions_are_counted_beside_every_figure(cstp: Caller, mixed: str) -> None:
    found = plain(cstp, mixed, group_by="category")
    groups = {group["group"]: group for group in found["groups"]}
    for name in ("unreviewed", "without_confidence", "total", "reviewed"):
        assert sum(group[name] for group in groups.values()) == found["overall"][name] == found["coverage"][name]
    few = plain(cstp, mixed, min_decisions=1000)
    assert few["overall"] is None
    assert few["coverage"] == found["coverage"]


def test_what_a_detail_may_be(cstp: Caller, project: str) -> None:
    response = cstp.http.get("/calibration", params={"detail": "all"})
    assert response.status_code == 400
    assert (response.json()["field"], response.json()["advice"]) == ("detail", "Choose one of figures, curves.")
    assert cstp.result("getCalibration", {"project": project, "detail": "all"})["ignored"] == ["detail"]


@pytest.mark.skipif(not KNOWN.is_file(), reason="the data sets are not beside the repository")
def test_the_published_decomposition_of_four_forecasters(cstp: Caller, project: str) -> None:
    """Each an agent of this ledger (Dimitriadis, Gneiting, Jordan 2021)."""
    events = []
    with NIAMEY.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for forecaster in FORECASTERS:
                name, source = f"{project[:30]}-{forecaster}-{row['date']}", f"/agents/{forecaster}"
                about = {"project": project, "confidence": float(row[forecaster])}
                outcome = "success" if row["obs"] == "1" else "failure"
                events += [recorded(name, f"{row['date']}T12:00:00Z", source, **about), reviewed(name, outcome, source)]
    cstp.events(events)
    answers = json.loads(KNOWN.read_text(encoding="utf-8"))["real_niamey_2016"]
    for forecaster in FORECASTERS:
        exact, found = answers["computed"][forecaster], plain(cstp, project, agent=forecaster)["overall"]
        assert found["reviewed"] == exact["n"]
        assert found["brier_score"] == pytest.approx(exact["brier"], abs=1e-9)
        assert found["corp"]["miscalibration"] == pytest.approx(exact["MCB"], abs=1e-9)
        assert found["corp"]["discrimination"] == pytest.approx(exact["DSC"], abs=1e-9)
        assert found["corp"]["uncertainty"] == pytest.approx(exact["UNC"], abs=1e-9)
        assert found["gap"] == pytest.approx(exact["gap"], abs=1e-9)
        assert found["spiegelhalter"]["z"] == pytest.approx(exact["spiegelhalter_z"], abs=1e-9)
    published = answers["published"]["EMOS"]
    emos = plain(cstp, project, agent="EMOS")["overall"]
    assert round(emos["corp"]["miscalibration"], 4) == published["miscalibration"]
    assert round(emos["corp"]["discrimination"], 4) == published["discrimination"]
    assert round(emos["corp"]["uncertainty"], 3) == published["uncertainty"]
