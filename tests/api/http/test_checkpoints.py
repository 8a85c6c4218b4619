"""GET /checkpoint and receipts, checked with the public key; and a ledger that differs from what was signed."""

import shutil
from pathlib import Path

import httpx
import pytest

from api.principal import OWNER
from api.service.ledger import LedgerService
from api.token_store import TokenStore
from ledger.clock import system_clock
from ledger.transparency.checkpoints import checkpoint_path, witnessed_path
from ledger.transparency.keys import key_path, read_key
from ledger.transparency.merkle import verify_consistency
from ledger.transparency.receipt import HASHES_MAX, HEADER, Receipt
from ledger.transparency.signed_note import SignedCheckpoint, Verifier
from tests.api.http.posts import head, post, recorded
from tests.api.service.ledgers import within
from tests.support.drafts import recorded as drafted
from tests.support.server import served

NOTE = "text/plain; charset=utf-8"


def checkpoint(client: httpx.Client) -> SignedCheckpoint:
    response = client.get("/checkpoint")
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == NOTE
    assert response.headers["cache-control"] == "max-age=1"
    return SignedCheckpoint.parse(response.content)


def verifier_of(ledger: Path) -> Verifier:
    signer = read_key(ledger)
    assert signer is not None
    return signer.verifier


@pytest.fixture(scope="module")
def ledger(application_ledger: Path) -> Path:
    return application_ledger


def receipt(client: httpx.Client, position: int) -> Receipt:
    response = client.get(f"/events/{position}/receipt")
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == NOTE
    found = Receipt.parse(response.content)
    assert found.encode() == response.content
    return found


@pytest.mark.slow
def test_a_receipt_stands_alone(client: httpx.Client, ledger: Path) -> None:
    key = verifier_of(ledger)
    for _ in range(2):
        position = post(client, recorded())["position"]
        line = client.get(f"/events/{position}").content
        found = receipt(client, position)
        assert found.line == line
        assert found.faults(line, key) == []
        assert found.signed.size >= position


@pytest.mark.slow
def test_what_a_receipt_does_not_show_is_named(client: httpx.Client, ledger: Path) -> None:
    key = verifier_of(ledger)
    first, second = (post(client, recorded())["position"] for _ in range(2))
    line, other = (client.get(f"/events/{position}").content for position in (first, second))
    found = receipt(client, second)
    assert found.faults(line, key) == [f"The event is not the one at position {second} of that log."]
    assert found.faults(other[:-1] + b" }", key) != []
    assert found._replace(position=first).faults(other, key) != []
    assert found._replace(hashes=found.hashes[:-1]).faults(other, key) != []
    stranger = Verifier.of("ledger.example/other", 1, key.public)
    assert "the log" in found.faults(other, stranger)[0]
    thief = Verifier.of(key.name, 1, bytes(31) + b"\1")
    assert "is not signed with the key" in found.faults(other, thief)[0]
    witness = Verifier.of("witness.example/w1", 4, key.public)
    assert found.faults(other, key, [witness]) == ["The witness witness.example/w1 has not cosigned the checkpoint."]


@pytest.mark.slow
def test_checkpoints_continue_one_another(client: httpx.Client, ledger: Path) -> None:
    key = verifier_of(ledger)
    post(client, recorded())
    receipt(client, head(client))
    before = checkpoint(client)
    assert key.verifies(before.note)
    assert checkpoint_path(ledger).read_bytes() == before.note.encode()
    position = post(client, [recorded(), recorded()])["events"][-1]["position"]
    after = receipt(client, position).signed
    assert (before.size, after.size) == (position - 2, position)
    assert not verify_consistency(before.size, after.size, [], before.checkpoint.root, after.checkpoint.root)


@pytest.mark.slow
def test_what_a_witness_has_cosigned_is_served_and_stands_in_receipts(client: httpx.Client, ledger: Path) -> None:
    post(client, recorded())
    encoded = client.get("/checkpoint").content
    assert client.get("/checkpoint/witnessed").status_code == 404
    cosigned = encoded + b"\xe2\x80\x94 witness.example/w1 " + b"AAAAAAAA\n"
    witnessed_path(ledger).write_bytes(cosigned)
    assert client.get("/checkpoint/witnessed").content == cosigned
    assert receipt(client, 1).signed.note.encode() == cosigned
    post(client, recorded())
    assert receipt(client, head(client)).signed.size == head(client)
    witnessed_path(ledger).unlink()
    metrics = client.get("/metrics").text
    assert f"tallystick_checkpoint_events {head(client)}.0" in metrics
    assert "tallystick_signing_refused 0.0" in metrics


def test_what_is_asked_for_wrongly_is_refused(client: httpx.Client) -> None:
    beyond = head(client) + 1
    for path, status in (
        (f"/events/{beyond}/receipt", 404),
        ("/events/0/receipt", 400),
        ("/events/x/receipt", 400),
        ("/events/1/receipt?size=1", 400),
        ("/checkpoint?size=1", 400),
        ("/checkpoint/witnessed", 404),
    ):
        response = client.get(path)
        assert response.status_code == status, response.text
        assert response.json()["advice"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (HEADER.encode(), HEADER.encode() + b" "),
        (b"\nindex 0", b"\nindex 00"),
        (b"\nindex 0", b"\nindex -1"),
        (b"\nindex 0", b"\nindex"),
        (b"\nindex 0", b"\nindex 0\nAAAA"),
        (b"\nindex 0", b"\nindex 0" + (b"\n" + b"A" * 43 + b"=") * (HASHES_MAX + 1)),
        (b"\nextra ", b"\nextra \xff"),
        (b"\nextra ", b"\nextra  "),
        (b"\nextra ", b"\nmore "),
        (b"\n\n", b"\n"),
        (HEADER.encode(), b"x" * 500_000),
    ],
)
def test_what_is_no_receipt_is_refused(client: httpx.Client, old: bytes, new: bytes) -> None:
    if head(client) == 0:
        post(client, recorded())
    encoded = client.get("/events/1/receipt").content
    assert old in encoded
    with pytest.raises(Exception, match=r".") as refused:
        Receipt.parse(encoded.replace(old, new, 1))
    assert type(refused.value).__name__ == "BadNote"


@pytest.mark.slow
def test_a_server_signs_what_nobody_asked_for_and_what_is_left_when_it_stops(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    with served(ledger) as server, httpx.Client(base_url=server.url) as client:
        post(client, [recorded() for _ in range(3)])
        assert checkpoint_path(ledger).exists()
    assert SignedCheckpoint.parse(checkpoint_path(ledger).read_bytes()).size == 3

    shutil.copy(ledger, tmp_path / "copy.db")

    @within(ledger)
    async def signed(service: LedgerService) -> SignedCheckpoint:
        await service.record([drafted()], OWNER)
        return await service.proving.checkpoint(4)

    assert signed.note.encode() == checkpoint_path(ledger).read_bytes()
    key_path(ledger).chmod(0o644)
    shutil.copy(tmp_path / "copy.db", ledger)
    kept = checkpoint_path(ledger).read_bytes()
    with served(ledger) as server, httpx.Client(base_url=server.url) as client:
        assert str(key_path(ledger)) == server.wait_for("key readable by others")["key"]
        reason = server.wait_for("unsigned", level="error")["reason"]
        assert "4 events were signed, and the ledger has 3" in reason
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["unsigned"]) == (200, reason)
        assert "tallystick_signing_refused 1.0" in client.get("/metrics").text
        for path in ("/checkpoint", "/events/1/receipt"):
            refused = client.get(path)
            assert refused.status_code == 503
            assert refused.json()["type"].endswith(":forked")
            assert refused.json()["detail"] in reason
        assert post(client, recorded())["position"] == 4
        assert head(client) == 4
        assert client.get("/checkpoint").status_code == 503
    assert checkpoint_path(ledger).read_bytes() == kept


@pytest.mark.slow
def test_checkpoints_are_for_who_may_read(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    _, reader = TokenStore(ledger).add("auditor", ("read",), system_clock())
    _, writer = TokenStore(ledger).add("scout", ("append",), system_clock())
    with served(ledger) as server:
        for token, status in ((None, 401), (writer, 403), (reader, 200)):
            headers = {} if token is None else {"authorization": f"Bearer {token}"}
            assert httpx.get(f"{server.url}/checkpoint", headers=headers).status_code == status
        assert httpx.get(f"{server.url}/events/1/receipt").status_code == 401
        assert httpx.get(f"{server.url}/checkpoint/witnessed").status_code == 401
