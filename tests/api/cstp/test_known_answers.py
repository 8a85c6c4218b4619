"""Compare figures with exact fractions computed elsewhere, and HTTP with CSTP."""

import csv
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.cstp.client import Caller, recorded, reviewed
from tests.support.paths import SHARED

FOLDER = SHARED / "calibration"
OUTCOMES = {1.0: "success", 0.5: "partial", 0.0: "failure"}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the data sets are not beside the repository")


def known() -> dict[str, Any]:
    answers: dict[str, Any] = json.loads((FOLDER / "known_answers.json").read_text(encoding="utf-8"))
    return answers


def rows() -> Iterator[dict[str, str]]:
    with (FOLDER / "llm_confidence.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


@pytest.fixture(scope="module")
def answers(cstp: Caller) -> dict[str, dict[str, Any]]:
    """The answers of four models to thousands of questions, each a decision with its outcome, on the ledger."""
    events = []
    for number, row in enumerate(rows()):
        source, name = f"/agents/{row['agent']}", f"llm-{number}"
        about = {"category": row["category"], "confidence": float(row["confidence"]), "project": "llm"}
        events += [recorded(name, None, source, **about), reviewed(name, OUTCOMES[float(row["outcome"])], source)]
    cstp.events(events)
    expected: dict[str, dict[str, Any]] = known()["real_llm"]["per_agent"]
    return expected


def test_the_figures_of_four_models(cstp: Caller, answers: dict[str, dict[str, Any]]) -> None:
    assert len(answers) == 4
    for agent, expected in answers.items():
        overall = cstp.calibration("llm", agent=agent)["overall"]
        assert overall["reviewedDecisions"] == expected["n"]
        assert overall["accuracy"] == round(expected["mean_outcome"], 3)
        assert overall["calibrationGap"] == round(expected["gap"], 3)
        assert overall["brierScore"] == round(expected["brier"], 3)
        assert overall["meanConfidence"] == round(expected["mean_confidence"], 3)


def test_groups_by_agent_are_those_of_each_agent(cstp: Caller, answers: dict[str, dict[str, Any]]) -> None:
    groups = cstp.result("getCalibration", {"project": "llm", "groupBy": "agent"})["groups"]
    assert {group["group"]: group["brierScore"] for group in groups} == {
        agent: round(expected["brier"], 3) for agent, expected in answers.items()
    }


@pytest.mark.parametrize("asked", [{}, {"agent": "gpt-4o"}, {"category": "lsat_ar_test"}, {"min_decisions": 9000}])
@pytest.mark.usefixtures("answers")
def test_two_interfaces_give_one_answer(cstp: Caller, asked: dict[str, Any]) -> None:
    response = cstp.http.get("/calibration", params={"project": "llm", "group_by": "category", **asked})
    assert response.status_code == 200
    plain = response.json()
    answer = cstp.result("getCalibration", {"project": "llm", "group_by": "category", **asked})
    names = {
        "brierScore": "brier_score",
        "accuracy": "accuracy",
        "calibrationGap": "gap",
        "meanConfidence": "mean_confidence",
    }
    pairs = [(answer["overall"], plain["overall"])] if plain["overall"] else []
    assert (answer["overall"] is None) == (plain["overall"] is None)
    pairs += list(zip(answer["groups"], plain["groups"], strict=True))
    for here, there in pairs:
        for name, field in names.items():
            assert here[name] == (None if there[field] is None else round(there[field], 3))
        assert here["interpretation"] == there["interpretation"]
        assert (here["totalDecisions"], here["reviewedDecisions"]) == (there["total"], there["reviewed"])
    for here, there in zip(answer["byConfidenceBucket"], plain["buckets"], strict=True):
        assert (here["bucket"], here["decisions"]) == (there["bucket"], there["decisions"])
        assert (here["successRate"], here["gap"]) == (round(there["success_rate"], 2), round(there["gap"], 2))
        judged = there["expected_rate"], there["expected_interpretation"]
        assert (here["expectedRate"], here["interpretation"]) == judged
        assert here["statedInterpretation"] == there["interpretation"]
    assert answer["recommendations"] == plain["recommendations"]
    assert answer.get("confidenceStats", {}).get("count") == plain["confidence_stats"]["count"]


@pytest.mark.parametrize("name", ["K1_minimum_n5", "K2_all_success_certain", "K3_bucket_edges"])
def test_small_sets_worked_out_by_hand(cstp: Caller, project: str, name: str) -> None:
    (data,) = (one for one in known()["datasets"] if one["id"] == name)
    events = []
    for number, (confidence, outcome) in enumerate(zip(data["confidences"], data["outcomes"], strict=True)):
        decision_id = f"{project[:40]}-{number}"
        events += [
            recorded(decision_id, project=project, confidence=confidence),
            reviewed(decision_id, OUTCOMES[outcome]),
        ]
    cstp.events(events)
    answer, expected = cstp.calibration(project), data["expected"]
    overall = answer["overall"]
    assert overall["reviewedDecisions"] == expected["n"]
    assert overall["brierScore"] == round(expected["brier"]["float"], 3)
    assert overall["accuracy"] == round(expected["mean_outcome"]["float"], 3)
    assert overall["calibrationGap"] == round(expected["gap_mean_outcome_minus_confidence"]["float"], 3)
    assert overall["interpretation"] == expected["interpretation_from_mean_outcome_gap"]
    shown = {bucket["bucket"]: bucket for bucket in answer["byConfidenceBucket"]}
    wanted = {bucket["bucket"]: bucket for bucket in expected["buckets"] if bucket["n"] >= 3}
    assert list(shown) == [bucket for bucket in ("0.9-1.0", "0.7-0.9", "0.5-0.7", "0.0-0.5") if bucket in wanted]
    for bucket, row in wanted.items():
        assert shown[bucket]["decisions"] == row["n"]
        assert shown[bucket]["successRate"] == round(row["mean_outcome"]["float"], 2)
        assert shown[bucket]["meanConfidence"] == round(row["mean_confidence"]["float"], 3)
