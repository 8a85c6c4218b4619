"""Tokens over HTTP: unknown ones, missing scopes, and the source of an event."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec
import pytest

from api.principal import DEFAULT_SCOPES, Scope
from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.http.posts import (
    JSON,
    Json,
    fresh,
    head,
    recorded,
)
from tests.support.server import served

READS = (
    "/events",
    "/events/1",
    "/streams/decision/x",
    "/decisions",
    "/decisions/x",
    "/calibration",
    "/projections",
    "/projections/calibration",
    "/evidence",
    "/scoreboard",
    "/evaluations",
    "/evaluations/x",
    "/evaluations/compare",
    "/scenarios/x",
    "/tile/0/000.p/1",
    "/tile/entries/000.p/1",
    "/proofs/inclusion?position=1",
    "/proofs/consistency?from=1",
)
OPEN = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/health", "/.well-known/agent.json")


class Guarded(NamedTuple):
    """A server with tokens: a client of it, the secrets by their agents, and the tokens' file."""

    client: httpx.Client
    secrets: dict[str, str]
    tokens: TokenStore

    def ask(self, method: str, path: str, agent: str, **event: object) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.secrets[agent]}", **JSON}
        body = msgspec.json.encode(recorded() | event) if method == "POST" else b""
        return self.client.request(method, path, content=body, headers=headers)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    ledger = tmp_path_factory.mktemp("guarded") / "ledger.db"
    tokens = TokenStore(ledger)
    held: dict[str, tuple[Scope, ...]] = {
        "both": DEFAULT_SCOPES, "reader": ("read",), "writer": ("append",), "importer": ("append", "import"),
        "admin": ("admin",),
    }  # fmt: skip
    secrets = {agent: tokens.add(agent, scopes, system_clock())[1] for agent, scopes in held.items()}
    with served(ledger, "--refusals", "0") as server, httpx.Client(base_url=server.url, timeout=None) as client:
        yield Guarded(client, secrets, tokens)


def problem_of(response: httpx.Response, status: int, kind: str) -> Json:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: Json = response.json()
    assert (problem["type"], problem["status"]) == (f"urn:tallystick:problem:{kind}", status)
    assert problem["detail"]
    assert problem["advice"]
    return problem


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer nope", "Basic eDp5", "bearer nope", "Bearer é"])
@pytest.mark.parametrize("path", READS)
def test_a_token_is_required(guarded: Guarded, authorization: str | None, path: str) -> None:
    headers = [] if authorization is None else [(b"authorization", authorization.encode())]
    response = guarded.client.get(path, headers=headers)
    problem_of(response, 401, "unauthenticated")
    assert response.headers["www-authenticate"] == "Bearer"


def test_nothing_is_written_without_a_token(guarded: Guarded) -> None:
    before = head(guarded.client)
    problem_of(guarded.client.post("/events", content=b"", headers=JSON), 401, "unauthenticated")
    assert head(guarded.client) == before


@pytest.mark.parametrize("path", OPEN)
def test_operators_need_no_token(guarded: Guarded, path: str) -> None:
    assert guarded.client.get(path).status_code == 200


@pytest.mark.parametrize("path", READS)
def test_a_scope_that_is_missing_is_named(guarded: Guarded, path: str) -> None:
    problem = problem_of(guarded.ask("GET", path, "writer"), 403, "forbidden")
    assert problem["detail"] == "The token of writer lacks the scope 'read' (it has append)."


def test_a_reader_cannot_write(guarded: Guarded) -> None:
    before = head(guarded.client)
    problem = problem_of(guarded.ask("POST", "/events", "reader"), 403, "forbidden")
    assert "'append'" in problem["detail"]
    assert head(guarded.client) == before


@pytest.mark.parametrize("agent", ["both", "writer"])
def test_nobody_speaks_as_another(guarded: Guarded, agent: str) -> None:
    before = head(guarded.client)
    problem = problem_of(guarded.ask("POST", "/events", agent, source="/agents/other"), 403, "forbidden")
    assert problem["detail"] == f"{agent} cannot append as /agents/other."
    assert "'import'" in problem["advice"]
    assert head(guarded.client) == before


@pytest.mark.parametrize(
    ("agent", "claimed", "source"),
    [
        ("both", None, "/agents/both"),
        ("both", "/agents/both", "/agents/both"),
        ("importer", "/agents/other", "/agents/other"),
        ("admin", "/agents/other", "/agents/other"),
    ],
)
def test_the_source_comes_from_the_token(guarded: Guarded, agent: str, claimed: str | None, source: str) -> None:
    response = guarded.ask("POST", "/events", agent, source=claimed)
    assert response.status_code == 201, response.text
    event = guarded.ask("GET", f"/events/{response.json()['position']}", "reader").json()
    assert event["source"] == source


def test_an_id_is_unique_within_its_source_alone(guarded: Guarded) -> None:
    name = fresh()
    placed = [guarded.ask("POST", "/events", agent, id=name) for agent in ("both", "writer")]
    assert [response.status_code for response in placed] == [201, 201]


def test_a_token_may_stand_behind_its_agent(guarded: Guarded) -> None:
    headers = {"authorization": f"Bearer both:{guarded.secrets['both']}"}
    assert guarded.client.get("/decisions", headers=headers).status_code == 200


def test_a_revoked_token_is_worthless(guarded: Guarded) -> None:
    kept, secret = guarded.tokens.add("brief", ("read",), system_clock())
    headers = {"authorization": f"Bearer {secret}"}
    while guarded.client.get("/decisions", headers=headers).status_code == 401:
        pass  # the file is looked at a few times a second
    guarded.tokens.revoke(kept.id)
    while guarded.client.get("/decisions", headers=headers).status_code == 200:
        pass
    problem_of(guarded.client.get("/decisions", headers=headers), 401, "unauthenticated")


@pytest.mark.slow
def test_the_last_token_revoked_lets_nobody_in(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path / "ledger.db")
    kept, secret = tokens.add("only", ("read",), system_clock())
    with (
        served(tmp_path / "ledger.db", "--refusals", "0") as server,
        httpx.Client(base_url=server.url, timeout=None) as client,
    ):
        headers = {"authorization": f"Bearer {secret}"}
        assert client.get("/decisions", headers=headers).status_code == 200
        tokens.revoke(kept.id)
        while client.get("/decisions", headers=headers).status_code == 200:
            pass  # the file is looked at a few times a second
        assert client.get("/decisions").status_code == 401
