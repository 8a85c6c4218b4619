"""With many categories, answers have the largest, and say how many others there are."""

import httpx
import pytest

from tests.api.cstp.client import Caller
from tests.api.http.posts import LINES, ndjson, recorded, reviewed

CATEGORIES = 130


@pytest.mark.trial("N3")
def test_answers_are_bounded_and_say_what_is_left_out(empty_cstp: Caller) -> None:
    def event(number: int, repeat: int) -> list[dict[str, object]]:
        name = f"d{number}-{repeat}"
        return [recorded(name, category=f"c{number:03}", confidence=0.8), reviewed(name, "success")]

    events = [
        each
        for number in range(CATEGORIES)
        for repeat in range(6 if number < 3 else 1)
        for each in event(number, repeat)
    ]
    answer = empty_cstp.http.post("/events", content=ndjson(events), headers=LINES)
    assert answer.status_code == httpx.codes.CREATED, answer.text

    calibration = empty_cstp.result("getCalibration", {"groupBy": "category"})
    assert calibration["cut"] == {"by_category": CATEGORIES - 50}
    assert [row["category"] for row in calibration["by_category"]][:4] == ["c000", "c001", "c002", "c003"]
    assert len(calibration["groups"]) == 50
    assert (calibration["groupsTotal"], calibration["groupsNext"]) == (CATEGORIES, 50)

    stats = empty_cstp.result("getStats")
    assert (len(stats["byCategory"]), stats["cut"]) == (100, {"byCategory": CATEGORIES - 100})
    assert stats["byCategory"]["c000"] == 6

    assert empty_cstp.result("ready")["cut"] == {"driftCategories": CATEGORIES - 20}
    assert "cut" not in empty_cstp.result("ready", {"actionTypes": ["review_outcome"]})

    context = empty_cstp.result("getSessionContext")
    assert context["cut"] == {"calibrationByCategory": CATEGORIES - 50}
    assert sorted(context["calibrationByCategory"]) == ["c000", "c001", "c002"]
