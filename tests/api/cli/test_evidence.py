"""evidence: the verbs as users run them, on the file and through a server."""

import os
import pty
import subprocess
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from events.limits import EVIDENCE_BYTES_MAX
from tests.api.cli.command import command, done, environment, refused, tally
from tests.support.paths import ROOT
from tests.support.server import served

pytestmark = pytest.mark.slow

DATA = "I am a large model.\né".encode()
DIGEST = sha256(DATA).hexdigest()


@pytest.mark.parametrize("served_there", [False, True], ids=["file", "server"])
def test_put_get_list_erase(tmp_path: Path, served_there: bool) -> None:
    ledger, file, output = tmp_path / "ledger.db", tmp_path / "response.txt", tmp_path / "out.txt"
    file.write_bytes(DATA)
    if not served_there:
        _verbs(ledger, file, output, ())
        return
    with served(ledger) as server:
        _verbs(ledger, file, output, ("--url", server.url))


def _verbs(ledger: Path, file: Path, output: Path, where: tuple[str, ...]) -> None:
    put = done(ledger, "evidence", "put", file, "--media-type", "text/plain", "--note", "first", *where)
    assert (put.text, put.err) == (f"{DIGEST}\n", "22 bytes stored, recorded at position 1.\n")
    again = done(ledger, "evidence", "put", "-", *where, given=DATA)
    assert (again.text, again.err) == (f"{DIGEST}\n", "22 bytes there already, recorded at position 1.\n")

    assert done(ledger, "evidence", "get", DIGEST, *where).out == DATA
    assert done(ledger, "evidence", "get", DIGEST).out == DATA, "reading works beside a server"
    assert done(ledger, "evidence", "get", DIGEST, "--output", output, *where).out == b""
    assert output.read_bytes() == DATA
    reported = msgspec.json.decode(done(ledger, "evidence", "get", DIGEST, "--json", *where).out)
    assert reported == {"digest": DIGEST, "size_bytes": 22, "media_type": "text/plain", "text": DATA.decode()}

    assert "nobody can confirm it" in refused(ledger, "evidence", "erase", DIGEST, "--reason", "x", *where)
    erased = done(ledger, "evidence", "erase", DIGEST, "--reason", "it names a person", "--yes", *where)
    assert erased.text == f"{DIGEST} (22 bytes) is erased, recorded at position 2.\n"
    reported = msgspec.json.decode(
        done(ledger, "evidence", "erase", DIGEST, "--reason", "again", "--yes", "--json", *where).out
    )
    assert reported == {
        "digest": DIGEST, "size_bytes": 22, "reason": "it names a person", "position": 2, "duplicate": True,
    }  # fmt: skip
    gone = refused(ledger, "evidence", "get", DIGEST, *where, code=1)
    assert gone == (
        f"error: evidence {DIGEST} was erased at position 2: it names a person.\n"
        "It cannot be restored. Its stream keeps the record of it.\n"
    )
    assert "was erased" in refused(ledger, "evidence", "put", file, *where, code=1)

    assert "it names a person" in done(ledger, "evidence", "list").text
    (exhibit,) = msgspec.json.decode(done(ledger, "evidence", "list", "--as-of", 1, "--json").out)["evidence"]
    assert (exhibit["digest"], exhibit["note"], exhibit["erased"]) == (DIGEST, "first", None)


def test_bytes_that_are_no_text_are_reported_in_base64(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    digest = done(ledger, "evidence", "put", "-", given=b"\xff\x00").text.strip()
    assert msgspec.json.decode(done(ledger, "evidence", "get", digest, "--json").out)["base64"] == "/wA="
    assert msgspec.json.decode(done(ledger, "evidence", "put", "-", "--json", given=b"\xff\x00").out)["duplicate"]
    assert "No evidence" not in done(ledger, "evidence", "list").err


def test_what_is_wrong_is_reported_in_plain_lines(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    assert "no ledger" in refused(ledger, "evidence", "get", DIGEST, code=1)
    assert "response.txt" in refused(ledger, "evidence", "put", tmp_path / "response.txt")
    assert "--media-type" in refused(ledger, "evidence", "put", "-", "--media-type", "text", given=DATA)
    assert "over 16,777,216 bytes" in refused(ledger, "evidence", "put", "-", given=bytes(EVIDENCE_BYTES_MAX + 1))
    assert "64 lower-case hex digits" in refused(ledger, "evidence", "get", "abc")
    assert "There is no evidence" in refused(ledger, "evidence", "get", DIGEST, code=1)
    erased = ("evidence", "erase", DIGEST, "--reason", "x", "--yes")
    assert "There is no evidence" in refused(ledger, *erased, code=1)
    assert tally(ledger, "evidence", "erase", DIGEST, "--yes").code == 2, "a reason is wanted"
    assert done(ledger, "evidence", "list").err == "No evidence is stored.\n"


def on_a_terminal(ledger: Path, *arguments: str, typed: bytes = b"") -> tuple[int, bytes]:
    """Run a verb on a terminal, where something is typed; its exit code, and what the terminal shows."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(ledger, *arguments), cwd=ROOT, env=environment(), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    with suppress(OSError), os.fdopen(ours, "rb", buffering=0) as terminal:
        while part := terminal.read(1024):
            shown += part
    return process.wait(), shown


def test_a_terminal_is_asked_before_erasing_and_shown_no_commands(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    harmless, harmful = (done(ledger, "evidence", "put", "-", given=data).text.strip() for data in (DATA, b"\x1b[2J"))
    assert on_a_terminal(ledger, "evidence", "get", harmless) == (0, DATA.replace(b"\n", b"\r\n"))
    code, shown = on_a_terminal(ledger, "evidence", "get", harmful)
    assert (code, b"a terminal would obey" in shown, b"\x1b[2J" in shown) == (2, True, False)
    code, shown = on_a_terminal(ledger, "evidence", "erase", harmless, "--reason", "x", typed=b"n\n")
    assert (code, b"permanently? [y/N]" in shown) == (1, True)
    assert done(ledger, "evidence", "get", harmless).out == DATA
    assert on_a_terminal(ledger, "evidence", "erase", harmless, "--reason", "x", typed=b"y\n")[0] == 0
    assert "was erased" in refused(ledger, "evidence", "get", harmless, code=1)
