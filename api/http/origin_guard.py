"""What keeps pages of elsewhere out of a ledger that asks for no token.

Such a ledger listens on loopback and takes whoever reaches it for its owner, and a page that the owner's browser shows
reaches it, too. The page cannot read what it is answered, but could write, and under a name of its own that it points
at 127.0.0.1 (DNS rebinding) it could read. So without tokens a Host that is no loopback name is refused, and so is a
writing request that the browser says comes from elsewhere. Programs send neither Origin nor Sec-Fetch-Site. With
tokens no page gets in: browsers do not send a token by themselves, and ask first (CORS) before a page may.
"""

import ipaddress
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from api.auth import AccessRefused, TokenStore
from api.errors import CrossSite, ForeignHost
from api.http.problems import problem_answer

HEADERS = (
    b"x-content-type-options: nosniff\r\n"
    b"content-security-policy: default-src 'none'; frame-ancestors 'none'; sandbox\r\n"
    b"referrer-policy: no-referrer\r\n"
    b"cross-origin-resource-policy: same-origin\r\n"
)
"""On every answer: a browser takes it for what it says it is, and runs, frames and embeds nothing of it."""

TLS_HEADERS = b"strict-transport-security: max-age=31536000\r\n"
"""On every answer under TLS besides."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OWN_SITES = frozenset({b"same-origin", b"none"})


class OriginGuard:
    """The layer before every route."""

    def __init__(self, app: ASGIApp, tokens: TokenStore) -> None:
        self.app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._tokens.required():
            try:
                _check(scope["method"], scope["named_headers"])
            except AccessRefused as error:
                await problem_answer(scope, error)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _check(method: str, headers: dict[bytes, bytes]) -> None:
    """Errors: ForeignHost, CrossSite."""
    host = headers.get(b"host", b"localhost")
    if not _is_local(host):
        raise ForeignHost(
            f"A ledger without tokens answers under loopback's names; {host.decode('latin-1')!r} is none of them.",
            "Ask 127.0.0.1 or localhost; or make a token: tallystick token add AGENT.",
        )
    if method in SAFE_METHODS:
        return
    origin = headers.get(b"origin")
    if headers.get(b"sec-fetch-site", b"none") not in OWN_SITES or (
        origin is not None and origin.partition(b"://")[2] != host
    ):
        raise CrossSite(
            "A page of elsewhere cannot write here; nothing was done.",
            "Programs send neither Origin nor Sec-Fetch-Site.",
        )


@lru_cache(maxsize=1024)
def _is_local(host: bytes) -> bool:
    name = host.decode("latin-1")
    return is_loopback(name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0])


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
