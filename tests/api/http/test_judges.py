"""Routes of judges: the same answers as the command line, labels over HTTP, and who may label what."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from api.principal import ReviewPolicy, Scope
from api.token_store import TokenStore
from events.envelope import encode_draft
from events.evaluation import EvalStarted
from ledger.clock import system_clock
from tests.api.cli.command import done
from tests.projections.drafts import post
from tests.projections.judged_evaluations import Truth, decisions_of, judged, simulated
from tests.support.server import served

PULL = {"run_id": "r", "scenario_id": "pull", "criterion": "cause", "passed": True}


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server without tokens, of a ledger with a simulated judge."""
    path = tmp_path_factory.mktemp("open") / "t.db"
    done(path, "append", given=b"\n".join(map(encode_draft, simulated(Truth(), 40, 20, seed=2))))
    with served(path) as server:
        yield server.url


def test_both_interfaces_give_the_same_answers(open_server: str) -> None:
    with httpx.Client(base_url=open_server, timeout=None) as client:
        for path, words in (
            ("/judges", ("judge", "report")),
            ("/labels/queue?limit=3", ("eval", "labels", "--limit", "3")),
        ):
            answer = client.get(path)
            assert answer.status_code == 200, answer.text
            asked = done(Path("unused.db"), "--url", open_server, *words, "--json").out
            assert msgspec.json.decode(asked) == answer.json()
        (judge,) = client.get("/judges", params={"suite": "incidents"}).json()["judges"]
        assert judge["whole"]["labelled"] == 20
        assert client.get("/judges", params={"judge": "other"}).json()["unknown_names"][0]["value"] == "other"


def test_a_label_over_http_counts_like_any_other(open_server: str) -> None:
    with httpx.Client(base_url=open_server, timeout=None) as client:
        queue = client.get("/labels/queue").json()
        first = queue["answers"][0]
        mark = {
            "run_id": first["run_id"],
            "scenario_id": first["scenario_id"],
            "criterion": "root_cause",
            "passed": True,
        }
        label = client.post("/labels", json={"data": mark, "id": "label-over-http"})
        assert label.status_code == 201, label.text
        assert (label.json()["reviews"], label.json()["label_id"]) == (1, label.json()["label_id"])
        assert client.post("/labels", json={"data": mark, "id": "label-over-http"}).status_code == 200
        assert client.get("/labels/queue").json()["total"] == queue["total"] - 1
        events = client.get(f"/streams/label/{label.json()['label_id']}")
        assert events.status_code == 200
        mistakes: list[tuple[dict[str, Any], int]] = [
            ({"data": {**mark, "run_id": "none"}}, 404),
            ({"data": {**mark, "criterion": "tone"}}, 400),
            ({"data": {**mark, "attempt": 9}}, 404),
            ({"data": {**mark, "passed": "yes"}}, 422),
            ({"data": mark, "unknown": 1}, 422),
        ]
        before = client.get("/events", params={"limit": 1}).json()["head"]
        for body, status in mistakes:
            assert client.post("/labels", json=body).status_code == status, body
        assert client.get("/events", params={"limit": 1}).json()["head"] == before


def test_who_may_label(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    score = judged("r", "pull", "the image", {"cause": [True]})
    drafts = [post(EvalStarted(run_id="r", suite="s")), *decisions_of(score), post(score)]
    done(path, "append", given=b"\n".join(map(encode_draft, drafts)))
    tokens = TokenStore(path)
    held: dict[str, tuple[tuple[Scope, ...], ReviewPolicy]] = {
        "ann": (("append", "read"), "any"),
        "bo": (("append", "read"), "any"),
        "chief": (("append", "read", "review"), "any"),
        "reader": (("read",), "any"),
        "agent": (("append", "read"), "none"),
        "judge:example": (("append", "read"), "any"),
    }
    secrets = {
        name: tokens.add(name, scopes, system_clock(), review=review)[1] for name, (scopes, review) in held.items()
    }
    with served(path) as server, httpx.Client(base_url=server.url, timeout=None) as client:

        def label(name: str, *, passed: bool) -> httpx.Response:
            headers = {"authorization": f"Bearer {secrets[name]}"}
            return client.post("/labels", json={"data": {**PULL, "passed": passed}}, headers=headers)

        assert label("reader", passed=True).status_code == 403
        refusal = label("agent", passed=True)
        assert refusal.status_code == 403
        assert "may not label answers" in refusal.json()["detail"]
        refusal = label("judge:example", passed=True)
        assert refusal.status_code == 403
        assert "judges are checked against labels" in refusal.json()["detail"]
        assert label("ann", passed=True).json()["reviews"] == 1
        assert label("bo", passed=True).json()["reviews"] == 0
        refusal = label("bo", passed=False)
        assert refusal.status_code == 403
        assert "ann" in refusal.text
        assert label("chief", passed=False).json()["reviews"] == 1
        decision = client.get("/decisions/r-pull-1-cause", headers={"authorization": f"Bearer {secrets['ann']}"}).json()
        assert (decision["review"]["outcome"], decision["review"]["reviewed_by"]) == ("failure", "chief")
        anyone = {"authorization": f"Bearer {secrets['reader']}"}
        labels = client.get("/streams/label/" + label_stream(client, anyone), headers=anyone).json()["events"]
        assert len(labels) == 3  # a refused batch leaves no label either


def label_stream(client: httpx.Client, headers: dict[str, str]) -> str:
    """The id of the only label."""
    events = client.get("/events", params={"type": "eval.labelled.v1"}, headers=headers).json()["events"]
    (label_id,) = {event["data"]["label_id"] for event in events}
    return str(label_id)
