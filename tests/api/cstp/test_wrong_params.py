"""Wrong parameters of every method: the field as the caller spelled it, what is allowed, and nothing written."""

from typing import Any

import msgspec
import pytest

from api.cstp.method_table import METHODS
from events.decode_error_messages import json_type
from tests.api.cstp.client import Caller
from tests.api.cstp.wrong_params import (
    FILTERED,
    Parameter,
    parameters,
    shapes_of,
)
from tests.api.http.posts import head

NAMES = [method.removeprefix("cstp.") for method in METHODS]

STRAYS = (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1" + b"0" * 5000, b'"\\ud800"', b'"a\\udfff"')
"""What JSON, or what some write for it, can say and no parameter can be."""

INSTANTS = ("since", "until", "dateFrom", "date_from", "dateTo", "date_to", "dateAfter", "date_after", "dateBefore",
            "date_before")  # fmt: skip
NO_INSTANTS = (
    "yesterday",
    "2026-02-30",
    "2026-13-01",
    "1",
    "0000-01-01",
    "9999-12-31T23:59:59-01:00",
    "\x00",
    "x" * 999,
)


BESIDE = {
    *("query", "limit", "offset", "top_k", "topK", "retrievalMode", "retrieval_mode", "hybridWeight", "hybrid_weight"),
    *("bridgeSide", "bridge_side", "includeReasons", "include_reasons", "includeDetail", "include_detail", "compacted"),
    *("embedding", "embeddingModel", "embedding_model"),
}
"""Parameters of a method with filters that are none."""


def frame(method: str, params: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 7, "method": f"cstp.{method}", "params": params})


def refused(cstp: Caller, body: bytes, field: str) -> str:
    """What the answer to a body says of a field that it must refuse."""
    reply = cstp.post(body)
    assert reply["id"] == 7, reply
    assert reply.get("error", {}).get("code") == -32602, (body[:300], reply)
    assert field in reply["error"]["data"]["fields"], (body[:300], reply)
    _, there, rule = f" {reply['error']['message']}".partition(f" {field}: must be ")
    assert there, (body[:300], reply)
    return str(rule)


def in_filters(one: Parameter, value: object) -> dict[str, object]:
    return {"filters": one.call(value)}


def test_every_method_has_its_parameters_found() -> None:
    """Those that have none take none: a new method is covered by itself."""
    without = {name for name in NAMES if not parameters(name)}
    assert without <= {"reindex", "mapControls", "exportEvidenceBundle"}
    assert {one.name for one in parameters("recordDecision")} >= {"reviewIn", "review_in", "reasons[1].strength"}
    assert {one.name for one in parameters("updateDecision")} >= {"decision_id", "updates.confidence"}
    assert len({id(shape) for name in NAMES for shape in shapes_of(METHODS[f"cstp.{name}"].answer).values()}) > 8


@pytest.mark.parametrize("method", NAMES)
def test_a_value_of_another_type_or_beyond_a_bound_is_refused_by_name(cstp: Caller, method: str) -> None:
    before = head(cstp.http)
    for one in parameters(method):
        for value in one.values:
            rule = refused(cstp, frame(method, one.call(value)), one.name)
            assert [bound for bound in one.bounds if bound not in rule] == [], (one.name, rule)
        assert head(cstp.http) == before, one.name


@pytest.mark.parametrize("method", FILTERED)
def test_the_same_within_filters(cstp: Caller, method: str) -> None:
    before = head(cstp.http)
    for one in parameters(method):
        for value in one.values if one.name not in BESIDE else ():
            refused(cstp, frame(method, in_filters(one, value)), one.name)
    assert head(cstp.http) == before


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("stray", STRAYS, ids=lambda stray: stray[:12].decode())
def test_what_no_parameter_can_be_is_refused_by_name(cstp: Caller, method: str, stray: bytes) -> None:
    before = head(cstp.http)
    for one in parameters(method):
        body = frame(method, one.call("stray")).replace(b'"stray"', stray)
        said = refused(cstp, body, one.name)
        assert said.startswith("Unicode text" if stray.startswith(b'"') else "a number between ")
    assert head(cstp.http) == before


@pytest.mark.parametrize("method", NAMES)
def test_an_instant_that_is_none_is_refused_by_the_name_it_was_given(cstp: Caller, method: str) -> None:
    for one in parameters(method):
        if one.path[-1] in INSTANTS:
            for text in NO_INSTANTS:
                params = {"project": "p", **one.call(text)}
                error = cstp.post(frame(method, params))["error"]
                assert (error["code"], error["data"]["fields"]) == (-32602, [one.name]), (params, error)
                assert "is neither a date nor an RFC 3339 time" in error["message"]


@pytest.mark.parametrize("name", ["idempotencyKey", "idempotency_key"])
@pytest.mark.parametrize("key", ["a\nb", "\x7f", "\u200b", "\x00"])
def test_a_key_that_does_not_print_is_refused_by_the_name_it_was_given(cstp: Caller, name: str, key: str) -> None:
    decision_id = cstp.record()
    before = head(cstp.http)
    for method, params in (
        ("recordDecision", {"decision": "x"}),
        ("reviewDecision", {"id": decision_id, "outcome": "success"}),
        ("updateDecision", {"id": decision_id, "updates": {"pattern": "p"}}),
        ("recordThought", {"text": "t"}),
        ("recordThought", {"text": "t", "id": decision_id}),
        ("setPreserve", {"id": decision_id}),
    ):
        said = cstp.error(method, {**params, name: key})
        assert said == (-32602, f"Validation failed: {name}: must be 1..128 printable characters")
    assert head(cstp.http) == before


@pytest.mark.parametrize("name", ["taskDescription", "task_description"])
def test_a_task_of_too_many_words_is_refused_by_the_name_it_was_given(cstp: Caller, name: str) -> None:
    cstp.record()
    words = " ".join(f"w{number}" for number in range(1001))
    code, message = cstp.error("getSessionContext", {name: words})
    assert (code, message.partition(":")[0]) == (-32602, name)


@pytest.mark.parametrize("name", ["reviewIn", "review_in"])
def test_a_span_that_is_none_is_refused_by_the_name_it_was_given(cstp: Caller, name: str) -> None:
    code, message = cstp.error("recordDecision", {"decision": "x", name: "7y"})
    assert (code, message.partition(": must be ")[0]) == (-32602, f"Validation failed: {name}")


@pytest.mark.parametrize("names", [("minConfidence", "maxConfidence"), ("min_confidence", "max_confidence")])
def test_bounds_that_cross_are_refused_by_the_names_they_were_given(cstp: Caller, names: tuple[str, str]) -> None:
    code, message = cstp.error("queryDecisions", {"filters": {names[0]: 0.6, names[1]: 0.5}})
    assert (code, message) == (-32602, f"Validation failed: {names[0]}: must not be above {names[1]}")


@pytest.mark.parametrize("method", FILTERED)
@pytest.mark.parametrize("filters", ["5", 5, [], ["a"], True])
def test_row_19_filters_that_are_no_object_are_no_fault(cstp: Caller, method: str, filters: object) -> None:
    said = cstp.error(method, {"filters": filters})
    assert said == (-32602, f"Validation failed: filters: must be an object, got {json_type(filters)}")


@pytest.mark.parametrize("stray", STRAYS, ids=lambda stray: stray[:12].decode())
@pytest.mark.parametrize("where", ["id", "jsonrpc", "method", "more"])
def test_outside_the_parameters_it_is_no_json(cstp: Caller, stray: bytes, where: str) -> None:
    whole: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "cstp.getStats", "params": {}, where: "stray"}
    for params in (b"{}", b'{"a":NaN}'):
        body = msgspec.json.encode(whole).replace(b'"stray"', stray).replace(b"{}", params)
        assert cstp.post(body)["error"] == {"code": -32700, "message": "Invalid JSON"}


def test_strays_are_named_at_any_depth_and_in_names(cstp: Caller) -> None:
    body = frame("recordDecision", {"decision": "x", "trace": [{}, {"tags": ["a", "stray"]}], "name": 1})
    body = body.replace(b'"stray"', b'"\\udc00"').replace(b'"name":1', b'"\\ud800":[1e999]')
    error = cstp.post(body)["error"]
    assert error["data"]["fields"] == ["trace[1].tags[1]", "\\ud800", "\\ud800[0]"]


def test_a_pair_of_surrogates_is_a_character(cstp: Caller) -> None:
    body = frame("recordDecision", {"decision": "pair"}).replace(b'"pair"', b'"\\ud83d\\ude00"')
    assert cstp.decision(cstp.post(body)["result"]["id"])["decision"] == "\U0001f600"


def test_of_very_many_strays_some_are_named_and_a_body_that_is_too_long_is_not_searched(cstp: Caller) -> None:
    def body(count: int) -> bytes:
        return frame("getStats", {"a": "stray"}).replace(b'"stray"', b"[" + b",".join([b"NaN"] * count) + b"]")

    assert cstp.post(body(50_000))["error"]["data"]["fields"] == [f"a[{index}]" for index in range(20)]
    assert cstp.post(body(500_000))["error"]["code"] == -32700
