"""A ledger made again from an export is the one that was exported; anything but a whole and right export makes none."""

import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from api.importers.ledger_rebuild import rebuild_ledger
from api.verify import verify_ledger
from ledger.errors import LedgerLocked, LedgerUnusable, UnusableExport
from ledger.evidence_store import EvidenceStore
from ledger.sqlite.lock import WriterLock
from ledger.transparency.signed_note import Signer
from tests.api.cli.command import command, done, environment, refused, tally
from tests.api.verify.exported import (
    copied,
    export_all,
    forge,
    lines_of,
    put_lines,
)
from tests.api.verify.sealed_ledger import (
    GONE,
    KEPT,
    SIZE,
    Sealed,
    sealed,
)
from tests.api.verify.test_export import OPTIONS, change
from tests.support.paths import ROOT


class Made:
    """A ledger, and exports of it."""

    def __init__(self, folder: Path) -> None:
        self.ledger: Sealed = sealed(folder / "t.db")
        self.key = self.ledger.key
        forms = {"whole": folder / "whole", "csv": folder / "csv", "parquet": folder / "parquet"}
        self.exports = {**forms, "gzip": folder / "gzip.zip", "chosen": folder / "chosen"}
        export_all(self.ledger.path, {path: OPTIONS[name] for name, path in self.exports.items()})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("rebuilt"))


def tables(ledger: Path) -> list[list[tuple[object, ...]]]:
    """Everything that is in a ledger file."""
    with closing(sqlite3.connect(ledger)) as connection:
        return [
            connection.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("events ORDER BY position", "tiles ORDER BY level, number")
        ]


@pytest.mark.parametrize("name", ["whole", "csv", "parquet", "gzip"])
def test_a_ledger_is_made_again_byte_for_byte(made: Made, tmp_path: Path, name: str) -> None:
    ledger = tmp_path / "again.db"
    rebuilt = rebuild_ledger(made.exports[name], ledger, made.key)
    assert rebuilt.placed
    assert rebuilt.report.events == SIZE
    assert tables(ledger) == tables(made.ledger.path)
    assert sorted(file.name for file in tmp_path.iterdir() if not file.name.endswith(".evidence")) == [
        "again.db", "again.db.imported", "again.db.lock",
    ]  # fmt: skip
    store, digest = EvidenceStore(ledger), sha256(KEPT).hexdigest()
    assert rebuilt.evidence == (1 if name == "whole" else 0)
    assert store.is_readable(digest, len(KEPT)) == (name == "whole")
    assert not store.exists(sha256(GONE).hexdigest())
    report = verify_ledger(ledger, None, None, quick=False)
    assert report.root == rebuilt.report.root
    assert report.right == (name == "whole"), "evidence that did not come with it is missing"


@pytest.mark.slow
def test_it_goes_on_under_a_key_of_its_own(made: Made, tmp_path: Path) -> None:
    ledger = tmp_path / "again.db"
    said = done(ledger, "import", "ledger", made.exports["whole"], "--key", made.key).text
    assert "600 events with 1 piece of evidence" in said
    given = b'{"type":"decision.recorded.v1","data":{"decision":"go on","confidence":0.8}}'
    done(ledger, "append", "--agent", "ann", given=given)
    done(ledger, "key", "make")
    report = verify_ledger(ledger, None, None, quick=False)
    assert (report.right, report.events) == (True, SIZE + 1)
    assert report.key != made.key
    lines = ledger.with_name("again.db.imported").read_text()
    ledger.with_name("again.db.imported").write_text(lines.replace("\n600\n", "\n599\n"))
    assert not verify_ledger(ledger, None, None, quick=True).right, (
        "the ledger must still match the export that it was imported from"
    )


def test_an_empty_ledger_is_filled_and_another_is_left_alone(made: Made, tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "--agent", "ann", given=b"")
    assert rebuild_ledger(made.exports["whole"], ledger, made.key).placed
    assert tables(ledger) == tables(made.ledger.path)
    before = ledger.read_bytes()
    with pytest.raises(LedgerUnusable, match="holds events already"):
        rebuild_ledger(made.exports["whole"], ledger, made.key)
    assert ledger.read_bytes() == before
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
    for path, match in ((other, "not a ledger|holds events"), (tmp_path / "no" / "t.db", "no folder")):
        with pytest.raises(LedgerUnusable, match=match):
            rebuild_ledger(made.exports["whole"], path, made.key)


def test_whoever_holds_the_lock_keeps_it(made: Made, tmp_path: Path) -> None:
    lock = WriterLock.acquire(tmp_path / "t.db")
    try:
        with pytest.raises(LedgerLocked):
            rebuild_ledger(made.exports["whole"], tmp_path / "t.db", made.key)
    finally:
        lock.release()


def test_what_is_wrong_makes_no_ledger(made: Made, tmp_path: Path) -> None:
    export, ledger = copied(made.exports["whole"], tmp_path), tmp_path / "again.db"
    put_lines(export, change(lines_of(export), 300))
    assert not rebuild_ledger(export, ledger, made.key).placed
    ended = tally(ledger, "import", "ledger", export)
    assert ended.code == 1
    assert "First at position 300" in ended.text
    assert "Nothing was imported" in ended.text
    forge(export, lines_of(export), Signer.make(made.ledger.signer.verifier.name))
    assert not rebuild_ledger(export, ledger, made.key).placed, "the key is another"
    with pytest.raises(UnusableExport, match="a filtered export"):
        rebuild_ledger(made.exports["chosen"], ledger, made.key)
    assert "filtered" in refused(ledger, "import", "ledger", made.exports["chosen"])
    assert {file.name for file in tmp_path.iterdir()} == {"copy", "again.db.lock"}


def test_lines_that_are_right_and_no_ledger_are_refused(made: Made, tmp_path: Path) -> None:
    """A signer who signs an id twice: everything fits, and the ledger's own law refuses it."""
    export, ledger = copied(made.exports["whole"], tmp_path), tmp_path / "again.db"
    lines = lines_of(export)
    taken = msgspec.json.decode(lines[0])["id"].encode()
    other = msgspec.json.decode(lines[2])["id"].encode()
    lines[2] = lines[2].replace(other, taken)
    forge(export, lines, made.ledger.signer)
    with pytest.raises(LedgerUnusable, match="id is taken"):
        rebuild_ledger(export, ledger, made.key)
    assert not ledger.exists()


@pytest.mark.slow
def test_a_kill_in_the_middle_leaves_no_ledger_and_a_retry_makes_it(made: Made, tmp_path: Path) -> None:
    ledger, part = tmp_path / "again.db", tmp_path / "again.db.part"
    words = command(ledger, "import", "ledger", made.exports["whole"])
    killed = 0
    for _ in range(3):
        process = subprocess.Popen(words, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL)
        while not part.exists() and process.poll() is None:
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        if ledger.exists():
            assert tables(ledger) == tables(made.ledger.path), "it was placed before the kill, whole"
            ledger.unlink()
    assert killed
    done(ledger, "import", "ledger", made.exports["whole"])
    assert tables(ledger) == tables(made.ledger.path)
    assert not part.exists()
    shutil.rmtree(tmp_path / "again.db.evidence")
