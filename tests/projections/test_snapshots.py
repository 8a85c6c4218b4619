"""Snapshots: a start takes up what fits, leaves aside what does not, and always ends in the state a replay gives."""

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from events.envelope import Draft
from projections import engine as engine_module
from projections import slice_reader
from projections.calibration.calibration import Calibration
from projections.decisions.decision_index import DecisionIndex
from projections.projection import Projection
from projections.registry import PROJECTIONS
from projections.snapshots import EARLIER_APART, NEWEST_SNAPSHOTS, Snapshots
from tests.projections.bad_projections import (
    ANEW,
    Counting,
    DecisionsAnew,
    Undecodable,
)
from tests.projections.drafts import amend, record, review
from tests.projections.open_ledgers import (
    SECRET,
    encoded,
    engine,
    post_each,
    views_of,
    write,
)
from tests.projections.test_engine import all_agree, some, twelve
from tests.support.event_loop import run

Position = int
SNAPSHOTS = "SELECT name, version, position FROM snapshots ORDER BY name, position"


@contextmanager
def opened_views(path: Path) -> Iterator[sqlite3.Connection]:
    """The snapshots' file, for a test to spoil."""
    with closing(sqlite3.connect(views_of(path))) as connection, connection:
        yield connection


def kept(path: Path) -> list[tuple[str, int, int]]:
    with opened_views(path) as connection:
        return list(connection.execute(SNAPSHOTS))


def spoil(path: Path, statement: str) -> None:
    with opened_views(path) as connection:
        connection.create_function("flip", 1, lambda blob: bytes([blob[0] ^ 1]) + blob[1:])
        assert connection.execute(statement).rowcount > 0


async def start(path: Path, kinds: tuple[type[Projection], ...] = PROJECTIONS, *, crash: bool = False) -> set[Position]:
    """Start an engine, see that it is right, and say behind which positions it folded."""
    folded: set[Position] = set()
    async with engine(path, kinds, progress=lambda at, _: folded.add(at), crash=crash) as opened:
        reported = set(folded)
        await all_agree(opened)
    return reported


async def append(path: Path, drafts: list[Draft], *, crash: bool = False) -> None:
    """Append to a ledger under an engine that folds what is appended."""
    async with engine(path, crash=crash) as opened:
        await opened.log.append(drafts)
        await opened.engine.catch_up()
        await all_agree(opened)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger of twelve events whose views were kept at 12; slices are of one event."""
    monkeypatch.setattr(slice_reader, "SLICE_EVENTS", 1)
    run(append(tmp_path / "ledger.db", twelve()))
    return tmp_path / "ledger.db"


def test_a_restart_goes_on_from_what_was_kept(path: Path) -> None:
    assert kept(path) == sorted((kind.name, kind.version, 12) for kind in PROJECTIONS)
    assert run(start(path)) == set()
    run(write(path, some(1, "more")))
    assert run(start(path)) == {13, 14, 15}
    assert run(start(path)) == set()
    assert [position for *_, position in kept(path)] == [12, 15] * len(PROJECTIONS)


def test_a_restated_confidence_survives_a_restart(path: Path) -> None:
    run(write(path, [record("r", 0.5)]))
    run(start(path))
    run(write(path, [amend("r", confidence=0.6, tags=("z",)), review("r"), amend("r", confidence=0.1)]))
    assert run(start(path)) == {14, 15, 16}


def test_what_views_kept_in_another_version_is_computed_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state that it was saved with is taken up all the same."""
    monkeypatch.setattr(Calibration, "kept", lambda _: lambda _: msgspec.msgpack.encode(["another version"]))
    run(append(path, some(1, "more")))
    assert run(start(path)) == set()


def test_a_crash_between_folding_and_keeping_loses_nothing(path: Path) -> None:
    run(append(path, some(2, "more"), crash=True))
    assert [position for *_, position in kept(path)] == [12] * len(PROJECTIONS)
    assert run(start(path)) == {13, 14, 15, 16, 17, 18}


def test_a_crash_before_anything_was_kept_loses_nothing(tmp_path: Path) -> None:
    run(append(tmp_path / "ledger.db", some(2), crash=True))
    assert kept(tmp_path / "ledger.db") == []
    assert run(start(tmp_path / "ledger.db"))


def test_snapshots_of_another_ledger_are_left_aside(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    run(write(other, [*some(3, "other"), record("x"), record("y"), record("z"), record("last")]))
    shutil.copy(views_of(path), views_of(other))
    assert run(start(other)) == set(range(1, 14))
    assert run(start(other)) == set()


@pytest.mark.slow
def test_snapshots_ahead_of_a_restored_ledger_are_left_aside_and_let_go(path: Path, tmp_path: Path) -> None:
    """A backup is put back and goes on another way; what was kept of the lost history must not crowd that out."""
    backup = tmp_path / "backup.db"
    shutil.copy(path, backup)
    for number in range(NEWEST_SNAPSHOTS + EARLIER_APART + 1):
        run(append(path, some(1, f"lost{number}-")))
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    shutil.copy(backup, path)
    spoil(path, "DELETE FROM snapshots WHERE position <= 12")
    assert run(start(path)) == set(range(1, 13)), "none at or before 12 is left"
    run(append(path, some(1, "other")))
    assert run(start(path)) == set(), "new snapshots are kept, although the lost history had later ones"
    assert {position for *_, position in kept(path)} == {12, 15}


@pytest.mark.parametrize("name", [kind.name for kind in PROJECTIONS])
def test_a_damaged_state_is_folded_again(path: Path, name: str) -> None:
    spoil(path, f"UPDATE snapshots SET contents = flip(contents) WHERE name = '{name}'")
    assert run(start(path)) == set(range(1, 13))


def test_a_damaged_state_gives_way_to_an_older_one(path: Path) -> None:
    run(append(path, some(1, "more")))
    spoil(path, "UPDATE snapshots SET contents = flip(contents) WHERE position = 15")
    assert run(start(path)) == {13, 14, 15}


@pytest.mark.parametrize("damage", ["seal = flip(seal)", "root = flip(root)", "position = 11", "version = 9"])
def test_a_damaged_row_is_folded_again(path: Path, damage: str) -> None:
    spoil(path, f"UPDATE snapshots SET {damage}")
    assert run(start(path)) == set(range(1, 13))


def test_a_state_that_cannot_be_decoded_is_folded_again(path: Path) -> None:
    kinds: tuple[type[Projection], ...] = (*PROJECTIONS, Undecodable)
    assert run(start(path, kinds)) == set(range(1, 13))
    run(append(path, some(1, "more")))
    assert run(start(path, kinds)) == set(range(1, 16))


def garbage(file: Path) -> None:
    file.write_bytes(b"no snapshots here " * 500)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:5_000])


def riddled(file: Path) -> None:
    """Keep the header, and overwrite every page after the first with garbage."""
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))


def gone(file: Path) -> None:
    file.unlink()


def of_another_shape(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE snapshots (name TEXT, body BLOB)")


@pytest.mark.parametrize("damage", [garbage, empty, cut_short, riddled, gone, of_another_shape])
def test_a_damaged_file_is_made_anew(path: Path, damage: Callable[[Path], None]) -> None:
    for suffix in ("-wal", "-shm"):
        assert not views_of(path).with_name(views_of(path).name + suffix).exists()
    damage(views_of(path))
    assert run(start(path)) == set(range(1, 13))
    run(append(path, some(1, "more")))
    run(append(path, some(1, "again")))
    assert run(start(path)) == set(), "snapshots are kept again"


def test_a_folder_in_the_files_place_is_done_without(path: Path) -> None:
    views_of(path).unlink()
    views_of(path).mkdir()
    (views_of(path) / "something").touch()
    assert run(start(path)) == set(range(1, 13))
    assert (views_of(path) / "something").exists()


def test_a_reader_finds_none_and_makes_none(tmp_path: Path) -> None:
    async def scenario(file: Path) -> None:
        snapshots = await Snapshots.open(file, writable=False, secret=SECRET)
        try:
            assert await snapshots.latest("decisions", DecisionIndex.version, 99) is None
            assert not await snapshots.save(1, b"", [])
        finally:
            await snapshots.close()

    run(scenario(tmp_path / "none.views.db"))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "garbage.views.db").write_bytes(b"garbage" * 999)
    run(scenario(tmp_path / "garbage.views.db"))
    assert (tmp_path / "garbage.views.db").read_bytes() == b"garbage" * 999, "a reader changes nothing"


def link(file: Path) -> None:
    file.symlink_to(file.rename(file.with_name("elsewhere.db")))


@pytest.mark.parametrize("damage", [garbage, empty, cut_short, riddled, gone, of_another_shape, link])
def test_a_reader_finds_none_in_a_file_that_cannot_be_used(path: Path, damage: Callable[[Path], None]) -> None:
    damage(views_of(path))
    before = views_of(path).read_bytes() if views_of(path).exists() else None

    async def scenario() -> None:
        snapshots = await Snapshots.open(views_of(path), writable=False, secret=SECRET)
        try:
            assert await snapshots.latest("decisions", DecisionIndex.version, 99) is None
            assert not snapshots.damaged
        finally:
            await snapshots.close()

    run(scenario())
    assert (views_of(path).read_bytes() if views_of(path).exists() else None) == before, "a reader changes nothing"


def test_a_reader_opens_one_connection_and_no_thread_of_its_own(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, opened = sqlite3.connect, list[str]()

    def note(database: str, **options: object) -> sqlite3.Connection:
        opened.append(threading.current_thread().name)
        return connect(database, **options)  # type: ignore[call-overload, no-any-return]

    async def scenario() -> None:
        snapshots = await Snapshots.open(views_of(path), writable=False, secret=SECRET)
        try:
            assert await snapshots.latest("decisions", DecisionIndex.version, 99) is not None
        finally:
            await snapshots.close()

    run(scenario())  # the schema to compare with is made once
    monkeypatch.setattr(sqlite3, "connect", note)
    run(scenario())
    assert len(opened) == 1
    assert opened[0].startswith("asyncio"), "the event loop's thread for work of any kind"


def test_a_reader_takes_up_what_the_writer_kept(path: Path) -> None:
    async def scenario() -> None:
        snapshots = await Snapshots.open(views_of(path), writable=False, secret=SECRET)
        try:
            found = await snapshots.latest("decisions", DecisionIndex.version, 99)
            assert found is not None
            assert (found.position, len(snapshots.restore(DecisionIndex, found))) == (12, 4)
            assert await snapshots.latest("decisions", DecisionIndex.version, 11) is None
            assert await snapshots.latest("decisions", DecisionIndex.version + 1, 99) is None
            assert not await snapshots.save(5, b"", [])
        finally:
            await snapshots.close()

    run(scenario())
    assert [position for *_, position in kept(path)] == [12] * len(PROJECTIONS), "a reader keeps nothing"


def test_projections_kept_at_different_positions_start_together(path: Path) -> None:
    run(append(path, some(1, "more")))
    spoil(path, "DELETE FROM snapshots WHERE name = 'decisions' AND position = 15")
    run(write(path, [record("last")]))
    assert run(start(path)) == {13, 14, 15, 16}
    spoil(path, "DELETE FROM snapshots WHERE name = 'calibration'")
    run(write(path, [record("very-last")]))
    assert run(start(path)) == set(range(1, 18))


def test_a_projection_new_to_a_ledger_is_folded_from_1(path: Path) -> None:
    assert run(start(path, (*PROJECTIONS, Counting))) == set(range(1, 13))


def test_another_version_is_folded_again_and_the_old_one_let_go(path: Path) -> None:
    assert run(start(path, ANEW)) == set(range(1, 13))
    run(write(path, some(1, "more")))
    run(start(path, ANEW))
    assert ("decisions", DecisionsAnew.version, 15) in kept(path)
    assert not [row for row in kept(path) if row[:2] == ("decisions", DecisionIndex.version)]
    assert run(start(path, ANEW)) == set()
    assert run(start(path)) == set(range(1, 16)), "and back again"


@pytest.mark.slow
def test_few_are_kept_and_each_dates_a_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "SNAPSHOT_EVENTS_MIN", 2)
    path = tmp_path / "ledger.db"
    states: list[dict[str, tuple[bytes, str]]] = []

    async def scenario() -> None:
        async with engine(path) as opened:
            for draft in some(20):
                states.append(encoded(opened.engine))
                await opened.log.append([draft])
                await opened.engine.catch_up()
                await opened.engine._store.finish()  # one that is still being saved would leave out the next
            for position, state in enumerate(states):
                seen = [(await opened.engine.at(kind, position))[0] for kind in PROJECTIONS]
                assert encoded(seen) == state

    run(scenario())
    positions = [position for name, _, position in kept(path) if name == "decisions"]
    assert NEWEST_SNAPSHOTS < len(positions) <= NEWEST_SNAPSHOTS + EARLIER_APART
    assert max(positions) == 60
    assert all(after - before <= 60 // 2 for before, after in pairwise([0, *positions]))


@pytest.mark.parametrize("crash", [False, True])
def test_what_is_kept_while_catching_up_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash: bool
) -> None:
    monkeypatch.setattr(engine_module, "SNAPSHOT_EVENTS_MIN", 4)
    monkeypatch.setattr(slice_reader, "SLICE_EVENTS", 1)
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with engine(path, crash=crash) as opened:
            for at in range(0, 9, 3):
                await post_each(opened.log, twelve()[at : at + 3])
                await opened.engine.catch_up()

    run(scenario())
    assert kept(path), "kept without closing"
    behind = max(position for *_, position in kept(path))
    assert behind == (6 if crash else 9)
    assert run(start(path)) == set(range(behind + 1, 10))
