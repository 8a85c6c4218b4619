"""A ledger that is moved between a file and PostgreSQL is the same ledger, and the old place accepts no events."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from api.export import open_export, parse_selection, write_export
from api.importers.ledger_move import PAGE_EVENTS, move_ledger
from api.importers.ledger_rebuild import LedgerImportResult, rebuild_ledger
from api.service.ledger import LedgerService
from api.service.projections import replay_projections
from api.service.shared_tokens import open_tokens
from api.verify import verify_ledger
from benchmarks.ledgers import make_ledger
from events.errors import TallystickError
from ledger.clock import system_clock
from ledger.errors import Damaged, InvalidQuery, LedgerLocked, LedgerUnavailable, LedgerUnusable, Occupied
from ledger.evidence_store import EvidenceStore
from ledger.place import Place
from ledger.postgres.create import create_ledger, grant_access, list_ledgers
from ledger.postgres.log import PostgresLog
from ledger.postgres.moved import lift_seal
from ledger.postgres.reader import PostgresReader
from ledger.sqlite.lock import WriterLock
from ledger.sqlite.log import SqliteLog
from ledger.transparency.signed_note import SignedCheckpoint
from tests.api.verify.exported import export_all
from tests.api.verify.sealed_ledger import GONE, KEPT, SIZE, Sealed, alter, sealed
from tests.ledger.postgres.places import empty_place, schema_sql
from tests.support.drafts import recorded
from tests.support.event_loop import run
from tests.support.postgres import Primary
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow

LARGE = 3 * PAGE_EVENTS + 100


@pytest.fixture
def ledger(tmp_path: Path) -> Sealed:
    (tmp_path / "old").mkdir()
    return sealed(tmp_path / "old" / "t.db")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.db"
    run(make_ledger(path, LARGE))
    return path


def new_place(server: Primary, folder: Path, user: str = "postgres") -> Place:
    """A place in a new database, without a ledger."""
    return Place(folder / "state" / "acme", empty_place(server, user), "local")


def rows_of(ledger: Path) -> list[tuple[object, ...]]:
    """The rows of a ledger file, with its tiles."""
    with closing(sqlite3.connect(ledger)) as connection:
        events = connection.execute("SELECT * FROM events ORDER BY position").fetchall()
        return events + connection.execute("SELECT * FROM tiles ORDER BY level, number").fetchall()


def files_beside(ledger: Path) -> dict[str, bytes]:
    """The files that belong to a ledger, by the ending of the name."""
    found = ((ending, ledger.with_name(ledger.name + ending)) for ending in (".key", ".tokens", ".checkpoint"))
    return {ending: path.read_bytes() for ending, path in found if path.exists()}


def stop_at(position: int) -> Callable[[int, int], None]:
    """Progress that interrupts the import, as Ctrl-C does."""

    def report(done: int, total: int) -> None:
        if done >= position:
            raise KeyboardInterrupt

    return report


async def append_one(place: Place, name: str) -> int:
    """Append a decision; return the position."""
    log = await (
        SqliteLog.open(place.path) if place.database is None else PostgresLog.open(place.database, durability="local")
    )
    try:
        (appended,) = await log.append([recorded(name)])
        return appended.position
    finally:
        await log.close()


def refusal(place: Place, error: type[TallystickError] = LedgerUnusable) -> str:
    """Why a place accepts no event."""
    with pytest.raises(error) as raised:
        run(append_one(place, "refused"))
    return str(raised.value)


async def sign(place: Place) -> None:
    """Sign a checkpoint of all events: an export needs one."""
    service = await LedgerService.open(place, writable=True, views=False)
    await service.proving.checkpoint(LARGE)
    await service.close()


async def digests(place: Place, folder: Path) -> tuple[list[tuple[str, int, str]], bytes]:
    """The digest of the encoded state of each view, and the exported lines."""
    service = await LedgerService.open(place, writable=False, views=False)
    try:
        folded = await replay_projections(service, None, None, check=False, progress=lambda done, total: None)
        async with open_export(service, parse_selection({})) as export:
            await write_export(export, folder, lambda done, total: None)
    finally:
        await service.close()
    return [(one.name, one.position, one.digest) for one in folded], (folder / "events.ndjson").read_bytes()


def test_a_ledger_moves_to_postgresql_and_back(ledger: Sealed, postgres: Primary, tmp_path: Path) -> None:
    old, there, back = Place(ledger.path), new_place(postgres, tmp_path), Place(tmp_path / "back.db")
    before, beside = rows_of(ledger.path), files_beside(ledger.path)
    assert ".key" in beside
    moved = move_ledger(old, there, key=ledger.key)
    assert (moved.placed, moved.report.events, moved.evidence, moved.sealed) == (True, SIZE, 1, str(old))
    assert files_beside(there.path) == beside
    verified = verify_ledger(there, ledger.key, None, quick=False)
    assert verified.right, verified.first
    assert verified.root == moved.report.root
    assert f"was moved to {there}" in refusal(old)
    assert move_ledger(there, back, key=ledger.key).report.root == moved.report.root
    assert rows_of(back.path) == before
    assert files_beside(back.path) == beside
    assert EvidenceStore(back.path).is_readable(sha256(KEPT).hexdigest(), len(KEPT))
    assert not EvidenceStore(back.path).exists(sha256(GONE).hexdigest())
    assert verify_ledger(back.path, ledger.key, None, quick=False).right
    assert f"was moved to {back}" in refusal(there)
    assert run(append_one(back, "after")) == SIZE + 1


def test_tokens_and_checkpoints_are_those_of_every_node_after_a_move(
    ledger: Sealed, postgres: Primary, tmp_path: Path
) -> None:
    old, there, back = Place(ledger.path), new_place(postgres, tmp_path), Place(tmp_path / "back.db")
    open_tokens(old).add("ada", ("read",), system_clock())
    tokens = open_tokens(old).list()
    move_ledger(old, there, key=ledger.key)
    other = Place(tmp_path / "other" / "acme", there.database, "local")
    assert open_tokens(other).list() == tokens

    async def newest(place: Place) -> SignedCheckpoint | None:
        service = await LedgerService.open(place, writable=True, views=False)
        try:
            return await service.proving.checkpoint(SIZE)
        finally:
            await service.close()

    signed = run(newest(there))
    assert signed is not None
    assert signed.size == SIZE
    assert str(run(newest(other))) == str(signed), "a node without the key serves what the other signed"
    move_ledger(there, back, key=ledger.key)
    assert open_tokens(back).list() == tokens


def test_views_exports_and_roots_are_equal(large: Path, postgres: Primary, tmp_path: Path) -> None:
    there, back = new_place(postgres, tmp_path), Place(tmp_path / "back.db")
    first = move_ledger(Place(large), there, keep=True)
    second = move_ledger(there, back, keep=True)
    assert first.report.root == second.report.root
    answers = []
    for number, place in enumerate((Place(large), there, back)):
        run(sign(place))
        answers.append(run(digests(place, tmp_path / f"export{number}")))
    assert len(answers[0][0]) > 5
    assert answers[0] == answers[1] == answers[2]


def test_a_node_that_has_the_old_place_open_is_refused(ledger: Sealed, postgres: Primary, tmp_path: Path) -> None:
    there, back = new_place(postgres, tmp_path), Place(tmp_path / "back.db")
    move_ledger(Place(ledger.path), there)
    assert there.database is not None

    async def scenario() -> None:
        assert there.database is not None
        log = await PostgresLog.open(there.database, durability="local")
        await log.append([recorded("before")])
        await asyncio.to_thread(move_ledger, there, back)
        with pytest.raises(LedgerUnavailable, match=r"moved to .*back\.db\..*Nothing was written"):
            await log.append([recorded("after")])
        assert (await log.head()).position == SIZE + 1, "it can still be read"
        await log.close()
        await lift_seal(there.database)

    run(scenario())
    assert len(rows_of(back.path)) == SIZE + 1 + 2
    assert run(append_one(there, "lifted")) == SIZE + 2


def test_an_interrupted_move_is_refused_and_continues(large: Path, postgres: Primary, tmp_path: Path) -> None:
    old, there = Place(large), new_place(postgres, tmp_path)
    assert there.database is not None
    with pytest.raises(KeyboardInterrupt):
        move_ledger(old, there, keep=True, progress=stop_at(2 * PAGE_EVENTS))
    assert schema_sql(there.database, postgres, "SELECT position, complete FROM head") == f"{2 * PAGE_EVENTS}|f"
    assert "is incomplete: an import into it has not ended" in refusal(there)
    with pytest.raises(LedgerUnusable, match="is incomplete"):
        run(PostgresReader.open(there.database))
    first = schema_sql(there.database, postgres, "SELECT xmin FROM events WHERE position = 1")
    assert move_ledger(old, there, keep=True).placed
    assert schema_sql(there.database, postgres, "SELECT xmin FROM events WHERE position = 1") == first, "it continued"
    assert verify_ledger(there, None, None, quick=False).right
    assert run(append_one(there, "after")) == LARGE + 1


def test_an_interrupted_move_lifts_the_seal(ledger: Sealed, postgres: Primary, tmp_path: Path) -> None:
    there = new_place(postgres, tmp_path)
    there.make_folder()
    there.path.with_name("acme.key").write_text("another key\n")
    with pytest.raises(Occupied, match=r"acme\.key exists already"):
        move_ledger(Place(ledger.path), there)
    assert run(append_one(Place(ledger.path), "meanwhile")) == SIZE + 1
    there.path.with_name("acme.key").unlink()
    assert move_ledger(Place(ledger.path), there).report.events == SIZE + 1
    assert verify_ledger(there, ledger.key, None, quick=False).right


def test_an_incomplete_ledger_of_another_one_is_refused(
    ledger: Sealed, large: Path, postgres: Primary, tmp_path: Path
) -> None:
    there = new_place(postgres, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        move_ledger(Place(large), there, keep=True, progress=stop_at(PAGE_EVENTS))
    with pytest.raises(LedgerUnusable, match="has an incomplete import of another ledger"):
        move_ledger(Place(ledger.path), there)
    assert run(append_one(Place(ledger.path), "unsealed")) == SIZE + 1


def test_a_ledger_with_events_is_not_overwritten(ledger: Sealed, postgres: Primary, tmp_path: Path) -> None:
    there = new_place(postgres, tmp_path)
    assert there.database is not None
    run(create_ledger(there.database))
    assert run(append_one(there, "first")) == 1
    with pytest.raises(LedgerUnusable, match="holds events already"):
        move_ledger(Place(ledger.path), there)
    other = Place(tmp_path / "other.db")
    assert run(append_one(other, "first")) == 1
    with pytest.raises(LedgerUnusable, match="holds events already"):
        move_ledger(there, other)
    assert run(append_one(there, "second")) == 2, "it is not sealed"
    with pytest.raises(InvalidQuery, match="is the ledger itself"):
        move_ledger(there, there)


def test_a_move_that_was_killed_after_its_last_step_is_complete(
    ledger: Sealed, postgres: Primary, tmp_path: Path
) -> None:
    old, there, back = Place(ledger.path), new_place(postgres, tmp_path), Place(tmp_path / "back.db")
    root = move_ledger(old, there).report.root
    again = move_ledger(old, there)
    assert (again.placed, again.complete_before, again.report.root, again.sealed) == (True, True, root, str(old))
    assert run(append_one(there, "next")) == SIZE + 1
    assert move_ledger(old, there).complete_before, "it may have grown since"
    moved = move_ledger(there, back)
    assert (moved.report.events, moved.complete_before) == (SIZE + 1, False)
    assert (move_ledger(there, back).report.root, refusal(there)) == (moved.report.root, refusal(there))
    assert move_ledger(there, back).complete_before
    with pytest.raises(LedgerUnusable, match="was moved to"):
        move_ledger(old, Place(tmp_path / "elsewhere.db"))


def test_an_empty_ledger_that_was_made_before_is_filled(ledger: Sealed, postgres: Primary, tmp_path: Path) -> None:
    there = new_place(postgres, tmp_path)
    assert there.database is not None
    run(create_ledger(there.database))
    assert move_ledger(Place(ledger.path), there).placed
    assert run(append_one(there, "next")) == SIZE + 1


def test_an_altered_ledger_is_not_moved(ledger: Sealed, postgres: Primary, tmp_path: Path) -> None:
    alter(
        ledger.path,
        "UPDATE events SET line = CAST(replace(line, 'choice 10', 'choice 99') AS BLOB) WHERE position = 11",
    )
    there = new_place(postgres, tmp_path)
    result = move_ledger(Place(ledger.path), there)
    assert not result.placed
    assert result.report.first is not None
    assert result.report.first.position == 11
    assert there.database is not None
    assert run(list_ledgers(there.database)) == [], "nothing is left of the attempt"
    assert run(append_one(Place(ledger.path), "unsealed")) == SIZE + 1


def test_a_ledger_behind_its_checkpoint_is_not_moved(ledger: Sealed, postgres: Primary, tmp_path: Path) -> None:
    there = new_place(postgres, tmp_path)
    shorter = sealed(tmp_path / "shorter.db", SIZE - 1)
    for ending in (".key", ".checkpoint"):
        source = ledger.path.with_name(ledger.path.name + ending)
        shorter.path.with_name(shorter.path.name + ending).write_bytes(source.read_bytes())
    result = move_ledger(Place(shorter.path), there)
    assert not result.placed
    assert result.report.first is not None
    assert f"is of {SIZE} events; there are {SIZE - 1}" in result.report.first.detail


def test_a_file_that_is_written_is_not_moved(ledger: Sealed, postgres: Primary, tmp_path: Path) -> None:
    lock = WriterLock.acquire(ledger.path)
    try:
        with pytest.raises(LedgerLocked):
            move_ledger(Place(ledger.path), new_place(postgres, tmp_path))
    finally:
        lock.release()


def test_a_copy_has_no_key_and_leaves_the_old_place_open(ledger: Sealed, postgres: Primary, tmp_path: Path) -> None:
    there, copy = new_place(postgres, tmp_path), Place(tmp_path / "copy.db")
    move_ledger(Place(ledger.path), there)
    result = move_ledger(there, copy, keep=True)
    assert (result.placed, result.sealed) == (True, None)
    assert sorted(files_beside(copy.path)) == [".checkpoint"]
    assert verify_ledger(copy.path, ledger.key, None, quick=False).right
    assert run(append_one(there, "next")) == SIZE + 1


def test_missing_evidence_stops_a_move_unless_it_is_accepted(ledger: Sealed, postgres: Primary, tmp_path: Path) -> None:
    there, digest = new_place(postgres, tmp_path), sha256(KEPT).hexdigest()
    (EvidenceStore(ledger.path).folder / digest[:2] / digest).unlink(missing_ok=True)
    for file in EvidenceStore(ledger.path).folder.rglob(f"*{digest}*"):
        file.unlink()
    with pytest.raises(Damaged):
        move_ledger(Place(ledger.path), there)
    result = move_ledger(Place(ledger.path), there, without_evidence=True)
    assert (result.placed, result.missing) == (True, (digest,))


def test_a_role_that_may_not_seal_moves_nothing(ledger: Sealed, postgres: Primary, tmp_path: Path) -> None:
    there = new_place(postgres, tmp_path)
    assert there.database is not None
    move_ledger(Place(ledger.path), there)
    role = f"r{there.database.database}"
    postgres.psql(f"CREATE ROLE {role} LOGIN")
    run(grant_access(there.database, role))
    served = Place.parse(str(there.database).replace("postgres@", f"{role}@"), tmp_path / "state")
    with pytest.raises(LedgerUnusable, match="may not seal"):
        move_ledger(served, Place(tmp_path / "back.db"))
    assert not (tmp_path / "back.db").exists()
    assert move_ledger(served, Place(tmp_path / "copy.db"), keep=True).placed


def test_an_export_becomes_a_ledger_in_postgresql(ledger: Sealed, postgres: Primary, tmp_path: Path) -> None:
    there = new_place(postgres, tmp_path)
    export_all(ledger.path, {tmp_path / "audit.zip": {"evidence": "true"}})
    result: LedgerImportResult = rebuild_ledger(tmp_path / "audit.zip", there, ledger.key)
    assert (result.placed, result.evidence) == (True, 1)
    assert there.path.with_name("acme.imported").exists()
    assert not there.path.with_name("acme.key").exists()
    verified = verify_ledger(there, None, None, quick=False)
    assert verified.right, verified.first
    assert verified.root == result.report.root
    assert run(append_one(there, "next")) == SIZE + 1


def test_the_database_reads_no_more_than_it_inserts(large: Path, postgres: Primary, tmp_path: Path) -> None:
    there = new_place(postgres, tmp_path)
    assert there.database is not None
    move_ledger(Place(large), there, keep=True)
    ours = f"datname = '{there.database.database}' AND application_name = 'tallystick'"
    wait_until(lambda: postgres.psql(f"SELECT count(*) FROM pg_stat_activity WHERE {ours}") == "0", postgres)
    index = "indexrelname = 'events_subject_streamversion_key'"
    read = postgres.psql(f"SELECT idx_tup_read FROM pg_stat_user_indexes WHERE {index}", there.database.database)
    assert 0 < int(read) <= LARGE, "one look-up for each event that continues a stream"


def test_a_hundred_thousand_events_move_both_ways(postgres: Primary, tmp_path: Path) -> None:
    run(make_ledger(tmp_path / "old.db", 100_000))
    there, back = new_place(postgres, tmp_path), Place(tmp_path / "back.db")
    first = move_ledger(Place(tmp_path / "old.db"), there)
    second = move_ledger(there, back)
    assert first.report.events == second.report.events == 100_000
    assert first.report.root == second.report.root
    assert rows_of(tmp_path / "old.db") == rows_of(back.path)
