"""Authentication and scopes: tokens, the authenticated caller, and the source of an event.

Tokens are stored hashed in a file beside the ledger; a token itself is shown once, when it is made. A ledger that never
had a token belongs to one person: anyone who reaches it may do everything, and it listens on loopback only. As soon as
the file exists a token is required, even after the last one is revoked. Removing the file allows everyone again, except
on a server that listens on other addresses than loopback.
"""

import fcntl
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from api.rate_limit import Rate, TokenBucket
from events.envelope import source_of
from events.errors import TallystickError
from events.limits import AGENT_NAME_CHARS_MAX
from ledger.atomic_file import replace_whole
from ledger.errors import InvalidQuery, LedgerUnusable, NotFound

Scope = Literal["append", "read", "import", "admin"]
SCOPES: tuple[Scope, ...] = ("append", "read", "import", "admin")
DEFAULT_SCOPES: tuple[Scope, ...] = ("append", "read")

RECHECK_S = 0.25
"""The time between two checks of the tokens' file: a check for every request took 5% of its time."""

ANONYMOUS = "anonymous"
"""The agent of a caller without a token."""

_agent = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:@/+-]{{0,{AGENT_NAME_CHARS_MAX - 1}}}")


class AccessRefused(TallystickError):
    """The caller is not allowed to do this; nothing was done."""


class Unauthenticated(AccessRefused):
    """The token is missing or unknown: send `Authorization: Bearer TOKEN`."""


class Forbidden(AccessRefused):
    """The token is known but lacks a scope: use one that has it."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token as it is stored: a short id to revoke it by, its agent, its scopes, its SHA-256 in hex, its expiry."""

    id: str
    agent: str
    scopes: tuple[Scope, ...]
    created: datetime
    sha256: str
    expires: datetime | None = None


class Principal(msgspec.Struct, frozen=True):
    """An authenticated caller: the agent's name, its source attribute, its scopes, and its rate limit."""

    agent: str
    source: str
    scopes: frozenset[str]
    bucket: TokenBucket | None = None

    def spend(self, events: int) -> None:
        """Count the events of a batch towards the rate of the token."""
        if self.bucket is not None:
            self.bucket.spend(events)

    def require(self, scope: Scope) -> None:
        """Check that the caller has a scope. Errors: Forbidden, naming the missing scope."""
        if scope not in self.scopes and "admin" not in self.scopes:
            held = ", ".join(sorted(self.scopes)) or "none"
            raise Forbidden(
                f"The token of {self.agent} lacks the scope '{scope}' (it has {held}).",
                f"Use a token with it: tallystick token add {self.agent} --scope {scope}.",
            )

    def resolve_source(self, source: str | None) -> str:
        """Return the source of an event, by default the caller's.

        Errors: Forbidden, for another agent's source without the import scope; InvalidQuery.
        """
        if source is None or source == self.source:
            return self.source
        if not source.startswith("/agents/") or not is_valid_agent(source.removeprefix("/agents/")):
            raise InvalidQuery("source", f"{source!r} is not of the form /agents/NAME.", "Omit it, or correct it.")
        if "import" not in self.scopes and "admin" not in self.scopes:
            raise Forbidden(
                f"{self.agent} cannot append as {source}.",
                "Omit source, or use a token with the scope 'import'. Nothing was written.",
            )
        return source


OWNER = Principal(ANONYMOUS, source_of(ANONYMOUS), frozenset(SCOPES))
"""The caller where the ledger has no tokens."""


def is_valid_agent(name: str) -> bool:
    """Return whether a name is valid for an agent: 1..64 letters, digits and `._:@/+-`, a letter or digit first."""
    return _agent.fullmatch(name) is not None


class _KnownToken(NamedTuple):
    """A token and its principal."""

    token: Token
    caller: Principal


class TokenStore:
    """The tokens of one ledger, read again whenever their file changes.

    `rate` limits each token; None: no limit. If `exposed`, the server is reachable from other machines: without the
    file every caller is refused.
    """

    def __init__(self, ledger: Path, rate: Rate | None = None, *, exposed: bool = False) -> None:
        self.path = ledger.with_name(ledger.name + ".tokens")
        self._stamp: tuple[int, int] | None = None
        self.rate = rate
        self.exposed = exposed
        self._checked_s = float("-inf")
        self._tokens: Sequence[Token] = ()
        self._known: dict[str, _KnownToken] = {}

    def list(self) -> Sequence[Token]:
        """Return every token, oldest first. Errors: LedgerUnusable, for a file that cannot be read."""
        try:
            status = self.path.stat()
            stamp = (status.st_mtime_ns, status.st_ino)
            if stamp != self._stamp:
                self._replace(msgspec.json.decode(self.path.read_bytes(), type=list[Token]))
                self._stamp = stamp
        except FileNotFoundError:
            self._replace([])
            self._stamp = None
        except (OSError, msgspec.DecodeError) as error:
            raise LedgerUnusable(f"{self.path} cannot be read: {error}.", "Restore it, or remove it.") from error
        return self._tokens

    def _replace(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._known = {token.sha256: _KnownToken(token, self._principal(token)) for token in tokens}

    def _principal(self, token: Token) -> Principal:
        """Return the principal of a token; one that was known keeps its bucket."""
        known = self._known.get(token.sha256)
        bucket = None
        if self.rate is not None:
            bucket = (known and known.caller.bucket) or TokenBucket(token.agent, self.rate)
        return Principal(token.agent, source_of(token.agent), frozenset(token.scopes), bucket)

    def required(self) -> bool:
        """Return whether callers need a token."""
        return self._required(time.monotonic())

    def _required(self, now_s: float) -> bool:
        if now_s - self._checked_s > RECHECK_S:
            self.list()
            self._checked_s = now_s
        return self._stamp is not None or self.exposed

    def identify(self, authorization: str | None) -> Principal:
        """Authenticate the sender of an Authorization header, `Bearer TOKEN` or `Bearer AGENT:TOKEN`.

        This counts as one request of the token's rate. A token that another process made or revoked takes effect within
        RECHECK_S. Errors: Unauthenticated, RateLimited.
        """
        now_s = time.monotonic()
        if not self._required(now_s):
            return OWNER
        caller = self._find(authorization)
        if caller.bucket is not None:
            caller.bucket.take(now_s)
        return caller

    def find_agent(self, authorization: str | None) -> str | None:
        """Return the agent of the token in a header, for the log. This does not count towards the token's rate."""
        try:
            return self._find(authorization).agent if self.required() else None
        except Unauthenticated:
            return None

    def _find(self, authorization: str | None) -> Principal:
        """Return the principal of the token in a header. Errors: Unauthenticated.

        The lookup is by the token's SHA-256, so its timing can only reveal digests: an attacker who learns a digest
        byte by byte would still have to invert SHA-256 for 256 random bits. The final comparison takes constant time.
        """
        if not authorization:
            raise Unauthenticated("Authorization header required", "Send Authorization: Bearer TOKEN.")
        scheme, _, secret = authorization.partition(" ")
        if scheme != "Bearer" or not secret:
            raise Unauthenticated("Invalid authorization scheme, expected Bearer", "Send Authorization: Bearer TOKEN.")
        for candidate in (secret, secret.partition(":")[2]):
            digest = _digest(candidate)
            known = self._known.get(digest)
            if known is not None and compare_digest(known.token.sha256, digest) and not _has_expired(known.token):
                return known.caller
        raise Unauthenticated("Invalid or expired token", "Make one: tallystick token add AGENT.")

    def add(self, agent: str, scopes: tuple[Scope, ...], now: datetime, days: int | None = None) -> tuple[Token, str]:
        """Make a token that expires after some days, or never; return what is stored, and the token, which is not.

        Errors: InvalidQuery.
        """
        if not is_valid_agent(agent):
            raise InvalidQuery("agent", f"{agent!r} is not an agent name.", "Use 1..64 letters, digits and ._:@/+-.")
        if unknown := [scope for scope in scopes if scope not in SCOPES]:
            raise InvalidQuery("scope", f"{unknown[0]!r} is not a scope.", f"Scopes: {', '.join(SCOPES)}.")
        secret = f"tally_{secrets.token_urlsafe(32)}"
        expires = None if days is None else now + timedelta(days=days)
        stored = Token(
            id=secrets.token_hex(4), agent=agent, scopes=scopes, created=now, sha256=_digest(secret), expires=expires
        )
        with self._locked():
            self._write([*self.list(), stored])
        return stored, secret

    def revoke(self, token_id: str) -> Token:
        """Revoke a token at once. Errors: NotFound."""
        with self._locked():
            tokens = self.list()
            revoked = next((token for token in tokens if token.id == token_id), None)
            if revoked is None:
                raise NotFound(f"Token {token_id} does not exist.", "See tallystick token list.")
            self._write([token for token in tokens if token.id != token_id])
        return revoked

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with Path(f"{self.path}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, tokens: Sequence[Token]) -> None:
        """Replace the file; only its owner may read it."""
        replace_whole(self.path, msgspec.json.format(msgspec.json.encode(tokens)), mode=0o600)


def _has_expired(token: Token) -> bool:
    return token.expires is not None and datetime.now(UTC) >= token.expires


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
