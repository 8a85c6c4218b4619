"""Requests of OTLP/HTTP: what is taken, what is rejected and counted, and how errors are answered."""

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.token_store import TokenStore
from events.limits import BODY_BYTES_MAX, OTLP_RECORDS_MAX
from ledger.clock import system_clock
from tests.api.otlp.json_bodies import LABEL, NAME, NOON_NS, SPAN, TRACE, VALUE, Json, log_record, logs, span, traces
from tests.support.server import served

PROTOBUF = {"content-type": "application/x-protobuf"}
SCORE = {NAME: "Relevance", VALUE: 0.5, LABEL: "pass"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    with served(tmp_path / "ledger.db") as server, httpx.Client(base_url=server.url, timeout=None) as made:
        yield made


def events(client: httpx.Client, kind: str) -> list[Json]:
    page: Json = client.get("/events", params={"type": kind, "limit": 1000}).raise_for_status().json()
    return [event["data"] for event in page["events"]]


def test_a_score_in_json(client: httpx.Client) -> None:
    answer = client.post("/v1/logs", json=logs(log_record(SCORE)))
    assert (answer.status_code, answer.headers["content-type"], answer.json()) == (200, "application/json", {})
    (score,) = events(client, "eval.scored.v3")
    assert (score["scenario_id"], score["attempt"], score["total_score"]) == (f"{TRACE}-{SPAN}", 1, 50.0)
    assert (score["agent"], score["agent_version"], score["scorer_id"]) == ("shop", "2", "Relevance")
    assert score["run_id"].startswith("otel-20261118-")


def test_partial_success_counts_what_was_rejected_and_says_why(client: httpx.Client) -> None:
    records = [
        log_record(SCORE),
        log_record({"message": "hello"}, eventName="app.started"),
        log_record({**SCORE, VALUE: 7.5}),
        log_record({VALUE: 0.5}),
        log_record(SCORE, traceId="", spanId=""),
        log_record(SCORE, timeUnixNano="0"),
        log_record({NAME: "Relevance", LABEL: "so-so"}),
        log_record({**SCORE, "tallystick.run_id": "no spaces allowed"}),
    ]
    answer = client.post("/v1/logs", json=logs(*records)).raise_for_status().json()
    assert answer["partialSuccess"]["rejectedLogRecords"] == "7"
    said = answer["partialSuccess"]["errorMessage"]
    assert said.startswith("7 of 8 log records rejected. ")
    assert "not the event gen_ai.evaluation.result" in said
    assert len(events(client, "eval.scored.v3")) == 1
    spans = [span(1, {"gen_ai.operation.name": "chat"}), span(2, {"http.method": "GET"})]
    answer = client.post("/v1/traces", json=traces(spans)).raise_for_status().json()
    assert answer["partialSuccess"] == {
        "rejectedSpans": "1",
        "errorMessage": "1 of 2 spans rejected. 1: not a GenAI span: no gen_ai.operation.name.",
    }


def test_records_are_known_in_any_batch_and_others_with_their_ids_are_rejected(client: httpx.Client) -> None:
    first = [log_record(SCORE), log_record(SCORE, spanId="00f067aa0ba902b7")]
    assert client.post("/v1/logs", json=logs(*first)).json() == {}
    more = [first[1], log_record({**SCORE, VALUE: 0.7}), log_record(SCORE, spanId="00f067aa0ba902b8"), first[0]]
    answer = client.post("/v1/logs", json=logs(*more)).json()
    assert answer["partialSuccess"]["rejectedLogRecords"] == "1"
    assert "received before with other content" in answer["partialSuccess"]["errorMessage"]
    assert [score["total_score"] for score in events(client, "eval.scored.v3")] == [50.0, 50.0, 50.0]
    call = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5}
    assert client.post("/v1/traces", json=traces([span(1, call)])).json() == {}
    answer = client.post("/v1/traces", json=traces([span(1, call), span(1, {**call, "gen_ai.usage.input_tokens": 6})]))
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
    assert [call["input_tokens"] for call in events(client, "call.recorded.v1")] == [5]


def test_a_run_takes_the_scores_of_one_scorer(client: httpx.Client) -> None:
    named = [log_record({**SCORE, NAME: name, "tallystick.run_id": "one"}) for name in ("Relevance", "Tone")]
    others = [log_record({**SCORE, NAME: name, "tallystick.run_id": "two"}) for name in ("Tone", "Relevance")]
    said = [
        client.post("/v1/logs", json=logs(*records)).raise_for_status().json() for records in (named, named[1:], others)
    ]
    for answer, reason in zip(
        said, ("one is of the scorer Relevance", "one is of", "two is of the scorer Tone"), strict=True
    ):
        assert answer["partialSuccess"]["rejectedLogRecords"] == "1"
        assert f"1: evaluation {reason}" in answer["partialSuccess"]["errorMessage"]
    assert [score["scorer_id"] for score in events(client, "eval.scored.v3")] == ["Relevance", "Tone"]


def test_a_cost_that_is_no_number_is_rejected(client: httpx.Client) -> None:
    call = {"gen_ai.operation.name": "chat"}
    spans = [span(number, {**call, "tallystick.cost_usd": cost}) for number, cost in enumerate((0.5, 1e300), 1)]
    spans.append(span(3, call))
    spans[2]["attributes"].append({"key": "tallystick.cost_usd", "value": {"doubleValue": "NaN"}})
    answer = client.post("/v1/traces", json=traces(spans)).raise_for_status().json()
    assert answer["partialSuccess"]["rejectedSpans"] == "2"
    assert "1: tallystick.cost_usd is not a finite number" in answer["partialSuccess"]["errorMessage"]
    assert [each["cost_usd"] for each in events(client, "call.recorded.v1")] == [0.5]


@pytest.mark.slow
def test_the_same_record_from_another_agent_is_the_same(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    secrets = [TokenStore(ledger).add(f"node-{number}", ("append", "read"), system_clock())[1] for number in (1, 2)]
    body, call = logs(log_record(SCORE)), traces([span(1, {"gen_ai.operation.name": "chat"})])
    with served(ledger) as server:
        given = [{"authorization": f"Bearer {secret}"} for secret in secrets]
        for headers in given:
            assert httpx.post(f"{server.url}/v1/logs", json=body, headers=headers).json() == {}
            assert httpx.post(f"{server.url}/v1/traces", json=call, headers=headers).json() == {}
        assert httpx.get(f"{server.url}/events?limit=1", headers=given[0]).json()["head"] == 3


@pytest.mark.slow
def test_scores_without_an_attempt_are_numbered_in_their_scenario(client: httpx.Client) -> None:
    named = {**SCORE, "tallystick.run_id": "nightly", "tallystick.scenario_id": "disk-full"}
    records = [log_record(named, spanId=f"{number:016x}") for number in range(1, 6)]
    for batch in (records[:2], records[1:4], records, records[::-1]):
        assert client.post("/v1/logs", json=logs(*batch)).json() == {}
    scores = events(client, "eval.scored.v3")
    assert [(score["span_id"][-1], score["attempt"]) for score in scores] == [
        ("1", 1), ("2", 2), ("3", 3), ("4", 4), ("5", 5),
    ]  # fmt: skip


def test_a_run_that_has_ended_or_is_of_another_suite_takes_no_score(client: httpx.Client) -> None:
    named = {**SCORE, "tallystick.run_id": "nightly", "tallystick.suite": "pager"}
    assert client.post("/v1/logs", json=logs(log_record(named))).json() == {}
    other = {**named, "tallystick.suite": "billing", "tallystick.scenario_id": "x"}
    said = client.post("/v1/logs", json=logs(log_record(other))).json()["partialSuccess"]["errorMessage"]
    assert "evaluation nightly is of the suite pager" in said
    begun, strange = ({**each, "tallystick.run_id": "weekly"} for each in (named, other))
    answer = client.post("/v1/logs", json=logs(log_record(begun), log_record(strange))).json()
    assert "evaluation weekly is of the suite pager" in answer["partialSuccess"]["errorMessage"]
    client.post("/events", json={"type": "eval.finished.v1", "data": {"run_id": "nightly"}}).raise_for_status()
    late = log_record(named, spanId="00f067aa0ba902b7")
    said = client.post("/v1/logs", json=logs(log_record(named), late)).json()["partialSuccess"]["errorMessage"]
    assert said == "1 of 2 log records rejected. 1: evaluation nightly has ended."


@pytest.mark.parametrize("path", ["/v1/logs", "/v1/traces"])
def test_what_cannot_be_decoded_is_answered_with_a_status(client: httpx.Client, path: str) -> None:
    for body in (b"{", b"[]", b'{"resourceLogs": 1, "resourceSpans": 1}', b"\xff"):
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 400, body
        assert answer.json()["code"] == 3
        assert "OTLP/JSON" in answer.json()["message"]
    for body in (b"\x0a\x05ab", b"\xff" * 12, b"\x0b", b"\x0a\x02\x12\xff"):
        answer = client.post(path, content=body, headers=PROTOBUF)
        assert (answer.status_code, answer.headers["content-type"]) == (400, "application/x-protobuf"), body
        assert answer.content[:2] == b"\x08\x03"
        assert b"protobuf" in answer.content or b"Request" in answer.content
    answer = client.post(path, content=b"x", headers={"content-type": "text/plain"})
    assert (answer.status_code, answer.json()["type"]) == (415, "urn:tallystick:problem:unsupported-media")
    assert client.post(path, content=b"", headers=PROTOBUF).content == b""


@pytest.mark.slow
def test_gzip_is_read_within_the_limit_of_bodies(client: httpx.Client) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    body = httpx.Request("POST", "http://x", json=logs(log_record(SCORE))).content
    assert client.post("/v1/logs", content=gzip.compress(body), headers=headers).json() == {}
    bomb = gzip.compress(b" " * (BODY_BYTES_MAX + 1))
    assert len(bomb) < BODY_BYTES_MAX / 500
    refused = client.post("/v1/logs", content=bomb, headers=headers)
    assert refused.status_code == 413
    assert "when decompressed" in refused.json()["message"]
    for damaged in (body, gzip.compress(body)[:-9], gzip.compress(body) + b"x", b""):
        assert client.post("/v1/logs", content=damaged, headers=headers).status_code == 400
    other = client.post("/v1/logs", content=body, headers=headers | {"content-encoding": "br"})
    assert other.status_code == 415


def test_a_request_with_too_many_records_or_values_is_refused(client: httpx.Client) -> None:
    records = b"\x12\x00" * (OTLP_RECORDS_MAX + 1)
    scope = b"\x12" + _size(records) + records
    for path in ("/v1/logs", "/v1/traces"):
        answer = client.post(path, content=b"\x0a" + _size(scope) + scope, headers=PROTOBUF)
        assert answer.status_code == 413
        assert b"Send smaller batches" in answer.content
    answer = client.post("/v1/logs", json=logs(*[{}] * (OTLP_RECORDS_MAX + 1)))
    assert (answer.status_code, answer.json()["code"]) == (413, 8)
    answer = client.post("/v1/traces", content=b"{" * 300_000, headers={"content-type": "application/json"})
    assert answer.status_code == 413


@pytest.mark.slow
def test_a_page_of_another_site_cannot_post(client: httpx.Client) -> None:
    for path in ("/v1/logs", "/v1/traces"):
        answer = client.post(path, json=logs(log_record(SCORE)), headers={"origin": "https://elsewhere.example"})
        assert answer.status_code == 403


@pytest.mark.slow
def test_many_records_in_any_order_and_split_give_one_state(tmp_path: Path) -> None:
    named = {**SCORE, "tallystick.scenario_id": "disk-full", "tallystick.attempt": 1}
    records = [
        log_record({**named, "tallystick.attempt": number % 3 + 1}, spanId=f"{number + 1:016x}", timeUnixNano=NOON_NS)
        for number in range(60)
    ]
    boards = []
    for seed in (1, 2):
        shuffled = random.Random(seed).sample(records, len(records)) + records
        with served(tmp_path / f"{seed}.db") as server:
            for start in range(0, len(shuffled), 7 * seed):
                batch = logs(*shuffled[start : start + 7 * seed])
                assert httpx.post(f"{server.url}/v1/logs", json=batch).json() == {}
            assert httpx.get(f"{server.url}/events?limit=1").json()["head"] == 61
            board = httpx.get(f"{server.url}/scoreboard").json()
            del board["as_of"]
            boards.append(board)
    assert boards[0] == boards[1]


def _size(body: bytes) -> bytes:
    number, encoded = len(body), bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
