"""Many who think and decide, at once, over restarts and behind tokens: no thought is lost, none is given twice."""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from api.principal import Scope
from api.token_store import TokenStore
from tests.api.cstp.client import Caller
from tests.api.cstp.thoughts import (
    decide,
    stream,
    texts,
    think,
)
from tests.support.server import served, serving

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def at_once(cstp: Caller, call: Callable[[Caller], dict[str, Any]], count: int = 32) -> list[dict[str, Any]]:
    """The answers to so many calls, each in a thread of its own, all sent together."""
    answers: list[dict[str, Any]] = []
    together = threading.Barrier(count)

    def post() -> None:
        together.wait()
        answers.append(call(cstp))

    threads = [threading.Thread(target=post) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == count
    return answers


@pytest.mark.slow
def test_row_21_a_restart_between_thinking_and_deciding_loses_no_thought(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    for turn in range(3):
        with served(ledger) as server, Caller(server.url) as cstp:
            think(cstp, f"thought {turn}", agentId="A")
            server.process.kill()
            server.process.wait()
    with serving(ledger) as url, Caller(url) as cstp:
        assert texts(cstp, decide(cstp, agentId="A")) == ["thought 0", "thought 1", "thought 2"]
    with serving(ledger) as url, Caller(url) as cstp:
        assert texts(cstp, decide(cstp, agentId="A")) == [], "nor gives one twice"


@pytest.mark.parametrize("thoughts", [1, 5])
def test_of_32_decisions_at_once_one_takes_up_a_thought(cstp: Caller, agent: str, thoughts: int) -> None:
    expected = [think(cstp, f"thought {number}", agentId=agent) for number in range(thoughts)]
    answers = at_once(cstp, lambda caller: decide(caller, agentId=agent))
    assert len({answer["id"] for answer in answers}) == 32
    taken = [text for answer in answers for text in texts(cstp, answer)]
    assert sorted(taken) == [f"thought {number}" for number in range(thoughts)]
    assert sum(answer.get("deliberation_inputs_count", 0) for answer in answers) == thoughts
    for thought in expected:
        assert len(stream(cstp, f"thought/{thought}")) == 2


def test_the_same_call_32_times_at_once_is_one_decision(cstp: Caller, agent: str) -> None:
    think(cstp, "one", agentId=agent)
    call = {"agentId": agent, "idempotencyKey": agent, "reviewIn": "7d", "project": agent}
    answers = at_once(cstp, lambda caller: decide(caller, **call))
    assert answers == [answers[0]] * 32
    assert texts(cstp, answers[0]) == ["one"]
    assert cstp.result("listDecisions", {"project": agent})["total"] == 1


class Guarded:
    """A server with tokens, and a caller for each."""

    def __init__(self, folder: Path) -> None:
        self.ledger = folder / "ledger.db"
        self.secrets: dict[str, str] = {}
        scopes: dict[str, tuple[Scope, ...]] = {"ada": ("append", "read"), "bo": ("append", "read"), "eve": ("read",)}
        for name, held in scopes.items():
            _, self.secrets[name] = TokenStore(self.ledger).add(name, held, NOW)
        self.url = ""

    def caller(self, name: str) -> Caller:
        return Caller(self.url, f"Bearer {self.secrets[name]}")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    made = Guarded(tmp_path_factory.mktemp("guarded"))
    with serving(made.ledger) as made.url:
        yield made


@pytest.mark.parametrize("scope", [{}, {"agentId": "ada"}, {"decisionId": "D"}, {"agentId": "ada", "decisionId": "D"}])
def test_row_20_no_agent_takes_up_anothers_thoughts_whatever_it_calls_itself(
    guarded: Guarded, scope: dict[str, str]
) -> None:
    with guarded.caller("ada") as ada, guarded.caller("bo") as bo:
        think(ada, "ada's", **scope)
        think(bo, "bo's", **scope)
        assert texts(bo, decide(bo, **scope)) == ["bo's"]
        assert texts(bo, decide(bo, **scope)) == []
        assert texts(ada, decide(ada, **scope)) == ["ada's"]


def test_a_token_that_only_reads_thinks_nothing_and_sees_the_tracker(guarded: Guarded) -> None:
    with guarded.caller("eve") as eve:
        frame = {"jsonrpc": "2.0", "id": 1, "method": "cstp.recordThought", "params": {"text": "t"}}
        assert eve.http.post("/cstp", json=frame).status_code == 403
        assert "sessions" in eve.result("debugTracker")
