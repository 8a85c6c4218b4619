"""The views over HTTP, now and as of the past; and what an operator sees."""

import socket
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from projections.calibration.words import GROUPINGS
from projections.registry import PROJECTIONS
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
from tests.support.server import Served, served

DAY = timedelta(days=1)


def judged(client: httpx.Client, count: int, *, wins: int, **about: object) -> Json:
    """So many decisions, reviewed, some of them with success; the answer to the append."""
    names = [fresh() for _ in range(count)]
    outcomes = ["success"] * wins + ["failure"] * (count - wins)
    reviews = [reviewed(name, outcome) for name, outcome in zip(names, outcomes, strict=True)]
    return post(client, [*(recorded(name, **about) for name in names), *reviews])


def test_a_decision_stands_with_its_history(client: httpx.Client) -> None:
    name = fresh()
    amended = {"type": "decision.amended.v1", "data": {"decision_id": name, "confidence": 0.4, "tags": ["later"]}}
    late = {"type": "decision.amended.v1", "data": {"decision_id": name, "confidence": 0.99}}
    events = [
        recorded(name, confidence=0.9, category="tooling", tags=["first"]),
        amended,
        thought(name, "perhaps"),
        reviewed(name, "failure", lessons="none"),
        late,
        reviewed(name, "success", actual_result="it held"),
    ]
    first = post(client, events)["first"]
    decision = get(client, f"/decisions/{name}")
    assert [entry["position"] for entry in decision["history"]] == list(range(first, first + 6))
    assert [entry["type"] for entry in decision["history"]] == [event["type"] for event in events]
    assert [entry["data"] for entry in decision["history"]] == [event["data"] for event in events]
    assert decision["decision"] == {**events[0]["data"], "confidence": 0.99, "tags": ["later"]}
    assert (decision["review"]["outcome"], decision["review"]["actual_result"]) == ("success", "it held")
    assert "lessons" not in decision["review"]
    assert decision["confidence_at_review"] == 0.4
    assert decision["thoughts"] == ["perhaps"]
    assert (decision["position"], decision["streamversion"], decision["agent"]) == (first, 6, "anonymous")


def test_a_decision_as_it_stood(client: httpx.Client) -> None:
    name = fresh()
    first = post(client, recorded(name))["position"]
    then = get(client, f"/decisions/{name}")
    post(client, reviewed(name))
    assert get(client, f"/decisions/{name}", as_of=first) == then
    assert "review" in get(client, f"/decisions/{name}")
    assert client.get(f"/decisions/{name}", params={"as_of": first - 1}).status_code == 404


def test_decisions_are_listed_filtered_and_paged(client: httpx.Client) -> None:
    project, tag = fresh(), fresh()
    drafts = [
        recorded(fresh(), project=project, confidence=number / 10, stakes="high" if number % 2 else "low", tags=[tag])
        for number in range(7)
    ]
    post(client, drafts)
    names = [draft["data"]["decision_id"] for draft in drafts]
    post(client, reviewed(names[3], "partial"))

    def found(**parameters: str | int) -> list[int]:
        page = get(client, "/decisions", project=project, **parameters)
        assert page["total"] >= len(page["decisions"])
        assert all("history" not in decision for decision in page["decisions"])
        return [names.index(decision["decision_id"]) for decision in page["decisions"]]

    assert found() == [6, 5, 4, 3, 2, 1, 0]
    assert found(sort="confidence", order="asc") == [0, 1, 2, 3, 4, 5, 6]
    assert found(status="reviewed") == found(outcome="partial") == [3]
    assert found(status="pending", stakes="high") == [5, 1]
    assert found(tag=f"other,{tag}", limit=2) == [6, 5]
    assert found(agent="nobody") == found(tag="other") == found(until="2020-01-01") == []
    assert found(window="30d", order="asc", limit=1) == [0]
    page = get(client, "/decisions", project=project, limit=3, offset=3)
    assert (page["total"], page["next"]) == (7, 6)
    assert get(client, "/decisions", project=project, limit=3, offset=6)["next"] is None


def test_decisions_are_searched(client: httpx.Client) -> None:
    word = fresh()
    post(client, [recorded(decision=f"Use {word}, now"), recorded(decision=f"Use {word}s now"), recorded()])
    page = get(client, "/decisions", search=f"{word.upper()} use")
    assert [found["decision"]["decision"] for found in page["decisions"]] == [f"Use {word}, now"]
    assert page["total"] == 1


def test_calibration_counts_what_is_asked_for(client: httpx.Client) -> None:
    project = fresh()
    judged(client, 5, wins=4, project=project, confidence=0.8, category="tooling", stakes="high", feature="x")
    judged(client, 5, wins=0, project=project, confidence=0.6, category="process", stakes="low")
    whole = get(client, "/calibration", project=project)
    assert whole["overall"]["reviewed"] == 10
    assert whole["overall"]["accuracy"] == pytest.approx(0.4)
    assert whole["overall"]["gap"] == pytest.approx(-0.3)
    for filters in ({"category": "tooling"}, {"stakes": "high"}, {"feature": "x"}):
        part = get(client, "/calibration", project=project, **filters)["overall"]
        assert (part["reviewed"], part["accuracy"]) == (5, pytest.approx(0.8))
    assert get(client, "/calibration", project=project, agent="anonymous") == whole
    assert get(client, "/calibration", project=project, agent="nobody")["overall"] is None


def test_figures_want_enough_decisions(client: httpx.Client) -> None:
    project = fresh()
    judged(client, 4, wins=4, project=project)
    few = get(client, "/calibration", project=project)
    assert few["overall"] is None
    assert few["recommendations"][0]["type"] == "insufficient_data"
    assert get(client, "/calibration", project=project, min_decisions=4)["overall"]["reviewed"] == 4


@pytest.mark.parametrize("group_by", [*GROUPINGS, "confidenceBucket"])
def test_calibration_is_grouped(client: httpx.Client, group_by: str) -> None:
    project = fresh()
    judged(client, 5, wins=3, project=project, confidence=0.55, category="a", stakes="low", feature="f")
    judged(client, 6, wins=3, project=project, confidence=0.95, category="b", stakes="high")
    expected = {
        "confidence_bucket": {"0.9-1.0": 6, "0.5-0.7": 5},
        "confidenceBucket": {"0.9-1.0": 6, "0.5-0.7": 5},
        "category": {"a": 5, "b": 6},
        "stakes": {"low": 5, "high": 6},
        "agent": {"anonymous": 11},
        "project": {project: 11},
        "feature": {"f": 5, None: 6},
        "model": {None: 11},
    }
    groups = get(client, "/calibration", project=project, group_by=group_by)["groups"]
    assert {group["group"]: group["reviewed"] for group in groups} == expected[group_by]


def test_windows_end_now(client: httpx.Client) -> None:
    project, now = fresh(), datetime.now(UTC)
    drafts = []
    for days in (1, 40, 70, 400):
        name = fresh()
        drafts += [recorded(name, project=project) | {"time": (now - days * DAY).isoformat()}, reviewed(name)]
    post(client, drafts)

    def counted(**parameters: str | int) -> int:
        figures = get(client, "/calibration", project=project, min_decisions=1, **parameters)["overall"]
        reviewed_decisions: int = figures["reviewed"]
        return reviewed_decisions

    assert [counted(window=window) for window in ("30d", "60d", "90d", "all")] == [1, 2, 3, 4]
    middle = (now - 50 * DAY).date().isoformat()
    assert (counted(since=middle), counted(until=middle)) == (2, 2)
    assert counted(window="60d", since="1999-01-01") == 2, "a window beats since"


def test_a_view_as_of_then_is_the_view_then(client: httpx.Client) -> None:
    project, seen = fresh(), []
    for wins in range(4):
        placed = judged(client, 5, wins=wins, project=project, confidence=0.7)
        views = {path: get(client, path, project=project) for path in ("/calibration", "/decisions")}
        seen.append((placed["last"], views))
    for (position, before), (_, after) in pairwise(seen):
        for path in before:
            assert before[path] != after[path]
            assert before[path]["as_of"]["position"] == position
            assert get(client, path, project=project, as_of=position) == before[path]
            time = before[path]["as_of"]["time"]
            assert get(client, path, project=project, as_of=time) == before[path]
    assert get(client, "/calibration", as_of=0)["as_of"] == {"position": 0, "time": None}
    today = datetime.now(UTC).date().isoformat()
    assert get(client, "/calibration", as_of=today)["as_of"]["position"] == head(client)


def test_projections_report_how_far_they_have_folded(client: httpx.Client) -> None:
    post(client, recorded())
    listed = get(client, "/projections")["projections"]
    assert [(one["name"], one["position"]) for one in listed] == [(kind.name, head(client)) for kind in PROJECTIONS]
    for one in listed:
        state = get(client, f"/projections/{one['name']}")
        assert {name: state[name] for name in one} == one
        assert len(state["digest"]) == 64
        assert get(client, f"/projections/{one['name']}", as_of=one["position"]) == state


@pytest.mark.slow
def test_a_digest_outlives_the_server(tmp_path: Path) -> None:
    ledger, found = tmp_path / "ledger.db", []
    for again in range(2):
        with served(ledger) as server, httpx.Client(base_url=server.url, timeout=None) as client:
            if not again:
                judged(client, 20, wins=11, confidence=0.35)
            found.append([get(client, f"/projections/{kind.name}") for kind in PROJECTIONS])
    assert found[0] == found[1]


def test_alive_and_ready(client: httpx.Client) -> None:
    assert client.get("/healthz").content == b'{"status":"alive"}'
    position = post(client, recorded())["position"]
    get(client, "/calibration")
    assert get(client, "/readyz") == {"status": "ready", "head": position, "folded": position}


def test_metrics_can_be_scraped(client: httpx.Client) -> None:
    def scraped() -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        response = client.get("/metrics")
        assert response.headers["content-type"].startswith("text/plain; version=")
        families = text_string_to_metric_families(response.text)
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
        }

    def answers(endpoint: str, method: str, status: int) -> tuple[str, frozenset[tuple[str, str]]]:
        labels = {"endpoint": endpoint, "method": method, "status": str(status)}
        return "tallystick_http_requests_total", frozenset(labels.items())

    before = scraped()
    position = post(client, [recorded(), recorded()])["last"]
    client.get("/nowhere/at/all")
    after = scraped()
    for key in (answers("post_events", "POST", 201), answers("none", "any", 404), answers("get_metrics", "GET", 200)):
        assert after[key] == before.get(key, 0) + 1
    plain: frozenset[tuple[str, str]] = frozenset()
    assert after["tallystick_head_position", plain] == position
    assert after["tallystick_queue_events", plain] == 0
    endpoint = ("endpoint", "post_events")
    counted = after["tallystick_http_request_seconds_count", frozenset([endpoint])]
    assert after["tallystick_http_request_seconds_bucket", frozenset([endpoint, ("le", "+Inf")])] == counted


@pytest.mark.parametrize("path", ["/healthz", "/events", "/nowhere", "/events?after=x"])
def test_a_request_id_is_echoed_or_made(client: httpx.Client, path: str) -> None:
    assert client.get(path, headers={"x-request-id": "trace/7+a=b"}).headers["x-request-id"] == "trace/7+a=b"
    made = [client.get(path).headers["x-request-id"] for _ in range(3)]
    assert len(set(made)) == 3
    for poor in ("with space", "x" * 129, 'quote"'):
        assert client.get(path, headers={"x-request-id": poor}).headers["x-request-id"] not in (poor, *made)


@pytest.mark.slow
def test_each_log_line_is_json(server: Served, served_client: httpx.Client) -> None:
    request_id = fresh()
    served_client.post("/events", content=b"{", headers=JSON | {"x-request-id": request_id})
    post(served_client, recorded())
    line = server.wait_for("request", request_id=request_id)
    log = server.log()
    assert log[0]["event"] == "serving"
    assert log[0]["address"] == server.url
    assert {name: line[name] for name in ("event", "level", "method", "path", "status")} == {
        "event": "request", "level": "info", "method": "POST", "path": "/events", "status": 400,
    }  # fmt: skip
    assert line["elapsed_ms"] > 0
    assert datetime.fromisoformat(line["timestamp"]).tzinfo is not None
    assert all(line["status"] >= 400 for line in log if line["event"] == "request")


@pytest.mark.slow
def test_debug_tells_every_request(tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db", "--log-level", "debug") as server:
        httpx.get(f"{server.url}/calibration", headers={"x-request-id": "seen"})
        line = server.wait_for("request", request_id="seen")
    assert (line["level"], line["status"], line["path"]) == ("debug", 200, "/calibration")


def test_views_see_what_every_form_of_post_wrote(client: httpx.Client) -> None:
    project = fresh()
    client.post("/events", content=ndjson([recorded(project=project)]), headers=LINES)
    client.post("/events", content=msgspec.json.encode([recorded(project=project)]), headers=BATCH)
    post(client, recorded(project=project))
    assert get(client, "/decisions", project=project)["total"] == 3


@pytest.mark.slow
def test_what_is_no_http_is_logged_as_json_too(server: Served) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"HELO there\r\n\r\n")
        assert connection.makefile("rb").read().startswith(b"HTTP/1.1 400 ")
    line = server.wait_for("refused", reason="malformed-input")
    assert (line["status"], line["client"]) == (400, "127.0.0.1")
