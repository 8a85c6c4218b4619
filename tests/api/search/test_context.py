"""preAction and getSessionContext find similar decisions by their meaning, if the ledger has vectors."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.cstp.client import Caller
from tests.api.search.test_endpoint import MODEL, TEXTS, await_indexed, options
from tests.api.search.test_supplied import head
from tests.support.embeddings_endpoint import embedding, vector_of
from tests.support.server import served

pytestmark = pytest.mark.slow


def context(caller: Caller, text: str, **more: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """The answers of both methods to a text that describes an action or a task."""
    action = caller.result("preAction", {"action": {"description": text}, "autoRecord": False, **more})
    return action, caller.result("getSessionContext", {"taskDescription": text, **more})


def test_they_find_what_shares_no_word(tmp_path: Path) -> None:
    with (
        embedding(tmp_path / "asked") as endpoint,
        served(tmp_path / "t.db", *options(endpoint)) as running,
        Caller(running.url) as caller,
    ):
        for text in TEXTS:
            caller.record(decision=text, confidence=0.5)
        await_indexed(running.url)
        query = caller.result("queryDecisions", {"query": "doctor", "retrievalMode": "hybrid"})
        for answer in context(caller, "doctor"):
            assert answer["relevantDecisions"][0]["title"] == TEXTS[1]
            rows = [{**row, "compactionLevel": "full"} for row in query["decisions"]]
            assert answer["relevantDecisions"] in (rows, query["decisions"])  # preAction states the level
            assert answer["retrievalMode"] == "hybrid"
            assert "retrievalNote" not in answer
        limited = caller.result("getSessionContext", {"taskDescription": "doctor", "decisionsLimit": 1})
        assert [row["title"] for row in limited["relevantDecisions"]] == [TEXTS[1]]
        other = {"description": "doctor", "category": "security"}
        assert caller.result("preAction", {"action": other, "autoRecord": False})["relevantDecisions"] == []


def test_a_supplied_vector_is_compared_and_recorded(tmp_path: Path) -> None:
    with served(tmp_path / "t.db") as running, Caller(running.url) as caller:
        first = caller.record(decision="Rent it", embedding=vector_of("a car"), embeddingModel=MODEL)
        vector = {"embedding": vector_of("an automobile"), "embeddingModel": MODEL}
        for answer in context(caller, "Something else", **vector):
            assert [row["id"] for row in answer["relevantDecisions"]] == [first]
            assert answer["retrievalMode"] == "hybrid"
        for answer in context(caller, "Rent"):
            assert [row["id"] for row in answer["relevantDecisions"]] == [first]
            assert answer["retrievalMode"] == "keyword"
            assert f"no `embedding` of {MODEL}" in answer["retrievalNote"]
        made = caller.result("preAction", {"action": {"description": "Buy one"}, **vector})["decisionId"]
        found = caller.result("queryDecisions", {"query": "x", "retrievalMode": "semantic", **vector})
        assert found["decisions"][0]["id"] == made
        position = head(running.url)
        for wrong in ({"embedding": [1.0] * 3, "embeddingModel": MODEL}, {**vector, "embeddingModel": "other"}):
            code, message = caller.error("preAction", {"action": {"description": "Buy one"}, **wrong})
            assert (code, message.startswith("embedding")) == (-32602, True)
            assert caller.error("getSessionContext", {"taskDescription": "x", **wrong})[0] == -32602
        assert head(running.url) == position, "nothing was written"


def test_without_vectors_the_answers_are_as_before(tmp_path: Path) -> None:
    with served(tmp_path / "t.db") as running, Caller(running.url) as caller:
        caller.record(decision=TEXTS[0])
        for answer in context(caller, "automobile"):
            assert [row["title"] for row in answer["relevantDecisions"]] == [TEXTS[0]]
            assert not {"retrievalMode", "retrievalNote"} & answer.keys()
        vector = {"embedding": vector_of("a car"), "embeddingModel": MODEL}
        answer = caller.result("getSessionContext", {"taskDescription": "automobile", **vector})
        assert [row["title"] for row in answer["relevantDecisions"]] == [TEXTS[0]]
        assert (answer["retrievalMode"], "no embeddings here" in answer["retrievalNote"]) == ("keyword", True)


def test_a_slow_endpoint_delays_one_query(tmp_path: Path) -> None:
    """It falls back to words, says why, and does not ask again at once."""
    with (
        embedding(tmp_path / "asked", "--delay-s", "30") as slow,
        served(tmp_path / "t.db", *options(slow)) as running,
        Caller(running.url) as caller,
    ):
        caller.record(decision=TEXTS[0])
        first = caller.result("queryDecisions", {"query": "automobile"})
        for answer in context(caller, "automobile"):
            assert [row["title"] for row in answer["relevantDecisions"]] == [TEXTS[0]]
            assert answer["retrievalMode"] == "keyword"
            assert "gave no answer within 3 s" in answer["retrievalNote"]
        assert slow.texts().count("automobile") == 1, "it is not asked again"
        assert first["retrievalMode"] == "keyword"
        assert "gave no answer within 3 s" in first["note"]


def test_an_endpoint_that_is_down_is_named(tmp_path: Path) -> None:
    with embedding(tmp_path / "asked") as gone:
        where = options(gone)
    with served(tmp_path / "t.db", *where) as running, Caller(running.url) as caller:
        assert caller.record(decision=TEXTS[0])
        for answer in context(caller, "automobile"):
            assert [row["title"] for row in answer["relevantDecisions"]] == [TEXTS[0]]
            assert "embeddings endpoint gave no answer" in answer["retrievalNote"]
        markdown = caller.result("getSessionContext", {"taskDescription": "automobile", "format": "markdown"})
        assert TEXTS[0] in markdown["markdown"]
