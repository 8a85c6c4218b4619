"""doctor: each thing that can be wrong with an installation, found and named with what to do."""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger.sqlite.lock import lock_path
from ledger.transparency.keys import make_key
from tests.api.cli.command import done, refused, tally
from tests.support.server import served

EVENT = b'{"type":"decision.recorded.v1","data":{"decision_id":"d1","decision":"ship it","confidence":0.7}}\n'
DIGEST = sha256(b"material").hexdigest()


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A ledger in order: signed, with tokens, evidence, views and a backup."""
    folder = tmp_path / "installed"
    folder.mkdir()
    ledger = folder / "t.db"
    done(ledger, "token", "add", "scout")
    done(ledger, "append", "-", given=EVENT)
    done(ledger, "evidence", "put", "-", given=b"material")
    with served(ledger, logs=tmp_path):
        pass
    done(ledger, "backup", tmp_path / "b.db")
    return ledger


def examined(ledger: Path, code: int = 0) -> dict[str, list[dict[str, Any]]]:
    """The findings of each check."""
    ended = tally(ledger, "doctor", "--json")
    assert ended.code == code, ended
    report = msgspec.json.decode(ended.out)
    assert report["right"] == (code == 0)
    findings: dict[str, list[dict[str, Any]]] = {}
    for finding in report["findings"]:
        assert finding["state"] == "ok" or finding["advice"], finding
        findings.setdefault(finding["check"], []).append(finding)
    return findings


@pytest.mark.slow
def test_an_installation_in_order(installed: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in installed.parent.rglob("*") if path.is_file()}
    findings = examined(installed)
    states = {check: {finding["state"] for finding in found} for check, found in findings.items()}
    assert {check for check, found in states.items() if found != {"ok"}} <= {"SQLite", "disk"}
    assert {"permissions", "folder", "disk", "SQLite", "clock", "lock", "ledger", "key", "tokens", "backup",
            "checkpoint", "snapshots", "evidence"} <= states.keys()  # fmt: skip
    after = {path: path.stat().st_mtime_ns for path in before}
    assert {path: time_ns for path, time_ns in after.items() if not path.name.endswith("-shm")} == {
        path: time_ns for path, time_ns in before.items() if not path.name.endswith("-shm")
    }
    text = done(installed, "doctor").text
    assert "ok       backup: of 2 events" in text
    assert "ok       snapshots: undamaged, up to position 2 of 2." in text
    assert "ok       evidence: 1 piece, all bytes are there and right." in text


@pytest.mark.slow
def test_beside_a_server(installed: Path) -> None:
    with served(installed) as server:
        (lock,) = examined(installed)["lock"]
        assert lock["state"] == "ok"
        assert server.url in lock["detail"]
        assert f"process {server.process.pid}" in lock["detail"]


def test_a_new_ledger_needs_a_backup_and_a_signature(tmp_path: Path) -> None:
    assert "There is no ledger" in refused(tmp_path / "t.db", "doctor")
    done(tmp_path / "t.db", "append", "-", given=EVENT)
    findings = examined(tmp_path / "t.db")
    for check, advice in {
        "backup": "tallystick backup",
        "checkpoint": "tallystick checkpoint",
        "key": "key make",
    }.items():
        (finding,) = findings[check]
        assert finding["state"] == "warning"
        assert advice in finding["advice"]


def beside(ledger: Path, ending: str) -> Path:
    return ledger.with_name(ledger.name + ending)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def record_later(ledger: Path) -> None:
    """Let the newest event be recorded tomorrow."""
    tomorrow = int((time.time() + 86_400) * 1_000_000)
    with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
        (sql,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'events_unchanged'").fetchone()
        connection.execute("DROP TRIGGER events_unchanged")
        connection.execute("UPDATE events SET recordedtime = ? WHERE position = 2", (tomorrow,))
        connection.execute(sql)


def lock_stale(ledger: Path) -> None:
    lock_path(ledger).write_bytes(b'{"pid":999999,"address":null}')


def link_key(ledger: Path) -> None:
    key = beside(ledger, ".key")
    key.rename(ledger.parent.parent / "key")
    key.symlink_to(ledger.parent.parent / "key")


def blob(ledger: Path) -> Path:
    return beside(ledger, ".evidence") / DIGEST[:2] / DIGEST


def damage_unsealed_tokens(ledger: Path) -> None:
    beside(ledger, ".tokens.seal").unlink()
    beside(ledger, ".tokens").write_bytes(b"[{")


DAMAGE: dict[str, tuple[str, str, str, Callable[[Path], object]]] = {
    "a key that others may read": (
        "permissions", "wrong", "others may read t.db.key", lambda ledger: beside(ledger, ".key").chmod(0o644)),
    "tokens that others may read": (
        "permissions", "wrong", "others may read t.db.tokens", lambda ledger: beside(ledger, ".tokens").chmod(0o640)),
    "a ledger that others may write": (
        "permissions", "wrong", "others may write t.db (mode 0662)", lambda ledger: ledger.chmod(0o662)),
    "a ledger that others may read": (
        "permissions", "warning", "others may read", lambda ledger: ledger.chmod(0o644)),
    "a link": ("permissions", "wrong", "t.db.key is a symbolic link", link_key),
    "a folder that others may write": (
        "folder", "wrong", "others may add and replace files", lambda ledger: ledger.parent.chmod(0o777)),
    "an unfinished write": (
        "unfinished files", "warning", "t.db.key.part", lambda ledger: beside(ledger, ".key.part").touch(0o600)),
    "a stale lock": ("lock", "warning", "process 999999 ended without closing the ledger", lock_stale),
    "no key": ("key", "warning", "there is no t.db.key", lambda ledger: beside(ledger, ".key").unlink()),
    "no key but a checkpoint": ("checkpoint", "wrong", "has no key", lambda ledger: beside(ledger, ".key").unlink()),
    "another key": ("checkpoint", "wrong", "key has not signed it", make_key),
    "a damaged key": ("key", "wrong", "t.db.key", lambda ledger: beside(ledger, ".key").write_bytes(b"PRIVATE")),
    "a damaged checkpoint": (
        "checkpoint", "wrong", "t.db.checkpoint is damaged",
        lambda ledger: beside(ledger, ".checkpoint").write_bytes(b"x")),
    "events that are not signed": (
        "checkpoint", "warning", "without 1 newer event",
        lambda ledger: done(ledger, "append", "-", given=EVENT.replace(b"d1", b"d2"))),
    "a damaged snapshot": (
        "snapshots", "warning", "calibration",
        lambda ledger: edit(beside(ledger, ".views.db"), "UPDATE snapshots SET contents = x'00'")),
    "evidence that is missing": ("evidence", "wrong", "is missing", lambda ledger: blob(ledger).unlink()),
    "evidence that is damaged": ("evidence", "wrong", "is damaged", lambda ledger: flip(blob(ledger))),
    "tokens that are missing": (
        "tokens", "wrong", "t.db.tokens is missing", lambda ledger: beside(ledger, ".tokens").unlink()),
    "tokens that are damaged": (
        "tokens", "wrong", "t.db.tokens cannot be read",
        damage_unsealed_tokens),
    "tokens that another program changed": (
        "tokens", "wrong", "t.db.tokens was changed by another program",
        lambda ledger: beside(ledger, ".tokens").write_bytes(b"[]")),
    "a trigger that is missing": (
        "ledger", "wrong", "events_kept", lambda ledger: edit(ledger, "DROP TRIGGER events_kept")),
    "another table": (
        "ledger", "wrong", "the table tiles is missing",
        lambda ledger: edit(ledger, "DROP TRIGGER tiles_kept", "DROP TABLE tiles")),
    "not a database": ("ledger", "wrong", "is not a ledger", lambda ledger: ledger.write_bytes(b"x" * 8192)),
    "a clock that is behind": ("clock", "wrong", "the newest event was recorded at", record_later),
    "a file of the future": (
        "clock", "warning", "t.db.key was written at",
        lambda ledger: os.utime(beside(ledger, ".key"), (time.time() + 9_999, time.time() + 9_999))),
    "a damaged note of the backup": (
        "backup", "wrong", "t.db.last-backup cannot be read",
        lambda ledger: beside(ledger, ".last-backup").write_bytes(b"{")),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("check", "state", "detail", "damage"), DAMAGE.values(), ids=list(DAMAGE))
def test_what_is_wrong_is_named(
    installed: Path, check: str, state: str, detail: str, damage: Callable[[Path], object]
) -> None:
    damage(installed)
    findings = examined(installed, code=tally(installed, "doctor").code)
    found = [finding for finding in findings[check] if detail in finding["detail"]]
    assert [finding["state"] for finding in found] == [state], findings[check]
    code = 1 if any(finding["state"] == "wrong" for of_check in findings.values() for finding in of_check) else 0
    ended = tally(installed, "doctor")
    assert ended.code == code
    assert f"{state:<8} {check}: " in ended.text
    assert "Traceback" not in ended.err


def test_a_backup_grows_old(installed: Path) -> None:
    note = beside(installed, ".last-backup")
    last = msgspec.json.decode(note.read_bytes())
    note.write_bytes(msgspec.json.encode(last | {"time": "2026-01-01T00:00:00Z"}))
    assert examined(installed)["backup"][0]["state"] == "ok", "nothing is newer"
    done(installed, "append", "-", given=EVENT.replace(b"d1", b"d2"))
    (finding,) = examined(installed)["backup"]
    assert (finding["state"], "without 1 newer event" in finding["detail"]) == ("warning", True)


def test_it_reads_a_file_only(installed: Path) -> None:
    assert "--url" in refused(installed, "doctor", "--url", "http://127.0.0.1:9")
