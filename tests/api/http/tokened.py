"""A server of a ledger with tokens, and bare connections to it that hold what they take."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from api.principal import Scope
from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.support.server import Served, served

AGENTS: Mapping[str, tuple[Scope, ...]] = {"greedy": ("append", "read"), "other": ("append", "read")}


class Tokened(NamedTuple):
    """A server, the secrets and the ids of its tokens by agent, and the tokens' file."""

    server: Served
    secrets: dict[str, str]
    ids: dict[str, str]
    tokens: TokenStore

    def client(self, agent: str | None) -> httpx.Client:
        """A client with the token of an agent, or without one."""
        headers = {} if agent is None else {"authorization": f"Bearer {self.secrets[agent]}"}
        return httpx.Client(base_url=self.server.url, timeout=None, headers=headers)

    def connect(self) -> socket.socket:
        """A connection on which nothing is sent yet."""
        host, port = self.server.url.removeprefix("http://").split(":")
        return socket.create_connection((host, int(port)))

    def begin(self, agent: str, method: str, path: str, *headers: str) -> socket.socket:
        """A connection on which an agent has sent the head of a request."""
        lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"authorization: Bearer {self.secrets[agent]}"]
        connection = self.connect()
        connection.sendall("\r\n".join([*lines, *headers, "", ""]).encode())
        return connection

    def uses(self, name: str) -> tuple[float, float]:
        """A limit as `/metrics` shows it, and its present use."""
        with self.client(None) as client:
            lines = client.get("/metrics").text.splitlines()
        figures = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        labels = f'{{limit="{name}"}}'
        return float(figures[f"tallystick_limit{labels}"]), float(figures[f"tallystick_limit_use{labels}"])


@contextmanager
def tokened(ledger: Path, *serve_args: str, module: str = "") -> Iterator[Tokened]:
    """Serve a ledger with a token for each of AGENTS."""
    tokens = TokenStore(ledger)
    made = {agent: tokens.add(agent, scopes, system_clock()) for agent, scopes in AGENTS.items()}
    secrets = {agent: secret for agent, (_, secret) in made.items()}
    ids = {agent: token.id for agent, (token, _) in made.items()}
    with served(ledger, *serve_args, module=module) as server:
        yield Tokened(server, secrets, ids, tokens)
