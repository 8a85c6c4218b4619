"""I1 and I2 are the file's own law: plain SQLite, without any of our code, cannot break them."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from events.limits import GROUP_EVENTS_MAX
from ledger.sqlite.log import SqliteLog
from ledger.sqlite.schema import COLUMNS, insert_statement, statement_rows
from tests.support.drafts import batch_of
from tests.support.event_loop import run

ROW = (4, "s", "i4", "decision/d4", 1, "t", 0, 0, b"{}")


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A plain connection to a ledger of three events, on streams d0..d2 with ids d0..d2."""

    async def fill() -> None:
        log = await SqliteLog.open(tmp_path / "ledger.db")
        await log.append(batch_of(3))
        await log.close()

    run(fill())
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as connection:
        before = connection.execute("SELECT * FROM events").fetchall()
        assert len(before) == 3
        yield connection
        assert connection.execute("SELECT * FROM events WHERE position <= 3").fetchall() == before


def row(**columns: object) -> tuple[object, ...]:
    """The next row, with some columns another."""
    return tuple((dict(zip(COLUMNS, ROW, strict=True)) | columns).values())


PLACES = ", ".join("?" * len(COLUMNS))
TAKEN = {"source": "/agents/tester", "id": "d0"}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET line = x'00' WHERE position = 1",
        "UPDATE events SET position = 9 WHERE position = 3",
        "UPDATE OR REPLACE events SET position = 1 WHERE position = 3",
        "UPDATE OR IGNORE events SET time = 0",
        "DELETE FROM events",
        "DELETE FROM events WHERE position = 3",
    ],
)
def test_i2_update_and_delete_are_refused(plain: sqlite3.Connection, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="never"):
        plain.execute(statement)


@pytest.mark.parametrize("verb", ["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE", "REPLACE"])
@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"position": 1}, "head"),
        ({"position": 3}, "head"),
        ({"position": 5}, "head"),
        ({"position": 0}, "head"),
        ({"position": -1}, "head"),
        ({"position": None}, "head"),
        (TAKEN, "id is taken"),
        ({"subject": "decision/d0"}, "streamversion"),
        ({"streamversion": 2}, "streamversion"),
        ({"streamversion": 0}, "streamversion"),
        ({"subject": "decision/d1", "streamversion": 3}, "streamversion"),
    ],
    ids=str,
)
def test_i1_i2_no_insert_replaces_or_leaves_a_gap(
    plain: sqlite3.Connection, verb: str, columns: dict[str, object], match: str
) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=match):
        plain.execute(f"{verb} INTO events VALUES ({PLACES})", row(**columns))


def test_i2_an_upsert_is_an_update(plain: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        plain.execute(f"INSERT INTO events VALUES ({PLACES}) ON CONFLICT DO UPDATE SET line = x'00'", row(**TAKEN))


@pytest.mark.parametrize("columns", [{"line": "text"}, {"line": None}, {"time": "soon"}, {"source": None}], ids=str)
def test_columns_keep_their_types(plain: sqlite3.Connection, columns: dict[str, object]) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        plain.execute(f"INSERT INTO events VALUES ({PLACES})", row(**columns))


def test_the_next_event_is_admitted(plain: sqlite3.Connection) -> None:
    plain.execute(f"INSERT INTO events VALUES ({PLACES})", ROW)
    plain.execute(f"INSERT INTO events VALUES ({PLACES})", row(position=5, id="i5", streamversion=2))
    assert plain.execute("SELECT max(position) FROM events").fetchone() == (5,)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 1023, 1024, 1025, 2000, GROUP_EVENTS_MAX])
def test_a_statement_has_space_for_its_rows_and_sqlite_takes_it(plain: sqlite3.Connection, rows: int) -> None:
    places = statement_rows(rows)
    assert rows <= places < 2 * rows
    values: list[object] = []
    for number in range(rows):
        values += row(position=4 + number, id=f"i{number}", subject=f"decision/n{number}")
    values += [None] * ((places - rows) * len(COLUMNS))
    plain.execute(insert_statement(places), values)
    assert plain.execute("SELECT max(position) FROM events").fetchone() == (3 + rows,)


HASHES = bytes(8_192)


@pytest.mark.parametrize(
    ("statement", "values", "match"),
    [
        ("INSERT INTO tiles VALUES (0, 1, ?)", (HASHES,), "next of its level"),
        ("INSERT INTO tiles VALUES (0, -1, ?)", (HASHES,), "next of its level"),
        ("INSERT OR REPLACE INTO tiles VALUES (1, 0, ?)", (HASHES,), "next of its level"),
        ("INSERT INTO tiles VALUES (0, 0, ?)", (HASHES[1:],), "CHECK"),
        ("UPDATE tiles SET hashes = ?", (HASHES,), "never change"),
        ("DELETE FROM tiles WHERE level = ?", (1,), "never deleted"),
    ],
)
def test_i7_tiles_stand_side_by_side_and_stay(
    plain: sqlite3.Connection, statement: str, values: tuple[object, ...], match: str
) -> None:
    plain.execute("INSERT INTO tiles VALUES (1, 0, ?)", (HASHES,))
    with pytest.raises(sqlite3.IntegrityError, match=match):
        plain.execute(statement, values)
