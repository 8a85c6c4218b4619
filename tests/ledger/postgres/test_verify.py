"""Verifying a ledger in PostgreSQL finds what its superuser altered."""

import asyncio
from pathlib import Path

import pytest

from ledger.place import DatabasePlace, Place
from ledger.postgres.log import PostgresLog
from ledger.verify import Findings
from ledger.verify.database import verify_database
from tests.ledger.postgres.places import new_ledger, schema_sql
from tests.support.drafts import recorded
from tests.support.event_loop import run
from tests.support.postgres import Primary

pytestmark = pytest.mark.slow

SIZE = 600


async def filled(server: Primary) -> DatabasePlace:
    """A new ledger with some events, and their tiles."""
    place = await new_ledger(server)
    log = await PostgresLog.open(place, durability="local")
    await log.append([recorded(f"d{number}") for number in range(SIZE)])
    while len(await log.tiles(0, 0, 2)) < 2:  # noqa: ASYNC110 - no event tells of it
        await asyncio.sleep(0.01)
    await log.close()
    return place


async def faults(place: DatabasePlace, folder: Path) -> list[tuple[str, int | None]]:
    """The faults of a ledger: the check and the position of each."""
    findings = Findings()
    await verify_database(findings, Place(folder / "acme", place))
    return [(fault.check, fault.position) for check in findings.checks for fault in check.faults]


def test_a_ledger_as_it_was_written_is_right(postgres: Primary, tmp_path: Path) -> None:
    assert run(faults(run(filled(postgres)), tmp_path)) == []


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE events SET line = replace(convert_from(line, 'UTF8'), '\"d7\"', '\"e7\"')::bytea WHERE position = 8",
         ("tiles", 8)),
        ("UPDATE events SET type = 'thought.added.v1' WHERE position = 9", ("columns", 9)),
        ("DELETE FROM events WHERE position = 600", ("schema", 600)),
        ("UPDATE tiles SET hashes = overlay(hashes PLACING '\\x00'::bytea FROM 1) WHERE number = 1", ("tiles", 257)),
        ("INSERT INTO tiles SELECT 0, 2, hashes FROM tiles WHERE number = 1", ("tiles", None)),
    ],
)  # fmt: skip
def test_each_alteration_is_found(
    postgres: Primary, tmp_path: Path, statement: str, expected: tuple[str, int | None]
) -> None:
    place = run(filled(postgres))
    schema_sql(place, postgres, f"SET session_replication_role = replica; {statement}")
    assert expected in run(faults(place, tmp_path))


def test_a_trigger_that_is_switched_off_is_found(postgres: Primary, tmp_path: Path) -> None:
    place = run(filled(postgres))
    schema_sql(place, postgres, "ALTER TABLE events DISABLE TRIGGER events_unchanged")
    assert run(faults(place, tmp_path)) == [("schema", None)]
