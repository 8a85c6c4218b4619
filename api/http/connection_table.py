"""The open connections, and which of them the server closes for another one.

Connections are limited in all, and by address until a request on them is authenticated. At a limit, the connection that
has been idle longest is closed for a new one, a limited number of times a second. Otherwise the new connection is one
of a small reserve, on which only health is answered.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from api.http.metrics import Metrics
from events.limits import (
    CONNECTIONS_MAX,
    CONNECTIONS_PER_CLIENT_MAX,
    CONNECTIONS_REFUSED_MAX,
    CONNECTIONS_RESERVED,
)

IDLE_S_MIN: Final = 1.0
"""Seconds after which an idle connection may be closed for another: a client that has just connected sends soon."""

REPLACED_PER_S: Final = 50.0
"""Connections that are closed for others, per second. Each takes a search of all, and a client may connect again."""

REPLACED_BURST: Final = 200.0
"""Connections that are closed for others at once after a pause."""


class ConnectionLimits(NamedTuple):
    """The limits of open connections: in all, and by address before a request is authenticated (0: no limit)."""

    total: int = CONNECTIONS_MAX
    per_client: int = CONNECTIONS_PER_CLIENT_MAX


class OpenConnection(Protocol):
    """A connection as the table sees it."""

    @property
    def address(self) -> str:
        """The client's address."""
        ...

    def idle_since(self) -> float | None:
        """Return when the connection became idle, by the loop's clock; None while a request runs."""
        ...

    def close_idle(self) -> None:
        """Close the connection, which is idle."""
        ...

    def abort(self) -> None:
        """Close the connection at once."""
        ...


class ConnectionTable:
    """The open connections of a server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._open: dict[OpenConnection, None] = {}
        self._reserved: dict[OpenConnection, None] = {}
        self._refused: dict[OpenConnection, None] = {}
        self._unauthenticated: dict[str, dict[OpenConnection, None]] = {}
        self._replaceable = REPLACED_BURST
        self._replaceable_s = 0.0  # when `_replaceable` was computed

    def add_metrics(self, metrics: Metrics) -> None:
        """Add the gauges of each limit and its use."""
        metrics.add_limit("connections", self.limits.total, lambda: len(self._open))
        metrics.add_limit(
            "connections-per-client",
            self.limits.per_client,
            lambda: max(map(len, self._unauthenticated.values()), default=0),
        )

    def add(self, connection: OpenConnection, now_s: float) -> None:
        """Add a connection. Without a free place it is one of the reserve, of which the oldest is closed if it is full.

        A connection of the reserve is refused when it has requested anything but health, so that the reserve has only
        those that have not requested anything yet.
        """
        if self._make_place(connection.address, now_s):
            self._place(connection)
            return
        if len(self._reserved) >= CONNECTIONS_RESERVED:
            oldest = next(iter(self._reserved))
            self.remove(oldest)
            oldest.close_idle()
        self._reserved[connection] = None

    def is_reserved(self, connection: OpenConnection, now_s: float) -> bool:
        """Return whether only health is answered on a connection: it is one of the reserve, and no place is free."""
        if connection not in self._reserved:
            return False
        if not self._make_place(connection.address, now_s):
            return True
        del self._reserved[connection]
        self._place(connection)
        return False

    def refusal(self, address: str) -> str:
        """Return which limit keeps a connection of an address out."""
        if self._at_client_limit(address):
            return f"{self.limits.per_client:,} connections of {address} without a valid token are open: the limit."
        return f"{self.limits.total:,} connections are open, which is the limit."

    def authenticate(self, connection: OpenConnection) -> None:
        """Note that a request on a connection was authenticated: its address no longer counts."""
        same_client = self._unauthenticated.get(connection.address)
        if same_client is not None:
            same_client.pop(connection, None)
            if not same_client:
                del self._unauthenticated[connection.address]

    def refuse(self, connection: OpenConnection) -> None:
        """Note that a connection was refused and waits for its client to close it. The oldest of many is aborted."""
        self.remove(connection)
        self._refused[connection] = None
        if len(self._refused) > CONNECTIONS_REFUSED_MAX:
            oldest = next(iter(self._refused))
            del self._refused[oldest]
            oldest.abort()

    def remove(self, connection: OpenConnection) -> None:
        """Remove a connection that is closed or about to close."""
        self._open.pop(connection, None)
        self._reserved.pop(connection, None)
        self._refused.pop(connection, None)
        self.authenticate(connection)

    def _place(self, connection: OpenConnection) -> None:
        self._open[connection] = None
        self._unauthenticated.setdefault(connection.address, {})[connection] = None

    def _make_place(self, address: str, now_s: float) -> bool:
        """Return whether a connection of an address may be added, after closing the longest idle one if needed."""
        if self._at_client_limit(address) and not self._close_oldest(self._unauthenticated[address], now_s):
            return False
        return len(self._open) < self.limits.total or self._close_oldest(self._open, now_s)

    def _at_client_limit(self, address: str) -> bool:
        limit = self.limits.per_client
        return limit > 0 and len(self._unauthenticated.get(address, ())) >= limit

    def _close_oldest(self, connections: Iterable[OpenConnection], now_s: float) -> bool:
        """Close the connection that has been idle longest, if it has been so for IDLE_S_MIN; return whether one was."""
        refilled = (now_s - self._replaceable_s) * REPLACED_PER_S
        self._replaceable, self._replaceable_s = min(REPLACED_BURST, self._replaceable + refilled), now_s
        if self._replaceable < 1.0:
            return False
        self._replaceable -= 1.0
        idle = [(since, connection) for connection in connections if (since := connection.idle_since()) is not None]
        since_s, oldest = min(idle, key=lambda entry: entry[0], default=(now_s, None))
        if oldest is None or now_s - since_s < IDLE_S_MIN:
            return False
        self.remove(oldest)
        oldest.close_idle()
        return True
