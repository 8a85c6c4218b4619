"""Protect a ledger without tokens from the pages of other sites.

A ledger without tokens listens on loopback and treats every caller as its owner. Pages in the owner's browser can reach
it, too: a page of another site cannot read the answers, but it could write; and a page whose host name resolves to
127.0.0.1 (DNS rebinding) could also read. Therefore such a ledger refuses a Host that is not a loopback name, and a
writing request that the browser marks as cross-site. Programs send neither Origin nor Sec-Fetch-Site. Pages have no
access to a ledger with tokens: a browser sends no token by itself, and the server does not allow a page to send one
(CORS).
"""

import ipaddress
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import CrossSite, ForeignHost
from api.http.problems import answer_error
from api.principal import AccessRefused
from api.token_store import TokenStore

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OWN_SITES = frozenset({b"same-origin", b"none"})
"""Values of Sec-Fetch-Site for requests of the server's own pages, and for requests that no page caused."""

HOSTS_CACHED_MAX = 1024


class OriginGuard:
    """Middleware that refuses the pages of other sites while the ledger has no tokens."""

    def __init__(self, app: ASGIApp, tokens: TokenStore) -> None:
        self.app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._tokens.required():
            try:
                _check(scope["method"], scope["named_headers"])
            except AccessRefused as error:
                await answer_error(scope, error)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _check(method: str, headers: dict[bytes, bytes]) -> None:
    """Check the Host, and the origin of a writing request. Errors: ForeignHost, CrossSite."""
    host = headers.get(b"host", b"localhost")
    if not _is_local(host):
        raise ForeignHost(
            f"A ledger without tokens answers only loopback names; {host.decode('latin-1')!r} is not one.",
            "Use 127.0.0.1 or localhost; or make a token: tallystick token add AGENT.",
        )
    if method not in SAFE_METHODS:
        refuse_cross_site(headers)


def refuse_cross_site(headers: dict[bytes, bytes]) -> None:
    """Refuse a writing request that the page of another site caused. Errors: CrossSite."""
    host, origin = headers.get(b"host", b"localhost"), headers.get(b"origin")
    if headers.get(b"sec-fetch-site", b"none") not in OWN_SITES or (
        origin is not None and origin.partition(b"://")[2] != host
    ):
        raise CrossSite("The page of another site may not write.", "Programs send neither Origin nor Sec-Fetch-Site.")


@lru_cache(maxsize=HOSTS_CACHED_MAX)
def _is_local(host: bytes) -> bool:
    name = host.decode("latin-1")
    return is_loopback(name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0])


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
