"""key, checkpoint, receipt and witness: the verbs as users run them, checked offline and by a witness that checks."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ledger.sqlite.lock import WriterLock
from ledger.transparency.checkpoints import checkpoint_path, witnessed_path
from ledger.transparency.keys import key_path
from ledger.transparency.signed_note import SignedCheckpoint, Verifier
from tests.api.cli.command import done, refused, tally
from tests.support.server import served
from tests.support.witness import Witness, witnessing

EVENTS = b"".join(
    b'{"type":"decision.recorded.v1","data":{"decision_id":"d%d","decision":"ship it","confidence":0.7}}\n' % number
    for number in range(300)
)


def grow(ledger: Path, first: int, end: int) -> None:
    """Append some of the events."""
    done(ledger, "append", "-", given=b"".join(EVENTS.splitlines(keepends=True)[first:end]))


def checkpoint(ledger: Path) -> SignedCheckpoint:
    return SignedCheckpoint.parse(done(ledger, "checkpoint").out)


@pytest.fixture
def witness(ledger: Path) -> Iterator[Witness]:
    key = done(ledger, "key", "make", "--origin", "ledger.example/one").text.strip()
    with witnessing(Witness("witness.example/w1", key)) as running:
        yield running


def test_a_key_is_made_once_shown_and_replaced_on_purpose(ledger: Path) -> None:
    assert "has no key yet" in refused(ledger, "key", "show", code=1)
    made = done(ledger, "key", "make", "--origin", "ledger.example/one").text
    assert done(ledger, "key", "show").text == made
    assert made.startswith("ledger.example/one+")
    shown = msgspec.json.decode(done(ledger, "key", "show", "--json").out)
    assert shown == {"origin": "ledger.example/one", "verifier": made.strip()}
    assert "--replace" in refused(ledger, "key", "make")
    assert "a+b" in refused(ledger, "key", "make", "--replace", "--origin", "a+b")
    assert done(ledger, "key", "show").text == made
    lock = WriterLock.acquire(ledger)
    assert "is being written" in refused(ledger, "key", "make", "--replace")
    lock.release()
    new = done(ledger, "key", "make", "--replace").text
    assert new.startswith("tallystick/")
    key_path(ledger).chmod(0o604)
    shown_anyway = done(ledger, "key", "show")
    assert shown_anyway.text == new
    assert "chmod 600" in shown_anyway.err


def test_a_receipt_is_checked_by_whoever_has_the_key(ledger: Path, tmp_path: Path) -> None:
    assert "There is no ledger" in refused(ledger, "checkpoint")
    grow(ledger, 0, 5)
    assert not key_path(ledger).exists(), "appending needs no key"
    file, line = tmp_path / "3.tlog-proof", tmp_path / "line"
    done(ledger, "receipt", 3, "--output", file)
    key = done(ledger, "key", "show").text.strip()
    event = done(ledger, "log", "--after", "2", "--before", "4").out
    line.write_bytes(event)
    for more in ((), ("--line", line)):
        held = done(tmp_path / "nowhere.db", "receipt", "--check", file, "--key", key, *more)
        assert held.out == event
        assert "position 3 of the 5 events that tallystick/" in held.err
    reported = msgspec.json.decode(done(ledger, "receipt", "--check", file, "--key", key, "--json").out)
    assert (reported["position"], reported["size"], reported["faults"]) == (3, 5, [])
    assert done(ledger, "receipt", 3).out == file.read_bytes()

    line.write_bytes(event.replace(b"ship it", b"ship no"))
    assert tally(ledger, "receipt", "--check", file, "--key", key, "--line", line).code == 1
    other = done(tmp_path / "other.db", "key", "make").text.strip()
    wrong = tally(ledger, "receipt", "--check", file, "--key", other)
    assert (wrong.code, wrong.out) == (1, b"")
    assert wrong.err.startswith("wrong: The receipt is of the log")
    (tmp_path / "none").write_bytes(event)
    assert "not a receipt" in refused(ledger, "receipt", "--check", tmp_path / "none", "--key", key)
    assert "key" in refused(ledger, "receipt", "--check", file)
    assert "not in the log" in refused(ledger, "receipt", 6, code=1)
    assert "--check" in refused(ledger, "receipt")


@pytest.mark.slow
def test_beside_a_server_and_through_it(ledger: Path) -> None:
    with served(ledger) as server:
        done(ledger, "append", "-", "--url", server.url, given=EVENTS)
        receipt = done(ledger, "receipt", 300, "--url", server.url)
        signed = SignedCheckpoint.parse(done(ledger, "checkpoint", "--url", server.url).out)
        assert signed.size == 300
        assert done(ledger, "receipt", 300).out == receipt.out
        assert checkpoint(ledger) == signed
        beyond = refused(ledger, "receipt", 301, code=1)
        assert refused(ledger, "receipt", 301, "--url", server.url, code=1) == beyond


def test_a_ledger_that_was_restored_from_an_older_copy_is_not_signed(ledger: Path, tmp_path: Path) -> None:
    grow(ledger, 0, 3)
    shutil.copy(ledger, tmp_path / "copy.db")
    grow(ledger, 3, 7)
    assert checkpoint(ledger).size == 7
    shutil.copy(tmp_path / "copy.db", ledger)
    kept = checkpoint_path(ledger).read_bytes()
    said = refused(ledger, "checkpoint", code=1)
    assert "7 events were signed, and the ledger has 3" in said
    assert "tallystick key make --replace" in said
    refused(ledger, "receipt", 1, code=1)
    grow(ledger, 3, 4)
    assert checkpoint_path(ledger).read_bytes() == kept
    done(ledger, "key", "make", "--replace")
    assert checkpoint(ledger).size == 4


@pytest.mark.slow
def test_a_witness_cosigns_what_continues_what_it_cosigned(ledger: Path, tmp_path: Path, witness: Witness) -> None:
    ask = ("witness", "--url", witness.url, "--key", witness.key)
    grow(ledger, 0, 5)
    assert "has cosigned 5 events of ledger.example/one at" in done(ledger, *ask).text
    grow(ledger, 5, 270)
    reported = msgspec.json.decode(done(ledger, *ask, "--json").out)
    assert (reported["witness"], reported["size"]) == ("witness.example/w1", 270)
    assert [body.split(b"\n", 1)[0] for body in witness.asked] == [b"old 0", b"old 5"]
    cosigned = SignedCheckpoint.parse(witnessed_path(ledger).read_bytes())
    assert Verifier.parse(witness.key).verifies(cosigned.note)

    file = tmp_path / "7.tlog-proof"
    done(ledger, "receipt", 7, "--output", file)
    key = done(ledger, "key", "show").text.strip()
    held = done(ledger, "receipt", "--check", file, "--key", key, "--witness", witness.key)
    assert "cosigned by witness.example/w1" in held.err

    with witnessing(Witness("witness.example/w2", key)) as second:
        done(ledger, "witness", "--url", second.url, "--key", second.key)
        both = SignedCheckpoint.parse(witnessed_path(ledger).read_bytes())
        assert len(both.note.signatures) == 3
        assert all(Verifier.parse(each.key).verifies(both.note) for each in (witness, second))

    witnessed_path(ledger).unlink()
    grow(ledger, 270, 272)
    done(ledger, *ask)
    assert [body.split(b"\n", 1)[0] for body in witness.asked[2:]] == [b"old 0", b"old 270"]


@pytest.mark.slow
def test_a_witness_that_saw_more_or_something_else_refuses(ledger: Path, witness: Witness) -> None:
    ask = ("witness", "--url", witness.url, "--key", witness.key)
    grow(ledger, 0, 5)
    witness.size, witness.root = 9, bytes(32)
    assert "has cosigned 9 events of this log, of which 5 are signed" in refused(ledger, *ask, code=1)
    witness.size = 5
    assert "another history" in refused(ledger, *ask, code=1)
    witness.size = 3
    assert "another history" in refused(ledger, *ask, code=1)
    assert not witnessed_path(ledger).exists()


@pytest.mark.slow
def test_what_a_witness_says_is_not_taken_at_its_word(ledger: Path, witness: Witness) -> None:
    ask = ("witness", "--url", witness.url, "--key", witness.key)
    grow(ledger, 0, 2)
    note = checkpoint(ledger).note
    for answer, says in (
        ((200, b""), "without a cosignature"),
        ((200, b"hello\n"), "without a cosignature"),
        ((200, f"{note.signatures[0]}\n".encode()), "without a cosignature that fits its key"),
        ((200, b"x" * 300_000), "answers with more than 262,144 bytes."),
        ((409, b"many\n"), "names no size"),
        ((403, b"who are you?\n"), "does not know the key of this log (who are you?)"),
        ((500, b"\x1b[2J"), "answered 500;"),
    ):
        witness.answer = answer
        assert says in refused(ledger, *ask, code=1)
    witness.answer, witness.late_s = None, 3_600
    assert "clocks" in refused(ledger, *ask, code=1)
    assert not witnessed_path(ledger).exists()
    key = done(ledger, "key", "show").text.strip()
    assert "is not a witness key" in refused(ledger, "witness", "--url", witness.url, "--key", key)
    assert "cannot be reached" in refused(
        ledger, "witness", "--url", "http://127.0.0.1:9", "--key", witness.key, code=1
    )
    assert "address" in refused(ledger, "witness", "--url", "ftp://x", "--key", witness.key)
