"""Search by meaning with the operator's endpoint: real processes, a real socket, kill -9, and a deleted file."""

import base64
import os
import signal
import sqlite3
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.cstp.client import Caller
from tests.support.embeddings_endpoint import Endpoint, embedding, vector_of
from tests.support.server import Served, served
from tests.support.wait import wait_until

MODEL = "bag-of-words"


def options(endpoint: Endpoint) -> tuple[str, ...]:
    return ("--embeddings-url", endpoint.address, "--embeddings-model", MODEL)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with embedding(tmp_path_factory.mktemp("endpoint") / "asked") as running:
        yield running


def vectors(url: str) -> dict[str, Any]:
    status: dict[str, Any] = httpx.get(f"{url}/status").json()
    found: dict[str, Any] = status["vectors"]
    return found


def await_indexed(url: str) -> dict[str, Any]:
    while (state := vectors(url))["missing"]:
        time.sleep(0.02)
    return state


def found(caller: Caller, query: str, **more: object) -> list[str]:
    answer = caller.result("queryDecisions", {"query": query, **more})
    return [row["title"] for row in answer["decisions"]]


TEXTS = ("Rent an automobile for the trip", "See the physician on Monday", "Paint the wall green")


@pytest.fixture
def server(tmp_path: Path, endpoint: Endpoint) -> Iterator[Served]:
    with served(tmp_path / "t.db", *options(endpoint)) as running:
        yield running


@pytest.mark.slow
def test_a_search_by_meaning_finds_what_shares_no_word(server: Served) -> None:
    with Caller(server.url) as caller:
        for text in TEXTS:
            caller.record(decision=text)
        await_indexed(server.url)
        answer = caller.result("queryDecisions", {"query": "Rent a car", "retrievalMode": "semantic"})
        assert (answer["retrievalMode"], answer["requestedMode"], answer["total"]) == ("semantic", "semantic", 3)
        assert answer["embeddingModel"] == MODEL
        assert "note" not in answer
        assert "matched" not in answer
        distances = [row["distance"] for row in answer["decisions"]]
        assert distances == sorted(distances)
        assert answer["decisions"][0]["title"] == TEXTS[0]
        best = answer["decisions"][0]
        assert answer["scores"][best["id"]] == {
            "semantic": round(1 - best["distance"], 4),
            "combined": round(1 - best["distance"], 4),
        }
        cosine = sum(a * b for a, b in zip(vector_of("Rent a car"), vector_of(TEXTS[0]), strict=True))
        assert best["distance"] == pytest.approx(1 - cosine, abs=1e-3)
        assert found(caller, "physician", retrievalMode="keyword") == [TEXTS[1]]
        assert found(caller, "doctor", retrievalMode="keyword") == []


@pytest.mark.slow
def test_hybrid_weighs_both_lists(server: Served) -> None:
    with Caller(server.url) as caller:
        for text in TEXTS:
            caller.record(decision=text)
        await_indexed(server.url)
        ask = {"query": "doctor wall", "retrievalMode": "hybrid"}
        answer = caller.result("queryDecisions", ask | {"hybridWeight": 0.0})
        assert answer["retrievalMode"] == "hybrid"
        assert answer["decisions"][0]["title"] == TEXTS[2], "only its words count"
        assert answer["decisions"][0]["distance"] == 0
        only_meaning = caller.result("queryDecisions", ask | {"hybridWeight": 1.0})
        semantic = caller.result("queryDecisions", ask | {"retrievalMode": "semantic"})
        assert [row["id"] for row in only_meaning["decisions"]] == [row["id"] for row in semantic["decisions"]]
        half = caller.result("queryDecisions", ask | {"hybridWeight": 0.5})
        for row in half["decisions"]:
            assert row["distance"] == pytest.approx(1 - half["scores"][row["id"]]["combined"], abs=2e-4)
        assert half == caller.result("queryDecisions", ask | {"hybridWeight": 0.5}) | {
            "queryTimeMs": half["queryTimeMs"]
        }


@pytest.mark.slow
def test_http_and_the_command_line_answer_as_cstp(server: Served, tmp_path: Path) -> None:
    with Caller(server.url) as caller:
        for text in TEXTS:
            caller.record(decision=text)
        await_indexed(server.url)
        answer = caller.result("queryDecisions", {"query": "a car", "retrievalMode": "hybrid", "limit": 2})
        page = httpx.get(
            f"{server.url}/decisions", params={"search": "a car", "retrieval_mode": "hybrid", "limit": 2}
        ).json()
        assert [item["decision_id"] for item in page["decisions"]] == [row["id"] for row in answer["decisions"]]
        assert page["total"] == answer["total"]
        retrieval = page["retrieval"]
        assert (retrieval["mode"], retrieval["requested"], retrieval["model"]) == ("hybrid", "hybrid", MODEL)
        assert [round(match["distance"], 4) for match in retrieval["scores"]] == [
            row["distance"] for row in answer["decisions"]
        ]
        packed = base64.b64encode(struct.pack("<64f", *vector_of("a car"))).decode()
        by_vector = httpx.get(
            f"{server.url}/decisions",
            params={"retrieval_mode": "semantic", "embedding": packed, "embedding_model": MODEL, "limit": 1},
        ).json()
        assert by_vector["decisions"][0]["decision"]["decision"] == TEXTS[0]


@pytest.mark.slow
def test_as_of_and_amendments_have_the_vectors_of_their_time(server: Served) -> None:
    with Caller(server.url) as caller:
        first = caller.record(decision="Rent an automobile")
        position = int(httpx.get(f"{server.url}/status").json()["head"]["position"])
        caller.record(decision="Paint the wall")
        caller.result("updateDecision", {"id": first, "updates": {"decision": "See the physician"}})
        await_indexed(server.url)

        def nearest(search: str, **more: object) -> tuple[str, float]:
            params = {"search": search, "retrieval_mode": "semantic", **more}
            page = httpx.get(f"{server.url}/decisions", params=params).json()  # type: ignore[arg-type]
            return page["decisions"][0]["decision"]["decision"], page["retrieval"]["scores"][0]["distance"]

        assert nearest("doctor")[0] == "See the physician"
        now = nearest("car", as_of=position)
        assert now[0] == "Rent an automobile"
        assert now[1] < 0.7
        assert (
            httpx.get(
                f"{server.url}/decisions", params={"search": "car", "retrieval_mode": "semantic", "as_of": position}
            ).json()["total"]
            == 1
        )


def test_without_an_endpoint_the_answer_says_why(tmp_path: Path) -> None:
    with served(tmp_path / "t.db") as running, Caller(running.url) as caller:
        caller.record(decision=TEXTS[0])
        answer = caller.result("queryDecisions", {"query": "automobile"})
        assert answer["retrievalMode"] == "keyword"
        assert answer["note"] == "There are no embeddings here: semantic was answered by keyword."
        assert not (tmp_path / "t.db.vectors.db").exists()
        page = httpx.get(f"{running.url}/decisions", params={"search": "automobile", "retrieval_mode": "hybrid"}).json()
        assert page["retrieval"]["mode"] == "keyword"
        assert page["retrieval"]["note"] == "There are no embeddings here: answered by keyword."


@pytest.mark.slow
def test_a_failing_endpoint_leaves_words_and_appends_alone(tmp_path: Path) -> None:
    log = tmp_path / "asked"
    with (
        embedding(log, "--key", "secret-key") as refusing,
        served(tmp_path / "t.db", *options(refusing)) as running,
        Caller(running.url) as caller,
    ):
        caller.record(decision=TEXTS[0])
        line = running.wait_for("no vectors")
        assert "no such key" in line["reason"]
        answer = caller.result("queryDecisions", {"query": "automobile"})
        assert answer["retrievalMode"] == "keyword"
        assert "no such key" in answer["note"]
        assert "no such key" in vectors(running.url)["error"]


@pytest.mark.slow
def test_a_model_that_changes_under_its_name_is_refused(tmp_path: Path, endpoint: Endpoint) -> None:
    ledger = tmp_path / "t.db"
    with served(ledger, *options(endpoint)) as running, Caller(running.url) as caller:
        caller.record(decision=TEXTS[0])
        await_indexed(running.url)
    with (
        embedding(tmp_path / "asked", "--numbers", "32") as other,
        served(ledger, *options(other)) as running,
        Caller(running.url) as caller,
    ):
        caller.record(decision=TEXTS[1])
        assert "gave 32 numbers" in running.wait_for("no vectors")["reason"]
        answer = caller.result("queryDecisions", {"query": "automobile"})
        assert answer["retrievalMode"] == "keyword"
        assert "must have 64 numbers" in answer["note"]
        state = vectors(running.url)
        assert (state["vectors"], state["missing"]) == (1, 1), "nothing was written"


@pytest.mark.slow
def test_kill_while_indexing_loses_no_vector_that_was_stored(tmp_path: Path) -> None:
    ledger, count = tmp_path / "t.db", 400
    with served(ledger) as running, httpx.Client(base_url=running.url) as http:
        events = [{"type": "decision.recorded.v1", "data": {"decision": f"Use option {n}"}} for n in range(count)]
        assert http.post("/events", json=events).status_code == 201
    with embedding(tmp_path / "asked", "--delay-s", "0.05") as slow:
        # a server of its own process, because it is killed
        server = Served(ledger, *options(slow), environment={"TALLYSTICK_TEST": "1"})
        wait_until(lambda: len(slow.texts()) >= 130, server.process)
        assert server.process.pid
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        before = len(slow.texts())
        with served(ledger, *options(slow)) as running:
            state = await_indexed(running.url)
            assert (state["vectors"], state["error"]) == (count, None)
            assert len(slow.texts()) - before <= count - before + 64, "what was stored is not asked for again"
            with Caller(running.url) as caller:
                assert "Use option 17" in found(caller, "Use option 17", limit=50), "some share a bucket"
                whole = caller.result("queryDecisions", {"query": "option 21", "limit": 50})
        for path in tmp_path.glob("t.db.vectors.db*"):
            path.unlink()
        with served(ledger, *options(slow)) as running, Caller(running.url) as caller:
            await_indexed(running.url)
            again = caller.result("queryDecisions", {"query": "option 21", "limit": 50})
            assert again | {"queryTimeMs": 0} == whole | {"queryTimeMs": 0}, "the rebuilt file answers alike"


@pytest.mark.slow
def test_appends_do_not_wait_for_the_endpoint(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    with (
        embedding(tmp_path / "asked", "--delay-s", "2") as slow,
        served(ledger, *options(slow)) as running,
        httpx.Client(base_url=running.url) as http,
    ):
        events = [{"type": "decision.recorded.v1", "data": {"decision": f"Use option {n}"}} for n in range(2_000)]
        assert http.post("/events", json=events).status_code == 201
        for number in range(50):
            http.post("/decisions", json={"data": {"decision": f"More {number}"}}).raise_for_status()
        assert vectors(running.url)["missing"], "the endpoint is far behind"


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["garbage", "link", "forged"])
def test_a_damaged_or_foreign_file_is_replaced(tmp_path: Path, endpoint: Endpoint, damage: str) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "t.db.vectors.db"
    with served(ledger, *options(endpoint)) as running, Caller(running.url) as caller:
        for text in TEXTS:
            caller.record(decision=text)
        await_indexed(running.url)
        before = found(caller, "car")
    if damage == "forged":
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE vectors SET vector = (SELECT vector FROM vectors WHERE id = 2) WHERE id = 1")
        connection.close()
    else:
        for path in tmp_path.glob("t.db.vectors.db*"):
            path.unlink()
        if damage == "link":
            (tmp_path / "other").write_bytes(b"kept")
            file.symlink_to(tmp_path / "other")
        else:
            file.write_bytes(b"not a database" * 1000)
    with served(ledger, *options(endpoint)) as running, Caller(running.url) as caller:
        await_indexed(running.url)
        assert found(caller, "car") == before
    if damage == "link":
        assert (tmp_path / "other").read_bytes() == b"kept"
        assert not file.is_symlink()
