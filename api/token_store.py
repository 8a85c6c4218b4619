"""Make, revoke and authenticate the tokens of a ledger. They are stored in a file beside it, or shared by its nodes.

What is stored has each token's SHA-256. The token itself is shown once, when it is made.

A ledger that never had a token belongs to one person: every caller may do everything, and the server listens on
loopback only. Once it had one, callers need a token, also after the last one is revoked, and after the stored list is
removed. A damaged list keeps every caller out.
"""

import secrets
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from api.principal import (
    OWNER,
    SCOPES,
    DeliberationPolicy,
    Principal,
    ReviewPolicy,
    Scope,
    TokensUnreadable,
    Unauthenticated,
)
from api.rate_limit import Rate, TokenBucket, TokenUse
from events.agent_name import is_valid_agent
from events.decode_error_messages import DECODE_ERRORS
from events.envelope import source_of
from ledger.errors import InvalidQuery, LedgerUnusable, NotFound
from ledger.token_file import TokenFile

RECHECK_S = 0.25
"""Seconds between two checks whether the list has changed. A check for every request took 5% of the request's time."""

UNKNOWN_RECHECK_S = 0.01
"""Seconds after a check in which an unknown token is refused without another one."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token as the list has it: an id by which it is revoked, agent, scopes, SHA-256 in hex, and expiry.

    `review` says which decisions it may review, `deliberation` whether its calls become inputs of its next decision.
    Both may be absent.
    """

    id: str
    agent: str
    scopes: tuple[Scope, ...]
    created: datetime
    sha256: str
    expires: datetime | None = None
    review: ReviewPolicy = "any"
    deliberation: DeliberationPolicy | None = None


class _TokenEntry(NamedTuple):
    """A token and its principal."""

    token: Token
    principal: Principal


class TokenStorage(Protocol):
    """Where the list of tokens is stored. Errors of all methods: LedgerUnusable, OSError."""

    name: str
    """What the list is called in errors for its operator."""
    public_name: str
    """What it is called in errors for callers."""

    def version(self) -> Hashable | None:
        """Return what changes with every change of the list; None if none is stored."""
        ...

    def read(self) -> bytes:
        """Return the list. Errors: FileNotFoundError, if none is stored."""
        ...

    def remembers(self) -> bool:
        """Return whether the ledger had a token, also if no list is stored now."""
        ...

    def remember(self) -> None:
        """Remember that the ledger has tokens."""
        ...

    def update(self, change: Callable[[], bytes | None]) -> None:
        """Replace the list with what `change` returns, which reads it first, and is called again after a conflict.

        None: the list is right already.
        """
        ...


class TokenStore:
    """The tokens of one ledger. They are read again when their list changes.

    `stored` is where the list is; for a path, the file beside that ledger. `rate` limits each token; None: no limit.
    `exposed` means that other machines can reach the server; then every caller needs a token. `required_by_option` is
    `serve --require-tokens` or `--no-require-tokens`; None: a ledger that had a token requires one. `warn` is called
    with each new fault of the list.
    """

    def __init__(self, stored: Path | TokenStorage, rate: Rate | None = None, *, exposed: bool = False) -> None:
        self.storage: TokenStorage = TokenFile(stored) if isinstance(stored, Path) else stored
        self.rate = rate
        self.exposed = exposed
        self.required_by_option: bool | None = None
        self.warn: Callable[[str], None] = lambda reason: None
        self.fault: str | None = None
        """Why no caller can be authenticated: the list is damaged, or missing although the ledger had tokens."""
        self._had_tokens = False
        self.unreadable = False
        """Whether the list is damaged, or was never read."""
        self._version: Hashable | None = None  # None: no list is stored
        self._checked_s = float("-inf")
        self._tokens: Sequence[Token] = ()
        self._by_digest: dict[str, _TokenEntry] = {}
        self._by_id: dict[str, _TokenEntry] = {}

    @property
    def path(self) -> Path:
        """Return the path of the file, for tokens that are stored in one."""
        assert isinstance(self.storage, TokenFile)
        return self.storage.path

    def list(self) -> Sequence[Token]:
        """Return every token, oldest first. Errors: LedgerUnusable, for a list that cannot be read."""
        try:
            version = self.storage.version()
            if version is None:
                raise FileNotFoundError
            if version != self._version:
                self._replace(msgspec.json.decode(self.storage.read(), type=list[Token]))
                self._version = version
        except FileNotFoundError:
            self._replace([])
            self._version = None
        except (OSError, *DECODE_ERRORS) as error:
            raise LedgerUnusable(
                f"{self.storage.name} cannot be read: {error}.", "Restore it from a backup."
            ) from error
        return self._tokens

    def _replace(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._by_digest = {token.sha256: _TokenEntry(token, self._principal(token)) for token in tokens}
        self._by_id = {entry.token.id: entry for entry in self._by_digest.values()}

    def _principal(self, token: Token) -> Principal:
        """Return the principal of a token. If the token was in the list before, the principal keeps its bucket."""
        previous = self._by_digest.get(token.sha256)
        bucket = None
        if self.rate is not None:
            bucket = (previous and previous.principal.bucket) or TokenBucket(token.agent, self.rate)
        use = (previous and previous.principal.use) or TokenUse(token.agent)
        return Principal(
            token.agent, source_of(token.agent), frozenset(token.scopes), bucket, token.review, token.id, use,
            token.deliberation or "off",
        )  # fmt: skip

    def had_tokens(self) -> bool:
        """Return whether the ledger has or had a token. Errors: LedgerUnusable."""
        if not self._had_tokens:
            self._had_tokens = self.storage.remembers()
        return self._had_tokens or self._version is not None

    def remember(self) -> None:
        """Remember that the ledger has tokens: callers then need one also if the list is removed.

        If the list or the folder cannot be used, nothing is remembered.
        """
        with suppress(LedgerUnusable, OSError):
            self.list()
            if self._version is not None:
                self.storage.remember()

    def required(self) -> bool:
        """Return whether callers need a token; also if the list is damaged."""
        return self._required(time.monotonic())

    def _required(self, now_s: float) -> bool:
        if now_s - self._checked_s > RECHECK_S:
            self._recheck()
            self._checked_s = now_s
        return self._version is not None or self.exposed or self.unreadable or self._required_without_file()

    def _required_without_file(self) -> bool:
        return self._had_tokens if self.required_by_option is None else self.required_by_option

    def _recheck(self) -> None:
        """Read the list again if it has changed, and set `fault`."""
        fault = None
        try:
            self.list()
            self._had_tokens = self.had_tokens()
            self.unreadable = False
            if self._version is None and self._required_without_file():
                fault = f"{self.storage.name} is missing: every caller is refused until a token is made"
        except LedgerUnusable as error:
            self.unreadable = True
            self._version = None
            fault = error.detail
        if fault is not None and fault != self.fault:
            self.warn(fault)
        self.fault = fault

    def identify(self, authorization: str | None) -> Principal:
        """Authenticate the sender of an Authorization header, `Bearer TOKEN` or `Bearer AGENT:TOKEN`.

        Without tokens every caller is the owner, as AGENT if the header names one.

        This takes one request from the token's rate limit. A token that another process makes is accepted at
        once; one that it revokes is refused within RECHECK_S.
        Errors: Unauthenticated, RateLimited; TokensUnreadable.
        """
        now_s = time.monotonic()
        if not self._required(now_s):
            return OWNER.as_agent(_named_agent(authorization))
        caller = self._find(authorization, now_s)
        if caller.bucket is not None:
            caller.bucket.take(now_s)
        return caller

    def identify_token(self, token_id: str) -> Principal:
        """Return the principal of a token that was accepted before, and take a request from its rate limit.

        Errors: Unauthenticated, if the token was revoked or has expired; RateLimited; TokensUnreadable.
        """
        if self.unreadable:
            raise self._unreadable()
        entry = self._by_id.get(token_id)
        if entry is None or _has_expired(entry.token):
            raise Unauthenticated("Invalid or expired token", "Make one: tallystick token add AGENT.")
        if entry.principal.bucket is not None:
            entry.principal.bucket.take(time.monotonic())
        return entry.principal

    def agent_of(self, token_id: str) -> str | None:
        """Return the agent of a token; None for one that does not exist."""
        entry = self._by_id.get(token_id)
        return None if entry is None else entry.token.agent

    def digest_of(self, token_id: str) -> str:
        """Return the SHA-256 of a token in hex; empty for one that does not exist."""
        entry = self._by_id.get(token_id)
        return "" if entry is None else entry.token.sha256

    def accepts(self, caller: Principal) -> bool:
        """Return whether a caller that was authenticated before would be accepted now."""
        if not self.required():
            return True
        entry = self._by_id.get(caller.token_id or "")
        return entry is not None and not _has_expired(entry.token)

    def uses(self) -> Sequence[TokenUse]:
        """Return what each token uses at this moment."""
        return [entry.principal.use for entry in self._by_digest.values() if entry.principal.use is not None]

    def find_agent(self, authorization: str | None) -> str | None:
        """Return the agent of the token in a header, for the log. This takes no request from the token's rate limit."""
        try:
            return self._find(authorization, time.monotonic()).agent if self.required() else None
        except (Unauthenticated, TokensUnreadable):
            return None

    def _find(self, authorization: str | None, now_s: float) -> Principal:
        """Return the principal of the token in a header. Errors: Unauthenticated; TokensUnreadable.

        The lookup uses the token's SHA-256, so its timing can reveal digests only: an attacker who learns a digest byte
        by byte must still invert SHA-256 of 256 random bits. The final comparison takes constant time.
        """
        if self.unreadable:
            raise self._unreadable()
        if not authorization:
            raise Unauthenticated("Authorization header required", "Send Authorization: Bearer TOKEN.")
        scheme, _, secret = authorization.partition(" ")
        secret = secret.lstrip(" ")
        if scheme.lower() != "bearer" or not secret:
            raise Unauthenticated("Invalid authorization scheme, expected Bearer", "Send Authorization: Bearer TOKEN.")
        caller = self._look_up(secret)
        if caller is None and now_s - self._checked_s > UNKNOWN_RECHECK_S:  # it may have just been made
            self._recheck()
            self._checked_s = now_s
            caller = self._look_up(secret)
        if caller is None:
            raise Unauthenticated("Invalid or expired token", "Make one: tallystick token add AGENT.")
        return caller

    def _unreadable(self) -> TokensUnreadable:
        return TokensUnreadable(
            f"{self.storage.public_name} cannot be read: every caller is refused.",
            "Its operator restores it from a backup; the server's log says what is wrong.",
        )

    def _look_up(self, secret: str) -> Principal | None:
        for candidate in (secret, secret.partition(":")[2]):
            digest = _digest(candidate)
            entry = self._by_digest.get(digest)
            if entry is not None and compare_digest(entry.token.sha256, digest) and not _has_expired(entry.token):
                return entry.principal
        return None

    def add(
        self,
        agent: str,
        scopes: tuple[Scope, ...],
        now: datetime,
        days: int | None = None,
        review: ReviewPolicy = "any",
        deliberation: DeliberationPolicy | None = None,
    ) -> tuple[Token, str]:
        """Make a token that expires after `days`; None: never. Errors: InvalidQuery.

        Returns the entry of the list, and the token itself, which is not stored.
        """
        if not is_valid_agent(agent):
            raise InvalidQuery("agent", f"{agent!r} is not an agent name.", "Use 1..64 letters, digits and ._:@/+-.")
        if unknown := [scope for scope in scopes if scope not in SCOPES]:
            raise InvalidQuery("scope", f"{unknown[0]!r} is not a scope.", f"Scopes: {', '.join(SCOPES)}.")
        if review != "any" and (wide := [scope for scope in scopes if scope in {"import", "admin"}]):
            detail = f"{review} does not bind a token with the scope {wide[0]}, which can write as any agent."
            raise InvalidQuery("review", detail, "Leave out that scope, or --review.")
        if deliberation == "auto" and not {"append", "admin"}.intersection(scopes):
            detail = "auto records the calls of the token, and the token may not append."
            raise InvalidQuery("deliberation", detail, "Add --scope append, or leave out --deliberation.")
        secret = f"tally_{secrets.token_urlsafe(32)}"
        expires = None if days is None else now + timedelta(days=days)
        stored = Token(
            id=secrets.token_hex(4), agent=agent, scopes=scopes, created=now, sha256=_digest(secret), expires=expires,
            review=review, deliberation=deliberation,
        )  # fmt: skip

        def change() -> bytes | None:
            tokens = self.list()
            return None if stored in tokens else _encode([*tokens, stored])

        self.storage.update(change)
        return stored, secret

    def revoke(self, token_id: str) -> Token:
        """Remove a token from the list, and return it. Errors: NotFound."""
        revoked: Token | None = None

        def change() -> bytes | None:
            nonlocal revoked
            tokens = self.list()
            found = next((token for token in tokens if token.id == token_id), None)
            if found is None and revoked is not None:
                return None
            if found is None:
                raise NotFound(f"Token {token_id} does not exist.", "See tallystick token list.")
            revoked = found
            return _encode([token for token in tokens if token.id != token_id])

        self.storage.update(change)
        assert revoked is not None
        return revoked


def _encode(tokens: Sequence[Token]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(tokens))


def _named_agent(authorization: str | None) -> str | None:
    """Return the agent in a header `Bearer AGENT:TOKEN`; None if it names none."""
    scheme, _, secret = (authorization or "").partition(" ")
    agent, _, token = secret.strip().partition(":")
    return agent if scheme.lower() == "bearer" and token else None


def _has_expired(token: Token) -> bool:
    return token.expires is not None and datetime.now(UTC) >= token.expires


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
