"""Parts of a webhook's attempt: which addresses it may connect to, how long it waits, and what it signs."""

import asyncio
import socket
import threading
from datetime import UTC, datetime
from ipaddress import ip_address

import pytest

from api.service.webhooks import receiver_address
from api.service.webhooks.attempt import attempt, parse_retry_after
from api.service.webhooks.delivery import backoff_s
from api.service.webhooks.endpoint_store import Endpoint, Pace
from api.service.webhooks.message import Message, sign
from tests.api.http.webhook_receiver import receiving

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)

ALWAYS_REFUSED = (
    "169.254.169.254", "169.254.0.1", "fe80::1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
    "::a9fe:a9fe", "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "0.0.0.0", "::", "224.0.0.1", "ff02::1",
    "255.255.255.255",
)  # fmt: skip
PRIVATE = (
    "127.0.0.1", "127.8.8.8", "::1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fc00::1",
    "::ffff:10.0.0.1", "64:ff9b::7f00:1", "192.0.2.1", "240.0.0.1", "2001:db8::1",
)  # fmt: skip
PUBLIC = ("8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808")


def test_addresses() -> None:
    def allowed(text: str, *, private: bool) -> bool:
        return receiver_address.refusal(ip_address(text), allow_private=private) is None

    assert not [text for text in ALWAYS_REFUSED if allowed(text, private=False) or allowed(text, private=True)]
    assert not [text for text in PRIVATE if allowed(text, private=False) or not allowed(text, private=True)]
    assert not [text for text in PUBLIC if not allowed(text, private=False)]


def endpoint(url: str, *, allow_private: bool = True, timeout_s: float = 60) -> Endpoint:
    return Endpoint(
        id="e", url=url, secret="whsec_c2VjcmV0", kinds=("gate",), after=0, created=NOW,
        allow_private=allow_private, pace=Pace(timeout_s=timeout_s),
    )  # fmt: skip


MESSAGE = Message("msg_1", b'{"a":1}')


@pytest.mark.slow
def test_the_checked_address_is_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name server says another address at each question; only one question is asked."""
    asked = []
    with receiving() as receiver:

        def resolve(host: str, port: int, **_: object) -> list[object]:
            asked.append(host)
            address = "127.0.0.1" if len(asked) == 1 else "169.254.169.254"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        url = f"http://receiver.example:{receiver.port}/"
        assert asyncio.run(attempt(endpoint(url), MESSAGE)).status == 204
        assert receiver.received[0].headers["host"] == f"receiver.example:{receiver.port}"
        refused = asyncio.run(attempt(endpoint(url), MESSAGE))
        assert (refused.status, refused.reason) == (None, "address refused")
    assert asked == ["receiver.example"] * 2
    assert receiver.connections == 1


@pytest.mark.slow
def test_a_name_that_is_refused_in_part_uses_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as receiver:
        found = [(0, 0, 0, "", (address, receiver.port)) for address in ("169.254.169.254", "127.0.0.2", "127.0.0.1")]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        result = asyncio.run(attempt(endpoint(f"http://receiver.example:{receiver.port}/"), MESSAGE))
    assert result.status == 204


@pytest.mark.slow
def test_a_slow_name_server_is_timed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers only when the attempt has ended."""
    attempt_ended, answered = threading.Event(), threading.Event()

    def resolve(*_: object, **__: object) -> list[object]:
        attempt_ended.wait(60)
        answered.set()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    result = asyncio.run(attempt(endpoint("https://receiver.example/", timeout_s=1), MESSAGE))
    assert result.reason == "no answer within 1 s"
    assert not answered.is_set()
    attempt_ended.set()


@pytest.mark.slow
def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy, receiving() as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert asyncio.run(attempt(endpoint(receiver.url), MESSAGE)).status == 204
    assert proxy.connections == 0


def test_retry_after() -> None:
    assert parse_retry_after("120", NOW) == 120
    assert parse_retry_after(" 0 ", NOW) == 0
    assert parse_retry_after("Sun, 22 Nov 2026 12:00:30 GMT", NOW) == 30
    assert parse_retry_after("Sun, 22 Nov 2026 11:00:00 GMT", NOW) == 0
    assert parse_retry_after("99999999999999999999", NOW) == 86_400
    assert parse_retry_after("Fri, 31 Dec 9999 23:59:59 GMT", NOW) == 86_400
    for text in (None, "", "soon", "-5", "1.5", "1e9", "٣"):
        assert parse_retry_after(text, NOW) == 0


def test_waits_double_up_to_the_longest_with_jitter() -> None:
    pace = Pace(first_wait_s=5, longest_wait_s=43_200)
    for failures in range(1, 100):
        longest = min(43_200, 5 * 2.0 ** (failures - 1))
        waits = {backoff_s(pace, failures) for _ in range(50)}
        assert min(waits) >= longest / 2
        assert max(waits) <= longest
        assert len(waits) > 10


def test_the_signature_of_the_specification() -> None:
    """An example that the package of Standard Webhooks signs in the same way."""
    message = Message("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}')
    headers = sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", message, 1614265330)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
