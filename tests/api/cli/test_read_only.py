"""A ledger where nothing can be written: on a read-only file system, or in a folder without write permission."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.cli.command import Ended, Value, environment
from tests.api.cli.lines import decided, history
from tests.api.cli.test_one_ledger import ANSWER, READS, Words, run
from tests.recorded.old_ledger import beside, unpack
from tests.support.paths import ROOT
from tests.support.server import Served

pytestmark = [pytest.mark.slow, pytest.mark.trial("A8")]

CAPABILITIES = "-dac_override,-dac_read_search"
AS_A_USER = ["setpriv", f"--bounding-set={CAPABILITIES}", f"--inh-caps={CAPABILITIES}"] if os.geteuid() == 0 else []
"""Root may write anywhere, but not without these capabilities."""

MOUNTED = ["unshare", "-rm", "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"']
"""Runs a command with a folder, its first argument, mounted read-only."""


def _can(*words: str) -> bool:
    return (
        shutil.which(words[0]) is not None and subprocess.run(words, capture_output=True, check=False).returncode == 0
    )


as_a_user = pytest.mark.skipif(bool(AS_A_USER) and not _can(*AS_A_USER, "true"), reason="root keeps its capabilities")
mounted = pytest.mark.skipif(not _can(*MOUNTED, "/tmp", "true"), reason="no user namespaces here")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Path]:
    """The old ledger with all its files, in a folder that cannot be written."""
    folder = tmp_path / "still"
    folder.mkdir()
    path = unpack(folder)
    folder.chmod(0o555)
    yield path
    folder.chmod(0o755)


def still(ledger: Path, *words: Value, prefix: list[str] = AS_A_USER) -> Ended:
    """Run a verb on a ledger in a folder that cannot be written."""
    command = [*prefix, sys.executable, "-m", "tallystick", "--ledger", str(ledger), *map(str, words)]
    ended = subprocess.run(command, input=ANSWER, capture_output=True, env=environment(), cwd=ROOT, check=False)
    return Ended(ended.returncode, ended.stdout, ended.stderr.decode())


OTHERS: list[tuple[Words, tuple[Value, ...]]] = [
    (("decisions",), ("--search", "café slow")), (("verify",), ()), (("replay",), ("--check",)), (("key", "show"), ()),
    (("token", "list"), ()),
]  # fmt: skip
CASES = [(verb, found[0]) for verb, found in READS.items() if found] + OTHERS


@as_a_user
@pytest.mark.parametrize(("verb", "arguments"), CASES, ids=lambda part: " ".join(map(str, part)))
def test_a_verb_that_reads_answers_as_elsewhere(
    ledger: Path, tmp_path: Path, verb: Words, arguments: tuple[Value, ...]
) -> None:
    files = sorted(ledger.parent.rglob("*"))
    here = still(ledger, *verb, *arguments)
    assert here == run("--ledger", unpack(tmp_path), *verb, *arguments, given=ANSWER)
    assert sorted(ledger.parent.rglob("*")) == files


@as_a_user
def test_status_export_and_backup_read_it(ledger: Path, tmp_path: Path) -> None:
    assert json.loads(still(ledger, "status", "--json").out)["head"]["position"] == 742
    assert still(ledger, "export", "--output", tmp_path / "e.zip").text.startswith(f"{tmp_path / 'e.zip'}: 742 events")
    assert "Backed up and verified: 742 events" in still(ledger, "backup", tmp_path / "b.db").text


@as_a_user
def test_views_and_search_need_no_files(ledger: Path) -> None:
    ledger.parent.chmod(0o755)
    before = still(ledger, "calibration", "--json"), still(ledger, "decisions", "--search", "slow", "--json")
    for ending in ("views.db", "search.db", "search.db-journal"):
        beside(ledger, ending).unlink(missing_ok=True)
    ledger.parent.chmod(0o555)
    after = still(ledger, "calibration", "--json"), still(ledger, "decisions", "--search", "slow", "--json")
    assert after == before


@mounted
@pytest.mark.parametrize("words", [("calibration",), ("decision", "3f2a"), ("decisions", "--search", "slow"),
                                   ("checkpoint",), ("receipt", "7"), ("verify",)], ids=" ".join)  # fmt: skip
def test_a_read_only_file_system(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = tmp_path / "still"
    folder.mkdir()
    ledger = unpack(folder)
    here = still(ledger, *words, prefix=[*MOUNTED, str(folder)])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert here == run("--ledger", unpack(elsewhere), *words)


@as_a_user
def test_a_verb_that_writes_says_why_it_cannot(ledger: Path) -> None:
    ended = still(ledger, "record", "x")
    assert (ended.code, ended.out) == (2, b"")
    assert f"error: {ledger} cannot be locked: [Errno 13] Permission denied" in ended.err
    assert "Check the folder's permissions." in ended.err


@as_a_user
def test_a_write_ahead_log_with_content(tmp_path: Path) -> None:
    """It is read through the index that is there; without one, nothing can be read, and the user learns why."""
    folder = tmp_path / "still"
    folder.mkdir()
    ledger = folder / "t.db"
    server = Served(ledger, logs=tmp_path)
    assert run("append", "--url", server.url, given=history(20)).code == 0
    server.process.kill()
    server.process.wait()
    wal, index = folder / "t.db-wal", folder / "t.db-shm"
    assert wal.stat().st_size > 32
    folder.chmod(0o555)
    assert still(ledger, "log").out.count(b"\n") == 40
    folder.chmod(0o755)
    index.unlink()
    folder.chmod(0o555)
    for verb in (("log",), ("calibration",), ("verify",), ("status",), ("backup", str(tmp_path / "b.db"))):
        ended = still(ledger, *verb)
        assert (ended.code, ended.out) == (2, b""), verb
        assert f"error: {ledger} cannot be read where it is: its newest events are in t.db-wal, and SQLite" in ended.err
        assert f"or copy both files to one that is: cp {ledger} {ledger}-wal FOLDER." in ended.err
    folder.chmod(0o755)
    assert run("--ledger", ledger, "log").out.count(b"\n") == 40


@as_a_user
def test_a_writer_beside_it_is_followed(tmp_path: Path) -> None:
    """A folder that only its writer may write: the index of the write-ahead log is there, and readers use it."""
    folder = tmp_path / "still"
    folder.mkdir()
    ledger = folder / "t.db"
    server = Served(ledger, logs=tmp_path)
    try:
        run("append", "--url", server.url, given=decided("a"))
        folder.chmod(0o555)
        assert still(ledger, "log").out.count(b"\n") == 1
        run("append", "--url", server.url, given=decided("b"))
        assert still(ledger, "log").out.count(b"\n") == 2
    finally:
        folder.chmod(0o755)
        server.stop()
    assert server.process.returncode in {0, -signal.SIGTERM}
