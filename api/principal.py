"""The caller of a request, its scopes, the source of its events, and the errors of refused access.

A ledger without tokens treats every caller as its owner: see token_store.py.
"""

from typing import Literal, get_args

import msgspec
from msgspec import structs

from api.rate_limit import TokenBucket, TokenUse
from events.agent_name import is_valid_agent
from events.envelope import ANONYMOUS, source_of
from events.errors import TallystickError
from ledger.errors import InvalidQuery
from ledger.log import Permissions

Scope = Literal["append", "read", "review", "observe", "import", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
DEFAULT_SCOPES: tuple[Scope, ...] = ("append", "read")

ReviewPolicy = Literal["any", "others", "none"]
"""Which decisions a token may review: any, only those of other agents, or none."""

DeliberationPolicy = Literal["auto", "off"]
"""Whether the calls of a token become inputs of its next decision."""


class AccessRefused(TallystickError):
    """The caller is not allowed to do this; nothing was done."""


class Unauthenticated(AccessRefused):
    """The token is missing or unknown: send `Authorization: Bearer TOKEN`."""


class Forbidden(AccessRefused):
    """The token is known but lacks a scope: use one that has it."""


class TokensUnreadable(AccessRefused):
    """The file of the tokens is damaged, so that no caller can be authenticated: its operator must restore it."""


class Principal(msgspec.Struct, frozen=True):
    """An authenticated caller: agent, source of its events, scopes, rate limit, and which decisions it may review.

    `token_id` and `use` are those of the token; a caller without a token has neither.
    """

    agent: str
    source: str
    scopes: frozenset[str]
    bucket: TokenBucket | None = None
    review: ReviewPolicy = "any"
    token_id: str | None = None
    use: TokenUse | None = None
    deliberation: DeliberationPolicy = "off"

    @property
    def permissions(self) -> Permissions:
        """What the caller may do in streams that other sources began."""
        for_others = not self.scopes.isdisjoint({"import", "admin"})
        not_own = self.source if self.review == "others" else None
        return Permissions(for_others, for_others or "review" in self.scopes, not_own)

    def may_review(self, agent: str) -> bool:
        """Return whether the caller's policy allows it to review the decisions of an agent."""
        return self.review == "any" or (self.review == "others" and agent != self.agent)

    def spend(self, events: int) -> None:
        """Charge the events of a batch to the rate limit of the token."""
        if self.bucket is not None:
            self.bucket.spend(events)

    def spend_body(self, size: int) -> None:
        """Charge the bytes of a large body to the rate limit of the token."""
        if self.bucket is not None:
            self.bucket.spend_body(size)

    def may(self, scope: Scope) -> bool:
        """Return whether the caller has a scope."""
        return scope in self.scopes or "admin" in self.scopes

    def require(self, scope: Scope) -> None:
        """Check that the caller has a scope. Errors: Forbidden, naming the missing scope."""
        if not self.may(scope):
            scopes = ", ".join(sorted(self.scopes)) or "none"
            raise Forbidden(
                f"The token of {self.agent} lacks the scope '{scope}' (it has {scopes}).",
                f"Use a token with it: tallystick token add {self.agent} --scope {scope}.",
            )

    def resolve_source(self, source: str | None) -> str:
        """Return the source of an event: the requested one, or by default the caller's.

        Errors: InvalidQuery; Forbidden, for another agent's source if the caller lacks the scope `import`.
        """
        if source is None or source == self.source:
            return self.source
        if not source.startswith("/agents/") or not is_valid_agent(source.removeprefix("/agents/")):
            raise InvalidQuery("source", f"{source!r} is not of the form /agents/NAME.", "Omit it, or correct it.")
        if "import" not in self.scopes and "admin" not in self.scopes:
            raise Forbidden(
                f"{self.agent} cannot append as {source}.",
                "Omit source, or use a token with the scope 'import'.",
                written=False,
            )
        return source

    def as_agent(self, agent: str | None) -> "Principal":
        """Return the caller as an agent that it names, or the caller itself if it cannot append as that agent."""
        if agent is None or not is_valid_agent(agent):
            return self
        try:
            source = self.resolve_source(source_of(agent))
        except Forbidden:
            return self
        return structs.replace(self, agent=agent, source=source)


OWNER = Principal(ANONYMOUS, source_of(ANONYMOUS), frozenset(SCOPES))
"""The caller of a ledger without tokens."""
