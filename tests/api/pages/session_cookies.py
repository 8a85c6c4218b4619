"""A server of a ledger with tokens, and browsers that sign in at it without a browser's engine."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from api.http.sessions import Sessions
from api.principal import Scope
from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.http.posts import head
from tests.support.server import Served, served

SIGN_IN, SIGN_OUT = "/ui/sign-in", "/ui/sign-out"
TOKENS: dict[str, tuple[Scope, ...]] = {
    "reader": ("read",), "writer": ("append", "read"), "owner": ("admin",), "appender": ("append",),
}  # fmt: skip


class SignedIn(NamedTuple):
    """A server, its ledger, its tokens' file, and the secret and id of the token of each agent."""

    server: Served
    ledger: Path
    tokens: TokenStore
    secrets: dict[str, str]
    ids: dict[str, str]

    @property
    def cookie_name(self) -> str:
        return Sessions(self.ledger, self.tokens).cookie_name(secure=False)

    def cookie(self, agent: str, age_s: float = 0) -> str:
        """A cookie of this ledger's server, as it made one some time ago."""
        tokens = TokenStore(self.ledger)
        now_s = system_clock().timestamp()
        caller = tokens.identify(f"Bearer {self.secrets[agent]}")
        return Sessions(self.ledger, tokens, lambda: now_s - age_s).begin(caller)

    def client(self, cookie: str | bytes | None = None, **headers: str) -> httpx.Client:
        """A client that sends a cookie with each request."""
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        if cookie is not None:
            value = cookie if isinstance(cookie, bytes) else cookie.encode()
            sent.append((b"cookie", f"{self.cookie_name}=".encode() + value))
        return httpx.Client(base_url=self.server.url, timeout=None, headers=sent)

    def head(self) -> int:
        """The newest position of the log."""
        with self.client(authorization=f"Bearer {self.secrets['owner']}") as owner:
            return head(owner)

    def sign_in(self, agent: str, wanted: str = "/ui") -> httpx.Response:
        """Post the form as a browser does."""
        with self.client(origin=self.server.url) as client:
            return client.post(SIGN_IN, data={"token": self.secrets[agent], "next": wanted})


@contextmanager
def signed_in(
    folder: Path, *serve_args: str, scopes_of: Mapping[str, tuple[Scope, ...]] = TOKENS
) -> Iterator[SignedIn]:
    """Serve a ledger with a token for each agent, given with its scopes."""
    ledger = folder / "ledger.db"
    tokens = TokenStore(ledger)
    made = {agent: tokens.add(agent, scopes, system_clock()) for agent, scopes in scopes_of.items()}
    secrets = {agent: secret for agent, (_, secret) in made.items()}
    ids = {agent: token.id for agent, (token, _) in made.items()}
    with served(ledger, *serve_args) as server:
        yield SignedIn(server, ledger, tokens, secrets, ids)
