"""CloudEvents beyond the attributes of Tallystick: extensions, data_base64, and events that were read."""

from base64 import b64encode

import httpx
import msgspec
import pytest

from events.limits import EXTENSION_BYTES_MAX, EXTENSION_NAME_CHARS_MAX, EXTENSIONS_MAX
from tests.api.http.posts import BATCH, JSON, LINES, Json, fresh, head, ndjson, post, recorded

pytestmark = pytest.mark.trial("B1")

ADDED: Json = {"tracestate": "vendor=1", "partitionkey": "é \U0001f680", "sampledrate": -(2**31), "urgent": False}
AFTER = ("streamversion", "traceparent")
EVENT = {"content-type": "application/cloudevents+json"}


def stored(client: httpx.Client, position: int) -> bytes:
    return client.get(f"/events/{position}").content


def refused(client: httpx.Client, event: Json, status: int = 422, headers: dict[str, str] = JSON) -> Json:
    before = head(client)
    response = client.post("/events", content=msgspec.json.encode(event), headers=headers)
    assert response.status_code == status, response.text
    assert head(client) == before
    problem: Json = response.json()
    return problem


@pytest.mark.parametrize("headers", [JSON, EVENT, BATCH, LINES], ids=lambda headers: headers["content-type"])
def test_extensions_are_stored_by_name_before_the_data(client: httpx.Client, headers: dict[str, str]) -> None:
    event = {"dataschema": "https://example.com/schema", **ADDED, **recorded(), "traceparent": "00-1"}
    events = [recorded(), event, recorded()]
    bodies = {LINES["content-type"]: ndjson(events), BATCH["content-type"]: msgspec.json.encode(events)}
    body = bodies.get(headers["content-type"], msgspec.json.encode(event))
    response = client.post("/events", content=body, headers=headers)
    assert response.status_code == 201, response.text
    line = stored(client, response.json().get("position", response.json().get("first", 0) + 1))
    kept = msgspec.json.decode(line)
    names = list(kept)
    assert names[names.index("streamversion") + 1 :] == [
        "traceparent", "dataschema", "partitionkey", "sampledrate", "tracestate", "urgent", "data",
    ]  # fmt: skip
    assert ADDED.items() <= kept.items()
    assert msgspec.json.encode(kept) == line


def test_an_attribute_that_is_null_is_left_out(client: httpx.Client) -> None:
    position = post(client, {**recorded(), "partitionkey": None, "position": None, "data_base64": None})["position"]
    assert b"null" not in stored(client, position)


@pytest.mark.parametrize("media", ["application/json; charset=utf-8", "Application/JSON", "text/json", "a/b+json;v=1"])
def test_every_media_type_of_json_is_accepted_and_not_stored(client: httpx.Client, media: str) -> None:
    assert b"datacontenttype" not in stored(client, post(client, {**recorded(), "datacontenttype": media})["position"])
    headers = {"ce-type": "decision.recorded.v1", "content-type": media}
    response = client.post("/events", content=msgspec.json.encode(recorded()["data"]), headers=headers)
    assert response.status_code == 201, response.text


def test_structured_mode_takes_precedence_over_headers(client: httpx.Client) -> None:
    headers = {**EVENT, "ce-type": "nosuch.v1"}
    assert client.post("/events", content=msgspec.json.encode(recorded()), headers=headers).status_code == 201


def test_data_base64_is_decoded(client: httpx.Client) -> None:
    event = recorded()
    data = event.pop("data")
    position = post(client, {**event, "data_base64": b64encode(msgspec.json.encode(data)).decode()})["position"]
    assert data.items() <= msgspec.json.decode(stored(client, position))["data"].items()


@pytest.mark.parametrize("text", ["####", "YWJj", "", 7, "e30="])
def test_data_base64_that_is_not_a_payload_is_refused(client: httpx.Client, text: object) -> None:
    event = recorded()
    del event["data"]
    assert refused(client, {**event, "data_base64": text})["field"] in ("data_base64", "data.decision")


def test_data_beside_data_base64_is_refused(client: httpx.Client) -> None:
    assert refused(client, {**recorded(), "data_base64": "e30="})["field"] == "data_base64"


@pytest.mark.parametrize(
    ("name", "value", "detail"),
    [
        ("Upper", "x", "neither an attribute"),
        ("under_score", "x", "neither an attribute"),
        ("x" * (EXTENSION_NAME_CHARS_MAX + 1), "x", "neither an attribute"),
        ("rate", 1.5, "neither text"),
        ("rate", [1], "neither text"),
        ("rate", {}, "neither text"),
        ("rate", 2**31, "32 bits"),
        ("note", "line\nfeed", "control characters"),
        ("note", "x" * EXTENSION_BYTES_MAX, "at most"),
        ("dataschema", "no scheme", "absolute URI"),
        ("dataschema", 7, "absolute URI"),
        ("sorce", "x", "not a field of this event"),
        ("agent", "ada", "not a field of this event"),
        ("confidence", 0.7, "is a field of the payload"),
    ],
)
def test_what_is_no_extension_is_refused_by_name(client: httpx.Client, name: str, value: object, detail: str) -> None:
    problem = refused(client, {**recorded(), name: value})
    assert problem["field"] == name
    assert detail in problem["detail"]
    assert refused(client, [recorded(), {**recorded(), name: value}])["index"] == 1  # type: ignore[arg-type]


def test_a_misspelt_attribute_is_corrected(client: httpx.Client) -> None:
    assert "Did you mean 'source'?" in refused(client, {**recorded(), "sorce": "/agents/ada"})["advice"]


def test_extensions_have_a_limit(client: httpx.Client) -> None:
    many = {f"name{number}": "x" for number in range(EXTENSIONS_MAX)}
    post(client, {**recorded(), **many})
    assert f"at most {EXTENSIONS_MAX}" in refused(client, {**recorded(), **many, "onemore": "x"})["detail"]


def test_a_whole_number_may_have_a_point(client: httpx.Client) -> None:
    """JSON Schema counts 7.0 as an integer."""
    body = b'{"type":"decision.recorded.v1","rate":7.0,"data":{"decision":"x","pr":7.0,"confidence":1.0}}'
    event = msgspec.json.decode(stored(client, client.post("/events", content=body).json()["position"]))
    assert (event["rate"], event["data"]["pr"], event["data"]["confidence"]) == (7, 7, 1.0)


@pytest.mark.parametrize("headers", [EVENT, BATCH], ids=["single", "batch"])
def test_an_event_that_was_read_is_a_retry(client: httpx.Client, headers: dict[str, str]) -> None:
    position = post(client, {**recorded(), **ADDED})["position"]
    before, line = head(client), stored(client, position)
    response = client.post("/events", content=b"[%b]" % line if headers is BATCH else line, headers=headers)
    assert response.status_code == 200, response.text
    assert head(client) == before


def test_a_time_may_be_written_in_another_way(client: httpx.Client) -> None:
    event = msgspec.json.decode(stored(client, post(client, recorded())["position"]))
    event["recordedtime"] = event["recordedtime"].replace("Z", "+00:00")
    assert client.post("/events", json=event).status_code == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [("position", 10**6), ("position", "1"), ("streamversion", 2), ("recordedtime", "2020-01-01T00:00:00Z"),
     ("recordedtime", "noon")],
)  # fmt: skip
def test_what_contradicts_the_log_is_refused_by_name(client: httpx.Client, name: str, value: object) -> None:
    event = msgspec.json.decode(stored(client, post(client, recorded())["position"]))
    problem = refused(client, {**event, name: value})
    assert (problem["field"], problem["index"]) == (name, 0)
    assert "differs from the log" in problem["detail"]


def test_an_event_of_another_ledger_keeps_nothing_that_the_ledger_sets(client: httpx.Client) -> None:
    event = msgspec.json.decode(stored(client, post(client, recorded())["position"]))
    name = fresh()
    event |= {"id": name, "subject": f"decision/{name}", "data": {"decision_id": name, "decision": "elsewhere"}}
    problem = refused(client, event)
    assert problem["detail"] == f"{problem['field']} is set by the ledger."
    assert problem["field"] in ("position", "recordedtime", "streamversion")


def test_changed_content_is_a_conflict(client: httpx.Client) -> None:
    event = msgspec.json.decode(stored(client, post(client, recorded())["position"]))
    event["data"]["decision"] = "something else"
    assert refused(client, event, 409)["field"] == "id"
