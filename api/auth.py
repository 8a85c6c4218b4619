"""Who asks, and what they may: tokens, scopes, and the speaker of an event.

Tokens stand in a file beside the ledger, hashed; the token itself is shown once, when it is made. Where there has never
been one the house is one person's: everybody who reaches it may do everything, and it listens on loopback only. Once
there is a file the door is closed, even when its last token is revoked: removing the file opens it again, but not
where others than loopback can reach it.
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

LOOK_S = 0.25
"""How old the view of the tokens' file may be: looking for every request took a twentieth of its time."""

ANONYMOUS = "anonymous"
"""The agent who speaks where no token names one."""

_agent = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:@/+-]{{0,{AGENT_NAME_CHARS_MAX - 1}}}")


class AccessRefused(TallystickError):
    """Who asks may not do what they ask; nothing was done."""


class Unauthenticated(AccessRefused):
    """No token, or one that is not known: send `Authorization: Bearer TOKEN`."""


class Forbidden(AccessRefused):
    """The token is known and does not allow this: use one with the scope that is named."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a token: a short id to revoke it by, its agent, its scopes, its SHA-256 in hex, and its end."""

    id: str
    agent: str
    scopes: tuple[Scope, ...]
    created: datetime
    sha256: str
    expires: datetime | None = None


class Principal(msgspec.Struct, frozen=True):
    """Who asks: the agent's name, its source attribute, its scopes, and what its token may still send."""

    agent: str
    source: str
    scopes: frozenset[str]
    allowance: TokenBucket | None = None

    def spend(self, events: int) -> None:
        """Count the events of a batch towards the rate of the token."""
        if self.allowance is not None:
            self.allowance.spend(events)

    def require(self, scope: Scope) -> None:
        """Errors: Forbidden, naming the scope that is missing."""
        if scope not in self.scopes and "admin" not in self.scopes:
            held = ", ".join(sorted(self.scopes)) or "none"
            raise Forbidden(
                f"The token of {self.agent} lacks the scope '{scope}' (it has {held}).",
                f"Use a token with it: tallystick token add {self.agent} --scope {scope}.",
            )

    def speaks_as(self, source: str | None) -> str:
        """The source an event gets. Errors: Forbidden, for another agent's without the import scope; InvalidQuery."""
        if source is None or source == self.source:
            return self.source
        if not source.startswith("/agents/") or not valid_agent(source.removeprefix("/agents/")):
            raise InvalidQuery("source", f"{source!r} is not of the form /agents/NAME.", "Leave it out, or correct it.")
        if "import" not in self.scopes and "admin" not in self.scopes:
            raise Forbidden(
                f"{self.agent} cannot speak as {source}.",
                "Leave source out, or use a token with the scope 'import'. Nothing was written.",
            )
        return source


OWNER = Principal(ANONYMOUS, source_of(ANONYMOUS), frozenset(SCOPES))
"""Whoever asks where there are no tokens."""


def valid_agent(name: str) -> bool:
    """Whether a name can be an agent's: 1..64 of letters, digits and `._:@/+-`, beginning with a letter or digit."""
    return _agent.fullmatch(name) is not None


class _Held(NamedTuple):
    """A token, and who speaks by it."""

    token: Token
    caller: Principal


class TokenStore:
    """The tokens of one ledger, read again whenever their file changes.

    Where it is `exposed` a missing file lets nobody in. `rate` is how fast each token may go; without one it is any.
    """

    def __init__(self, ledger: Path, rate: Rate | None = None, *, exposed: bool = False) -> None:
        self.path = ledger.with_name(ledger.name + ".tokens")
        self._stamp: tuple[int, int] | None = None
        self.rate = rate
        self.exposed = exposed
        self._looked_s = float("-inf")
        self._tokens: Sequence[Token] = ()
        self._held: dict[str, _Held] = {}

    def list(self) -> Sequence[Token]:
        """Every token, oldest first. Errors: LedgerUnusable, for a file that cannot be read."""
        try:
            status = self.path.stat()
            stamp = (status.st_mtime_ns, status.st_ino)
            if stamp != self._stamp:
                self._take(msgspec.json.decode(self.path.read_bytes(), type=list[Token]))
                self._stamp = stamp
        except FileNotFoundError:
            self._take([])
            self._stamp = None
        except (OSError, msgspec.DecodeError) as error:
            raise LedgerUnusable(f"{self.path} cannot be read: {error}.", "Restore it, or remove it.") from error
        return self._tokens

    def _take(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._held = {token.sha256: _Held(token, self._speaker(token)) for token in tokens}

    def _speaker(self, token: Token) -> Principal:
        """Who speaks by a token; one that was known keeps what it may still send."""
        known = self._held.get(token.sha256)
        allowance = None
        if self.rate is not None:
            allowance = (known and known.caller.allowance) or TokenBucket(token.agent, self.rate)
        return Principal(token.agent, source_of(token.agent), frozenset(token.scopes), allowance)

    def required(self) -> bool:
        """Whether a token is asked for."""
        return self._required(time.monotonic())

    def _required(self, now_s: float) -> bool:
        if now_s - self._looked_s > LOOK_S:
            self.list()
            self._looked_s = now_s
        return self._stamp is not None or self.exposed

    def identify(self, authorization: str | None) -> Principal:
        """Who sends an Authorization header: `Bearer TOKEN`, or `Bearer AGENT:TOKEN`; one request of its rate.

        A token made or revoked by another process counts within LOOK_S. Errors: Unauthenticated, RateLimited.
        """
        now_s = time.monotonic()
        if not self._required(now_s):
            return OWNER
        caller = self._find(authorization)
        if caller.allowance is not None:
            caller.allowance.ask(now_s)
        return caller

    def agent_of(self, authorization: str | None) -> str | None:
        """The agent whose token a header holds, for the log; no request of its rate."""
        try:
            return self._find(authorization).agent if self.required() else None
        except Unauthenticated:
            return None

    def _find(self, authorization: str | None) -> Principal:
        """Who speaks by the token in a header. Errors: Unauthenticated.

        A token is looked up by its SHA-256, so what the time of a lookup could tell is about digests: who wants to
        learn a digest byte by byte must choose tokens by their digests' beginnings, and would still have to invert
        SHA-256 for 256 random bits. The comparison that decides takes the same time wherever the two differ.
        """
        if not authorization:
            raise Unauthenticated("Authorization header required", "Send Authorization: Bearer TOKEN.")
        scheme, _, secret = authorization.partition(" ")
        if scheme != "Bearer" or not secret:
            raise Unauthenticated("Invalid authorization scheme, expected Bearer", "Send Authorization: Bearer TOKEN.")
        for candidate in (secret, secret.partition(":")[2]):
            digest = _digest(candidate)
            held = self._held.get(digest)
            if held is not None and compare_digest(held.token.sha256, digest) and not _is_over(held.token):
                return held.caller
        raise Unauthenticated("Invalid or expired token", "Make one: tallystick token add AGENT.")

    def add(self, agent: str, scopes: tuple[Scope, ...], now: datetime, days: int | None = None) -> tuple[Token, str]:
        """Make a token, for some days or for good; return what is kept and the token itself, which is nowhere else.

        Errors: InvalidQuery.
        """
        if not valid_agent(agent):
            raise InvalidQuery("agent", f"{agent!r} is no agent's name.", "Use 1..64 letters, digits and ._:@/+-.")
        if unknown := [scope for scope in scopes if scope not in SCOPES]:
            raise InvalidQuery("scope", f"{unknown[0]!r} is not a scope.", f"Scopes: {', '.join(SCOPES)}.")
        secret = f"tally_{secrets.token_urlsafe(32)}"
        expires = None if days is None else now + timedelta(days=days)
        kept = Token(
            id=secrets.token_hex(4), agent=agent, scopes=scopes, created=now, sha256=_digest(secret), expires=expires
        )
        with self._exclusively():
            self._write([*self.list(), kept])
        return kept, secret

    def revoke(self, token_id: str) -> Token:
        """Make a token worthless at once. Errors: NotFound."""
        with self._exclusively():
            tokens = self.list()
            gone = next((token for token in tokens if token.id == token_id), None)
            if gone is None:
                raise NotFound(f"There is no token {token_id}.", "See tallystick token list.")
            self._write([token for token in tokens if token.id != token_id])
        return gone

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        with Path(f"{self.path}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, tokens: Sequence[Token]) -> None:
        """Replace the file; only its owner may read it."""
        replace_whole(self.path, msgspec.json.format(msgspec.json.encode(tokens)), mode=0o600)


def _is_over(token: Token) -> bool:
    return token.expires is not None and datetime.now(UTC) >= token.expires


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
