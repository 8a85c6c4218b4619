"""Scores take tokens, cost, latency and model from their calls, whichever arrives first."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.otlp.json_bodies import LABEL, NAME, VALUE, Json, log_record, logs, span, traces
from tests.support.server import served

SUITE = "shop: Relevance"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    with served(tmp_path / "ledger.db") as server, httpx.Client(base_url=server.url, timeout=None) as made:
        yield made


def post_score(client: httpx.Client, number: int, **more: str | int) -> None:
    attributes = {NAME: "Relevance", VALUE: 1.0, LABEL: "pass", **more}
    assert client.post("/v1/logs", json=logs(log_record(attributes, spanId=f"{number:016x}"))).json() == {}


def post_spans(client: httpx.Client, *spans: Json) -> None:
    assert client.post("/v1/traces", json=traces(spans)).json() == {}


def call(number: int, tokens: int, operation: str = "chat", **more: str | int) -> Json:
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.usage.input_tokens": tokens,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.response.model": "small-2026",
        "tallystick.cost_usd": 0.25,
        **more,
    }
    return span(number, attributes)


def used(client: httpx.Client, **query: str) -> Json:
    """The usage that the scoreboard shows of the one row."""
    (suite,) = client.get("/scoreboard", params=query).raise_for_status().json()["suites"]
    (row,) = suite["rows"]
    usage: Json = row["usage"]
    return {name: (usage[name]["stated"], usage[name]["total"], usage[name]["median"]) for name in usage if "_" in name}


@pytest.mark.parametrize("score_first", [True, False])
def test_the_span_of_a_score_has_its_usage(client: httpx.Client, score_first: bool) -> None:
    if not score_first:
        post_spans(client, call(1, 100), call(2, 300))
    for number in (1, 2):
        post_score(client, number)
    if score_first:
        post_spans(client, call(1, 100), call(2, 300))
    assert used(client) == {
        "input_tokens": (2, 400, 200.0),
        "output_tokens": (2, 20, 10.0),
        "cost_usd": (2, 0.5, 0.25),
        "elapsed_ns": (2, 4_000_000, 2_000_000.0),
    }
    run = client.get("/evaluations").json()["evaluations"][0]["run_id"]
    shown = client.get(f"/evaluations/{run}").json()
    rows = [row for result in shown["results"] for row in result["rows"]]
    assert [(row["input_tokens"], row["output_tokens"], row["reported_model"]) for row in rows] == [
        (100, 10, "small-2026"), (300, 10, "small-2026"),
    ]  # fmt: skip
    assert shown["usage"]["input_tokens"]["total"] == 400
    models = client.get("/scoreboard", params={"group_by": "model"}).json()["suites"][0]["rows"]
    assert [row["model"] for row in models] == ["small-2026"]
    before = (
        client.get("/scoreboard", params={"as_of": "3" if score_first else "4"}).raise_for_status().json()["suites"]
    )
    assert ("usage" in before[0]["rows"][0]) is not score_first


def test_a_span_without_tokens_counts_the_calls_of_its_trace_but_not_those_that_contain_others(
    client: httpx.Client,
) -> None:
    agent = span(1, {"gen_ai.operation.name": "invoke_agent"}, endTimeUnixNano=str(1_795_000_009 * 10**9))
    workflow = call(5, 10_000, "invoke_workflow")
    post_spans(client, agent, call(2, 100), call(3, 50), span(4, {"gen_ai.operation.name": "execute_tool"}), workflow)
    post_score(client, 1)
    assert used(client) == {
        "input_tokens": (1, 150, 150.0),
        "output_tokens": (1, 20, 20.0),
        "cost_usd": (1, 0.5, 0.5),
        "elapsed_ns": (1, 9 * 10**9, 9 * 10.0**9),
    }


def test_a_response_is_found_by_its_id_and_what_a_score_states_is_kept(client: httpx.Client) -> None:
    post_spans(client, call(1, 100, **{"gen_ai.response.id": "resp 1"}), call(2, 1))
    record = log_record({NAME: "Relevance", LABEL: "pass", "gen_ai.response.id": "resp 1"}, traceId="", spanId="")
    assert client.post("/v1/logs", json=logs(record)).json() == {}
    assert used(client)["input_tokens"] == (1, 100, 100.0)
    stated: dict[str, str | int] = {"gen_ai.usage.input_tokens": 7, "gen_ai.request.model": "own"}
    post_score(client, 2, **stated)
    assert used(client)["input_tokens"] == (2, 107, 53.5)
    assert used(client, as_of="4")["input_tokens"] == (1, 100, 100.0)
