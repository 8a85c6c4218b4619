"""What looks for lost, torn and altered events finds them."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from events.registry import VOCABULARY
from ledger.sqlite.log import SqliteLog
from tests.faults.lines import body, examine

IDS = [f"d.a.{number}" for number in range(300)] + ["o.b.1", "t.b.2", "t.b.3"]
KEPT = ("events_unchanged", "events_kept", "tiles_unchanged")


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        log = await SqliteLog.open(path)
        drafts = [VOCABULARY.draft(line) for line in body(IDS).split(b"\n")]
        for draft in drafts:
            draft.source = "/agents/a"
        await log.append(drafts)
        await log.close()

    asyncio.run(scenario())
    return path


def found(ledger: Path, **other: int) -> dict[str, int]:
    """Return the errors in a ledger whose events were acknowledged at their positions."""
    acknowledged = {event_id: position for position, event_id in enumerate(IDS, 1)} | other
    return {name: int(value) for name, value in examine(ledger, acknowledged, set(IDS)).items() if value}


def damage(ledger: Path, statement: str, *parameters: object) -> None:
    with closing(sqlite3.connect(ledger)) as connection, connection:
        for trigger in KEPT:
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(statement, parameters)


def altered(ledger: Path, position: int, change: Callable[[dict[str, object]], object]) -> None:
    with closing(sqlite3.connect(ledger)) as connection:
        ((line,),) = connection.execute("SELECT line FROM events WHERE position = ?", (position,))
    stored = msgspec.json.decode(line)
    change(stored)
    damage(ledger, "UPDATE events SET line = ? WHERE position = ?", msgspec.json.encode(stored), position)


def test_nothing_is_found_where_all_is_well(ledger: Path) -> None:
    assert found(ledger) == {}


def test_an_event_that_was_acknowledged_and_is_not_there_is_lost(ledger: Path) -> None:
    assert found(ledger, **{"d.a.never": 304}) == {"acknowledged lost": 1}
    assert found(ledger, **{"d.a.1": 7}) == {"acknowledged lost": 1}
    damage(ledger, "DELETE FROM events WHERE position = 302")
    assert found(ledger) == {"acknowledged lost": 1, "gaps": 1}


def test_what_was_not_posted_so_is_found(ledger: Path) -> None:
    altered(ledger, 300, lambda line: line.update(data={"decision_id": "a-299", "decision": "Another"}))
    assert found(ledger) == {"altered": 1}


def test_what_nobody_posted_is_found(ledger: Path) -> None:
    altered(ledger, 300, lambda line: line.update(id="d.a.other"))
    assert found(ledger) == {"acknowledged lost": 1, "invented": 1}


def test_what_stands_twice_is_found(ledger: Path) -> None:
    altered(ledger, 300, lambda line: line.update(id="d.a.0"))
    assert found(ledger) == {"acknowledged lost": 1, "altered": 1, "duplicates": 1}


def test_a_tile_that_is_not_of_the_lines_is_found(ledger: Path) -> None:
    damage(ledger, "UPDATE tiles SET hashes = zeroblob(8192)")
    assert found(ledger) == {"wrong tiles": 1}
