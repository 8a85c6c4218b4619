"""Sessions of browsers: a token that was pasted once becomes a cookie.

The cookie names the token and an end, and a MAC binds both to the token's digest and to the ledger. So the server
stores nothing, a session outlives a restart, and it ends when it expires or when its token is revoked or expires. The
cookie authenticates what reads, and the forms of the pages; a program that writes sends its token.
"""

import hmac
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from starlette.types import Scope

from api.principal import Principal, Unauthenticated
from api.token_store import TokenStore
from ledger.view_key import read_view_key

SESSION_S: Final = 12 * 3600
"""Seconds after which one must sign in again."""

PAGES = "/ui"
SAFE_METHODS = frozenset({"GET", "HEAD"})

SECURE_PREFIX = "__Host-"
"""The beginning of the cookie's name under TLS: a browser accepts such a cookie only from this host itself."""

_PURPOSE = b"tallystick session v1"


class BrowserSession(NamedTuple):
    """A session: the id of its token, and the second since 1970 at which it ends."""

    token_id: str
    end_s: int


class Sessions:
    """Makes and checks the cookies of one ledger's sessions."""

    def __init__(self, ledger: Path, tokens: TokenStore, clock: Callable[[], float] = time.time) -> None:
        self._ledger = ledger
        self._tokens = tokens
        self._clock = clock
        self._known_key: bytes | None = None
        self._name = f"tallystick-{sha256(str(ledger.resolve()).encode()).hexdigest()[:8]}"

    def cookie_name(self, *, secure: bool) -> str:
        """Return the name of the cookie. Cookies do not tell ports apart, so each ledger of a machine has its own."""
        return f"{SECURE_PREFIX}{self._name}" if secure else self._name

    def begin(self, caller: Principal) -> str:
        """Return the cookie of a new session of the token of a caller. Errors: Unauthenticated, without a key."""
        assert caller.token_id is not None
        signed = f"{caller.token_id}.{int(self._clock()) + SESSION_S}"
        return f"{signed}.{self._mac(signed, caller.token_id)}"

    def find(self, scope: Scope) -> BrowserSession | None:
        """Return the session of a request; None: it has none, or needs a token.

        Errors: Unauthenticated, for a session that ended or was not made here.
        """
        if scope["method"] not in SAFE_METHODS and not scope["path"].startswith(f"{PAGES}/"):
            return None
        cookie = self._cookie_of(scope)
        return None if cookie is None else self._check(cookie)

    def lasts(self, session: BrowserSession) -> bool:
        """Return whether a session has not ended yet."""
        return session.end_s > self._clock()

    def _check(self, cookie: str) -> BrowserSession:
        signed, _, mac = cookie.rpartition(".")
        token_id, _, end = signed.partition(".")
        if hmac.compare_digest(mac.encode(), self._mac(signed, token_id).encode()):
            session = BrowserSession(token_id, int(end))
            if self.lasts(session):
                return session
        raise Unauthenticated("The session has ended.", "Sign in again: /ui/sign-in.")

    def _cookie_of(self, scope: Scope) -> str | None:
        """Return the cookie of a session. A browser that uses TLS may reach the server by a proxy without TLS."""
        header: bytes = scope["named_headers"].get(b"cookie", b"")
        parts = (part.strip().partition(b"=") for part in header.split(b";"))
        values = {name: value.decode("latin-1") for name, _, value in parts}
        secure = values.get(self.cookie_name(secure=True).encode())
        if secure is not None or scope["scheme"] == "https":
            return secure
        return values.get(self.cookie_name(secure=False).encode())

    def _mac(self, signed: str, token_id: str) -> str:
        text = f"{signed}.{self._tokens.digest_of(token_id)}"
        return hmac.digest(self._key(), text.encode(), "sha256").hex()

    def _key(self) -> bytes:
        """Return the key of the MAC, derived from the ledger's private key of views. The first call reads the file."""
        if self._known_key is None:
            secret = read_view_key(self._ledger, make=False)
            if secret is None:
                raise Unauthenticated("Sessions need the key of the views.", "Send Authorization: Bearer TOKEN.")
            self._known_key = hmac.digest(secret, _PURPOSE, "sha256")
        return self._known_key
