"""Who may set rules, and who may record evaluations; and the outcomes of what a rule let through."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.principal import Scope
from api.token_store import TokenStore
from tests.api.cstp.client import Caller
from tests.support.server import served, serving

NOW = datetime(2026, 11, 21, tzinfo=UTC)
RULE = {"guardrail_id": "r", "action": "block", "conditions": [{"field": "stakes", "operator": "eq", "value": "high"}]}
YAML = "- id: r\n  condition_stakes: high\n  action: block"
EVALUATED = {
    "phase": "check", "rules_digest": "0" * 64, "rules": 0, "description": "x", "allowed": True,
}  # fmt: skip


class Guarded:
    """A server with a token for each scope."""

    def __init__(self, folder: Path) -> None:
        ledger = folder / "ledger.db"
        scopes: dict[str, tuple[Scope, ...]] = {
            "agent": ("append", "read"), "reader": ("read",), "owner": ("admin",), "mover": ("import", "append"),
        }  # fmt: skip
        self.secrets = {agent: TokenStore(ledger).add(agent, held, NOW)[1] for agent, held in scopes.items()}
        self.ledger = ledger
        self.url = ""

    def send(self, agent: str, method: str, path: str, body: object = None) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.secrets[agent]}"}
        return httpx.request(method, f"{self.url}{path}", json=body, headers=headers, timeout=None)

    def head(self) -> int:
        head: int = self.send("reader", "GET", "/readyz").json()["head"]
        return head


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    made = Guarded(tmp_path_factory.mktemp("guarded"))
    with serving(made.ledger) as made.url:
        assert made.send("owner", "POST", "/guardrails", {"yaml": YAML}).status_code == 200
        yield made


@pytest.mark.parametrize(
    ("agent", "method", "path", "body", "status"),
    [
        ("agent", "POST", "/guardrails", {"yaml": YAML}, 403),
        ("mover", "POST", "/guardrails", {"yaml": YAML}, 403),
        ("agent", "DELETE", "/guardrails/r", None, 403),
        ("agent", "POST", "/events", {"type": "guardrail.set.v1", "data": {**RULE, "guardrail_id": "s"}}, 403),
        ("agent", "POST", "/events", {"type": "guardrail.retired.v1", "data": {"guardrail_id": "r"}}, 403),
        ("agent", "POST", "/events", {"type": "guardrail.evaluated.v1", "data": EVALUATED}, 422),
        ("reader", "POST", "/guardrails/check", {"action": {"description": "x"}}, 403),
    ],
)
def test_an_agent_cannot_change_the_rules_or_write_a_verdict(
    guarded: Guarded, agent: str, method: str, path: str, body: object, status: int
) -> None:
    before = guarded.head()
    response = guarded.send(agent, method, path, body)
    assert response.status_code == status, response.text
    assert guarded.head() == before


def test_with_rules_a_reader_is_not_answered_without_a_record(guarded: Guarded) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.checkGuardrails", "params": {"action": {"description": "x"}}}
    assert guarded.send("reader", "POST", "/cstp", call).status_code == 403
    listed = guarded.send("reader", "POST", "/cstp", {**call, "method": "cstp.listGuardrails"}).json()
    assert listed["result"]["count"] == 1
    with Caller(guarded.url, f"Bearer {guarded.secrets['agent']}") as agent:
        assert agent.result("checkGuardrails", call["params"])["allowed"] is True  # type: ignore[arg-type]


@pytest.mark.slow
def test_an_owner_posts_rules_as_events_and_a_wrong_one_is_refused(guarded: Guarded) -> None:
    posted = {"type": "guardrail.set.v1", "data": {**RULE, "guardrail_id": "posted"}}
    assert guarded.send("owner", "POST", "/events", posted).status_code == 201
    for wrong in (
        {**RULE, "conditions": []},
        {**RULE, "conditions": [{"field": "a", "operator": "lt", "value": "b"}]},
        {**RULE, "conditions": [{"field": "a", "operator": "like", "value": "b"}]},
        {**RULE, "agents": ["x"]},
    ):
        assert guarded.send("owner", "POST", "/events", {**posted, "data": wrong}).status_code == 422
    retired = {"type": "guardrail.retired.v1", "data": {"guardrail_id": "posted"}}
    assert guarded.send("owner", "POST", "/events", retired).status_code == 201
    never = {"type": "guardrail.retired.v1", "data": {"guardrail_id": "never"}}
    assert guarded.send("owner", "POST", "/events", never).status_code == 409
    page = guarded.send("reader", "GET", "/guardrails?retired=true").json()
    assert {row["guardrail_id"]: row["retired"] is None for row in page["guardrails"]} == {"r": True, "posted": False}
    assert guarded.send("reader", "GET", "/guardrails/posted").json()["retired"]["agent"] == "owner"
    assert guarded.send("reader", "GET", "/guardrails/nosuch").status_code == 404


@pytest.mark.slow
def test_the_outcomes_of_what_each_rule_let_through(tmp_path: Path) -> None:
    rules = "- id: reviewed\n  condition_category: tooling\n  requires_code_review: true\n  action: warn"
    with served(tmp_path / "ledger.db") as running, Caller(running.url) as cstp:
        cstp.http.post("/guardrails", json={"yaml": rules}).raise_for_status()
        outcomes: dict[bool, tuple[str, ...]] = {True: ("success", "success"), False: ("failure", "partial")}
        for review, results in outcomes.items():
            for outcome in (*results, None):
                action: dict[str, Any] = {"description": "x", "category": "tooling", "code_review": review}
                answer = cstp.result("preAction", {"action": action})
                assert answer["allowed"] is True
                if outcome is not None:
                    cstp.result("reviewDecision", {"id": answer["decisionId"], "outcome": outcome})
        cstp.result("recordDecision", {"decision": "x", "category": "process"})
        (row,) = cstp.http.get("/guardrails").json()["guardrails"]
    assert (row["fired"], row["met"]) == (6, 6), "asked before each action, and as each was recorded"
    zero = dict.fromkeys(("success", "partial", "failure", "abandoned", "unreviewed", "retracted"), 0)
    assert row["after_fired"] == {**zero, "decisions": 3, "failure": 1, "partial": 1, "unreviewed": 1}
    assert row["after_met"] == {**zero, "decisions": 3, "success": 2, "unreviewed": 1}
