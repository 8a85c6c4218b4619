"""Every refusal is a precise problem document, and writes nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import httpx
import msgspec
import pytest

from events.limits import BATCH_EVENTS_MAX, BODY_BYTES_MAX, ITEMS_MAX, LINE_BYTES_MAX
from tests.api.http.posts import (
    BATCH,
    JSON,
    LINES,
    Json,
    fresh,
    head,
    ndjson,
    post,
    recorded,
    reviewed,
    thought,
)

TITLES = {
    400: {"Malformed input", "Invalid parameter"},
    404: {"Not found", "No such path"},
    405: {"Method not allowed"},
    409: {"Id in use", "Not allowed at this point of the stream"},
    413: {"Event too long", "Body too large"},
    415: {"Unsupported media type"},
    422: {"Invalid event"},
}


def problem_of(response: httpx.Response, status: int, kind: str) -> Json:
    """The problem document of a refusal, whose frame is checked."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: Json = response.json()
    assert set(problem) <= {"type", "title", "status", "detail", "advice", "field", "index", "request_id"}
    assert problem["type"] == f"urn:tallystick:problem:{kind}"
    assert problem["title"] in TITLES[status]
    assert problem["status"] == status
    assert problem["request_id"] == response.headers["x-request-id"]
    assert problem["detail"]
    assert problem["advice"]
    return problem


@contextmanager
def unwritten(client: httpx.Client) -> Iterator[None]:
    """Nothing is written within."""
    before = head(client)
    yield
    assert head(client) == before


def refused(client: httpx.Client, body: bytes, headers: dict[str, str], status: int, kind: str) -> Json:
    with unwritten(client):
        return problem_of(client.post("/events", content=body, headers=headers), status, kind)


def invalid(client: httpx.Client, event: object) -> Json:
    return refused(client, msgspec.json.encode(event), JSON, 422, "invalid-event")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"nope", b"{'type': 1}", b'{"type":"decision.recorded.v1","data":{"decision":"\xff"}}',
        b'{"type":"decision.recorded.v1","data":{"decision":"a","confidence":NaN}}',
        b'{"type":"decision.recorded.v1","data":{"decision":"a","confidence":Infinity}}',
        b'{"type":"decision.recorded.v1","data":{"decision":"a"}} trailing',
    ],
)  # fmt: skip
@pytest.mark.parametrize("headers", [JSON, {"content-type": "application/cloudevents+json"}])
def test_malformed_json(client: httpx.Client, body: bytes, headers: dict[str, str]) -> None:
    problem = refused(client, body, headers, 400, "malformed-input")
    assert "JSON" in problem["detail"]
    assert "UTF-8" in problem["advice"]


def test_json_nested_too_deep(client: httpx.Client) -> None:
    deep = b'{"type":' * 50_000
    refused(client, deep, JSON, 400, "malformed-input")
    binary = JSON | {"ce-type": "decision.recorded.v1"}
    assert refused(client, b"[" * 50_000, binary, 400, "malformed-input")["field"] == "data"


def test_an_unknown_type_gets_the_nearest_as_advice(client: httpx.Client) -> None:
    problem = invalid(client, recorded() | {"type": "decision.record.v1"})
    assert problem["field"] == "type"
    assert "'decision.record.v1'" in problem["detail"]
    assert "Did you mean 'decision.recorded.v1'?" in problem["advice"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"data": {"decision": "a", "confidense": 0.5}}, "data.confidense"),
        ({"data": {"confidence": 0.5}}, "data.decision"),
        ({"data": {"decision": "a", "confidence": 1.5}}, "data.confidence"),
        ({"data": {"decision": "a", "confidence": -0.1}}, "data.confidence"),
        ({"data": {"decision": "a", "confidence": "high"}}, "data.confidence"),
        ({"data": {"decision": ""}}, "data.decision"),
        ({"data": {"decision": "a", "stakes": "huge"}}, "data.stakes"),
        ({"data": {"decision": "a", "decision_id": "no spaces"}}, "data.decision_id"),
        ({"data": {"decision": "a", "decision_id": "x" * 65}}, "data.decision_id"),
        ({"data": {"decision": "a", "tags": ["t"] * (ITEMS_MAX + 1)}}, "data.tags"),
        ({"data": {"decision": "a", "review_by": "2026-01-01T00:00:00"}}, "data.review_by"),
        ({"data": None}, "data"),
        ({"specversion": "0.3"}, "specversion"),
        ({"datacontenttype": "text/plain"}, "datacontenttype"),
        ({"dataschema": "not-absolute"}, "dataschema"),
        ({"position": 1}, "position"),
        ({"recordedtime": "2026-01-01T00:00:00Z"}, "recordedtime"),
        ({"streamversion": 1}, "streamversion"),
        ({"subject": "decision/another"}, "subject"),
        ({"id": ""}, "id"),
        ({"id": "x" * 129}, "id"),
        ({"id": "line\nfeed"}, "id"),
        ({"time": "yesterday"}, "time"),
        ({"time": "2026-01-01T00:00:00"}, "time"),
        ({"time": "0001-01-01T00:00:00+14:00"}, "time"),
        ({"expectedversion": -1}, "expectedversion"),
        ({"source": "anonymous"}, "source"),
        ({"source": "/agents/"}, "source"),
    ],
)
def test_a_wrong_field_is_named(client: httpx.Client, change: Json, field: str) -> None:
    problem = invalid(client, recorded() | change)
    assert problem["field"] == field
    assert field.rpartition(".")[2] in problem["detail"]


@pytest.mark.parametrize("attribute", ["position", "recordedtime", "streamversion"])
def test_an_attribute_that_the_ledger_sets_is_refused_as_such(client: httpx.Client, attribute: str) -> None:
    assert invalid(client, recorded() | {attribute: 1})["detail"] == f"{attribute} is set by the ledger."


def test_an_amendment_of_nothing(client: httpx.Client) -> None:
    name = fresh()
    post(client, recorded(name))
    problem = invalid(client, {"type": "decision.amended.v1", "data": {"decision_id": name}})
    assert "at least one field" in problem["detail"].lower()


@pytest.mark.parametrize("body", [b"17", b"null", b'"text"', b"{}"])
def test_json_that_is_no_event(client: httpx.Client, body: bytes) -> None:
    refused(client, body, JSON, 422, "invalid-event")


def test_a_line_over_the_limit(client: httpx.Client) -> None:
    position = post(client, recorded(fresh(), context="x"))["position"]
    space = LINE_BYTES_MAX - len(client.get(f"/events/{position}").content)
    post(client, recorded(fresh(), context="x" * (space - 9)))  # the position may have grown by a digit
    over = msgspec.json.encode(recorded(fresh(), context="x" * (space + 2)))
    problem = refused(client, over, JSON, 413, "line-too-long")
    assert (problem["field"], problem["index"]) == ("data", 0)
    assert f"{LINE_BYTES_MAX:,}" in problem["detail"]


@pytest.mark.parametrize("headers", [JSON, BATCH, LINES])
@pytest.mark.parametrize(
    ("bad", "status", "kind", "field"),
    [
        ({"type": "decision.recorded.v1", "data": {"decision": "a", "confidence": 7}}, 422, "invalid-event",
         "data.confidence"),
        ({"type": "nope", "data": {}}, 422, "invalid-event", "type"),
        (thought("nobody-knows-it"), 409, "lifecycle-violation", "subject"),
        (recorded() | {"subject": "decision/another"}, 422, "invalid-event", "subject"),
        (recorded() | {"source": "/people/x"}, 422, "invalid-event", "source"),
        (recorded(context="x" * LINE_BYTES_MAX), 413, "line-too-long", "data"),
    ],
)  # fmt: skip
def test_the_bad_event_of_a_batch_is_named(
    client: httpx.Client, headers: dict[str, str], bad: Json, status: int, kind: str, field: str
) -> None:
    events = [recorded(), recorded(), bad, recorded()]
    body = ndjson(events) if headers is LINES else msgspec.json.encode(events)
    problem = refused(client, body, headers, status, kind)
    assert (problem["index"], problem["field"]) == (2, field)


def test_a_malformed_line_is_named(client: httpx.Client) -> None:
    body = ndjson([recorded()]) + b"\n{nope\n" + ndjson([recorded()])
    assert refused(client, body, LINES, 400, "malformed-input")["index"] == 1


@pytest.mark.parametrize("later", [thought, reviewed])
def test_a_review_of_an_unknown_decision(client: httpx.Client, later: object) -> None:
    name = fresh()
    assert callable(later)
    problem = refused(client, msgspec.json.encode(later(name)), JSON, 409, "lifecycle-violation")
    assert f"decision/{name} is not in the log" in problem["detail"]
    assert "decision_id" in problem["advice"]


def test_a_decision_that_is_there_already(client: httpx.Client) -> None:
    name = fresh()
    post(client, recorded(name))
    problem = refused(client, msgspec.json.encode(recorded(name)), JSON, 409, "lifecycle-violation")
    assert "already in the log" in problem["detail"]


def test_the_same_id_with_other_content(client: httpx.Client) -> None:
    name = fresh()
    position = post(client, recorded(name) | {"id": name})["position"]
    problem = refused(
        client, msgspec.json.encode(recorded(name, decision="wait") | {"id": name}), JSON, 409, "identity-conflict"
    )
    assert (problem["field"], problem["index"]) == ("id", 0)
    assert f"position {position} holds it" in problem["detail"]


@pytest.mark.parametrize(("body", "headers"), [(b"[]", JSON), (b"[]", BATCH), (b"", LINES), (b"\n\n", LINES)])
def test_an_empty_batch(client: httpx.Client, body: bytes, headers: dict[str, str]) -> None:
    assert f"1..{BATCH_EVENTS_MAX}" in refused(client, body, headers, 422, "invalid-event")["detail"]


def test_an_overlong_batch(client: httpx.Client) -> None:
    body = ndjson([recorded()] * (BATCH_EVENTS_MAX + 1))
    problem = refused(client, body, LINES, 422, "invalid-event")
    assert str(BATCH_EVENTS_MAX + 1) in problem["detail"]
    assert "Split it" in problem["advice"]


def test_a_body_over_the_limit(client: httpx.Client) -> None:
    body = b" " * (BODY_BYTES_MAX + 1)
    problem = refused(client, body, JSON, 413, "body-too-large")
    assert f"{BODY_BYTES_MAX:,}" in problem["detail"]


def test_a_body_over_the_limit_in_chunks(client: httpx.Client) -> None:
    piece = b" " * 65_536
    chunks = (piece for _ in range(BODY_BYTES_MAX // len(piece) + 1))
    with unwritten(client):
        problem_of(client.post("/events", content=chunks, headers=JSON), 413, "body-too-large")


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/xml"},
        {"content-type": "text/plain", "ce-type": "decision.recorded.v1"},
    ],
)
def test_a_wrong_content_type(client: httpx.Client, headers: dict[str, str]) -> None:
    problem = refused(client, msgspec.json.encode(recorded()), headers, 415, "unsupported-media")
    assert headers["content-type"] in problem["detail"]
    assert "application/json" in problem["advice"]


@pytest.mark.parametrize(
    ("headers", "field"),
    [
        ({"ce-specversion": "1.0"}, "type"),
        ({"ce-type": "decision.recorded.v1", "ce-specversion": "0.3"}, "specversion"),
        ({"ce-type": "decision.recorded.v1", "ce-fla-vour": "sweet"}, "fla-vour"),
        ({"ce-type": "decision.recorded.v1", "ce-data": "{}"}, "data"),
        ({"ce-type": "decision.recorded.v1", "ce-position": "1"}, "position"),
        ({"ce-type": "decision.recorded.v1", "ce-expectedversion": "one"}, "expectedversion"),
        ({"ce-type": "decision.recorded.v1", "ce-expectedversion": "%C2%B2"}, "expectedversion"),
        ({"ce-type": "decision.recorded.v1", "ce-expectedversion": "9" * 5000}, "expectedversion"),
        ({"ce-type": "decision.recorded.v1", "ce-time": "noon"}, "time"),
    ],
)
def test_a_wrong_attribute_in_a_header(client: httpx.Client, headers: dict[str, str], field: str) -> None:
    body = msgspec.json.encode(recorded()["data"])
    assert refused(client, body, JSON | headers, 422, "invalid-event")["field"] == field


def asked(client: httpx.Client, path: str, status: int, kind: str, headers: dict[str, str] | None = None) -> Json:
    return problem_of(client.get(path, headers=headers), status, kind)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/events?after=x", "after"), ("/events?after=-1", "after"), ("/events?after=999999999", "after"),
        ("/events?after=", "after"), ("/events?after=1.5", "after"), ("/events?after=99999999999999999999", "after"),
        ("/events?before=0", "before"), ("/events?limit=0", "limit"), ("/events?limit=1001", "limit"),
        ("/events?order=up", "order"), ("/events?type=nope", "type"), ("/events?afterr=1", "afterr"),
        ("/events?since=soon", "since"), ("/events?until=2026-13-01", "until"), ("/events?after=0&after=0", "after"),
        (f"/events?subject={',' * ITEMS_MAX}", "subject"),
        ("/events/x", "position"), ("/events/0", "position"), ("/events/-1", "position"), ("/events/1?x=1", "x"),
        ("/streams/decision/x?before=2", "before"), ("/streams/decision/x?after=999999999", "after"),
        ("/decisions?confidence=1", "confidence"), ("/decisions?limit=all", "limit"),
        ("/decisions?offset=-1", "offset"), ("/decisions?stakes=huge", "stakes"),
        ("/decisions?status=open", "status"), ("/decisions?sort=name", "sort"),
        ("/decisions?outcome=fine", "outcome"), ("/decisions/x?since=2026-01-01", "since"),
        ("/calibration?group_by=mood", "group_by"), ("/calibration?min_decisions=0", "min_decisions"),
        ("/calibration?window=7d", "window"), ("/calibration?window=30d&since=1999-01-01&until=2000-01-01", "window"),
        ("/calibration?since=bad", "since"), ("/calibration?stakes=x", "stakes"),
        ("/calibration?since=2026-02-02&until=2026-02-01", "since"), ("/calibration?groupby=agent", "groupby"),
        ("/calibration?as_of=999999999", "as_of"), ("/calibration?as_of=whenever", "as_of"),
        ("/calibration?as_of=-1", "as_of"), ("/projections?x=", "x"), ("/projections/calibration?x=", "x"),
        ("/projections/decisions?as_of=999999999", "as_of"),
    ],
)  # fmt: skip
def test_a_parameter_that_cannot_be_met(client: httpx.Client, path: str, field: str) -> None:
    problem = asked(client, path, 400, "invalid-query")
    assert problem["field"] == field
    assert problem["detail"].startswith(f"{field}:")


def test_a_cursor_beyond_the_head(client: httpx.Client) -> None:
    position = post(client, recorded())["position"]
    for accept in ("application/json", "application/x-ndjson", "text/event-stream"):
        problem = asked(client, f"/events?after={position + 1}", 400, "invalid-query", {"accept": accept})
        assert problem["detail"] == f"after: {position + 1} is beyond the head, {position}."


@pytest.mark.parametrize("last", ["x", "-1", "1.5"])
def test_a_last_event_id_that_is_none(client: httpx.Client, last: str) -> None:
    headers = {"accept": "text/event-stream", "last-event-id": last}
    assert asked(client, "/events", 400, "invalid-query", headers)["field"] == "Last-Event-ID"


@pytest.mark.parametrize("path", ["/events?order=desc", "/events?before=5"])
def test_a_feed_that_would_run_backwards(client: httpx.Client, path: str) -> None:
    assert asked(client, path, 400, "invalid-query", {"accept": "text/event-stream"})["field"] == "order"


@pytest.mark.parametrize("path", ["/calibration", "/decisions", "/projections/calibration"])
def test_a_time_that_has_not_come(client: httpx.Client, path: str) -> None:
    moment = (datetime.now(UTC) + timedelta(days=2)).isoformat()
    for as_of in (moment.replace("+00:00", "Z"), moment[:10]):
        assert asked(client, f"{path}?as_of={as_of}", 400, "invalid-query")["field"] == "as_of"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/projections/moods", "not-found"),
        ("/decisions/nobody", "not-found"),
        ("/decisions/%00", "not-found"),
        ("/streams/decision/nobody", "not-found"),
        ("/streams/nothing", "not-found"),
        ("/events/999999999", "not-found"),
        ("/nowhere", "no-route"),
        ("/decisions/a/b", "no-route"),
        ("/events/", "no-route"),
    ],
)
def test_what_is_not_there(client: httpx.Client, path: str, kind: str) -> None:
    asked(client, path, 404, kind)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/events", "GET, HEAD, POST"),
        ("PUT", "/events/1", "GET, HEAD"),
        ("DELETE", "/decisions", "GET, HEAD, POST"),
        ("POST", "/decisions/1", "GET, HEAD"),
        ("GET", "/cstp", "POST"),
        ("OPTIONS", "/healthz", "GET, HEAD"),
    ],
)
def test_a_wrong_method_gets_the_right_ones(client: httpx.Client, method: str, path: str, allow: str) -> None:
    with unwritten(client):
        response = client.request(method, path)
        problem = problem_of(response, 405, "wrong-method")
    assert response.headers["allow"] == allow
    assert method in problem["detail"]
