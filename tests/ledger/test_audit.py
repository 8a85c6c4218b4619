"""An audit works everything out from the lines, and names each place where the file disagrees with itself."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from ledger.audit import Audit, audit
from ledger.errors import LedgerUnusable
from ledger.note import Checkpoint
from ledger.sqlite import SqliteLog
from tests.drafts import recorded, thought

SIZE = 600
"""Two full tiles, and 88 lines behind them."""


async def _make(path: Path, size: int) -> None:
    log = await SqliteLog.open(path)
    await log.append(
        [recorded(f"d-{at}", f"choice {at}") if at % 2 == 0 else thought(f"d-{at - 1}") for at in range(size)]
    )
    await log.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("audit") / "ledger.db"
    asyncio.run(_make(path, SIZE))
    return path


@pytest.fixture
def ledger(made: Path, tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    path.write_bytes(made.read_bytes())
    return path


def audited(path: Path, checkpoint: Checkpoint | None = None) -> Audit:
    return asyncio.run(audit(path, checkpoint=checkpoint))


def told(path: Path, checkpoint: Checkpoint | None = None) -> list[str]:
    return [str(flaw) for flaw in audited(path, checkpoint).flaws]


def sealed(path: Path) -> Checkpoint:
    found = audited(path)
    return Checkpoint("log", found.size, found.edge.root())


def alter(path: Path, *statements: str) -> None:
    """Change a ledger as somebody would who gets round its triggers, and leave them as they were."""
    connection = sqlite3.connect(path)
    triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.close()


def test_what_was_appended_is_whole_beside_its_writer_and_under_its_checkpoint(ledger: Path) -> None:
    checkpoint = sealed(ledger)

    async def beside() -> None:
        log = await SqliteLog.open(ledger)
        await log.append([recorded("later")])
        found = await audit(ledger, checkpoint=checkpoint)
        assert (found.size, found.edge, found.flaws) == (SIZE + 1, log.edge, [])
        await log.close()

    asyncio.run(beside())


def test_an_empty_ledger_is_whole(tmp_path: Path) -> None:
    asyncio.run(_make_empty(tmp_path / "empty.db"))
    assert audited(tmp_path / "empty.db")[::2] == (0, [])


async def _make_empty(path: Path) -> None:
    await (await SqliteLog.open(path)).close()


ALTERATIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "a text in a tile": (
        ("UPDATE events SET line = CAST(replace(line, 'choice 16', 'choice 61') AS BLOB) WHERE position = 17",),
        "tile 0/0, hash 16: it is not that of the line of position 17",
    ),
    "a column": (
        ("UPDATE events SET type = 'decision.thought.v1' WHERE position = 301",),
        "position 301: its line says type 'decision.recorded.v1', its row 'decision.thought.v1'",
    ),
    "no JSON": (("UPDATE events SET line = x'7b' WHERE position = 7",), "position 7: its line is no stored event"),
    "a row gone": (("DELETE FROM events WHERE position = 9",), "position 9: position 10 stands in its place"),
    "the last rows gone": (("DELETE FROM events WHERE position > 500",), "the tiles: there are 2; 500 lines fill 1"),
    "two rows swapped": (
        (
            "UPDATE events SET position = -1 WHERE position = 21",
            "UPDATE events SET position = 21 WHERE position = 22",
            "UPDATE events SET position = 22 WHERE position = -1",
        ),
        "position 21: its line says position 22, its row 21",
    ),
    "recorded backwards": (
        ("UPDATE events SET recordedtime = 1 WHERE position = 40",),
        "position 40: it was recorded before the one in front of it",
    ),
    "a stream with a gap": (
        ("UPDATE events SET streamversion = 3 WHERE position = 50",),
        "position 50: streamversion 3 of decision/d-48 is not the next",
    ),
    "a tile": (
        ("UPDATE tiles SET hashes = CAST(zeroblob(32) || substr(hashes, 33) AS BLOB) WHERE number = 1",),
        "tile 0/1, hash 0: it is not that of the line of position 257",
    ),
    "no tile": (("DELETE FROM tiles WHERE number = 1",), "tile 0/1: it is missing"),
    "a tile too many": (("INSERT INTO tiles SELECT 1, 0, hashes FROM tiles LIMIT 1",), "the tiles: there are 3; "),
    "no index": (("DROP INDEX events_by_type",), "the schema: the index events_by_type is missing"),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_alteration_is_found_and_its_place_named(name: str, ledger: Path) -> None:
    statements, expected = ALTERATIONS[name]
    alter(ledger, *statements)
    flaws = told(ledger)
    assert any(flaw.startswith(expected) for flaw in flaws), flaws


def test_a_trigger_that_was_put_by_is_found(ledger: Path) -> None:
    with sqlite3.connect(ledger) as connection:
        connection.execute("DROP TRIGGER events_kept")
        connection.execute("CREATE TRIGGER events_kept BEFORE DELETE ON events BEGIN SELECT 1; END")
    assert told(ledger) == ["the schema: the trigger events_kept is missing or is not as it was made"]


def test_a_text_behind_the_last_full_tile_is_found_by_the_checkpoint_alone(ledger: Path) -> None:
    checkpoint = sealed(ledger)
    alter(ledger, "UPDATE events SET line = CAST(replace(line, 'choice 556', 'choice 655') AS BLOB)")
    assert told(ledger) == []
    where = "positions 513..600: the lines are not those that the checkpoint was signed over"
    assert told(ledger, checkpoint) == [where]


def test_a_tile_that_agrees_with_an_altered_line_does_not_hide_it_from_the_checkpoint(ledger: Path) -> None:
    checkpoint = sealed(ledger)
    alter(ledger, "UPDATE events SET line = CAST(replace(line, 'choice 16', 'choice 61') AS BLOB) WHERE position = 17")
    asyncio.run(_retile(ledger))
    assert told(ledger) == []
    assert "the lines are not those that the checkpoint was signed over" in told(ledger, checkpoint)[0]


async def _retile(path: Path) -> None:
    alter(path, "DELETE FROM tiles")
    await (await SqliteLog.open(path)).close()


def test_a_ledger_that_is_shorter_than_what_was_signed_is_told(ledger: Path, tmp_path: Path) -> None:
    checkpoint = sealed(ledger)
    asyncio.run(_make(tmp_path / "shorter.db", 512))
    expected = "position 513: the checkpoint covers 600 lines; the last 88 are missing"
    assert told(tmp_path / "shorter.db", checkpoint) == [expected]


def test_a_damaged_page_is_told(ledger: Path) -> None:
    data = ledger.read_bytes()
    ledger.write_bytes(data[:8192] + bytes(4096) + data[12288:])
    assert any(flaw.startswith("the file: ") for flaw in told(ledger))


def test_a_file_that_was_cut_is_refused(ledger: Path) -> None:
    ledger.write_bytes(ledger.read_bytes()[:-4096])
    with pytest.raises(LedgerUnusable, match="malformed"):
        audited(ledger)


def test_a_file_of_an_older_version_is_refused(ledger: Path) -> None:
    with sqlite3.connect(ledger) as connection:
        connection.executescript("DROP TABLE tiles; PRAGMA user_version = 1;")
    with pytest.raises(LedgerUnusable, match="older Tallystick"):
        audited(ledger)
