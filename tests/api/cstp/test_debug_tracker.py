"""debugTracker: what waits, and what was taken up."""

import pytest

from tests.api.cstp.client import Caller
from tests.api.cstp.thoughts import decide, think


def test_the_tracker_shows_what_waits(cstp: Caller, agent: str) -> None:
    thoughts = [think(cstp, text, agentId=agent) for text in ("one", "two")]
    key = f"agent:{agent}"
    shown = cstp.result("debugTracker", {"key": key})
    assert list(shown) == ["sessions", "sessionCount", "detail"]
    assert (shown["sessions"], shown["sessionCount"]) == ([key], 1)
    assert (shown["detail"][key]["key"], shown["detail"][key]["inputCount"]) == (key, 2)
    ages = [one.pop("ageSeconds") for one in shown["detail"][key]["inputs"]]
    assert all(isinstance(age, int) and age >= 0 for age in ages)
    assert shown["detail"][key]["inputs"] == [
        {"id": thought, "type": "reasoning", "text": text, "source": "cstp:recordThought", "agent": agent}
        for thought, text in zip(thoughts, ("one", "two"), strict=True)
    ]
    everything = cstp.result("debugTracker")
    assert key in everything["sessions"]
    assert everything["sessionCount"] == len(everything["sessions"]) == len(everything["detail"])
    decision_id = decide(cstp, agentId=agent)["id"]
    after = cstp.result("debugTracker", {"key": key, "includeConsumed": True})
    assert (after["sessions"], after["sessionCount"], after["detail"]) == ([], 0, {})
    (consumed,) = [one for one in after["consumed"] if one["key"] == key]
    assert isinstance(consumed.pop("consumedAt"), int)
    assert consumed == {
        "key": key, "inputCount": 2, "agentId": agent, "decisionId": decision_id, "status": "consumed",
        "inputsSummary": [
            {"id": thought, "type": "reasoning", "text": text}
            for thought, text in zip(thoughts, ("one", "two"), strict=True)
        ],
    }  # fmt: skip


def test_the_tracker_lists_the_latest_decisions_first(cstp: Caller, agent: str) -> None:
    made = []
    for number in range(3):
        think(cstp, "t" * 200, decisionId=f"{agent}-{number}")
        made.append(decide(cstp, decisionId=f"{agent}-{number}")["id"])
    consumed = cstp.result("debugTracker", {"include_consumed": True})["consumed"]
    assert [one["decisionId"] for one in consumed][:3] == made[::-1]
    assert len(consumed) <= 20
    assert consumed[0]["inputsSummary"][0]["text"] == "t" * 80


@pytest.mark.parametrize(("given", "field"), [({"key": 5}, "key"), ({"includeConsumed": "yes"}, "includeConsumed")])
def test_what_is_wrong_with_a_look_is_reported(cstp: Caller, given: dict[str, object], field: str) -> None:
    code, message = cstp.error("debugTracker", given)
    assert code == -32602
    assert f"{field}: must be" in message


def test_the_view_of_thoughts_survives_a_replay(cstp: Caller, agent: str) -> None:
    think(cstp, "t", agentId=agent)
    decide(cstp, agentId=agent)
    view = cstp.http.get("/projections/thoughts").json()
    assert view["types"] == ["thought.recorded.v1", "thought.tracked.v1", "thought.adopted.v1"]
    assert view["view"]["by_agent"][agent] == {"thoughts": 1, "taken_up": 1}
