"""A server that serves anything but what was signed is found out, and the first position that is wrong is named."""

import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from api.verify import VerifyReport, verify_server
from api.verify.server import split_bundle
from ledger.errors import InvalidQuery, LedgerUnavailable
from ledger.transparency.merkle import leaf_hash
from ledger.transparency.signed_note import Checkpoint, Signer
from ledger.transparency.tiles import entry_bundle
from tests.api.cli.command import done, refused
from tests.api.verify.lying_server import Lie, lying
from tests.api.verify.sealed_ledger import SIZE, Sealed, sealed
from tests.api.verify.test_ledger_file import wrong
from tests.support.server import serving


class Server:
    """A running server over a ledger of 600 events, and its key."""

    def __init__(self, ledger: Sealed, url: str) -> None:
        self.ledger = ledger
        self.url = url
        self.key = ledger.key
        self.since = ledger.path.with_name("t.db.300")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    ledger = sealed(tmp_path_factory.mktemp("served") / "t.db", steps=(300,))
    with serving(ledger.path) as url:
        yield Server(ledger, url)


def verified(url: str, key: str | None = None, since: Path | None = None) -> VerifyReport:
    return verify_server(url, None, key, since)


def test_a_server_that_says_what_was_signed_is_right(server: Server) -> None:
    report = verified(server.url, server.key, server.since)
    assert report.right, report.first
    assert (report.events, report.notes) == (SIZE, [])
    counts = {check.name: check.count for check in report.checks}
    assert (counts["entries"], counts["tiles"], counts["roots"], counts["consistency"]) == (3, 4, 2, 1)
    said = done(server.ledger.path, "verify", "--url", server.url).text
    assert "no signature was verified" in said
    assert "Nothing is wrong: 600 events" in said


def only(path: str, lie: Lie) -> Lie:
    """A lie at one path, and the truth at all others."""
    return lambda asked, truth: lie(asked, truth) if asked == path else truth


def entry(truth: bytes, place: int, change: bytes | None) -> bytes:
    """A bundle with one entry changed, or without it."""
    entries = split_bundle(truth) or []
    assert len(entries) > place
    entries[place : place + 1] = [change] if change is not None else []
    return entry_bundle(entries)


def swapped(truth: bytes) -> bytes:
    entries = split_bundle(truth) or []
    entries[4], entries[5] = entries[5], entries[4]
    return entry_bundle(entries)


def forged(truth: bytes) -> bytes:
    """The first entry of a bundle with another text."""
    entries = split_bundle(truth) or []
    return entry(truth, 0, entries[0].replace(b"choice", b"advice").replace(b"hmm", b"ham"))


LIES: dict[str, tuple[int | None, Lie]] = {
    "an entry changed": (257, only("/tile/entries/001", lambda _, truth: forged(truth))),
    "an entry removed": (257, only("/tile/entries/001", lambda _, truth: entry(truth, 7, None))),
    "entries swapped": (5, only("/tile/entries/000", lambda _, truth: swapped(truth))),
    "entries cut off": (513, only("/tile/entries/002.p/88", lambda _, truth: truth[:-5])),
    "entries not served": (1, only("/tile/entries/000", lambda _, truth: None)),
    "a tile changed": (2, only("/tile/0/000", lambda _, truth: truth[:32] + bytes(32) + truth[64:])),
    "a partial tile changed": (513, only("/tile/0/002.p/88", lambda _, truth: bytes(32) + truth[32:])),
    "a tile cut off": (None, only("/tile/0/001", lambda _, truth: truth[:-32])),
    "a tile above changed": (None, only("/tile/1/000.p/2", lambda _, truth: bytes(32) + truth[32:])),
    "a tile not served": (None, only("/tile/0/001", lambda _, truth: None)),
    "another size": (None, only("/checkpoint", lambda _, truth: truth.replace(b"\n600\n", b"\n599\n"))),
    "another signature": (None, only("/checkpoint", lambda _, truth: truth[:-9] + b"AAAAAA==\n")),
    "no checkpoint": (None, only("/checkpoint", lambda _, truth: truth[:20])),
}


@pytest.mark.slow
@pytest.mark.parametrize(("position", "lie"), LIES.values(), ids=list(LIES))
def test_a_lie_is_found(server: Server, position: int | None, lie: Lie) -> None:
    with lying(server.url, lie) as url:
        report = verified(url, server.key)
    assert not report.right
    assert report.first is not None
    assert report.first.position == position, report.first


@pytest.mark.slow
def test_a_tile_that_fits_a_forged_entry_does_not_hide_it(server: Server) -> None:
    """The entry and its tile of level 0 agree, and so does every tile above with the signed root: the line is wrong."""
    held = httpx.get(f"{server.url}/tile/entries/001").content
    first = leaf_hash((split_bundle(forged(held)) or [b""])[0])

    def lie(path: str, truth: bytes) -> bytes:
        if path == "/tile/entries/001":
            return forged(truth)
        return first + truth[32:] if path == "/tile/0/001" else truth

    with lying(server.url, lie) as url:
        report = verified(url, server.key)
    assert wrong(report) == {"roots", "tiles"}
    assert "positions 257 to 512" in str(report.checks)


@pytest.mark.slow
def test_a_server_with_another_key_is_found(server: Server) -> None:
    signer = Signer.make(server.ledger.signer.verifier.name)

    def lie(path: str, truth: bytes) -> bytes:
        if path != "/checkpoint":
            return truth
        return signer.sign(truth.decode().partition("\n\n")[0] + "\n").encode()

    with lying(server.url, lie) as url:
        assert verified(url).right, "without a key nothing tells"
        assert wrong(verified(url, server.key)) == {"signatures"}


def test_a_server_that_forgot_what_it_signed_is_found(server: Server, tmp_path: Path) -> None:
    shutil.copy(server.since, tmp_path / "earlier")
    signer = server.ledger.signer
    for size, root in ((300, bytes(32)), (SIZE + 7, bytes(32))):
        note = signer.sign(Checkpoint(signer.verifier.name, size, root).text())
        (tmp_path / "earlier").write_bytes(note.encode())
        report = verified(server.url, server.key, tmp_path / "earlier")
        assert wrong(report) == {"roots", "consistency"}


def free_port() -> int:
    """A port at which nobody listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return int(listener.getsockname()[1])


@pytest.mark.slow
def test_who_cannot_be_asked_is_reported(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="cannot be reached"):
        verified(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(InvalidQuery, match="not the address"):
        verified("nonsense")
    assert "cannot be reached" in refused(
        tmp_path / "t.db", "verify", "--url", f"http://127.0.0.1:{free_port()}", code=1
    )
