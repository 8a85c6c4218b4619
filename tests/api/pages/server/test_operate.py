"""The page about the server shows what /metrics, /readyz and the JSON routes have, and secrets to nobody."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.principal import Scope
from api.service.webhooks.endpoint_store import DEFAULT_PACE, EndpointStore
from api.token_store import Token, TokenStore
from ledger.clock import system_clock
from tests.api.http.posts import recorded
from tests.api.http.webhook_receiver import receiving
from tests.api.pages.html_page import HtmlPage
from tests.support.server import served
from tests.support.wait import wait_until

Json = dict[str, Any]

RULES = """
- id: no-guess
  description: Decisions with high stakes need <b>confidence</b>
  condition_stakes: high
  requires_confidence: ">= 0.5"
  action: block
- id: tagged
  description: Decisions about tools are reasoned
  condition_category: tooling
  requires_confidence: ">= 0.1"
  action: warn
"""
"""Two rules; the first fires on a guess with high stakes."""

HIDDEN = "T0000-not-to-be-seen"


def page(client: httpx.Client) -> HtmlPage:
    """The page about the server."""
    response = client.get("/ui/operate")
    assert response.status_code == 200, response.text
    found = HtmlPage(response.text)
    assert len(found.ids) == len(set(found.ids))
    assert "style" not in found.attributes | found.tags
    return found


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A ledger without tokens."""
    with (
        served(tmp_path_factory.mktemp("operate") / "ledger.db") as server,
        httpx.Client(base_url=server.url, timeout=None) as client,
    ):
        yield client


def test_limits_equal_the_metrics(client: httpx.Client) -> None:
    shown = page(client)
    metrics = client.get("/metrics").text
    limits = dict(re.findall(r'^tallystick_limit\{limit="([^"]+)"\} (\S+)$', metrics, re.MULTILINE))
    rows = {row[0]: row for row in shown.parts["limits"].cells[1:]}
    assert rows.keys() == limits.keys()
    for name, limit in limits.items():
        assert rows[name][3] == f"{int(float(limit)):,}"
        assert rows[name][1] != name, "each limit is explained"
    assert rows["queries"][2] == "1", "this page itself"


def test_health_and_views_equal_the_json(client: httpx.Client) -> None:
    assert client.post("/events", json=recorded()).status_code == 201
    shown, status = page(client), client.get("/status").json()
    readiness = client.get("/readyz").json()
    health = shown.parts["health"].text
    assert "Ready: the ledger accepts events." in health
    assert f"Version {version('tallystick')}" in health
    assert f"Events {readiness['head']:,}" in health
    assert f"Ledger {status['ledger']}" in health
    assert f"Process {status['writer']['pid']} at {status['writer']['address']}" in health
    projections = client.get("/projections").json()["projections"]
    assert [row[:3] for row in shown.parts["views"].cells[1:]] == [
        [each["name"], str(each["version"]), f"{each['position']:,}"] for each in projections
    ]
    assert {row[3] for row in shown.parts["views"].cells[1:]} == {"0"}


def test_guardrails_and_breakers_equal_the_json(client: httpx.Client) -> None:
    assert "No guardrail is in force" in page(client).parts["guardrails"].text
    assert "No circuit breaker is configured" in page(client).parts["breakers"].text
    assert client.post("/guardrails", json={"yaml": RULES}).status_code == 200
    for confidence in (0.2, 0.3, 0.9):
        action = {"description": "Guess", "stakes": "high", "confidence": confidence}
        assert client.post("/guardrails/check", json={"action": action}).status_code == 201
    rule = {"scope": "category:tooling", "failure_threshold": 3, "window_ms": 60_000, "cooldown_ms": 60_000}
    configured = {"type": "breakers.configured.v1", "data": {"breakers": [rule]}}
    assert client.post("/events", json=configured).status_code == 201
    shown = page(client)
    listed = client.get("/guardrails").json()
    assert [[row[0], row[2], row[3], row[4]] for row in shown.parts["guardrails"].cells[1:]] == [
        [each["guardrail_id"], each["rule"]["action"], str(each["fired"]), str(each["met"])]
        for each in listed["guardrails"]
    ]
    assert [row[3] for row in shown.parts["guardrails"].cells[1:]] == ["2", "0"]
    assert shown.parts["guardrails"].cells[1][1] == "Decisions with high stakes need <b>confidence</b>"
    assert "3 actions checked, 2 blocked" in shown.parts["guardrails"].text
    (breaker,) = client.get("/breakers").json()["breakers"]
    assert shown.parts["breakers"].cells[1][:4] == [breaker["scope"], breaker["state"], "0", "3"]


def test_a_ledger_without_tokens_says_so_to_its_owner(client: httpx.Client) -> None:
    assert "every local user may do everything" in page(client).parts["tokens"].text
    assert "No webhook is configured" in page(client).parts["webhooks"].text


def make_tokens(ledger: Path) -> dict[str, tuple[Token, str]]:
    """A token of an administrator, one of a reader, one that has expired."""
    store, now = TokenStore(ledger), system_clock()
    scopes: dict[str, tuple[Scope, ...]] = {"boss": ("admin",), "scout": ("append", "read"), "mute": ("append",)}
    made = {agent: store.add(agent, each, now) for agent, each in scopes.items()}
    made["gone"] = store.add("gone", ("read",), datetime.now(UTC) - timedelta(days=9), days=3)
    return made


def test_tokens_are_shown_to_administrators_and_never_their_secrets(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    made = make_tokens(ledger)
    with served(ledger) as server:

        def ask(agent: str) -> httpx.Response:
            headers = {"authorization": f"Bearer {made[agent][1]}"}
            return httpx.get(f"{server.url}/ui/operate", headers=headers, timeout=None)

        boss, scout = ask("boss").text, ask("scout").text
        rows = {row[0]: row for row in HtmlPage(boss).parts["tokens"].cells[1:]}
        assert rows["scout"][1:4] == [made["scout"][0].id, "append, read", "any decision"]
        assert rows["boss"][5] == "never"
        assert rows["gone"][5].startswith("expired")
        for token, secret in made.values():
            assert token.sha256 not in boss
            assert secret not in boss
            assert token.id not in scout
        assert not {"tokens", "webhooks"} & HtmlPage(scout).parts.keys()
        assert ask("mute").status_code == 403
        assert ask("gone").status_code == 303


@pytest.mark.slow
def test_webhooks_are_shown_with_their_state_and_without_secrets(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    with (
        receiving() as receiver,
        served(ledger) as server,
        httpx.Client(base_url=server.url, timeout=None) as client,
    ):
        store = EndpointStore(ledger)
        endpoint = store.add(
            f"{receiver.url}/{HIDDEN}?key={HIDDEN}", ("gate",), 0, system_clock(), allow_private=True, pace=DEFAULT_PACE
        )
        wait_until(lambda: "active" in page(client).parts["webhooks"].text, server.process)
        shown = client.get("/ui/operate").text
        row = HtmlPage(shown).parts["webhooks"].cells[1]
        assert row[:5] == [httpx.URL(receiver.url).netloc.decode(), endpoint.id, "gate", "0", "0"]
        assert HIDDEN not in shown
        assert endpoint.secret not in shown
        store.path.write_bytes(b"[]")
        assert store.path.name in page(client).parts["webhooks"].text
        assert client.get("/ui/operate").status_code == 200


@pytest.mark.slow
def test_operate_is_the_last_section(client: httpx.Client) -> None:
    assert page(client).current == ["/ui/operate"]
    links = page(client).addresses
    assert links.index("/ui/operate") > links.index("/ui")
    assert client.get("/ui/operate?limit=1").status_code == 400
