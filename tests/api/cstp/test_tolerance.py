"""Values that the reference server takes although its documents do not: each call succeeds and names them."""

from typing import Any

import msgspec
import pytest

from api.cstp.method_table import METHODS
from tests.api.cstp.client import Caller, recorded, reviewed
from tests.api.cstp.wrong_params import FILTERED, parameters
from tests.api.http.posts import fresh, head

pytestmark = pytest.mark.trial("D6")

NAMES = [method.removeprefix("cstp.") for method in METHODS]


@pytest.mark.parametrize("method", FILTERED)
def test_filters_that_are_null_are_no_filters(cstp: Caller, method: str) -> None:
    plain, null = cstp.result(method), cstp.result(method, {"filters": None})
    assert null.pop("ignored") == ["filters"]
    assert set(null) == set(plain)


def test_a_confidence_in_a_text_is_that_confidence(cstp: Caller, project: str) -> None:
    params = {"decision": "x", "confidence": "0.7", "pr": "42", "project": project, "trace": [{"step": "1"}]}
    answer = cstp.result("recordDecision", {**params, "reasons": [{"text": "t"}, {"text": "u", "strength": "1"}]})
    assert answer["ignored"] == ["confidence", "reasons[1].strength", "trace[0].step", "pr"]
    assert answer["used"] == {"confidence": 0.7, "pr": 42, "reasons[1].strength": 1, "trace[0].step": 1}
    found = cstp.decision(answer["id"])
    assert (found["confidence"], found["pr"], found["reasons"][1]["strength"]) == (0.7, 42, 1)
    updated = cstp.result("updateDecision", {"id": answer["id"], "updates": {"confidence": "6e-1"}})
    assert (updated["used"], cstp.decision(answer["id"])["confidence"]) == ({"updates.confidence": 0.6}, 0.6)
    pre = cstp.result("preAction", {"action": {"description": "y", "confidence": "0.4"}, "queryLimit": "3"})
    assert pre["used"] == {"action.confidence": 0.4, "queryLimit": 3}
    assert cstp.decision(pre["decisionId"])["confidence"] == 0.4


@pytest.mark.parametrize(
    "text", ["1.5", "-0.1", "NaN", "inf", "1e999", "high", "0,7", " 0.7", "0x1", "1_0", "", "\u0660.\u0667", "0" * 99]
)
def test_a_text_that_states_no_confidence_is_refused(cstp: Caller, text: str) -> None:
    before = head(cstp.http)
    code, message = cstp.error("recordDecision", {"decision": "x", "confidence": text})
    assert (code, message.partition(", got ")[0]) == (
        -32602,
        "Validation failed: confidence: must be between 0.0 and 1.0",
    )
    assert cstp.error("listDecisions", {"limit": "4.2"})[0] == -32602
    assert head(cstp.http) == before


@pytest.mark.parametrize(("span", "days"), [("7D", 7), ("2W", 14), ("1M", 30)])
def test_a_span_in_capitals(cstp: Caller, span: str, days: int) -> None:
    answer = cstp.result("recordDecision", {"decision": "x", "review_in": span})
    assert (answer["ignored"], answer["used"]) == (["review_in"], {"review_in": span.lower()})
    same = cstp.decision(cstp.record(review_in=f"{days}d"))
    assert cstp.decision(answer["id"])["review_by"] == same["review_by"]


def without_times(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if not name.startswith("queryTime")}


@pytest.mark.trial("N17")
@pytest.mark.parametrize(
    ("method", "params", "name", "same"),
    [
        ("ready", {"minPriority": "urgent"}, "minPriority", {"minPriority": "low"}),
        ("queryDecisions", {"query": "queue", "retrievalMode": "fuzzy"}, "retrievalMode",
         {"query": "queue", "retrievalMode": "semantic"}),
        ("queryDecisions", {"query": "queue", "bridge_side": "top"}, "bridge_side", {"query": "queue"}),
        ("queryDecisions", {"filters": {"status": "decided"}}, "status", {}),
        ("queryDecisions", {"status": ["decided", "pending"]}, "status", {"status": "pending"}),
        ("getSessionContext", {"format": "xml"}, "format", {"format": "json"}),
        ("getSessionContext", {"include": ["ready", "mood"]}, "include", {"include": ["ready"]}),
        ("getSessionContext", {"include": ["mood"]}, "include", {"include": []}),
        ("getCalibration", {"window": "7d"}, "window", {}),
        ("getCalibration", {"filters": {"window": "forever"}}, "window", {}),
        ("listDecisions", {"status": "decided", "sort": "mood", "order": "up"}, "order", {}),
        ("ready", {"actionTypes": ["bogus"]}, "actionTypes", {}),
        ("getCalibration", {"groupBy": "colour", "stakes": "huge"}, "stakes", {}),
        ("getCalibration", {"detail": "long", "include": ["mood"]}, "include", {}),
        ("getReasonStats", {"filters": {"stakes": "huge"}}, "stakes", {}),
        ("queryDecisions", {"filters": {"stakes": ["huge"]}}, "stakes", {}),
        ("getNeighbors", {"id": "d1", "direction": "up", "edgeType": "causes"}, "direction", {"id": "d1"}),
        ("getGraph", {"id": "d1", "edgeTypes": ["causes"]}, "edgeTypes", {"id": "d1"}),
        ("getCompacted", {"level": "deep"}, "level", {}),
    ],
)  # fmt: skip
def test_an_unknown_word_counts_as_absent(
    cstp: Caller, method: str, params: dict[str, object], name: str, same: dict[str, object]
) -> None:
    cstp.judge("words", [(0.5, "SSFFF")])
    answer = cstp.result(method, params)
    assert name in answer.pop("ignored")
    answer.pop("used", None)
    assert without_times(answer) == without_times(cstp.result(method, same))


def test_a_filter_that_keeps_some_words_says_which(cstp: Caller) -> None:
    answer = cstp.result("queryDecisions", {"filters": {"status": ["decided", "pending"]}})
    assert (answer["ignored"], answer["used"]) == (["status"], {"status": ["pending"]})


@pytest.mark.parametrize("method", NAMES)
def test_every_number_may_be_in_a_text(cstp: Caller, method: str) -> None:
    """Whatever the call then says, it does not refuse that parameter."""
    for one in parameters(method):
        if one.is_number:
            frame = {"jsonrpc": "2.0", "id": 1, "method": f"cstp.{method}", "params": one.call("1")}
            reply = cstp.post(msgspec.json.encode(frame))
            if "error" in reply:
                assert one.name not in reply["error"].get("data", {}).get("fields", []), reply
            else:
                assert (one.name in reply["result"]["ignored"], reply["result"]["used"][one.name]) == (True, 1)


def test_a_call_without_such_values_names_none(cstp: Caller, project: str) -> None:
    word = fresh()
    cstp.events([recorded(project, decision=word, confidence=0.5), reviewed(project, "success")])
    for method, params in (
        ("queryDecisions", {"query": word, "filters": {"minConfidence": 0.1, "category": None}}),
        ("recordDecision", {"decision": word, "confidence": None, "reviewIn": "7d"}),
        ("getCalibration", {"window": "30d"}),
    ):
        assert not {"ignored", "used"} & cstp.result(method, params).keys()
