"""Access over HTTP: the scopes of every route, pages of other sites, rates, and the log of refusals."""

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.http.app import routes
from api.principal import SCOPES, Scope, Unauthenticated
from api.rate_limit import EVENTS_PER_REQUEST, Rate, RateLimited, TokenBucket
from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.http.posts import (
    JSON,
    LINES,
    Json,
    head,
    ndjson,
    recorded,
)
from tests.support.server import Served, served

HELD: tuple[tuple[Scope, ...], ...] = (*((scope,) for scope in SCOPES), ("append", "read"))
"""What tokens allow: each scope alone, and what a token has by default."""

NEEDED: dict[str, str | None] = {
    "POST /events": "append", "POST /cstp": "read", "PUT /evidence": "append", "DELETE /evidence/{digest}": "admin",
    "POST /decisions": "append", "POST /reviews": "append", "POST /retractions": "append",
    "POST /links": "append", "POST /alertmanager": "append", "POST /v1/logs": "append", "POST /v1/traces": "append",
    "POST /labels": "append read", "POST /tests/resolve": "observe", "POST /observe/alertmanager": "append observe",
    "POST /observe/forge/{name}": None, "POST /mcp": None, "POST /guardrails/check": None,
    "POST /guardrails": "admin", "DELETE /guardrails/{guardrail_id}": "admin",
    "POST /discovery": "append", "POST /discovery/{run}/responses": "append", "POST /discovery/{run}/signals": "append",
    "POST /discovery/{run}/finish": "append read",
    "GET /": None, "GET /healthz": None, "GET /readyz": None, "GET /metrics": None, "GET /openapi.json": None,
    "GET /health": None, "GET /.well-known/agent.json": None,
}  # fmt: skip
"""The scopes that each route asks for; `read` where it is not named. POST /cstp is asked for figures. Which tools
POST /mcp has for a token is tested in tests/api/mcp, and who may check an action while rules are in force in
tests/api/guardrails."""

BODIES: dict[str, object] = {
    "POST /events": recorded(),
    "POST /cstp": {"jsonrpc": "2.0", "id": 1, "method": "cstp.getStats"},
}


def operations() -> list[str]:
    found = [
        f"{method} {re.sub(r':[a-z]+}', '}', route.path)}"
        for route in routes()
        for method in sorted((route.methods or set()) - {"HEAD"})
    ]
    assert NEEDED.keys() <= set(found)
    return found


class Guarded:
    """A server that knows a token for each of HELD."""

    def __init__(self, server: Served, secrets: dict[tuple[Scope, ...], str]) -> None:
        self.server = server
        self.secrets = secrets
        self.client = httpx.Client(base_url=server.url, timeout=None)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    ledger = tmp_path_factory.mktemp("guard") / "ledger.db"
    secrets = {held: TokenStore(ledger).add(f"only-{held[-1]}", held, system_clock())[1] for held in HELD}
    with served(ledger, "--log-level", "debug") as server:
        made = Guarded(server, secrets)
        with made.client:
            yield made


@pytest.mark.parametrize("operation", operations())
def test_each_route_asks_for_its_scopes_and_no_others_will_do(guarded: Guarded, operation: str) -> None:
    method, _, path = operation.partition(" ")
    needed = NEEDED.get(operation, "read")
    enough = {held for held in HELD if "admin" in held or needed is None or set(needed.split()) <= set(held)}
    body = msgspec.json.encode(BODIES.get(operation, {})) if method in ("POST", "PUT") else b""
    answers = {
        held: guarded.client.request(
            method, re.sub("{.*?}", "1", path), content=body, headers=JSON | {"authorization": f"Bearer {secret}"}
        ).status_code
        for held, secret in guarded.secrets.items()
    }
    anonymous = guarded.client.request(method, re.sub("{.*?}", "1", path), content=body, headers=JSON).status_code
    assert anonymous == (401 if needed else anonymous)
    assert {held for held, status in answers.items() if status != 403} == enough, answers
    assert 401 not in answers.values()


HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/healthz", "/events", "/nowhere", "/events?after=x", "/openapi.json", "/health"])
def test_every_answer_keeps_a_browser_on_a_leash_and_out_of_caches(served_client: httpx.Client, path: str) -> None:
    headers = served_client.get(path).headers
    assert HEADERS.items() <= dict(headers).items()
    assert headers["cache-control"] == ("no-cache" if path == "/openapi.json" else "no-store")
    assert "strict-transport-security" not in headers


ELSEWHERE = {"origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"}


def refused(response: httpx.Response, status: int, kind: str) -> Json:
    assert response.status_code == status, response.text
    problem: Json = response.json()
    assert problem["type"] == f"urn:tallystick:problem:{kind}"
    assert response.headers["content-type"] == "application/problem+json"
    return problem


@pytest.mark.parametrize(
    "headers",
    [
        ELSEWHERE,
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site"},
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/events"), ("POST", "/cstp"), ("POST", "/discovery"), ("PUT", "/evidence"), ("DELETE", "/evidence/1")],
)
def test_a_page_of_elsewhere_cannot_write(client: httpx.Client, headers: Json, method: str, path: str) -> None:
    before = head(client)
    body = msgspec.json.encode(recorded())
    refused(client.request(method, path, content=body, headers=JSON | headers), 403, "cross-site")
    assert head(client) == before


def test_what_a_form_or_a_page_may_send_unasked_is_refused_by_its_media_type_too(client: httpx.Client) -> None:
    for media in ("text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"):
        response = client.post("/events", content=msgspec.json.encode(recorded()), headers={"content-type": media})
        refused(response, 415, "unsupported-media")


def test_a_page_of_ours_and_programs_may(server: Served, served_client: httpx.Client) -> None:
    own = {"origin": server.url, "sec-fetch-site": "same-origin"}
    assert served_client.post("/events", json=recorded(), headers=own).status_code == 201
    assert served_client.get("/events", headers=ELSEWHERE).status_code == 200, "a link from elsewhere"


@pytest.mark.parametrize("host", ["elsewhere.example", "elsewhere.example:1", "127.0.0.1.elsewhere.example", "[::2]:1"])
def test_a_name_that_was_pointed_at_us_is_refused(client: httpx.Client, host: str) -> None:
    for path in ("/events", "/calibration", "/nowhere"):
        refused(client.get(path, headers={"host": host}), 421, "foreign-host")


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1", "127.9.9.9:1", "[::1]:8321", "[::1]"])
def test_the_names_of_loopback_are_answered(client: httpx.Client, host: str) -> None:
    assert client.get("/events", headers={"host": host}).status_code == 200


def test_with_tokens_any_name_is_answered_and_no_page_has_one(guarded: Guarded) -> None:
    bearer = {"authorization": f"Bearer {guarded.secrets['admin',]}", "host": "ledger.example.com"}
    assert guarded.client.get("/events", headers=bearer).status_code == 200
    refused(guarded.client.post("/events", json=recorded(), headers=ELSEWHERE), 401, "unauthenticated")


@pytest.mark.parametrize("path", ["/events", "/cstp", "/discovery", "/evidence"])
def test_what_is_compressed_is_not_undone(client: httpx.Client, path: str) -> None:
    method = "PUT" if path == "/evidence" else "POST"
    problem = refused(
        client.request(method, path, content=b"{}", headers=JSON | {"content-encoding": "gzip"}),
        415,
        "unsupported-media",
    )
    assert "'gzip'" in problem["detail"]


@pytest.mark.slow
def test_a_refusal_is_one_line_and_counted_by_its_reason(guarded: Guarded) -> None:
    head_before = head(guarded.client)
    reasons = ("unauthenticated", "forbidden", "unsupported-media")
    before = counted(guarded.client)
    guarded.client.get("/events", headers={"x-request-id": "who"})
    writer = {"authorization": f"Bearer {guarded.secrets['append',]}"}
    guarded.client.get("/events/1", headers=writer | {"x-request-id": "weak"})
    guarded.client.post(
        "/events", content=b"x", headers=writer | {"x-request-id": "form", "content-type": "text/plain"}
    )
    who, weak, form = (guarded.server.wait_for("refused", request_id=name) for name in ("who", "weak", "form"))
    logged = ("client", "agent", "method", "route", "path", "status", "reason", "level")
    assert [[line[name] for name in logged] for line in (who, weak, form)] == [
        ["127.0.0.1", None, "GET", "get_events", "/events", 401, "unauthenticated", "info"],
        ["127.0.0.1", "only-append", "GET", "get_event", "/events/1", 403, "forbidden", "info"],
        ["127.0.0.1", "only-append", "POST", "post_events", "/events", 415, "unsupported-media", "info"],
    ]
    lines = [line for line in guarded.server.log() if line.get("request_id") in {"who", "weak", "form"}]
    assert len(lines) == 3
    after = counted(guarded.client)
    assert [after[reason] - before.get(reason, 0) for reason in reasons] == [1, 1, 1]
    assert head(guarded.client) == head_before, "nothing an attacker sends grows the ledger"


def counted(client: httpx.Client) -> dict[str, float]:
    families = text_string_to_metric_families(client.get("/metrics").text)
    return {
        sample.labels["reason"]: sample.value
        for family in families
        for sample in family.samples
        if sample.name == "tallystick_http_refusals_total"
    }


@pytest.mark.slow
def test_no_token_is_ever_in_the_log(guarded: Guarded) -> None:
    right, wrong = guarded.secrets["admin",], "tally_a-wrong-one"
    for secret in (right, wrong):
        bearer = {"authorization": f"Bearer {secret}"}
        for headers in (bearer, {"authorization": f"Basic {secret}"}, {"authorization": secret}, {"cookie": secret}):
            for path in ("/events", "/nowhere", f"/events?token={secret}", f"/cstp?access_token={secret}"):
                guarded.client.get(path, headers=headers)
                guarded.client.post(path, content=b"{", headers=headers | JSON)
    guarded.client.get("/nowhere", headers={"x-request-id": "the-last"})
    guarded.server.wait_for("request", request_id="the-last")
    said = guarded.server.errors.read_text(encoding="utf-8")
    assert '"level":"debug"' in said
    assert not [secret for secret in (*guarded.secrets.values(), wrong) if secret in said]


@pytest.mark.slow
def test_a_token_that_runs_wild_waits_and_others_do_not(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path / "ledger.db")
    wild, calm = (tokens.add(agent, ("read", "append"), system_clock())[1] for agent in ("wild", "calm"))
    limits = ("--rate", "0.02", "--burst", "5")
    with served(tmp_path / "ledger.db", *limits) as server, httpx.Client(base_url=server.url, timeout=None) as client:
        bearer = {"authorization": f"Bearer {wild}"}
        answers = [client.get("/events", headers=bearer) for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429]
        problem = refused(answers[-1], 429, "rate-limited")
        assert 40 <= int(answers[-1].headers["retry-after"]) <= 50
        assert problem["detail"].startswith("The token of wild is used faster than 0.02 requests a second.")
        assert problem["advice"].startswith(f"Retry after {answers[-1].headers['retry-after']} s")
        refused(client.post("/cstp", json={}, headers=bearer), 429, "rate-limited")
        line = server.wait_for("refused", reason="rate-limited")
        assert (line["agent"], line["status"]) == ("wild", 429)

        bearer = {"authorization": f"Bearer {calm}"}
        batch = ndjson([recorded() for _ in range(8 * EVENTS_PER_REQUEST)])
        assert client.post("/events", content=batch, headers=LINES | bearer).status_code == 201
        answer = client.get("/events", headers=bearer)
        refused(answer, 429, "rate-limited")
        assert int(answer.headers["retry-after"]) > 100, "a batch is taken whole, and waited for"
        assert client.get("/healthz", headers=bearer).status_code == 200
        tokens.add("newcomer", ("read",), system_clock())
        deadline = tokens.path.stat().st_mtime + 1
        while time.time() < deadline:
            assert client.get("/events", headers=bearer).status_code == 429, "a new token resets nobody's rate"


def test_a_ledger_without_tokens_has_no_rate(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path / "ledger.db", Rate(per_s=0.001, burst=1))
    assert [tokens.identify(None).bucket for _ in range(4)] == [None] * 4


def test_an_allowance_fills_to_its_burst_and_pays_its_debts() -> None:
    allowance = TokenBucket("scout", Rate(per_s=2, burst=3))
    for _ in range(3):
        allowance.take(100.0)
    with pytest.raises(RateLimited, match="scout") as caught:
        allowance.take(100.0)
    assert caught.value.retry_after_s == 1
    allowance.take(100.5)
    allowance.spend(1 + 10 * EVENTS_PER_REQUEST)
    with pytest.raises(RateLimited) as caught:
        allowance.take(100.5)
    assert caught.value.retry_after_s == 6
    allowance.take(1e6)
    for _ in range(2):
        allowance.take(1e6)
    with pytest.raises(RateLimited):
        allowance.take(1e6)


def test_a_token_ends_when_it_was_to(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path / "ledger.db")
    now = datetime.now(UTC)
    spent, ended = tokens.add("brief", ("read",), now - timedelta(days=2), days=1)
    good = tokens.add("brief", ("read",), now, days=1)[1]
    assert spent.expires == now - timedelta(days=1)
    assert tokens.identify(f"Bearer {good}").agent == "brief"
    with pytest.raises(Unauthenticated, match="expired"):
        tokens.identify(f"Bearer {ended}")


@pytest.mark.slow
def test_removing_the_file_opens_nothing_that_others_reach(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path / "ledger.db")
    tokens.add("only", ("read",), system_clock())
    with served(tmp_path / "ledger.db", "--host", "0.0.0.0", "--refusals", "0") as server:
        port = server.url.rpartition(":")[2]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=None) as client:
            tokens.path.unlink()
            deadline = time.monotonic() + 1
            while time.monotonic() < deadline:
                refused(client.get("/events"), 401, "unauthenticated")


def test_a_stored_digest_is_not_a_token(guarded: Guarded, tmp_path: Path) -> None:
    kept, secret = TokenStore(tmp_path / "ledger.db").add("a", ("read",), system_clock())
    assert secret not in (tmp_path / "ledger.db.tokens").read_text()
    with pytest.raises(Unauthenticated):
        TokenStore(tmp_path / "ledger.db").identify(f"Bearer {kept.sha256}")
