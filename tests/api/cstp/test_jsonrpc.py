"""JSON-RPC over HTTP: frames, error codes, and the routes that want no token."""

import pytest

from api.cstp.jsonrpc import RpcCall, RpcError, rpc_error_of
from api.cstp.method_table import METHODS, call_method
from api.principal import OWNER
from events.decode_error_messages import json_type
from ledger.errors import LedgerBusy
from tests.api.cstp.client import Caller
from tests.support.event_loop import run

SEVEN = [
    "cstp.recordDecision",
    "cstp.reviewDecision",
    "cstp.updateDecision",
    "cstp.getDecision",
    "cstp.listDecisions",
    "cstp.getStats",
    "cstp.getCalibration",
]


@pytest.mark.parametrize("body", [b"", b"{", b"not json", b'{"a": NaN}', b"\xff\xfe", b'{"id":"\xff"}', b"[" * 100_000])
def test_what_is_not_json_is_a_parse_error(cstp: Caller, body: bytes) -> None:
    assert cstp.post(body) == {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Invalid JSON"}}


@pytest.mark.parametrize("body", [b"1", b'"a"', b"null"])
def test_all_that_is_no_object_is_refused(cstp: Caller, body: bytes) -> None:
    reply = cstp.post(body)
    assert reply["id"] is None
    assert (reply["error"]["code"], reply["error"]["message"]) == (-32600, "Request must be an object")


@pytest.mark.parametrize("version", [b'"jsonrpc":"1.0",', b'"jsonrpc":2.0,', b""])
def test_another_version_is_refused(cstp: Caller, version: bytes) -> None:
    error = cstp.post(b'{%b"id":"a","method":"cstp.getStats"}' % version)["error"]
    assert (error["code"], error["message"]) == (-32600, "Invalid JSON-RPC version")
    assert set(error["data"]) == {"expected", "got"}


@pytest.mark.parametrize("method", [b"", b',"method":null', b',"method":""'])
def test_a_method_is_required(cstp: Caller, method: bytes) -> None:
    error = cstp.post(b'{"jsonrpc":"2.0","id":1%b}' % method)["error"]
    assert error == {"code": -32600, "message": "Method is required"}


@pytest.mark.parametrize("method", [b"5", b"true", b"[]", b"{}"])
def test_row_19_a_method_that_is_no_text_is_an_invalid_request(cstp: Caller, method: bytes) -> None:
    error = cstp.post(b'{"jsonrpc":"2.0","id":1,"method":%b}' % method)["error"]
    assert (error["code"], error["message"]) == (-32600, "Method must be a string")


@pytest.mark.parametrize("params", [None, [], ["a"], "a", 1, True])
def test_params_are_named(cstp: Caller, params: object) -> None:
    reply = cstp.ask("getStats", params)
    assert reply["error"]["code"] == -32602
    assert reply["error"]["message"] == "Params must be an object (named parameters only)"
    assert reply["error"]["data"] == {"got": json_type(params)}


def test_params_may_be_missing(cstp: Caller) -> None:
    assert "total" in cstp.post(b'{"jsonrpc":"2.0","id":1,"method":"cstp.getStats"}')["result"]


def test_a_method_without_the_prefix_is_unknown(cstp: Caller) -> None:
    error = cstp.post(b'{"jsonrpc":"2.0","id":1,"method":"foo"}')["error"]
    assert error == {"code": -32601, "message": "Unknown method: foo", "data": {"method": "foo"}}


def test_a_method_that_is_not_found_names_those_that_are(cstp: Caller) -> None:
    error = cstp.ask("nope", {})["error"]
    assert (error["code"], error["message"]) == (-32601, "Method not found: cstp.nope")
    assert error["data"]["method"] == "cstp.nope"
    assert set(error["data"]["available"]) >= set(SEVEN)


@pytest.mark.parametrize("call_id", ["a", "", 0, 1, -7, 1.5, 2**70, "ünï", None])
def test_the_id_comes_back(cstp: Caller, call_id: object) -> None:
    assert "result" in cstp.ask("getStats", {}, call_id)


@pytest.mark.parametrize("call_id", [b"true", b"[]", b"{}"])
def test_an_id_is_text_number_or_null(cstp: Caller, call_id: bytes) -> None:
    reply = cstp.post(b'{"jsonrpc":"2.0","id":%b,"method":"cstp.getStats"}' % call_id)
    assert (reply["id"], reply["error"]["code"]) == (None, -32600)


@pytest.mark.trial("B3")
@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","method":"cstp.getStats"}',
        b'{"jsonrpc":"2.0","method":"cstp.nosuch"}',
        b'{"jsonrpc":"2.0","method":"cstp.getStats","params":[1]}',
        b'[{"jsonrpc":"2.0","method":"cstp.getStats"},{"jsonrpc":"2.0","method":"cstp.getStats"}]',
    ],
)
def test_a_notification_is_not_answered(cstp: Caller, body: bytes) -> None:
    response = cstp.http.post("/cstp", content=body)
    assert (response.status_code, response.content) == (204, b"")


@pytest.mark.trial("B3")
def test_a_notification_is_carried_out(cstp: Caller) -> None:
    before = cstp.ask("getStats", {})["result"]["total"]
    call = {"jsonrpc": "2.0", "method": "cstp.recordDecision", "params": {"decision": "notified", "confidence": 0.7}}
    assert cstp.http.post("/cstp", json=call).status_code == 204
    assert cstp.ask("getStats", {})["result"]["total"] == before + 1


@pytest.mark.trial("B3")
@pytest.mark.parametrize("body", [b'{"jsonrpc":"2.0"}', b'{"method":"cstp.getStats"}', b'{"jsonrpc":"2.0","method":1}'])
def test_what_is_not_a_request_is_answered_without_an_id_too(cstp: Caller, body: bytes) -> None:
    reply = cstp.post(body)
    assert (reply["id"], reply["error"]["code"]) == (None, -32600)


@pytest.mark.trial("B3")
def test_a_batch_is_answered_call_by_call(cstp: Caller) -> None:
    """The example of the specification, section 7."""
    stats = {"jsonrpc": "2.0", "method": "cstp.getStats"}
    batch = [
        {**stats, "id": "1"},
        stats,
        1,
        {"foo": "boo"},
        {**stats, "id": 2, "method": "cstp.nosuch"},
        {**stats, "id": None},
    ]
    response = cstp.http.post("/cstp", json=batch)
    assert response.status_code == 200
    replies = response.json()
    assert [reply["id"] for reply in replies] == ["1", None, None, 2, None]
    assert [reply.get("error", {}).get("code") for reply in replies] == [None, -32600, -32600, -32601, None]


@pytest.mark.trial("B3")
def test_an_unrepresentable_value_fails_only_its_call(cstp: Caller) -> None:
    wrong = b'{"jsonrpc":"2.0","id":1,"method":"cstp.recordDecision","params":{"decision":"x","confidence":1e999}}'
    replies = cstp.http.post("/cstp", content=b'[%b,{"jsonrpc":"2.0","id":2,"method":"cstp.getStats"}]' % wrong).json()
    assert [reply.get("error", {}).get("code") for reply in replies] == [-32602, None]


@pytest.mark.trial("B3")
@pytest.mark.parametrize(("calls", "message"), [(0, "at least one"), (101, "at most 100")])
def test_a_batch_has_a_limit(cstp: Caller, calls: int, message: str) -> None:
    reply = cstp.http.post("/cstp", json=[{"jsonrpc": "2.0", "id": 1, "method": "cstp.getStats"}] * calls).json()
    assert (reply["id"], reply["error"]["code"]) == (None, -32600)
    assert message in reply["error"]["message"]


def test_get_is_not_a_method_of_the_interface(cstp: Caller) -> None:
    response = cstp.http.get("/cstp")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


def test_a_body_over_the_limit_is_refused(cstp: Caller) -> None:
    assert cstp.http.post("/cstp", content=b" " * (16 * 1024 * 1024 + 1)).status_code == 413


def test_a_fault_of_ours_is_an_internal_error_with_its_type() -> None:
    with pytest.raises(RpcError) as caught:
        run(call_method(None, OWNER, RpcCall("cstp.getStats", {})))  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.data) == (-32603, {"type": "AttributeError"})


def test_a_busy_ledger_says_when_to_retry() -> None:
    error = rpc_error_of(LedgerBusy(20_000, 2))
    assert error.code == -32603
    assert error.data == {"type": "LedgerBusy", "advice": "Retry after 2 s. Nothing was written.", "retry_after_s": 2}


def test_the_methods_are_those_of_the_contract() -> None:
    assert set(METHODS) >= set(SEVEN)
