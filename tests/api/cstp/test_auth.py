"""Who may call: tokens in both spellings, scopes, and the routes without a token."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from api.principal import Scope
from api.token_store import TokenStore
from tests.api.cstp.client import Caller
from tests.support.server import serving

NOW = datetime(2026, 11, 21, tzinfo=UTC)
STATS = {"jsonrpc": "2.0", "id": 1, "method": "cstp.getStats"}


class Guarded:
    """A server with tokens, by the name of their agent."""

    def __init__(self, folder: Path) -> None:
        self.ledger = folder / "ledger.db"
        self.secrets: dict[str, str] = {}
        scopes: dict[str, tuple[Scope, ...]] = {"both": ("append", "read"), "writer": ("append",), "reader": ("read",)}
        for agent, held in scopes.items():
            _, self.secrets[agent] = TokenStore(self.ledger).add(agent, held, NOW)
        self.url = ""

    def call(self, authorization: str | bytes | None, body: object = None) -> httpx.Response:
        headers = [] if authorization is None else [("authorization", authorization)]
        return httpx.post(f"{self.url}/cstp", json=body or STATS, headers=headers)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    made = Guarded(tmp_path_factory.mktemp("guarded"))
    with serving(made.ledger) as made.url:
        yield made


def test_a_token_alone_and_behind_its_agent_are_accepted(guarded: Guarded) -> None:
    secret = guarded.secrets["both"]
    for authorization in (f"Bearer {secret}", f"Bearer both:{secret}"):
        with Caller(guarded.url, authorization) as caller:
            decision_id = caller.record(agentId="another")
            assert caller.decision(decision_id)["recorded_by"] == "both"


@pytest.mark.parametrize(
    ("authorization", "detail"),
    [
        (None, "Authorization header required"),
        ("", "Authorization header required"),
        ("Basic abc", "Invalid authorization scheme, expected Bearer"),
        ("Bearerx abc", "Invalid authorization scheme, expected Bearer"),
        ("Bearer", "Invalid authorization scheme, expected Bearer"),
        ("Bearer nope", "Invalid or expired token"),
        ("Bearer both:nope", "Invalid or expired token"),
    ],
)
def test_who_is_not_known_is_reported_so(guarded: Guarded, authorization: str | None, detail: str) -> None:
    response = guarded.call(authorization)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json() == {"detail": detail}


@pytest.mark.parametrize("secret", ["tökén".encode(), b"\xff\xfe", "t\u00f6k".encode("latin-1")])
def test_row_19_a_token_that_is_not_ascii_is_unknown_and_no_fault(guarded: Guarded, secret: bytes) -> None:
    response = guarded.call(b"Bearer " + secret)
    assert (response.status_code, response.json()) == (401, {"detail": "Invalid or expired token"})


def test_a_token_is_asked_for_before_the_body_is_read(guarded: Guarded) -> None:
    assert httpx.post(f"{guarded.url}/cstp", content=b"{").status_code == 401


@pytest.mark.parametrize(
    ("agent", "method", "scope"),
    [
        ("reader", "recordDecision", "append"),
        ("reader", "reviewDecision", "append"),
        ("reader", "updateDecision", "append"),
        ("writer", "getDecision", "read"),
        ("writer", "listDecisions", "read"),
        ("writer", "getStats", "read"),
        ("writer", "getCalibration", "read"),
    ],
)
def test_a_missing_scope_is_named(guarded: Guarded, agent: str, method: str, scope: str) -> None:
    response = guarded.call(f"Bearer {guarded.secrets[agent]}", {**STATS, "method": f"cstp.{method}"})
    assert response.status_code == 403
    assert list(response.json()) == ["detail"]
    assert f"'{scope}'" in response.json()["detail"]


def test_health_wants_no_token(guarded: Guarded) -> None:
    response = httpx.get(f"{guarded.url}/health")
    body = response.json()
    assert response.status_code == 200
    assert list(body) == ["status", "version", "uptime_seconds", "timestamp"]
    assert body["status"] == "healthy"
    assert 0 <= body["uptime_seconds"] < 600
    assert body["timestamp"].endswith("+00:00")


def test_the_agent_card_wants_no_token(guarded: Guarded) -> None:
    body = httpx.get(f"{guarded.url}/.well-known/agent.json").json()
    assert set(body) == {"name", "description", "version", "url", "capabilities", "authentication"}
    assert body["url"] == guarded.url
    assert body["capabilities"]["cstp"]["version"] == "1.0"
    assert "cstp.recordDecision" in body["capabilities"]["cstp"]["methods"]
    assert body["authentication"] == {"schemes": ["bearer"]}


def test_one_agent_may_review_what_another_decided_and_both_are_named(guarded: Guarded) -> None:
    with Caller(guarded.url, f"Bearer {guarded.secrets['both']}") as caller:
        decision_id = caller.record()
        with Caller(guarded.url, f"Bearer {guarded.secrets['writer']}") as other:
            other.result("reviewDecision", {"id": decision_id, "outcome": "success"})
        found = caller.decision(decision_id)
        assert (found["recorded_by"], found["reviewed_by"]) == ("both", "writer")


@pytest.mark.parametrize(
    ("path", "get", "post"), [("/mcp", 405, 401), ("/mcp/", 405, 401), ("/cstp/mcp", 404, 404), ("/sse", 404, 404)]
)
def test_row_20_there_is_no_interface_without_a_token(guarded: Guarded, path: str, get: int, post: int) -> None:
    """The other server's `/mcp` needs no token, and callers choose their agent. Here it needs one."""
    assert httpx.get(f"{guarded.url}{path}").status_code == get
    assert httpx.post(f"{guarded.url}{path}", json=STATS).status_code == post


def test_row_20_pre_action_records_only_for_who_may_append(guarded: Guarded) -> None:
    asked = {"action": {"description": "Drop the table"}, "agentId": "somebody else"}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "cstp.preAction", "params": asked}
    assert guarded.call(None, frame).status_code == 401
    refused = guarded.call(f"Bearer {guarded.secrets['reader']}", frame)
    assert (refused.status_code, "'append'" in refused.json()["detail"]) == (403, True)
    with Caller(guarded.url, f"Bearer {guarded.secrets['reader']}") as reader:
        quiet = reader.result("preAction", {**asked, "options": {"autoRecord": False}})
        assert quiet["decisionId"] is None
        assert reader.result("getSessionContext")["agentProfile"]["agent"] == "reader"
    with Caller(guarded.url, f"Bearer {guarded.secrets['both']}") as both:
        made = both.result("preAction", asked)["decisionId"]
        assert both.decision(made)["recorded_by"] == "both", "whatever it calls itself"
        assert both.result("getSessionContext")["agentProfile"]["totalDecisions"] >= 1
