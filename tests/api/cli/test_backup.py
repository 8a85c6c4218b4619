"""Backups of real ledgers: taken while a server writes, whole or not there, and served again."""

import os
import shutil
import sqlite3
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import httpx
import msgspec
import pytest

from tests.api.cli.command import command, done, environment, refused, tally
from tests.api.verify.sealed_ledger import (
    KEPT,
    SIZE,
    Sealed,
    alter,
    sealed,
)
from tests.support.paths import ROOT
from tests.support.server import served

BACKUPS = 2
CLIENTS = 2


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Sealed:
    return sealed(tmp_path_factory.mktemp("sealed") / "t.db")


@pytest.fixture
def ledger(made: Sealed, tmp_path: Path) -> Path:
    """A ledger whose checkpoint covers it, with evidence and a key, that a test may change."""
    shutil.copytree(made.path.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / "t.db"


def backed_up(ledger: Path, target: Path, *options: str) -> dict[str, Any]:
    answer: dict[str, Any] = msgspec.json.decode(done(ledger, "backup", target, *options, "--json").out)
    return answer


def restored(ledger: Path, backup: Path, *options: str) -> dict[str, Any]:
    answer: dict[str, Any] = msgspec.json.decode(done(ledger, "restore", backup, *options, "--json").out)
    return answer


def lines(ledger: Path) -> bytes:
    return done(ledger, "log", "--json").out


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


class Writer(threading.Thread):
    """Posts decisions until the test stops it. `acknowledged` counts the acknowledged ones."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__()
        self.url, self.prefix, self.acknowledged = url, name, 0
        self.enough = threading.Event()

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60) as http:
            while not self.enough.is_set():
                name = f"{self.prefix}-{self.acknowledged}"
                data = {"decision_id": name, "decision": "Keep the queue bounded" + " and short" * 20}
                event = {"type": "decision.recorded.v1", "id": name, "data": data}
                assert http.post("/events", json=event).status_code == 201
                self.acknowledged += 1


@pytest.mark.slow
def test_backups_under_load_hold_all_that_was_acknowledged_before_them_and_are_served_again(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    with served(ledger) as server:
        writers = [Writer(server.url, f"w{number}") for number in range(CLIENTS)]
        for writer in writers:
            writer.start()
        while sum(writer.acknowledged for writer in writers) < 40:
            assert all(writer.is_alive() for writer in writers)
            time.sleep(0.01)
        taken: list[tuple[int, int, Path]] = []
        for number in range(BACKUPS):
            before = sum(writer.acknowledged for writer in writers)
            target = tmp_path / f"backup-{number}.db"
            backup = backed_up(ledger, target)
            taken.append((before, backup["events"], target))
        for writer in writers:
            writer.enough.set()
            writer.join()
        events = httpx.get(f"{server.url}/events", headers={"accept": "application/x-ndjson"}).content.splitlines()
    for before, count, target in taken:
        assert before <= count <= len(events)
        assert lines(target).splitlines() == events[:count]
        assert not names(tmp_path) & {f"{target.name}{ending}" for ending in ("-wal", "-shm", ".key", ".part")}
    assert [count for _, count, _ in taken] == sorted(count for _, count, _ in taken)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(tmp_path / "ledger.db.key", elsewhere / "ledger.db.key")
    restored(elsewhere / "ledger.db", taken[-1][2])
    with served(elsewhere / "ledger.db") as server, httpx.Client(base_url=server.url) as http:
        assert http.get("/events?limit=1").json()["events"][0] == msgspec.json.decode(events[0])
        answer = http.post("/events", json={"type": "decision.recorded.v1", "data": {"decision": "go on"}})
        assert answer.json()["position"] == taken[-1][1] + 1


@pytest.mark.slow
def test_a_backup_is_the_ledger_with_what_stands_beside_it_but_for_the_key(ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "t.db.tokens").write_text("[]")
    target = tmp_path / "b.db"
    answer = backed_up(ledger, target)
    assert (answer["events"], answer["evidence"], answer["checkpoint"]) == (SIZE, 1, SIZE)
    expected = {"b.db", "b.db.evidence", "b.db.tokens", "b.db.checkpoint"}
    assert {name for name in names(tmp_path) if name.startswith("b.db")} == expected
    assert {Path(file).name for file in answer["files"]} == expected
    assert lines(target) == lines(ledger)
    assert done(target, "verify").code == 0
    assert stat.S_IMODE((tmp_path / "b.db.tokens").stat().st_mode) == 0o600


@pytest.mark.slow
def test_a_backup_is_its_owners_alone_whatever_the_umask(ledger: Path, tmp_path: Path) -> None:
    for mask in (0o077, 0o022, 0o000):
        target = tmp_path / f"{mask}.db"
        words = command(ledger, "backup", target)
        subprocess.run(words, cwd=ROOT, env=environment(), umask=mask, check=True, capture_output=True)
        for path in (target, target.with_name(f"{target.name}.checkpoint")):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.slow
def test_a_key_is_copied_where_it_is_asked_for_and_only_its_owner_reads_it(ledger: Path, tmp_path: Path) -> None:
    backed_up(ledger, tmp_path / "b.db", "--with-key")
    assert (tmp_path / "b.db.key").read_bytes() == (tmp_path / "t.db.key").read_bytes()
    assert stat.S_IMODE((tmp_path / "b.db.key").stat().st_mode) == 0o600


@pytest.mark.parametrize("ending", ["", ".evidence", ".checkpoint", "-wal"])
def test_a_backup_overwrites_nothing(ending: str, ledger: Path, tmp_path: Path) -> None:
    there = tmp_path / f"b.db{ending}"
    there.write_text("mine")
    assert f"{there} exists already" in refused(ledger, "backup", tmp_path / "b.db")
    assert there.read_text() == "mine"
    assert {name for name in names(tmp_path) if name.startswith("b.db")} == {there.name}


def test_what_a_kill_left_is_replaced(ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "b.db.part").write_bytes(b"half")
    (tmp_path / "b.db.checkpoint").write_bytes(b"moved before the kill")
    (tmp_path / "b.db.part.evidence").mkdir()
    backed_up(ledger, tmp_path / "b.db")
    assert done(tmp_path / "b.db", "verify").code == 0
    assert not [name for name in names(tmp_path) if ".part" in name]


@pytest.mark.slow
def test_a_kill_leaves_no_half_file_under_the_final_name(ledger: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.db"
    for wait_s in (0.2, 0.4):
        process = subprocess.Popen(
            command(ledger, "backup", target), cwd=ROOT, env=environment(), stderr=DEVNULL, stdout=DEVNULL
        )
        time.sleep(wait_s)
        process.kill()
        process.wait()
        if target.exists():
            break
    else:
        backed_up(ledger, target)
    assert done(target, "verify").code == 0


def test_no_backup_is_made_of_a_ledger_that_is_not_whole(ledger: Path, tmp_path: Path) -> None:
    alter(ledger, "UPDATE events SET type = 'decision.thought.v1' WHERE position = 301")
    said = refused(ledger, "backup", tmp_path / "b.db", code=1)
    assert f"{ledger} is damaged: column type holds 'decision.thought.v1'" in said
    assert not [name for name in names(tmp_path) if name.startswith("b.db")]


def test_no_backup_is_made_where_evidence_is_damaged(ledger: Path, tmp_path: Path) -> None:
    blob = next(path for path in (tmp_path / "t.db.evidence").rglob("*") if path.is_file())
    blob.write_bytes(b"other bytes")
    assert "is damaged" in refused(ledger, "backup", tmp_path / "b.db", code=1)
    assert not [name for name in names(tmp_path) if name.startswith("b.db")]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 200 kB, where one can be mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root mounts a small disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)], check=False)
    if mounted.returncode:
        pytest.skip("no tmpfs can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_leaves_nothing_of_a_backup(ledger: Path, small_disk: Path) -> None:
    assert "The disk is full" in refused(ledger, "backup", small_disk / "b.db", code=1)
    assert names(small_disk) == set()


def test_a_restored_ledger_is_what_was_backed_up(ledger: Path, tmp_path: Path) -> None:
    backed_up(ledger, tmp_path / "b.db", "--with-key")
    target = tmp_path / "new" / "r.db"
    target.parent.mkdir()
    answer = restored(target, tmp_path / "b.db")
    assert (answer["events"], answer["evidence"], answer["lost"], answer["forked"]) == (SIZE, 1, 0, False)
    assert (answer["key"], answer["aside"], answer["missing"]) == (True, None, [])
    assert names(target.parent) == {"r.db", "r.db.evidence", "r.db.checkpoint", "r.db.key", "r.db.lock"}
    assert lines(target) == lines(ledger)
    assert done(target, "verify").code == 0


def test_a_ledger_is_replaced_only_where_that_is_asked_for_and_is_kept(ledger: Path, tmp_path: Path) -> None:
    backed_up(ledger, tmp_path / "b.db")
    done(ledger, "append", "-", given=b'{"type":"decision.recorded.v1","data":{"decision":"later"}}')
    done(ledger, "calibration")
    before = lines(ledger)
    assert f"{ledger} exists already" in refused(ledger, "restore", tmp_path / "b.db")
    assert lines(ledger) == before
    aside = Path(restored(ledger, tmp_path / "b.db", "--replace")["aside"])
    assert lines(ledger) == lines(tmp_path / "b.db") != before
    assert lines(aside / "t.db") == before
    assert not names(tmp_path) & {"t.db-wal", "t.db-shm", "t.db.views.db", "t.db.search.db"}
    assert (aside / "t.db.evidence").is_dir()
    assert (tmp_path / "t.db.key").exists()


@pytest.mark.slow
def test_a_restored_ledger_that_is_older_than_what_was_signed_is_reported_and_not_signed(
    ledger: Path, made: Sealed, tmp_path: Path
) -> None:
    older = tmp_path / "older"
    older.mkdir()
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("VACUUM INTO ?", (str(older / "b.db"),))
    shutil.copytree(tmp_path / "t.db.evidence", older / "b.db.evidence")
    with served(ledger) as server:
        for number in range(3):
            data = {"decision_id": f"later-{number}", "decision": "later"}
            httpx.post(f"{server.url}/events", json={"type": "decision.recorded.v1", "data": data})
        said = refused(ledger, "restore", older / "b.db", "--replace")
        assert f"serving at {server.url}" in said
    checkpoint = (tmp_path / "t.db.checkpoint").read_bytes()
    signed = int(checkpoint.split(b"\n")[1])
    assert signed > SIZE
    said = tally(ledger, "restore", older / "b.db", "--replace").err
    assert f"covers {signed} events, the backup has {SIZE}: {signed - SIZE} are lost." in said
    assert (tmp_path / "t.db.checkpoint").read_bytes() == checkpoint
    with served(ledger) as server:
        assert httpx.get(f"{server.url}/checkpoint").status_code == 503


def test_a_restored_ledger_with_another_history_is_reported(ledger: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    sealed(other / "b.db")
    said = tally(ledger, "restore", other / "b.db", "--replace").err
    assert "The last signed checkpoint covers other events than the backup has." in said


DAMAGES = {
    "a column": ("UPDATE events SET source = '/agents/other' WHERE position = 17", "column source holds"),
    "a line under a tile": (
        "UPDATE events SET line = CAST(replace(line, 'choice 16', 'choice 61') AS BLOB) WHERE position = 17",
        "position 17",
    ),
    "the last event": (f"DELETE FROM events WHERE position = {SIZE}", f"of {SIZE} events; there are {SIZE - 1}"),
    "a tile": ("DELETE FROM tiles WHERE number = 1", "tile 0/1 is missing"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_backup_is_refused_and_what_is_wrong_is_named(name: str, ledger: Path, tmp_path: Path) -> None:
    statement, expected = DAMAGES[name]
    alter(ledger, statement)
    said = refused(tmp_path / "r.db", "restore", ledger, code=1)
    assert f"{ledger} is damaged: " in said
    assert expected in said
    assert names(tmp_path) & {"r.db", "r.db.part"} == set()


def test_a_file_that_is_no_backup_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    assert "file is not a database" in refused(tmp_path / "r.db", "restore", tmp_path / "text", code=1)
    assert "no backup at" in refused(tmp_path / "r.db", "restore", tmp_path / "absent")
    assert "r.db" not in names(tmp_path)


def test_a_backup_without_its_evidence_is_restored_only_where_that_is_asked_for(ledger: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "t.db.evidence")
    said = refused(tmp_path / "r.db", "restore", ledger, code=1)
    assert "is missing" in said
    answer = restored(tmp_path / "r.db", ledger, "--without-evidence")
    assert len(answer["missing"]) == 1


def test_evidence_that_was_erased_is_in_no_backup(ledger: Path, tmp_path: Path) -> None:
    digest = msgspec.json.decode(done(ledger, "evidence", "list", "--json").out)["evidence"][0]["digest"]
    assert done(ledger, "evidence", "get", digest).out == KEPT
    done(ledger, "evidence", "erase", digest, "--reason", "it names a person", "--yes")
    assert backed_up(ledger, tmp_path / "b.db")["evidence"] == 0
    assert not (tmp_path / "b.db.evidence").exists()


@pytest.mark.slow
def test_a_copy_with_its_write_ahead_log_is_restored_with_all_that_stands_there(tmp_path: Path) -> None:
    ledger, copied = tmp_path / "ledger.db", tmp_path / "copied"
    copied.mkdir()
    with served(ledger) as server:
        data = {"decision_id": "in-the-wal", "decision": "still in the log"}
        httpx.post(f"{server.url}/events", json={"type": "decision.recorded.v1", "data": data})
        server.process.kill()
        server.process.wait()
    assert (tmp_path / "ledger.db-wal").stat().st_size
    for name in ("ledger.db", "ledger.db-wal"):
        shutil.copy(tmp_path / name, copied / name)
    assert restored(tmp_path / "r.db", copied / "ledger.db")["events"] == 1
