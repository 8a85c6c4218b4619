"""Vectors that callers supply: kept in the log, compared without an endpoint, refused if they cannot be compared."""

import struct
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.cstp.client import Caller
from tests.support.embeddings_endpoint import vector_of
from tests.support.server import served

MODEL = "my-model"


def supplied(text: str, model: str = MODEL) -> dict[str, Any]:
    return {"embedding": vector_of(text), "embeddingModel": model}


def head(url: str) -> int:
    position: int = httpx.get(f"{url}/status").json()["head"]["position"]
    return position


def nearest(caller: Caller, text: str, **more: object) -> dict[str, Any]:
    return caller.result("queryDecisions", {"query": text, **supplied(text), **more})


@pytest.mark.slow
def test_supplied_vectors_are_found_and_survive_the_file(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    with served(ledger) as running, Caller(running.url) as caller:
        car = caller.record(decision="Rent it", **supplied("an automobile"))
        caller.record(decision="Call her", **supplied("the physician"))
        caller.record(decision="Neither of both")
        answer = nearest(caller, "a car")
        assert (answer["retrievalMode"], answer["total"]) == ("semantic", 2)
        assert answer["decisions"][0]["id"] == car
        exact = nearest(caller, "an automobile", limit=1)
        assert exact["decisions"][0]["distance"] == 0
        keyword = caller.result("queryDecisions", {"query": "Rent"})
        assert keyword["retrievalMode"] == "keyword"
        assert "no `embedding` of my-model" in keyword["note"]
    for path in tmp_path.glob("t.db.vectors.db*"):
        path.unlink()
    with served(ledger) as running, Caller(running.url) as caller:
        again = nearest(caller, "a car")
        assert again["decisions"] == answer["decisions"], "the log has what cannot be computed"


@pytest.mark.slow
def test_a_thought_brings_its_vector_to_its_decision(tmp_path: Path) -> None:
    with served(tmp_path / "t.db") as running, Caller(running.url) as caller:
        caller.result("recordThought", {"text": "About transport", **supplied("a car")})
        before = caller.record(decision="First")
        after = caller.record(decision="Second", **supplied("something green"))
        caller.result("recordThought", {"text": "About health", "id": after, **supplied("the doctor")})
        assert nearest(caller, "a car")["decisions"][0]["id"] == before
        assert nearest(caller, "the doctor")["decisions"][0]["id"] == after
        assert nearest(caller, "something green")["decisions"][0]["distance"] == 0, "the decision's own stays"


@pytest.mark.slow
def test_a_repetition_writes_nothing_and_another_vector_is_refused(tmp_path: Path) -> None:
    with served(tmp_path / "t.db") as running, Caller(running.url) as caller:
        params = {"decision": "Rent it", "idempotencyKey": "k1", **supplied("a car")}
        first = caller.result("recordDecision", params)
        position = head(running.url)
        assert caller.result("recordDecision", params)["id"] == first["id"]
        thought = {"text": "Why", "idempotencyKey": "k2", **supplied("a car")}
        caller.result("recordThought", thought)
        caller.result("recordThought", thought)
        assert head(running.url) == position + 2
        caller.error("recordDecision", params | supplied("a doctor"))
        assert head(running.url) == position + 2


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"embedding": [1.0] * 32, "embeddingModel": MODEL}, ("32", "64")),
        ({"embedding": [1.0] * 64, "embeddingModel": "other"}, ("'other'", "'my-model'")),
        ({"embedding": [0.0] * 64, "embeddingModel": MODEL}, ("embedding", "zeros")),
        ({"embedding": [], "embeddingModel": MODEL}, ("embedding", "1 to 4,096")),
        ({"embedding": [1.0] * 64}, ("embeddingModel", "model")),
        ({"embeddingModel": MODEL}, ("embedding",)),
        ({"embedding": ["x"], "embeddingModel": MODEL}, ("embedding",)),
        ({"embedding": [1.0] * 5_000, "embeddingModel": MODEL}, ("embedding", "4096")),
    ],
)
def test_a_vector_that_cannot_be_compared_writes_nothing(
    tmp_path: Path, more: dict[str, object], words: Sequence[str]
) -> None:
    with served(tmp_path / "t.db") as running, Caller(running.url) as caller:
        made = caller.record(decision="Rent it", **supplied("a car"))
        position = head(running.url)
        for method, params in (
            ("recordDecision", {"decision": "Buy it"}),
            ("recordThought", {"text": "Buy it"}),
            ("recordThought", {"text": "Buy it", "id": made}),
        ):
            code, message = caller.error(method, params | more)
            assert code == -32602
            for word in words:
                assert word in message
        body = {"data": {"decision": "Buy it"}, **{name.replace("gM", "g_m"): value for name, value in more.items()}}
        refused = httpx.post(f"{running.url}/decisions", json=body)
        assert refused.status_code == 422, refused.text
        assert head(running.url) == position


@pytest.mark.parametrize("number", ["NaN", "1e999", "Infinity"])
def test_a_number_that_is_none_is_refused(tmp_path: Path, number: str) -> None:
    with served(tmp_path / "t.db") as running:
        body = f'{{"data":{{"decision":"x"}},"embedding":[1.0,{number}],"embedding_model":"m"}}'
        refused = httpx.post(f"{running.url}/decisions", content=body, headers={"content-type": "application/json"})
        assert refused.status_code in {400, 422}
        page = httpx.get(
            f"{running.url}/decisions",
            params={"retrieval_mode": "semantic", "embedding": f"[1.0, {number}]", "embedding_model": "m"},
        )
        assert page.status_code == 400
        assert page.json()["detail"].startswith("embedding")
        event = {"type": "decision.embedded.v1", "data": {"decision_id": "d", "model": "m", "vector": "AHwAPA=="}}
        stored = httpx.post(f"{running.url}/events", json=event)
        assert stored.status_code == 422
        assert head(running.url) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"retrieval_mode": "semantic"}, "retrieval_mode"),
        ({"retrieval_mode": "semantic", "search": "x", "sort": "stakes"}, "sort"),
        ({"retrieval_mode": "semantic", "search": "x", "offset": "5"}, "offset"),
        ({"search": "x", "hybrid_weight": "0.5"}, "hybrid_weight"),
        ({"retrieval_mode": "hybrid", "search": "x", "hybrid_weight": "2"}, "hybrid_weight"),
        ({"retrieval_mode": "near", "search": "x"}, "retrieval_mode"),
        ({"retrieval_mode": "semantic", "embedding": "[1]"}, "embedding_model"),
        ({"retrieval_mode": "semantic", "embedding": "abc", "embedding_model": "m"}, "embedding"),
    ],
)
def test_wrong_parameters_are_named(tmp_path: Path, params: dict[str, str], field: str) -> None:
    with served(tmp_path / "t.db") as running:
        answer = httpx.get(f"{running.url}/decisions", params=params)
        assert answer.status_code == 400
        assert answer.json()["detail"].startswith(field)


@pytest.mark.trial("N16")
def test_a_query_of_another_size_is_refused(empty_cstp: Caller) -> None:
    empty_cstp.record(decision="Rent it", **supplied("an automobile"))
    query = {"query": "Rent", "embedding": [0.1, 0.2, 0.3], "embeddingModel": MODEL}
    code, message = empty_cstp.error("queryDecisions", query)
    assert code == -32602
    assert f"must have {len(vector_of('x'))} numbers, as every vector of {MODEL}, got 3." in message


@pytest.mark.trial("N16")
def test_the_norm_of_a_stored_vector_is_named(empty_client: httpx.Client) -> None:
    vector = b64encode(struct.pack("<2e", 0.2, 0.2)).decode()
    event = {"type": "decision.embedded.v1", "data": {"decision_id": "d1", "model": MODEL, "vector": vector}}
    detail = empty_client.post("/events", json=event).json()["detail"]
    assert detail == "data.vector must have norm 1 (the root of the sum of squares), got 0.283."
