"""The agent of a decision: the one that the caller names, if the caller may append as that agent."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.token_store import TokenStore
from tests.api.cstp.client import Caller
from tests.support.server import Served, serving

pytestmark = pytest.mark.trial("D3")

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def total(cstp: Caller, agent: str) -> int:
    profile: dict[str, Any] = cstp.result("getSessionContext", {"agentId": agent})["agentProfile"]
    return int(profile["totalDecisions"])


@pytest.mark.parametrize("name", ["agentId", "agent_id"])
def test_without_tokens_a_decision_is_recorded_by_the_agent_that_it_names(
    cstp: Caller, project: str, agent: str, name: str
) -> None:
    for _ in range(3):
        answer = cstp.result("recordDecision", {"decision": "x", "project": project, "confidence": 0.5, name: agent})
        assert answer["recorded_by"] == agent
        assert cstp.decision(answer["id"])["recorded_by"] == agent
    assert total(cstp, agent) == 3
    assert cstp.result("listDecisions", {"agent": agent})["total"] == 3
    assert cstp.result("getStats", {"project": project})["byAgent"] == {agent: 3}
    assert cstp.result("getCalibration", {"agent": agent})["confidenceStats"]["count"] == 3
    assert "recorded_by" not in cstp.result("recordDecision", {"decision": "x", "project": project})


def test_an_action_is_recorded_by_the_agent_that_it_names_and_weighed_by_its_figures(cstp: Caller, agent: str) -> None:
    cstp.judge("weighed", [(0.9, "SSSFF")], agentId=agent)
    answer = cstp.result("preAction", {"action": {"description": "x"}, "agentId": agent})
    assert cstp.decision(answer["decisionId"])["recorded_by"] == agent
    assert answer["calibrationContext"]["reviewedDecisions"] == 5


@pytest.mark.parametrize("header", ["Bearer scout:tok", "bearer scout:tok", "Bearer scout:a:b"])
def test_without_tokens_the_header_names_the_agent(server: Served, project: str, header: str) -> None:
    with Caller(server.url, header) as scout:
        made = scout.record(project=project)
        assert scout.decision(made)["recorded_by"] == "scout"
        assert scout.result("getSessionContext")["agentProfile"]["agent"] == "scout"
        scout.result("reviewDecision", {"id": made, "outcome": "success"})
        assert scout.decision(made)["reviewed_by"] == "scout"
        named = scout.result("recordDecision", {"decision": "x", "project": project, "agentId": "other"})
        assert named["recorded_by"] == "other"


@pytest.mark.parametrize("header", ["Bearer tok", "Bearer scout:", "Bearer :tok", "Basic scout:tok", "Bearer a b:tok"])
def test_a_header_that_names_no_agent_changes_nothing(server: Served, header: str) -> None:
    with Caller(server.url, header) as caller:
        assert caller.decision(caller.record())["recorded_by"] == "anonymous"


def test_a_name_that_no_agent_can_have_is_recorded_as_the_caller(cstp: Caller) -> None:
    answer = cstp.result("recordDecision", {"decision": "x", "agentId": "somebody else"})
    assert answer["recorded_by"] == cstp.decision(answer["id"])["recorded_by"] == "anonymous"


def test_a_decision_adopts_the_thoughts_of_its_agent_and_of_its_caller(cstp: Caller, agent: str) -> None:
    scope = {"agentId": agent, "decisionId": agent}
    for params in ({"agentId": agent}, {"decisionId": agent}, scope):
        cstp.result("recordThought", {"text": f"thought of {sorted(params)}", **params})
    answer = cstp.result("recordDecision", {"decision": "x", "idempotencyKey": agent, **scope})
    steps = cstp.decision(answer["id"])["deliberation"]["steps"]
    assert [step["thought"] for step in steps] == [
        "thought of ['agentId']", "thought of ['decisionId']", "thought of ['agentId', 'decisionId']",
    ]  # fmt: skip
    assert cstp.result("recordDecision", {"decision": "x", "idempotencyKey": agent, **scope}) == answer


def test_the_same_key_of_two_agents_is_two_decisions(cstp: Caller, project: str, agent: str) -> None:
    call = {"decision": "x", "project": project, "idempotencyKey": project}
    first = cstp.result("recordDecision", {**call, "agentId": agent})
    second = cstp.result("recordDecision", {**call, "agentId": f"{agent}-2"})
    assert first["id"] != second["id"]
    assert cstp.result("recordDecision", {**call, "agentId": agent}) == first
    assert cstp.result("listDecisions", {"project": project})["total"] == 2


class Guarded:
    """A server with tokens: of an agent, and of one that may append as others."""

    def __init__(self, folder: Path) -> None:
        self.ledger = folder / "ledger.db"
        store = TokenStore(self.ledger)
        self.own = store.add("own", ("append", "read"), NOW)[1]
        self.gateway = store.add("gateway", ("append", "read", "import"), NOW)[1]
        self.url = ""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    made = Guarded(tmp_path_factory.mktemp("guarded"))
    with serving(made.ledger) as made.url:
        yield made


@pytest.mark.slow
def test_a_token_speaks_for_another_agent_only_where_it_may(guarded: Guarded) -> None:
    for secret, agent in ((guarded.own, "own"), (guarded.gateway, "scout")):
        for header in (f"Bearer {secret}", f"Bearer scout:{secret}"):
            with Caller(guarded.url, header) as caller:
                answer = caller.result("recordDecision", {"decision": "x", "agentId": "scout"})
                assert answer["recorded_by"] == caller.decision(answer["id"])["recorded_by"] == agent
    with Caller(guarded.url, f"Bearer scout:{guarded.own}") as caller:
        assert caller.decision(caller.record())["recorded_by"] == "own", "the token says who it is"


def test_with_tokens_a_name_in_the_header_is_no_token(guarded: Guarded) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.getStats"}
    assert (
        httpx.post(f"{guarded.url}/cstp", json=call, headers={"authorization": "Bearer scout:tok"}).status_code == 401
    )
