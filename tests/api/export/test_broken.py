"""An export that breaks off leaves nothing under its name, and nobody sees a traceback."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.api.cli.command import command, environment, refused
from tests.api.export.conftest import Ledger
from tests.faults.full import small_disk, unfit
from tests.support.paths import ROOT
from tests.support.server import POLL_S, Served, served

pytestmark = pytest.mark.slow

DISK_BYTES = 128 << 10

WITHOUT_PYARROW = "import sys; sys.modules['pyarrow'] = None; from tallystick.__main__ import main; main()"

ASKED = b"GET /export HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


@pytest.fixture
def server(large: Path) -> Iterator[Served]:
    with served(large) as running:
        yield running


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_a_full_disk_leaves_nothing_and_says_so(ledger: Ledger, tmp_path: Path, name: str) -> None:
    if why := unfit():
        pytest.skip(why)
    with small_disk(tmp_path, DISK_BYTES) as place:
        said = refused(ledger.path, "export", "--output", place / name, code=1)
        assert f"The disk of {place / name} is full; no part of the export was kept." in said
        assert list(place.iterdir()) == []


def test_without_pyarrow_parquet_says_what_to_install(ledger: Ledger, tmp_path: Path) -> None:
    words = command(ledger.path, "export", "--output", tmp_path / "out", "--format", "parquet")
    words[1:3] = ["-c", WITHOUT_PYARROW]
    ended = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("error: ")
    assert "pip install 'tallystick[parquet]'" in ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_what_is_stopped_while_it_writes_never_has_its_name(
    large: Path, tmp_path: Path, sent: signal.Signals, name: str
) -> None:
    words = command(large, "export", "--output", tmp_path / name, "--gzip", "--format", "csv")
    process = subprocess.Popen(words, cwd=ROOT, env=environment(), stderr=subprocess.PIPE)
    while process.poll() is None and not list(tmp_path.iterdir()):
        time.sleep(0.001)
    process.send_signal(signal.SIGSTOP)
    (part,) = tmp_path.iterdir()
    assert part.name == f"{name}.{process.pid}.part"
    process.send_signal(sent)
    process.send_signal(signal.SIGCONT)
    _, said = process.communicate()
    assert process.returncode != 0
    assert b"Traceback" not in said
    assert list(tmp_path.iterdir()) == ([part] if sent == signal.SIGKILL else [])


def test_a_client_that_goes_away_leaves_nothing_open(large: Path, server: Served) -> None:
    before = held(server, large)
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as client:
        client.sendall(ASKED)
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")
        assert held(server, large) > before
    while held(server, large) > before:
        time.sleep(POLL_S)
    assert server.stop() == 0
    assert_quiet(server)


def test_a_server_that_is_stopped_ends_the_export_first(large: Path, server: Served) -> None:
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as client:
        client.sendall(ASKED)
        answer = client.recv(1 << 16)
        server.process.terminate()
        server.wait_for("stopping")
        while piece := client.recv(1 << 20):
            answer += piece
    assert server.process.wait() == 0
    assert_quiet(server)
    with ZipFile(BytesIO(unchunked(answer))) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[-1] == "manifest.json"


def held(server: Served, ledger: Path) -> int:
    """How many connections to a ledger a server has: each has the write-ahead log open."""
    folder = Path(f"/proc/{server.process.pid}/fd")
    return [os.path.realpath(path) for path in folder.iterdir()].count(f"{ledger.resolve()}-wal")


def assert_quiet(server: Served) -> None:
    """Nothing in the log of a server is an error, or none of its own lines."""
    assert not [line for line in server.log() if line["level"] not in {"info", "warning"} or "exception" in line]


def unchunked(answer: bytes) -> bytes:
    """The body of an answer that came in chunks."""
    rest, body = answer.partition(b"\r\n\r\n")[2], []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    return b"".join(body)
