"""Webhooks: a real server sends to real receivers, of which some are down, slow, lying or malicious."""

import ssl
import time
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from hashlib import sha256
from hmac import digest
from pathlib import Path

import httpx
import msgspec
import pytest

from api.service.webhooks.endpoint_store import Pace
from tests.api.cli.command import done, tally
from tests.api.http.test_tls import sign
from tests.api.http.webhook_receiver import Answer, drip, receiving, status
from tests.api.http.webhooked import (
    MODULE,
    QUICK,
    add_unchecked,
    added,
    ends_of,
    events_of,
    judge,
    state_of,
    verdicts,
)
from tests.support.server import Served, served
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow

GATE = ("--event", "gate", *QUICK)


def test_a_verdict_arrives_as_it_is_in_the_log_and_signed(tmp_path: Path) -> None:
    ledger, audit = tmp_path / "l.db", tmp_path / "audit.ndjson"
    with receiving() as receiver:
        endpoint, secret = added(ledger, receiver.url, *GATE)
        with served(ledger, "--audit-log", str(audit), module=MODULE) as server:
            judge(server, 3)
            first, second = receiver.wait_for(2, server.process)
            wait_until(lambda: len(ends_of(ledger, endpoint)) == 2, server.process)
            stored = httpx.get(f"{server.url}/events/{first.position}").content
    assert first.path == "/hook?key=1"
    assert first.body == stored.rstrip(b"\n")
    assert first.headers["content-type"] == "application/cloudevents+json"
    assert first.event["type"] == "alert.gate_judged.v1"
    assert first.event["data"]["verdict"] == "passed"
    assert first.headers["webhook-id"] == "msg_" + sha256(b"\0" + first.body).hexdigest()
    assert second.position > first.position
    for message in (first, second):
        signed = f"{message.headers['webhook-id']}.{message.headers['webhook-timestamp']}.".encode() + message.body
        version, _, signature = message.headers["webhook-signature"].partition(",")
        assert version == "v1"
        assert b64decode(signature) == digest(b64decode(secret.removeprefix("whsec_")), signed, "sha256")
        assert abs(int(message.headers["webhook-timestamp"]) - time.time()) < 300
    assert ends_of(ledger, endpoint) == [("delivered", first.position), ("delivered", second.position)]
    lines = [msgspec.json.decode(line) for line in audit.read_bytes().splitlines()]
    sent = [line for line in lines if line["route"] == "webhook"]
    assert [(line["agent"], line["status"], line["read"]) for line in sent] == [
        (f"webhook/{endpoint}", 204, [one.position, one.position]) for one in (first, second)
    ]
    assert secret not in ledger.read_bytes().decode("latin-1")


def test_the_standard_package_verifies_a_message(tmp_path: Path) -> None:
    package = pytest.importorskip("standardwebhooks")
    ledger = tmp_path / "l.db"
    with receiving() as receiver:
        endpoint, secret = added(ledger, receiver.url, *GATE)
        _, other = added(ledger, receiver.url, *GATE)
        done(ledger, "webhook", "test", endpoint)
        with served(ledger, module=MODULE) as server:
            judge(server, 2)
            receiver.wait_for(3, server.process)
    verified = 0
    for message in receiver.received:
        for key in (secret, other):
            try:
                assert package.Webhook(key).verify(message.body, message.headers) == message.event
                verified += 1
            except package.WebhookVerificationError:
                continue
    assert verified == len(receiver.received) == 3
    altered = receiver.received[0]
    with pytest.raises(package.WebhookVerificationError):
        package.Webhook(secret).verify(altered.body + b" ", altered.headers)


def test_a_receiver_that_is_down_gets_everything_in_order_later(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    with receiving() as receiver:
        port, url = receiver.port, receiver.url
    endpoint, _ = added(ledger, url, *GATE)
    with served(ledger, module=MODULE) as server:
        server.wait_for("folded")
        judge(server, 6)
        wait_until(lambda: len(verdicts(ledger)) == 5, server.process)
        server.wait_for("webhook failed", failures=4)
        for gauge in ("tallystick_webhook_waiting_events 5.0", "tallystick_webhooks_failing 1.0"):
            wait_until(lambda: gauge in httpx.get(f"{server.url}/metrics").text, server.process)  # noqa: B023
        assert state_of(ledger, endpoint)["waiting"] == 5
        with receiving(port=port) as receiver:
            receiver.wait_for(5, server.process)
            wait_until(lambda: len(ends_of(ledger, endpoint)) == 5, server.process)
        assert receiver.first_positions() == verdicts(ledger)
        assert len(receiver.received) == 5
        assert ends_of(ledger, endpoint) == [("delivered", position) for position in verdicts(ledger)]
        wait_until(lambda: "tallystick_webhooks_failing 0.0" in httpx.get(f"{server.url}/metrics").text)
    waits = [line["wait_s"] for line in server.log() if line["event"] == "webhook failed"]
    assert waits[0] <= 0.1
    assert waits == sorted(waits) or max(waits) <= 1.0


def test_a_redirect_is_a_failure_and_is_not_followed(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    with receiving() as elsewhere, receiving(status(307, location=elsewhere.url), status(200)) as receiver:
        endpoint, _ = added(ledger, receiver.url, *GATE)
        with served(ledger, module=MODULE) as server:
            judge(server, 2)
            receiver.wait_for(2, server.process)
            wait_until(lambda: len(ends_of(ledger, endpoint)) == 1, server.process)
        assert elsewhere.connections == 0
    assert receiver.received[0].headers["webhook-id"] == receiver.received[1].headers["webhook-id"]
    delivered = events_of(ledger, "webhook.delivered.v1")[0]["data"]
    assert (delivered["attempts"], delivered["status"]) == (2, 200)


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("dated", [False, True])
def test_retry_after_is_honoured(tmp_path: Path, code: int, dated: bool) -> None:
    ledger = tmp_path / "l.db"

    def answer(connection: object) -> None:
        moment = format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True) if dated else "2"
        status(code, retry_after=moment)(connection)  # type: ignore[arg-type]

    with receiving(answer, status(204)) as receiver:
        endpoint, _ = added(ledger, receiver.url, *GATE)
        with served(ledger, module=MODULE) as server:
            judge(server, 2)
            receiver.wait_for(2, server.process)
            wait_until(lambda: len(ends_of(ledger, endpoint)) == 1, server.process)
    first, second = receiver.received
    assert second.at_s - first.at_s >= 1.9


def test_410_ends_the_endpoint(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    with receiving(status(204), status(410)) as receiver:
        endpoint, _ = added(ledger, receiver.url, *GATE)
        with served(ledger, module=MODULE) as server:
            judge(server, 3)
            wait_until(lambda: bool(events_of(ledger, "webhook.ended.v1")), server.process)
            judge(server, 2)
        with served(ledger, module=MODULE) as server:
            judge(server, 1)
            time.sleep(0.5)
        assert len(receiver.received) == 2
    (ended,) = events_of(ledger, "webhook.ended.v1")
    assert ended["data"]["reason"] == "gone"
    assert ended["data"]["last_position"] >= receiver.received[1].position
    assert len(ends_of(ledger, endpoint)) == 1
    assert (state_of(ledger, endpoint)["ended"], state_of(ledger, endpoint)["waiting"]) == ("gone", 0)


def flood(connection: object) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")  # type: ignore[attr-defined]
    while True:
        connection.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")  # type: ignore[attr-defined]


def test_an_endless_body_is_not_read(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    with receiving(flood) as receiver:
        endpoint, _ = added(ledger, receiver.url, *GATE)
        with served(ledger, module=MODULE) as server:
            judge(server, 3)
            wait_until(lambda: len(ends_of(ledger, endpoint)) == 2, server.process)
    assert len(receiver.received) == 2


HEAD = b"HTTP/1.1 200 OK\r\n"
TOO_SLOW = "no answer within 2 s"
BAD: dict[str, tuple[Answer, str]] = {
    "slow": (lambda connection: time.sleep(30), TOO_SLOW),
    "slow headers": (drip(HEAD, b"x-more: y\r\n"), TOO_SLOW),
    "endless header": (drip(HEAD, b"x" * 65_536, every_s=0), "the answer is not HTTP"),
    "endless headers": (drip(HEAD, b"x-more: y\r\n" * 10_000, every_s=0), "the answer is not HTTP"),
    "endless early hints": (drip(b"HTTP/1.1 103 Early\r\n\r\n"), TOO_SLOW),
    "not HTTP": (lambda connection: connection.sendall(b"SSH-2.0-x\r\n\r\n"), "the answer is not HTTP"),
    "closed": (lambda connection: None, "the answer is not HTTP"),
    "500": (status(500), "answered 500"),
    "301": (status(301, location="http://127.0.0.1:1/"), "answered 301, a redirect, which is not followed"),
    "101": (status(101, upgrade="x", connection="upgrade"), "the answer is not HTTP"),
}
BAD_NAMES = [name if name in {"slow", "500"} else pytest.param(name, marks=pytest.mark.slow, id=name) for name in BAD]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_bad_receiver_is_given_up_and_holds_up_nobody(tmp_path: Path, name: str) -> None:
    ledger = tmp_path / "l.db"
    answer, reason = BAD[name]
    impatient = ("--event", "gate", "--allow-private", "--timeout", "2" if reason == TOO_SLOW else "60",
                 "--first-wait", "0.2", "--give-up-after", "5")  # fmt: skip
    with receiving(answer) as bad, receiving() as good:
        wrong, _ = added(ledger, bad.url, *impatient)
        right, _ = added(ledger, good.url, *GATE)
        with served(ledger, module=MODULE) as server:
            judge(server, 3)
            good.wait_for(2, server.process)
            wait_until(lambda: len(ends_of(ledger, wrong)) == 2, server.process)
            assert httpx.get(f"{server.url}/healthz").status_code == 200
    assert ends_of(ledger, wrong) == [("abandoned", position) for position in verdicts(ledger)]
    assert ends_of(ledger, right) == [("delivered", position) for position in verdicts(ledger)]
    ended = events_of(ledger, "webhook.delivered.v1", "webhook.abandoned.v1")
    assert ended[0]["type"] == "webhook.delivered.v1", "the good one waits for nobody"
    first = events_of(ledger, "webhook.abandoned.v1")[0]["data"]
    assert first["reason"] == reason
    assert first["attempts"] >= 1
    assert len(bad.received) >= 1


def test_a_name_that_leads_to_a_private_address_is_refused(tmp_path: Path) -> None:
    """The name is public when it is added. Each attempt resolves it, and connects to no private address."""
    ledger = tmp_path / "l.db"
    with receiving() as receiver:
        url = receiver.url.replace("http://127.0.0.1", "https://localhost")
        endpoint = add_unchecked(ledger, url, Pace(first_wait_s=0.2, longest_wait_s=1, give_up_s=1))
        with served(ledger, module=MODULE) as server:
            judge(server, 2)
            assert "loopback" in server.wait_for("webhook failed", reason="address refused")["detail"]
            wait_until(lambda: len(ends_of(ledger, endpoint)) == 1, server.process)
        assert receiver.connections == 0
    assert ends_of(ledger, endpoint) == [("abandoned", position) for position in verdicts(ledger)]
    assert events_of(ledger, "webhook.abandoned.v1")[0]["data"]["reason"] == "address refused"


def test_a_certificate_that_nobody_trusts_is_refused(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    signer = sign("a signer")
    cert, key = sign("127.0.0.1", signer).write(tmp_path, "leaf")
    trusted, _ = signer.write(tmp_path, "signer")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    patient = ("--event", "gate", "--allow-private")
    with receiving(tls=context) as receiver:
        endpoint, _ = added(ledger, receiver.url, *patient)
        failed = tally(ledger, "webhook", "test", endpoint)
        assert failed.code == 1
        assert "TLS failed" in failed.text
        assert not receiver.received
        assert tally(ledger, "webhook", "test", endpoint, SSL_CERT_FILE=trusted).code == 0
        named, _ = added(ledger, receiver.url.replace("127.0.0.1", "localhost"), *patient)
        assert tally(ledger, "webhook", "test", named, SSL_CERT_FILE=trusted).code == 0
        assert receiver.received[1].headers["host"] == f"localhost:{receiver.port}"


def test_kill_9_loses_nothing_and_keeps_the_order(tmp_path: Path) -> None:
    package = pytest.importorskip("standardwebhooks")
    ledger = tmp_path / "l.db"

    def late(connection: object) -> None:
        time.sleep(0.1)
        status(204)(connection)  # type: ignore[arg-type]

    with receiving(late) as receiver:
        endpoint, secret = added(ledger, receiver.url, *GATE)
        for turn in range(4):
            server = Served(ledger, module=MODULE)
            judge(server, 4)
            wait_until(lambda turn=turn: len(receiver.received) >= 2 * turn + 1, server.process)  # type: ignore[misc]
            server.process.kill()
            server.process.wait()
        with served(ledger, module=MODULE) as server:
            wait_until(lambda: len(ends_of(ledger, endpoint)) == 15, server.process)
    assert len(verdicts(ledger)) == 15
    assert receiver.first_positions() == verdicts(ledger)
    assert ends_of(ledger, endpoint) == [("delivered", position) for position in verdicts(ledger)]
    assert len(receiver.received) <= 15 + 4
    for one in receiver.received:
        assert package.Webhook(secret).verify(one.body, one.headers) == one.event
    done(ledger, "verify")
    done(ledger, "replay", "--check")


def test_webhooks_are_added_and_removed_while_the_server_runs(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    with receiving() as receiver, served(ledger, module=MODULE) as server:
        judge(server, 3)
        time.sleep(0.3)
        assert verdicts(ledger) == []
        endpoint, _ = added(ledger, receiver.url, *GATE)
        judge(server, 1)
        receiver.wait_for(1, server.process)
        wait_until(lambda: len(ends_of(ledger, endpoint)) == 1, server.process)
        done(ledger, "webhook", "remove", endpoint)
        wait_until(lambda: bool(events_of(ledger, "webhook.ended.v1")), server.process)
        judge(server, 2)
        time.sleep(0.3)
    assert len(receiver.received) == 1
    assert len(verdicts(ledger)) == 1
    assert events_of(ledger, "webhook.ended.v1")[0]["data"]["reason"] == "removed"


def test_a_changed_file_is_refused_while_the_server_goes_on(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    with receiving() as receiver, receiving() as thief:
        added(ledger, receiver.url, *GATE)
        path = ledger.with_name("l.db.webhooks")
        with served(ledger, module=MODULE) as server:
            judge(server, 2)
            receiver.wait_for(1, server.process)
            path.write_bytes(path.read_bytes().replace(str(receiver.port).encode(), str(thief.port).encode()))
            assert "l.db.webhooks was changed by another program" in server.wait_for("webhooks")["reason"]
            judge(server, 1)
            receiver.wait_for(2, server.process)
        with served(ledger, module=MODULE) as server:
            server.wait_for("webhooks")
            judge(server, 1)
            time.sleep(0.3)
        assert thief.connections == 0
    assert not events_of(ledger, "webhook.ended.v1")


def test_events_of_before_the_server_are_delivered_by_it(tmp_path: Path) -> None:
    """A webhook that is added while no server runs gets what is recorded from then on."""
    ledger = tmp_path / "l.db"
    with served(ledger, module=MODULE) as server:
        judge(server, 2)
    with receiving() as receiver:
        added(ledger, receiver.url, *GATE)
        with served(ledger, module=MODULE) as server:
            judge(server, 1)
            (only,) = receiver.wait_for(1, server.process)
    assert only.event["data"]["baseline_id"]
    assert len(verdicts(ledger)) == 1
