"""Make, store, revoke and authenticate the tokens of a ledger, in a file beside it.

The file stores each token's SHA-256. The token itself is shown once, when it is made.

Without this file the ledger belongs to one person: every caller may do everything, and the server listens on loopback
only. Once the file exists, callers need a token, even after the last token is revoked. If the file is removed, every
caller may do everything again, except on a server that other machines can reach.
"""

import fcntl
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import NamedTuple

import msgspec

from api.auth import OWNER, SCOPES, Principal, Scope, Unauthenticated, is_valid_agent
from api.rate_limit import Rate, TokenBucket
from events.envelope import source_of
from ledger.atomic_file import replace_whole
from ledger.errors import InvalidQuery, LedgerUnusable, NotFound

RECHECK_S = 0.25
"""Seconds between two checks whether the file has changed. A check for every request took 5% of the request's time."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token as the file stores it: an id by which it is revoked, agent, scopes, SHA-256 in hex, and expiry."""

    id: str
    agent: str
    scopes: tuple[Scope, ...]
    created: datetime
    sha256: str
    expires: datetime | None = None


class _TokenEntry(NamedTuple):
    """A token and its principal."""

    token: Token
    principal: Principal


class TokenStore:
    """The tokens of one ledger. They are read again when their file changes.

    `rate` limits each token; None: no limit. `exposed` means that other machines can reach the server; then every
    caller is refused if the file does not exist.
    """

    def __init__(self, ledger: Path, rate: Rate | None = None, *, exposed: bool = False) -> None:
        self.path = ledger.with_name(ledger.name + ".tokens")
        self.rate = rate
        self.exposed = exposed
        self._file_version: tuple[int, int] | None = None  # modification time and inode; None: the file does not exist
        self._checked_s = float("-inf")
        self._tokens: Sequence[Token] = ()
        self._by_digest: dict[str, _TokenEntry] = {}

    def list(self) -> Sequence[Token]:
        """Return every token, oldest first. Errors: LedgerUnusable, for a file that cannot be read."""
        try:
            status = self.path.stat()
            version = (status.st_mtime_ns, status.st_ino)
            if version != self._file_version:
                self._replace(msgspec.json.decode(self.path.read_bytes(), type=list[Token]))
                self._file_version = version
        except FileNotFoundError:
            self._replace([])
            self._file_version = None
        except (OSError, msgspec.DecodeError) as error:
            raise LedgerUnusable(f"{self.path} cannot be read: {error}.", "Restore it, or remove it.") from error
        return self._tokens

    def _replace(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._by_digest = {token.sha256: _TokenEntry(token, self._principal(token)) for token in tokens}

    def _principal(self, token: Token) -> Principal:
        """Return the principal of a token. If the token was in the file before, the principal keeps its bucket."""
        previous = self._by_digest.get(token.sha256)
        bucket = None
        if self.rate is not None:
            bucket = (previous and previous.principal.bucket) or TokenBucket(token.agent, self.rate)
        return Principal(token.agent, source_of(token.agent), frozenset(token.scopes), bucket)

    def required(self) -> bool:
        """Return whether callers need a token."""
        return self._required(time.monotonic())

    def _required(self, now_s: float) -> bool:
        if now_s - self._checked_s > RECHECK_S:
            self.list()
            self._checked_s = now_s
        return self._file_version is not None or self.exposed

    def identify(self, authorization: str | None) -> Principal:
        """Authenticate the sender of an Authorization header, `Bearer TOKEN` or `Bearer AGENT:TOKEN`.

        This takes one request from the token's rate limit. A token that another process makes is accepted within
        RECHECK_S; one that it revokes is refused within RECHECK_S. Errors: Unauthenticated, RateLimited.
        """
        now_s = time.monotonic()
        if not self._required(now_s):
            return OWNER
        caller = self._find(authorization)
        if caller.bucket is not None:
            caller.bucket.take(now_s)
        return caller

    def find_agent(self, authorization: str | None) -> str | None:
        """Return the agent of the token in a header, for the log. This takes no request from the token's rate limit."""
        try:
            return self._find(authorization).agent if self.required() else None
        except Unauthenticated:
            return None

    def _find(self, authorization: str | None) -> Principal:
        """Return the principal of the token in a header. Errors: Unauthenticated.

        The lookup uses the token's SHA-256, so its timing can reveal digests only: an attacker who learns a digest byte
        by byte must still invert SHA-256 of 256 random bits. The final comparison takes constant time.
        """
        if not authorization:
            raise Unauthenticated("Authorization header required", "Send Authorization: Bearer TOKEN.")
        scheme, _, secret = authorization.partition(" ")
        secret = secret.lstrip(" ")
        if scheme.lower() != "bearer" or not secret:
            raise Unauthenticated("Invalid authorization scheme, expected Bearer", "Send Authorization: Bearer TOKEN.")
        for candidate in (secret, secret.partition(":")[2]):
            digest = _digest(candidate)
            entry = self._by_digest.get(digest)
            if entry is not None and compare_digest(entry.token.sha256, digest) and not _has_expired(entry.token):
                return entry.principal
        raise Unauthenticated("Invalid or expired token", "Make one: tallystick token add AGENT.")

    def add(self, agent: str, scopes: tuple[Scope, ...], now: datetime, days: int | None = None) -> tuple[Token, str]:
        """Make a token that expires after `days`; None: never. Errors: InvalidQuery.

        Returns the entry of the file, and the token itself, which is not stored.
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
        """Remove a token from the file, and return it. Errors: NotFound."""
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
