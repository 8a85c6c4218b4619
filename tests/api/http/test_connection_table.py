"""Which connections a server keeps, closes for others, and refuses, and how often."""

import pytest

from api.http.connection_table import REPLACED_BURST, REPLACED_PER_S, ConnectionLimits, ConnectionTable
from events.limits import CONNECTIONS_REFUSED_MAX, CONNECTIONS_RESERVED


class Idle:
    """A connection that has been idle for a minute."""

    address = "192.0.2.1"

    def __init__(self) -> None:
        self.closed = self.aborted = False

    def idle_since(self) -> float | None:
        return -60.0

    def close_idle(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True


@pytest.mark.trial("C3")
def test_connections_are_closed_for_others_at_a_bounded_rate() -> None:
    table = ConnectionTable(ConnectionLimits(total=1_000, per_client=0))
    connections = [Idle() for _ in range(1_000)]
    for connection in connections:
        table.add(connection, 0.0)

    def close_for_newcomers(number: int, now_s: float) -> int:
        """Let newcomers connect at one moment; return how many connections were closed for them."""
        before = sum(connection.closed for connection in connections)
        for _ in range(number):
            connections.append(Idle())
            table.add(connections[-1], now_s)
            if table.is_reserved(connections[-1], now_s):
                table.refuse(connections[-1])
        return sum(connection.closed for connection in connections) - before

    assert close_for_newcomers(100, 0.0) == 100, "each has been idle for long"
    assert close_for_newcomers(500, 0.0) == REPLACED_BURST - 100
    assert close_for_newcomers(500, 1.0) == REPLACED_PER_S
    assert close_for_newcomers(500, 1_000.0) == REPLACED_BURST


@pytest.mark.trial("C3")
def test_the_reserve_takes_every_newcomer_and_closes_its_oldest() -> None:
    table = ConnectionTable(ConnectionLimits(total=0, per_client=0))
    newcomers = [Idle() for _ in range(CONNECTIONS_RESERVED + 2)]
    for connection in newcomers:
        table.add(connection, 0.0)
    assert [connection.closed for connection in newcomers[:3]] == [True, True, False]
    assert not any(connection.closed for connection in newcomers[3:])
    assert table.is_reserved(newcomers[-1], 0.0), "only health is answered on it"


def test_the_oldest_of_many_refused_connections_is_aborted() -> None:
    table = ConnectionTable(ConnectionLimits())
    refused = [Idle() for _ in range(CONNECTIONS_REFUSED_MAX + 2)]
    for connection in refused:
        table.refuse(connection)
    assert [connection.aborted for connection in refused[:3]] == [True, True, False]
    assert not any(connection.aborted for connection in refused[3:])
