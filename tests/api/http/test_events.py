"""POST /events in every form, and reading the log back."""

from urllib.parse import quote

import httpx
import msgspec
import pytest

from events.limits import BATCH_EVENTS_MAX, PAGE_EVENTS_DEFAULT
from tests.api.http.posts import (
    BATCH,
    JSON,
    LINES,
    Json,
    fresh,
    get,
    head,
    ndjson,
    post,
    recorded,
    reviewed,
    thought,
)

EVENT = {"content-type": "application/cloudevents+json"}
PLACED = ["position", "id", "subject", "streamversion", "duplicate"]


def send(client: httpx.Client, events: object, headers: dict[str, str]) -> httpx.Response:
    body = ndjson(events) if headers is LINES else msgspec.json.encode(events)  # type: ignore[arg-type]
    return client.post("/events", content=body, headers=headers)


def stored(client: httpx.Client, position: int) -> bytes:
    response = client.get(f"/events/{position}")
    assert response.status_code == 200, response.text
    return response.content


def lines(client: httpx.Client, **parameters: str | int) -> list[bytes]:
    response = client.get("/events", params=parameters, headers={"accept": "application/x-ndjson"})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-ndjson"
    return response.content.splitlines()


@pytest.mark.parametrize("headers", [JSON, EVENT, {"content-type": "application/json; charset=utf-8"}])
def test_one_event_is_answered_with_where_it_stands(client: httpx.Client, headers: dict[str, str]) -> None:
    before, name = head(client), fresh()
    response = send(client, recorded(name) | {"id": f"{name}-1"}, headers)
    assert (response.status_code, response.headers["content-type"]) == (201, "application/json")
    answer = response.json()
    assert list(answer) == PLACED
    assert answer == {
        "position": before + 1,
        "id": f"{name}-1",
        "subject": f"decision/{name}",
        "streamversion": 1,
        "duplicate": False,
    }


def test_a_body_without_a_content_type_is_json(client: httpx.Client) -> None:
    assert client.post("/events", content=msgspec.json.encode(recorded())).status_code == 201


def test_the_least_that_can_be_posted(client: httpx.Client) -> None:
    answer = post(client, {"type": "decision.recorded.v1", "data": {"decision": "go"}})
    event = msgspec.json.decode(stored(client, answer["position"]))
    assert event["source"] == "/agents/anonymous"
    assert event["subject"] == f"decision/{event['data']['decision_id']}" == answer["subject"]
    assert event["id"] == answer["id"]
    assert event["time"] == event["recordedtime"]
    assert "confidence" not in event["data"]


@pytest.mark.parametrize("headers", [BATCH, JSON, LINES])
def test_a_batch_is_answered_event_by_event(client: httpx.Client, headers: dict[str, str]) -> None:
    before, name = head(client), fresh()
    response = send(client, [recorded(name), thought(name), reviewed(name)], headers)
    assert response.status_code == 201, response.text
    answer = response.json()
    assert list(answer) == ["first", "last", "count", "duplicates", "events"]
    assert (answer["first"], answer["last"], answer["count"], answer["duplicates"]) == (before + 1, before + 3, 3, 0)
    assert [list(event) for event in answer["events"]] == [PLACED] * 3
    assert [event["position"] for event in answer["events"]] == [before + 1, before + 2, before + 3]
    assert [event["streamversion"] for event in answer["events"]] == [1, 2, 3]


def test_lines_may_be_blank_and_the_last_unended(client: httpx.Client) -> None:
    body = b"\n" + msgspec.json.encode(recorded()) + b"\r\n\n" + msgspec.json.encode(recorded())
    response = client.post("/events", content=body, headers=LINES)
    assert (response.status_code, response.json()["count"]) == (201, 2)


def test_binary_mode(client: httpx.Client) -> None:
    name = fresh()
    headers = {
        "ce-specversion": "1.0",
        "ce-type": "decision.recorded.v1",
        "ce-id": quote(f"{name} ✓ 50%"),
        "ce-source": "/agents/anonymous",
        "ce-subject": f"decision/{name}",
        "ce-time": "2026-01-02T03:04:05Z",
        "ce-correlationid": "Euro%20%E2%82%AC",
        "ce-expectedversion": "0",
    }
    response = client.post("/events", content=msgspec.json.encode(recorded(name)["data"]), headers=JSON | headers)
    assert response.status_code == 201, response.text
    event = msgspec.json.decode(stored(client, response.json()["position"]))
    assert event["id"] == f"{name} ✓ 50%"
    assert event["correlationid"] == "Euro €"
    assert event["time"] == "2026-01-02T03:04:05.000000Z"
    assert event["data"]["decision_id"] == name


def test_a_retry_finds_its_first_position(client: httpx.Client) -> None:
    name = fresh()
    event = recorded(name) | {"id": name}
    first = post(client, event)
    before = head(client)
    again = send(client, event, JSON)
    assert (again.status_code, again.json()) == (200, {**first, "duplicate": True})
    assert head(client) == before


def test_a_retried_batch_writes_nothing_and_a_half_known_one_the_rest(client: httpx.Client) -> None:
    names = [fresh() for _ in range(3)]
    events = [recorded(name) | {"id": name} for name in names]
    assert send(client, events[:2], BATCH).status_code == 201
    before = head(client)
    again = send(client, events[:2], BATCH)
    assert (again.status_code, again.json()["duplicates"]) == (200, 2)
    assert head(client) == before
    half = send(client, events, BATCH)
    assert (half.status_code, half.json()["duplicates"], half.json()["last"]) == (201, 2, before + 1)
    assert head(client) == before + 1


def test_a_batch_is_all_or_nothing(client: httpx.Client) -> None:
    before, name = head(client), fresh()
    response = send(client, [recorded(name), thought(name), thought(f"{name}-unknown")], BATCH)
    assert response.status_code == 409
    assert response.json()["index"] == 2
    assert head(client) == before
    assert client.get(f"/streams/decision/{name}").status_code == 404


def test_the_fullest_batch(client: httpx.Client) -> None:
    response = send(client, [recorded() for _ in range(BATCH_EVENTS_MAX)], LINES)
    assert (response.status_code, response.json()["count"]) == (201, BATCH_EVENTS_MAX)


def test_expected_version(client: httpx.Client) -> None:
    name = fresh()
    post(client, recorded(name) | {"expectedversion": 0})
    post(client, thought(name) | {"expectedversion": 1})
    before = head(client)
    response = send(client, thought(name) | {"expectedversion": 1}, JSON)
    problem = response.json()
    assert (response.status_code, problem["field"], problem["index"]) == (409, "expectedversion", 0)
    assert "expected version 1, found 2" in problem["detail"]
    assert "Read versions 2..2" in problem["advice"]
    assert head(client) == before
    event = msgspec.json.decode(stored(client, before))
    assert "expectedversion" not in event


def test_what_the_client_knows_is_stored(client: httpx.Client) -> None:
    known = {
        "time": "2026-05-06T07:08:09.123456+02:00",
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "correlationid": "c",
        "causationid": "d",
        "datacontenttype": "application/json",
        "source": "/agents/anonymous",
    }
    event = msgspec.json.decode(stored(client, post(client, recorded() | known)["position"]))
    assert event["time"] == "2026-05-06T05:08:09.123456Z"
    assert [event[name] for name in ("traceparent", "correlationid", "causationid")] == [
        known["traceparent"], "c", "d",
    ]  # fmt: skip
    assert "datacontenttype" not in event


def pages(client: httpx.Client, **parameters: str | int) -> list[Json]:
    """Every page from the first on, by `next`."""
    cursor = "before" if parameters.get("order") == "desc" else "after"
    found = [get(client, "/events", **parameters)]
    while found[-1]["next"] is not None:
        found.append(get(client, "/events", **{**parameters, cursor: found[-1]["next"]}))
    return found


def test_pages_in_both_orders(client: httpx.Client) -> None:
    first = send(client, [recorded() for _ in range(25)], BATCH).json()["first"]
    whole = list(range(first, first + 25))
    for order, expected in (("asc", whole), ("desc", whole[::-1])):
        found = pages(client, order=order, limit=10, after=first - 1)
        assert [len(page["events"]) for page in found] == [10, 10, 5]
        assert [event["position"] for page in found for event in page["events"]] == expected
        assert {page["head"] for page in found} == {whole[-1]}
    bounded = get(client, "/events", after=first, before=first + 3)
    assert [event["position"] for event in bounded["events"]] == [first + 1, first + 2]


def test_a_page_has_a_default_length(client: httpx.Client) -> None:
    first = send(client, [recorded() for _ in range(PAGE_EVENTS_DEFAULT + 1)], BATCH).json()["first"]
    page = get(client, "/events", after=first - 1)
    assert (len(page["events"]), page["next"]) == (PAGE_EVENTS_DEFAULT, first + PAGE_EVENTS_DEFAULT - 1)


def test_filters(client: httpx.Client) -> None:
    one, other = fresh(), fresh()
    batch = [
        recorded(one) | {"time": "2020-01-01T12:00:00Z", "source": f"/agents/{one}"},
        recorded(other) | {"time": "2020-01-02T12:00:00Z", "source": f"/agents/{other}"},
        thought(one) | {"time": "2020-01-03T12:00:00Z", "source": f"/agents/{other}"},
        reviewed(other) | {"time": "2020-01-04T12:00:00Z", "source": f"/agents/{other}"},
    ]
    first = send(client, batch, BATCH).json()["first"]

    def found(**parameters: str | int) -> list[int]:
        return [event["position"] - first for event in get(client, "/events", after=first - 1, **parameters)["events"]]

    assert found(type="decision.thought.v1") == [2]
    assert found(type="decision.thought.v1,decision.reviewed.v1") == [2, 3]
    assert found(subject=f"decision/{one}") == [0, 2]
    assert found(subject=f"decision/{one},decision/{other}") == [0, 1, 2, 3]
    assert found(source=other) == found(source=f"/agents/{other}") == [1, 2, 3]
    assert found(since="2020-01-02", until="2020-01-03") == [1, 2]
    assert found(since="2020-01-02T12:00:00Z", until="2020-01-03T12:00:00+00:00") == [1, 2]
    assert found(since="2020-01-02T12:00:00.000001Z", until="2020-01-03T11:59:59Z") == []
    assert found(source=other, type="decision.reviewed.v1", order="desc") == [3]
    assert found(subject="decision/nobody") == []


def test_an_event_is_the_same_bytes_wherever_it_is_read(client: httpx.Client) -> None:
    name = fresh()
    answer = post(client, [recorded(name, context='Straße, 東京, \\ " \u2028 \u0001 €'), reviewed(name, lessons="ü")])
    position = answer["first"]
    response = client.get(f"/events/{position}")
    assert response.headers["content-type"] == "application/cloudevents+json"
    line = response.content
    assert lines(client, after=position - 1, limit=1) == [line]
    page = client.get("/events", params={"after": position - 1, "limit": 2}).content
    assert page == b'{"events":[%b,%b],"next":null,"head":%d}' % (line, stored(client, position + 1), position + 1)
    stream = client.get(f"/streams/decision/{name}").content
    assert stream == page
    assert msgspec.json.encode(msgspec.json.decode(line)) == line


def test_a_stream_is_paged(client: httpx.Client) -> None:
    name = fresh()
    first = post(client, [recorded(name), recorded(), *[thought(name, str(number)) for number in range(4)]])["first"]
    page = get(client, f"/streams/decision/{name}", limit=3)
    assert [event["streamversion"] for event in page["events"]] == [1, 2, 3]
    assert (page["next"], page["head"]) == (first + 3, first + 5)
    rest = get(client, f"/streams/decision/{name}", after=page["next"])
    assert [event["streamversion"] for event in rest["events"]] == [4, 5]
    assert rest["next"] is None
    assert get(client, f"/streams/decision/{name}", after=first + 5)["events"] == []
    assert get(client, f"/streams/decision%2F{name}")["head"] == first + 5


def test_lines_are_streamed_to_the_end(client: httpx.Client) -> None:
    first = 0
    for _ in range(5):
        answer = send(client, [recorded() for _ in range(500)], LINES).json()
        first = first or answer["first"]
    found = [msgspec.json.decode(line)["position"] for line in lines(client, after=first - 1)]
    assert found == list(range(first, first + 2500))
    backwards = [msgspec.json.decode(line)["position"] for line in lines(client, after=first - 1, order="desc")]
    assert backwards == found[::-1]
    assert len(lines(client, after=first - 1, limit=7)) == 7
    assert lines(client, after=first + 2499) == []


def test_head_and_no_body(client: httpx.Client) -> None:
    post(client, recorded())
    response = client.head("/events")
    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.trial("N15")
@pytest.mark.parametrize("name", [".", ".."])
def test_a_stream_whose_id_clients_remove_from_addresses_is_refused(client: httpx.Client, name: str) -> None:
    before = head(client)
    event = {"type": "decision.recorded.v1", "data": {"decision_id": name, "decision": "x"}}
    for path, body in (("/events", event), ("/decisions", {"data": event["data"]})):
        refused = client.post(path, json=body)
        assert refused.status_code == 422
        assert "other than '.' and '..'" in refused.json()["detail"]
    link = {"sourceId": "a", "targetId": name, "edgeType": "relates_to"}
    rpc = {"jsonrpc": "2.0", "id": 1, "method": "cstp.linkDecisions", "params": link}
    assert "other than '.' and '..'" in client.post("/cstp", json=rpc).json()["error"]["message"]
    assert head(client) == before


@pytest.mark.parametrize("name", ["...", "..a", ".a", "a.", "-", "a" * 64])
def test_other_ids_of_dots_are_names(client: httpx.Client, name: str) -> None:
    data = {"decision_id": name, "decision": "x"}
    assert client.post("/events", json={"type": "decision.recorded.v1", "data": data}).status_code == 201
