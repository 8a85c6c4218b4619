"""The limits of running requests: of each token, and of all together.

`authenticate` counts a request for its token, and `leave` ends that. A request whose token is revoked or expires while
it runs is ended by `end_revoked`, which the server calls about twice a second.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from starlette.types import Scope

from api.http.connection_table import ConnectionLimits
from api.http.metrics import Metrics
from api.http.refusals import ClientRefusals
from api.http.sessions import BrowserSession, Sessions
from api.principal import Principal
from api.rate_limit import ServerLimitReached, TokenLimitReached
from api.service.pauses import Pauses
from api.service.view_queries import QUERIES, QueryLimits
from api.token_store import TokenStore
from events.errors import TallystickError
from events.limits import (
    BODIES_BYTES_MAX,
    BODIES_BYTES_PER_TOKEN_MAX,
    BODY_BYTES_FREE,
    CONNECTIONS_PER_TOKEN_MAX,
    FEEDS_MAX,
    FEEDS_PER_TOKEN_MAX,
    REFUSALS_BURST,
    REFUSALS_PER_S_MAX,
)

RETRY_AFTER_S = 5
"""Seconds after which a client may ask again for a feed, which others may hold for long."""


class RequestLimits(NamedTuple):
    """The limits of a server, in all and of each token."""

    connections: ConnectionLimits = ConnectionLimits()
    connections_per_token: int = CONNECTIONS_PER_TOKEN_MAX
    feeds: int = FEEDS_MAX
    feeds_per_token: int = FEEDS_PER_TOKEN_MAX
    body_bytes: int = BODIES_BYTES_MAX
    body_bytes_per_token: int = BODIES_BYTES_PER_TOKEN_MAX
    queries: QueryLimits = QUERIES
    refusals_per_s: float = REFUSALS_PER_S_MAX


DEFAULT_LIMITS = RequestLimits()


class ServedConnection(Protocol):
    """The connection of a request, which ends requests that may not go on."""

    def authenticated(self) -> None:
        """Note that a request on the connection was authenticated."""
        ...

    def hold(self) -> None:
        """Note that the refusal of the running request is held: its connection may be closed for another."""
        ...

    def end_revoked(self) -> None:
        """End the running request, because its token was revoked or has expired."""
        ...


class RunningRequests:
    """The authenticated requests of a server that are not yet answered, and what they use."""

    def __init__(self, limits: RequestLimits, tokens: TokenStore, sessions: Sessions) -> None:
        self.limits = limits
        self.sessions = sessions
        self.refusals = ClientRefusals(limits.refusals_per_s)
        self.pauses = Pauses()
        self.feeds = 0
        self.body_bytes = 0
        self._tokens = tokens
        self._callers: dict[int, tuple[Principal, Scope]] = {}  # by the id of the scope, which lives as long

    def authenticate(self, scope: Scope, authorization: str | None) -> Principal:
        """Return the caller of a request, and count the request. Errors: AccessRefused, LimitReached, RateLimited."""
        session = self.sessions.find(scope) if authorization is None and self._tokens.required() else None
        scope["session"] = session
        caller = (
            self._tokens.identify(authorization) if session is None else self._tokens.identify_token(session.token_id)
        )
        scope["caller"] = caller
        connection: ServedConnection | None = scope.get("connection")
        if connection is not None:
            connection.authenticated()
        use, limit = caller.use, self.limits.connections_per_token
        if use is not None:
            if use.requests >= limit:
                raise TokenLimitReached(
                    f"{limit:,} requests of the token of {use.agent} run at once, which is the limit of connections for"
                    " each token.",
                    "Wait for answers; end feeds that nobody reads.",
                )
            use.requests += 1
        self._callers[id(scope)] = (caller, scope)
        return caller

    def find_agent(self, scope: Scope) -> str | None:
        """Return the agent of a request's token or session, for the log; None if it has none."""
        session: BrowserSession | None = scope.get("session")
        if session is not None:
            return self._tokens.agent_of(session.token_id)
        return self._tokens.find_agent(scope["named_headers"].get(b"authorization", b"").decode("latin-1"))

    def leave(self, scope: Scope) -> None:
        """End the count of a request that was answered."""
        held = scope.pop("body_bytes", 0)
        self.body_bytes -= held
        entry = self._callers.pop(id(scope), None)
        if entry is None:  # refused, or an address that asks for no caller, such as /healthz: no query waits for it
            return
        if "is_long" not in scope:
            self.pauses.note_short_request()
        use = entry[0].use
        if use is not None:
            use.requests -= 1
            use.body_bytes -= held
        if "end_feed" in scope:
            self.feeds -= 1
            if use is not None:
                use.feeds -= 1

    def end_revoked(self) -> None:
        """End the requests whose token or session is over. A token file that cannot be read revokes all."""
        for caller, scope in list(self._callers.values()):
            session: BrowserSession | None = scope["session"]
            try:
                accepted = self._tokens.accepts(caller) and (session is None or self.sessions.lasts(session))
            except TallystickError:
                accepted = False
            if accepted:
                continue
            end_feed: Callable[[], None] | None = scope.get("end_feed")
            connection: ServedConnection | None = scope.get("connection")
            if end_feed is not None:
                end_feed()
            elif connection is not None:
                connection.end_revoked()

    def open_feed(self, scope: Scope, end: Callable[[], None]) -> None:
        """Count a request as a feed; `end` is called when its token is revoked or expires. Errors: LimitReached."""
        caller: Principal = scope["caller"]
        limits, use = self.limits, caller.use
        if use is not None and use.feeds >= limits.feeds_per_token:
            raise TokenLimitReached(
                f"{limits.feeds_per_token:,} feeds of the token of {use.agent} are open, which is the limit of feeds"
                " for each token.",
                "Read several types or streams in one feed; end feeds that nobody reads.",
                RETRY_AFTER_S,
            )
        if self.feeds >= limits.feeds:
            raise ServerLimitReached(
                f"{limits.feeds:,} feeds are open, which is the limit of the server.",
                "Retry later; or poll GET /events?after=POSITION.",
                RETRY_AFTER_S,
            )
        self.feeds += 1
        if use is not None:
            use.feeds += 1
        scope["end_feed"] = end
        scope["is_long"] = True

    def end_feeds(self) -> None:
        """End every feed, because the server stops: a feed does not end by itself."""
        for _, scope in list(self._callers.values()):
            if "end_feed" in scope:
                scope["end_feed"]()

    def hold_body(self, scope: Scope, size: int) -> None:
        """Count the bytes of a body that is being received, `size` so far, until its request is answered.

        Errors: LimitReached.
        """
        more = self.check_body(scope, size)
        if more > 0:
            caller: Principal = scope["caller"]
            scope["body_bytes"] = size - BODY_BYTES_FREE
            self.body_bytes += more
            if caller.use is not None:
                caller.use.body_bytes += more

    def check_body(self, scope: Scope, size: int) -> int:
        """Return how many bytes more a body of a size counts than are counted yet. Errors: LimitReached."""
        caller: Principal = scope["caller"]
        limits, use = self.limits, caller.use
        more = size - BODY_BYTES_FREE - int(scope.get("body_bytes", 0))
        if more <= 0:
            return 0
        if use is not None and use.body_bytes + more > limits.body_bytes_per_token:
            raise TokenLimitReached(
                f"The request bodies of the token of {use.agent} are over {limits.body_bytes_per_token:,} bytes in"
                " memory, which is the limit of bodies for each token.",
                "Send fewer large requests at once, or smaller ones.",
            )
        if self.body_bytes + more > limits.body_bytes:
            raise ServerLimitReached(
                f"Request bodies are over {limits.body_bytes:,} bytes in memory, which is the limit of the server.",
                "Retry later, with smaller requests.",
            )
        return more

    def add_metrics(self, metrics: Metrics, queries_running: Callable[[], int]) -> None:
        """Add the gauges of each limit and its use."""
        limits, uses = self.limits, self._tokens.uses
        metrics.add_limit("feeds", limits.feeds, lambda: self.feeds)
        metrics.add_limit(
            "feeds-per-token", limits.feeds_per_token, lambda: max((use.feeds for use in uses()), default=0)
        )
        metrics.add_limit(
            "connections-per-token",
            limits.connections_per_token,
            lambda: max((use.requests for use in uses()), default=0),
        )
        metrics.add_limit("body-bytes", limits.body_bytes, lambda: self.body_bytes)
        metrics.add_limit(
            "body-bytes-per-token",
            limits.body_bytes_per_token,
            lambda: max((use.body_bytes for use in uses()), default=0),
        )
        metrics.add_limit("refusals-per-client", REFUSALS_BURST, self.refusals.most_of_a_client)
        metrics.add_limit("queries", limits.queries.at_once, queries_running)
