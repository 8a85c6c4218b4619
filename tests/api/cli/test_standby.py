"""What commands read from a standby of a ledger in PostgreSQL, and backups that are killed."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from api.importers.ledger_move import PAGE_EVENTS
from benchmarks.ledgers import make_ledger
from ledger.place import DatabasePlace, Host
from tests.api.cli.command import Ended, done, environment, tally
from tests.api.cli.test_ledger_target import run as verb
from tests.ledger.postgres.places import empty_place
from tests.support.event_loop import run
from tests.support.paths import ROOT
from tests.support.postgres import Primary
from tests.support.wait import wait_until

LARGE = 4 * PAGE_EVENTS
ATTEMPTS = 5


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def hosts_of(replicated: Primary) -> tuple[Host, Host]:
    return Host(replicated.host, replicated.port), Host(replicated.host, replicated.standby(1).port)


def on(place: DatabasePlace, state: Path, *words: str | Path) -> Ended:
    """Run a verb on a ledger, with the files of this machine in a folder."""
    ended = verb("--ledger", str(place), "--state", state, *words)
    assert ended.code == 0, ended.err
    return ended


@pytest.mark.slow
def test_commands_read_what_is_signed_from_a_standby(replicated: Primary, tmp_path: Path) -> None:
    primary, standby = hosts_of(replicated)
    place = empty_place(replicated)
    state = tmp_path / "state"
    on(place, state, "ledger", "create")
    for name in ("first", "second"):
        on(place, state, "record", name, "--id", name, "--confidence", "0.8")
    on(place, state, "checkpoint")
    on(place, state, "record", "third", "--id", "third")
    written = replicated.psql("SELECT pg_current_wal_lsn()")
    replayed = f"SELECT pg_last_wal_replay_lsn() >= '{written}'"
    wait_until(lambda: replicated.standby(1).psql(replayed) == "t", replicated)

    copy = structs.replace(place, hosts=(standby,))
    log = on(copy, tmp_path / "other", "log")
    assert "Read from a standby, up to the newest event that is signed there" in log.err
    assert [line.count(b"third") for line in log.out.splitlines()] == [0, 0]
    shown = msgspec.json.decode(on(copy, tmp_path / "other", "status", "--json").out)
    assert (shown["head"]["position"], shown["checkpoint"]["size"], shown["checkpoint"]["valid"]) == (2, 2, True)
    assert "decision/third" not in on(copy, tmp_path / "other", "decisions", "--json").text
    assert on(copy, tmp_path / "other", "replay", "--check").text.count("the same") > 5
    assert msgspec.json.decode(on(copy, tmp_path / "other", "verify", "--json").out)["right"]
    exported = on(copy, tmp_path / "other", "export", "--output", tmp_path / "audit.zip")
    assert "2 events, all, under a checkpoint of 2" in exported.text
    assert "Read from a standby" in exported.err
    report = msgspec.json.decode(done(tmp_path / "t.db", "verify", tmp_path / "audit.zip", "--json").out)
    assert (report["right"], report["events"]) == (True, 2)
    receipt = tmp_path / "receipt.txt"
    on(copy, tmp_path / "other", "receipt", "2", "--output", receipt)
    refused = verb("--ledger", str(copy), "--state", state, "record", "fourth")
    assert refused.code == 2, refused.err

    backed_up = on(copy, tmp_path / "other", "backup", tmp_path / "b.db")
    assert "Backed up and verified: 2 events" in backed_up.text
    assert f"Read from the standby {standby}, up to the newest event that is signed there" in backed_up.err
    both = structs.replace(place, hosts=(primary, standby))
    assert "3 events" in on(both, state, "backup", tmp_path / "all.db", "--with-key").text
    replicated.stop()
    try:
        assert "2 events" in on(both, state, "backup", tmp_path / "without-primary.db").text
    finally:
        replicated.start()
    done(tmp_path / "restored.db", "restore", tmp_path / "all.db")
    assert done(tmp_path / "restored.db", "record", "fourth").code == 0


@pytest.mark.slow
def test_a_killed_backup_leaves_nothing_that_stops_the_next_one(replicated: Primary, tmp_path: Path) -> None:
    large, place, state = tmp_path / "large.db", empty_place(replicated), tmp_path / "state"
    run(make_ledger(large, LARGE))
    done(large, "import", "ledger", large, "--to", str(place), TALLYSTICK_STATE=str(state))
    (folder := tmp_path / "backups").mkdir()
    file, part = folder / "b.db", folder / "b.db.part"
    words = [sys.executable, "-m", "tallystick", "--ledger", str(place), "--state", str(state), "backup", str(file)]
    for _ in range(ATTEMPTS):
        process = subprocess.Popen(words, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL)
        while not (part.exists() and part.stat().st_size > 1 << 20) and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        if process.wait() == -signal.SIGKILL:
            break
        file.unlink()
    else:
        pytest.fail("no attempt was killed in the middle")
    assert not file.exists()
    assert "Backed up and verified" in on(place, state, "backup", file).text
    assert [name for name in names_in(folder) if name not in {"b.db", "b.db.checkpoint"}] == []
    assert msgspec.json.decode(done(file, "verify", "--json").out)["events"] == LARGE


def test_evidence_may_be_missing_only_of_a_ledger_in_postgresql(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "record", "first")
    ended = tally(ledger, "backup", tmp_path / "b.db", "--without-evidence")
    assert (ended.code, "is a file, and its evidence is beside it" in ended.err) == (2, True)
    assert not (tmp_path / "b.db").exists()
