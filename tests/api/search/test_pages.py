"""Pages of a ranked search have every match once, in one order, whatever their size."""

from pathlib import Path

import pytest

from tests.api.cstp.client import Caller
from tests.support.embeddings_endpoint import vector_of
from tests.support.server import served

pytestmark = pytest.mark.slow


MODEL = "my-model"
COUNT = 40
TOPICS = ("a car", "an automobile", "the doctor", "a green wall", "the queue")


@pytest.mark.parametrize("mode", ["semantic", "hybrid", "keyword"])
@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_pages_are_disjoint_and_complete(tmp_path: Path, mode: str, weight: float) -> None:
    ask: dict[str, object] = {"query": "Rent a car today", "retrievalMode": mode, "hybridWeight": weight}
    ask |= {"embedding": vector_of("a car"), "embeddingModel": MODEL}
    with served(tmp_path / "t.db") as running, Caller(running.url) as caller:
        for number in range(COUNT):
            text = f"{TOPICS[number % 5]} {'rent' if number % 3 else 'today'} {'car ' * (number % 4)}number {number}"
            vector: dict[str, object] = {"embedding": vector_of(text), "embeddingModel": MODEL} if number % 7 else {}
            caller.record({"decision": text, **vector})
        whole = caller.result("queryDecisions", {**ask, "limit": 50})
        assert whole["retrievalMode"] == mode
        assert len(whole["decisions"]) == whole["total"] > 20
        for limit in (1, 3, 10):
            paged = []
            for offset in range(0, whole["total"] + limit, limit):
                page = caller.result("queryDecisions", {**ask, "limit": limit, "offset": offset})
                assert page["total"] == whole["total"]
                assert all(page["scores"][row["id"]] == whole["scores"][row["id"]] for row in page["decisions"])
                paged += page["decisions"]
            assert paged == whole["decisions"], limit
