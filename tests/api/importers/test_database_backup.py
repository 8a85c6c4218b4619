"""Backups of a ledger in PostgreSQL: from the primary server, and from a standby up to what is signed."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec import structs

from api.importers.database_backup import back_up_database
from api.importers.ledger_move import PAGE_EVENTS, move_ledger
from api.service.backup import read_last_backup, restore
from api.service.ledger import LedgerService
from api.verify import verify_ledger
from benchmarks.ledgers import make_ledger
from ledger.clock import system_clock
from ledger.errors import Damaged, LedgerDamaged, LedgerUnavailable, LedgerUnusable, NotFound, Occupied
from ledger.evidence_store import EvidenceStore
from ledger.place import Host, Place
from ledger.postgres import standby
from ledger.postgres.create import create_ledger
from ledger.postgres.log import PostgresLog
from ledger.transparency.signed_note import SignedCheckpoint
from tests.api.verify.sealed_ledger import KEPT, SIZE, Sealed, sealed
from tests.ledger.postgres.places import empty_place, schema_sql
from tests.support.drafts import recorded
from tests.support.event_loop import run
from tests.support.postgres import PostgresServer, Primary
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow

LARGE = 3 * PAGE_EVENTS + 100


@pytest.fixture
def moved(replicated: Primary, tmp_path: Path) -> tuple[Sealed, Place]:
    """A ledger in PostgreSQL with a key, a checkpoint, evidence, and the files of this machine."""
    ledger = sealed(tmp_path / "t.db")
    place = Place(tmp_path / "state" / "acme", empty_place(replicated))
    assert move_ledger(Place(ledger.path), place).placed
    return ledger, place


def on(server: PostgresServer, place: Place) -> Place:
    """The same ledger on one server of the replicated."""
    assert place.database is not None
    return structs.replace(place, database=structs.replace(place.database, hosts=(Host(server.host, server.port),)))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def lines_of(ledger: Path) -> list[bytes]:
    with closing(sqlite3.connect(ledger)) as connection:
        return [line for (line,) in connection.execute("SELECT line FROM events ORDER BY position")]


async def append(place: Place, *names: str) -> None:
    assert place.database is not None
    log = await PostgresLog.open(place.database)
    for name in names:
        await log.append([recorded(name)])
    await log.close()


async def sign(place: Place) -> SignedCheckpoint:
    service = await LedgerService.open(place, writable=True, views=False)
    try:
        return await service.proving.checkpoint((await service.reader.head()).position)
    finally:
        await service.close()


def wait_for_replay(replicated: Primary) -> None:
    """Wait until the standby shows everything that the primary has."""
    written = replicated.psql("SELECT pg_current_wal_lsn()")
    replayed = f"SELECT pg_last_wal_replay_lsn() >= '{written}'"
    wait_until(lambda: replicated.standby(1).psql(replayed) == "t", replicated)


def test_a_backup_has_every_event_and_becomes_the_same_ledger_again(
    replicated: Primary, moved: tuple[Sealed, Place], tmp_path: Path
) -> None:
    ledger, place = moved
    run(append(place, "unsigned"))
    (folder := tmp_path / "backups").mkdir()
    made = back_up_database(place, folder / "b.db", with_key=True)
    assert (made.events, made.checkpoint, made.evidence, made.missing, made.standby) == (SIZE + 1, SIZE, 1, [], None)
    assert names_in(folder) == ["b.db", "b.db.checkpoint", "b.db.evidence", "b.db.key"]
    assert [Path(file).name for file in made.files] == names_in(folder)
    last = read_last_backup(place.path)
    assert last is not None
    assert (last.events, last.root) == (made.events, made.root)
    with pytest.raises(Occupied):
        back_up_database(place, folder / "b.db", with_key=True)

    restored = restore(tmp_path / "restored.db", folder / "b.db", system_clock())
    assert (restored.events, restored.root, restored.lost) == (SIZE + 1, made.root, 0)
    again = Place(tmp_path / "other" / "acme", empty_place(replicated))
    assert move_ledger(Place(folder / "b.db"), again, key=ledger.key).placed
    verified = verify_ledger(again, ledger.key, None, quick=False)
    assert (verified.right, verified.events) == (True, SIZE + 1), verified.first
    assert verified.root == verify_ledger(place, ledger.key, None, quick=False).root
    assert run(sign(again)).checkpoint == run(sign(place)).checkpoint, "the same key signs the same log"


def test_a_backup_from_a_standby_ends_with_the_newest_signed_event(
    replicated: Primary, moved: tuple[Sealed, Place], tmp_path: Path
) -> None:
    ledger, place = moved
    run(append(place, "a"))
    assert run(sign(place)).size == SIZE + 1
    run(append(place, "b", "c"))
    wait_for_replay(replicated)
    (folder := tmp_path / "backups").mkdir()
    copy = on(replicated.standby(1), place)
    made = back_up_database(copy, folder / "b.db", with_key=False)
    assert (made.events, made.checkpoint) == (SIZE + 1, SIZE + 1)
    assert made.standby == f"{replicated.host}:{replicated.standby(1).port}"
    assert names_in(folder) == ["b.db", "b.db.checkpoint", "b.db.evidence"]
    assert verify_ledger(folder / "b.db", ledger.key, None, quick=False).right
    every = back_up_database(place, tmp_path / "all.db", with_key=False)
    assert every.events == SIZE + 3
    assert lines_of(tmp_path / "all.db")[: SIZE + 1] == lines_of(folder / "b.db")

    shutil.copy(f"{place.path}.key", folder / "b.db.key")
    again = Place(tmp_path / "other" / "acme", empty_place(replicated))
    assert move_ledger(Place(folder / "b.db"), again).placed
    assert run(sign(again)).checkpoint.root == verify_ledger(folder / "b.db", ledger.key, None, quick=True).root


def test_a_standby_that_lags_is_waited_for(
    replicated: Primary, moved: tuple[Sealed, Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, place = moved
    replicated.standby(1).pause()
    try:
        run(append(place, "a"))
        assert run(sign(place)).size == SIZE + 1
        copy = on(replicated.standby(1), place)
        with monkeypatch.context() as patched:
            patched.setattr(standby, "CATCH_UP_S", 0.0)
            with pytest.raises(LedgerUnavailable, match=rf"{SIZE} signed events; this machine has seen {SIZE + 1}"):
                back_up_database(copy, tmp_path / "b.db", with_key=False)
        fresh = structs.replace(copy, path=tmp_path / "fresh" / "acme")
        older = back_up_database(fresh, tmp_path / "older.db", with_key=False, without_evidence=True)
        assert (older.events, len(older.missing)) == (SIZE, 1)
    finally:
        replicated.standby(1).resume()
    assert back_up_database(copy, tmp_path / "b.db", with_key=False).events == SIZE + 1


def test_nothing_is_left_of_a_failed_backup(replicated: Primary, moved: tuple[Sealed, Place], tmp_path: Path) -> None:
    _, place = moved
    (folder := tmp_path / "backups").mkdir()

    def stop(done: int, total: int) -> None:
        assert 0 < done <= total
        raise KeyboardInterrupt

    @contextmanager
    def stopping(_label: str, _unit: str) -> Iterator[Callable[[int, int], None]]:
        yield stop

    with pytest.raises(KeyboardInterrupt):
        back_up_database(place, folder / "b.db", with_key=True, progress=stopping)
    assert names_in(folder) == []
    digest = sha256(KEPT).hexdigest()
    for file in EvidenceStore(place.path).folder.rglob(f"*{digest}*"):
        file.unlink()
    with pytest.raises(Damaged):
        back_up_database(place, folder / "b.db", with_key=True)
    assert names_in(folder) == []
    made = back_up_database(place, folder / "b.db", with_key=True, without_evidence=True)
    assert (made.evidence, made.missing) == (0, [digest])
    restored = restore(tmp_path / "restored.db", folder / "b.db", system_clock(), without_evidence=True)
    assert restored.missing == [digest]


def test_an_altered_ledger_is_not_backed_up(replicated: Primary, moved: tuple[Sealed, Place], tmp_path: Path) -> None:
    _, place = moved
    assert place.database is not None
    (folder := tmp_path / "backups").mkdir()
    schema_sql(
        place.database,
        replicated,
        "ALTER TABLE events DISABLE TRIGGER events_unchanged;"
        "UPDATE events SET line = convert_to(replace(convert_from(line, 'UTF8'), 'choice 10', 'choice 99'), 'UTF8')"
        " WHERE position = 11",
    )
    with pytest.raises(LedgerDamaged, match="11"):
        back_up_database(place, folder / "b.db", with_key=False)
    assert names_in(folder) == []


def test_a_standby_without_a_checkpoint_has_nothing_to_back_up(replicated: Primary, tmp_path: Path) -> None:
    place = Place(tmp_path / "state" / "acme", empty_place(replicated))
    assert place.database is not None
    run(create_ledger(place.database))
    run(append(place, "unsigned"))
    wait_for_replay(replicated)
    with pytest.raises(NotFound, match="nothing is signed"):
        back_up_database(on(replicated.standby(1), place), tmp_path / "b.db", with_key=False)
    assert back_up_database(place, tmp_path / "b.db", with_key=False).events == 1
    assert names_in(tmp_path) == ["b.db"]
    with pytest.raises(LedgerUnusable, match="cannot be opened"):
        run(PostgresLog.open(on(replicated.standby(1), place).database))  # type: ignore[arg-type]


def test_a_large_ledger_is_backed_up_from_a_standby(replicated: Primary, tmp_path: Path) -> None:
    large = tmp_path / "large.db"
    run(make_ledger(large, LARGE))
    place = Place(tmp_path / "state" / "acme", empty_place(replicated))
    move_ledger(Place(large), place)
    assert run(sign(place)).size == LARGE
    wait_for_replay(replicated)
    made = back_up_database(on(replicated.standby(1), place), tmp_path / "b.db", with_key=False)
    assert made.events == LARGE
    assert lines_of(tmp_path / "b.db") == lines_of(large)
