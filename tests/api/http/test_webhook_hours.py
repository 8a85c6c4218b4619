"""Receivers that are down for an hour, or for days, with the waits that webhooks have by default and a fast clock."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.api.cli.command import done
from tests.api.http import fast_webhook_hours
from tests.api.http.webhook_receiver import receiving, status
from tests.api.http.webhooked import added, ends_of, events_of, judge, state_of, verdicts
from tests.support.server import Served
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow

OPTIONS = ("--event", "gate", "--allow-private")
HOUR_S, DAY_S = 3_600.0, 86_400.0


@contextmanager
def fast(ledger: Path, speed: float) -> Iterator[Served]:
    """Run a server for which time passes so many times as fast."""
    variables = {fast_webhook_hours.SPEED_ENV: str(speed)}
    server = Served(ledger, module=fast_webhook_hours.__name__, environment=variables)
    try:
        yield server
    finally:
        server.stop()


def waits(server: Served) -> list[float]:
    """The waits after the failed attempts, in seconds of the server's clock."""
    return [line["wait_s"] for line in server.log() if line["event"] == "webhook failed"]


def closed_address() -> tuple[str, int]:
    """An address of a receiver that is not running, and its port."""
    with receiving() as receiver:
        return receiver.url, receiver.port


def test_a_receiver_that_is_down_for_an_hour_gets_everything_once_and_in_order(tmp_path: Path) -> None:
    package = pytest.importorskip("standardwebhooks")
    ledger = tmp_path / "l.db"
    url, port = closed_address()
    endpoint, secret = added(ledger, url, *OPTIONS)
    with fast(ledger, 2_000) as server:
        judge(server, 4)
        wait_until(lambda: sum(waits(server)[:-1]) >= HOUR_S, server.process)
        judge(server, 2)
        wait_until(lambda: len(verdicts(ledger)) == 5, server.process)
        with receiving(port=port) as receiver:
            wait_until(lambda: len(ends_of(ledger, endpoint)) == 5, server.process)
        tried = waits(server)
    assert ends_of(ledger, endpoint) == [("delivered", position) for position in verdicts(ledger)]
    assert [one.position for one in receiver.received] == verdicts(ledger), "each once"
    for one in receiver.received:
        assert package.Webhook(secret).verify(one.body, one.headers) == one.event
    doubled = [min(5.0 * 2**n, DAY_S / 2) for n in range(len(tried))]
    assert all(0.49 * longest <= wait_s <= 1.01 * longest for wait_s, longest in zip(tried, doubled, strict=True))
    assert len(tried) >= 8
    first, *others = events_of(ledger, "webhook.delivered.v1")
    assert first["data"]["attempts"] == len(tried) + 1
    assert {other["data"]["attempts"] for other in others} == {1}
    done(ledger, "verify")


def test_a_receiver_that_is_down_for_days_has_a_recorded_end(tmp_path: Path) -> None:
    """What has waited for five days is given up, in order. What came later is delivered once the receiver is back."""
    ledger = tmp_path / "l.db"
    url, port = closed_address()
    endpoint, _ = added(ledger, url, *OPTIONS)
    with fast(ledger, 20_000) as server:
        judge(server, 4)
        wait_until(lambda: sum(waits(server)) >= 3 * DAY_S, server.process)
        judge(server, 2)
        server.wait_for("webhook gave up")
        with receiving(port=port) as receiver:
            wait_until(lambda: len(ends_of(ledger, endpoint)) == 5, server.process)
        assert sum(waits(server)) >= 4.9 * DAY_S
    found, ended = verdicts(ledger), [event["data"] for event in events_of(ledger, "webhook.abandoned.v1")]
    given_up = len(ended)  # a slow machine records the first three verdicts, or the last two, days apart
    assert 1 <= given_up < 5
    kinds = ["abandoned"] * given_up + ["delivered"] * (5 - given_up)
    assert ends_of(ledger, endpoint) == list(zip(kinds, found, strict=True))
    assert [one.position for one in receiver.received] == found[given_up:]
    assert [event["reason"] for event in ended] == ["no connection"] * given_up
    assert ended[0]["attempts"] > 10
    state = state_of(ledger, endpoint)
    assert (state["delivered"], state["abandoned"], state["waiting"]) == (5 - given_up, given_up, 0)


def test_a_receiver_that_asks_for_an_hour_is_left_alone_for_an_hour(tmp_path: Path) -> None:
    """It answers 429 with Retry-After: 3600 twice; each time nothing is sent for that long."""
    ledger, speed = tmp_path / "l.db", 2_000
    with receiving(*[status(429, retry_after="3600")] * 2, status(204)) as receiver:
        endpoint, _ = added(ledger, receiver.url, *OPTIONS)
        with fast(ledger, speed) as server:
            judge(server, 2)
            wait_until(lambda: len(ends_of(ledger, endpoint)) == 1, server.process)
            assert waits(server) == [HOUR_S, HOUR_S]
    times = [one.at_s for one in receiver.received]
    assert len(times) == 3
    assert min(times[1] - times[0], times[2] - times[1]) * speed >= HOUR_S
    assert len({one.headers["webhook-id"] for one in receiver.received}) == 1
