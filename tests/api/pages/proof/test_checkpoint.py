"""The proof: the checkpoint is that of the JSON routes; an older one is compared with it; witnesses are shown."""

import shutil
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ledger.transparency.keys import read_key
from ledger.transparency.signed_note import SignedCheckpoint, Signer
from tests.api.cli.command import done
from tests.api.http.posts import post, recorded
from tests.api.pages.log.shown import element, json_address, json_at, link, page_of, text_of
from tests.support.server import served
from tests.support.witness import Witness, witnessing

GROWN = "The log has only grown since"


@pytest.fixture(scope="module")
def ledger(client: httpx.Client, application_ledger: Path) -> Path:
    post(client, [recorded(f"d{number}") for number in range(20)])
    return application_ledger


@pytest.fixture(scope="module")
def signer(ledger: Path) -> Signer:
    found = read_key(ledger)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def older(client: httpx.Client, ledger: Path) -> str:
    """A checkpoint of 20 or more events, before the log has grown by others."""
    client.get("/events/20/receipt").raise_for_status()  # signs the log
    note = client.get("/checkpoint").text
    post(client, [recorded() for _ in range(30)])
    client.get(f"/events/{SignedCheckpoint.parse(note.encode()).size + 30}/receipt").raise_for_status()
    return note


def compared(client: httpx.Client, note: str, status: int = 200) -> str:
    return page_of(client, "/ui/proof", {"older": note}, status=status)


@pytest.mark.slow
def test_the_checkpoint_is_that_of_the_json_route(client: httpx.Client, signer: Signer, older: str) -> None:
    page = page_of(client, "/ui/proof")
    note = client.get("/checkpoint").content
    signed = SignedCheckpoint.parse(note)
    assert element(page, "origin") == signed.checkpoint.origin
    assert element(page, "root") == b64encode(signed.checkpoint.root).decode()
    assert element(page, "signature") == str(signed.note.signatures[0])
    assert element(page, "verifier-key") == str(signer.verifier)
    assert f" {signed.size} of {signed.size} in the log" in text_of(page)
    status = json_at(client, json_address(page))["checkpoint"]
    assert (status["size"], status["origin"]) == (signed.size, signed.checkpoint.origin)
    assert f"signed {status['signed_at'][:19].replace('T', ' ')} UTC" in text_of(page)
    assert "no witness has cosigned" in page
    assert "<noscript>" in page
    assert "tallystick receipt --check" in page


def test_the_log_continues_an_older_checkpoint(client: httpx.Client, older: str) -> None:
    signed = SignedCheckpoint.parse(older.encode())
    for pasted in (older, older.replace("\n", "\r\n"), f"\n{older.rstrip()}", client.get("/events/1/receipt").text):
        page = compared(client, pasted)
        assert GROWN in page
        assert 'role="alert"' not in page
    page = compared(client, older)
    address = link(page, "the proof as JSON")
    assert address is not None
    proof = json_at(client, address)
    newest = SignedCheckpoint.parse(client.get("/checkpoint").content)
    assert (proof["from"], proof["to"]) == (signed.size, newest.size)
    assert b64decode(proof["from_root"]) == signed.checkpoint.root
    shown = element(page, "comparison")
    assert shown.count(proof["from_root"]) == 2
    assert proof["to_root"] in shown
    assert f"{len(proof['hashes'])} hash" in page


def test_a_checkpoint_that_the_log_does_not_continue(client: httpx.Client, signer: Signer, older: str) -> None:
    origin, size, root = older.split("\n")[:3]
    zeros = b64encode(bytes(32)).decode()
    faults = {
        "have another root: its history was changed": signer.sign(f"{origin}\n{size}\n{zeros}\n"),
        "later events were removed": signer.sign(f"{origin}\n999999\n{root}\n"),
        "The key of this log has not signed it": Signer.make(origin).sign(f"{origin}\n{size}\n{root}\n"),
        "It is a checkpoint of the log another.example/log": Signer.make("another.example/log").sign(
            f"another.example/log\n{size}\n{root}\n"
        ),
    }
    for fault, note in faults.items():
        page = compared(client, note.encode().decode())
        assert fault in page
        assert GROWN not in page
    damaged = compared(client, older.replace(root, zeros))
    assert "has not signed it" in damaged
    assert "have another root" in damaged


@pytest.mark.parametrize("text", ["x", "<script>alert(1)</script>", "a\nb\nc", "c2sp.org/tlog-proof@v1\n\n", "\u202e"])
def test_what_is_no_checkpoint_is_shown_again_with_the_error(client: httpx.Client, ledger: Path, text: str) -> None:
    page = compared(client, text)
    assert 'role="alert"' in page
    assert GROWN not in page
    assert "<script>alert" not in page
    assert text_of(page.partition('name="older"')[2].partition(">")[2].partition("</textarea>")[0]) == (
        " ".join(text.replace("<script>", "<script>").replace("\u202e", "[U+202E]").split())
    )


def test_the_receipt_of_a_position(client: httpx.Client, ledger: Path) -> None:
    page = page_of(client, "/ui/proof", position=3)
    assert 'data-fetch="/events/3/receipt"' in page
    assert link(page, "Save the receipt of position 3") == "/events/3/receipt"
    for wrong in ("0", "x", "1.5"):
        page_of(client, "/ui/proof", status=400, position=wrong)


@pytest.fixture
def witnessed(tmp_path: Path) -> Iterator[tuple[Path, Witness]]:
    ledger = tmp_path / "t.db"
    key = done(ledger, "key", "make", "--origin", "ledger.example/o'ne").text.strip()
    with witnessing(Witness("witness.example/w1", key)) as witness:
        event = b'{"type":"decision.recorded.v1","data":{"decision_id":"d1","decision":"x","confidence":0.7}}'
        done(ledger, "append", "-", given=event)
        done(ledger, "witness", "--url", witness.url, "--key", witness.key)
        yield ledger, witness


@pytest.mark.slow
def test_witnesses_are_shown(witnessed: tuple[Path, Witness]) -> None:
    ledger, witness = witnessed
    with served(ledger) as server, httpx.Client(base_url=server.url) as client:
        post(client, recorded())
        page = text_of(page_of(client, "/ui/proof"))
        assert f"{witness.name} {witness.key_id.hex()} 20" in page
        assert "Witnesses" in page
        assert "for the first 1 event " in page
        assert "--key 'ledger.example/o'\"'\"'ne+" in page, "the command is quoted for a shell"


@pytest.mark.slow
def test_a_log_that_cannot_be_signed_says_why(tmp_path: Path) -> None:
    with served(tmp_path / "one.db") as server, httpx.Client(base_url=server.url) as client:
        post(client, [recorded(), recorded()])
        client.get("/events/2/receipt").raise_for_status()
    with served(tmp_path / "two.db") as server, httpx.Client(base_url=server.url) as client:
        post(client, recorded())
        client.get("/checkpoint").raise_for_status()
    for ending in ("key", "checkpoint"):
        shutil.copy(tmp_path / f"one.db.{ending}", tmp_path / f"two.db.{ending}")
    with served(tmp_path / "two.db") as server, httpx.Client(base_url=server.url) as client:
        page = page_of(client, "/ui/proof")
        assert 'role="alert"' in page
        assert "2 events were signed, and the ledger has 1." in page
        event = page_of(client, "/ui/log/1")
        assert "2 events were signed, and the ledger has 1." in event
        assert element(event, "leaf")
