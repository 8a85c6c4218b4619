"""When SQLite refuses to write: the errors that callers get, and the contents of the file."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from events.decision import DecisionThought
from events.envelope import Draft
from events.registry import VOCABULARY
from ledger.errors import LedgerFull, LedgerUnavailable
from ledger.log import Query
from ledger.sqlite.log import SqliteLog
from tallystick.shapes.appended import AppendedEvent
from tests.support.drafts import batch_of, draft_of, recorded
from tests.support.event_loop import run

INTRUSION = "INSERT INTO events VALUES (?, 's', 'i', 'decision/intruder', 1, 't', 0, 0, x'7b7d')"


def intrude(path: Path, position: int) -> None:
    """Another program takes the next position behind the writer's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(INTRUSION, (position,))


async def outcomes(log: SqliteLog, *batches: list[Draft]) -> list[list[AppendedEvent] | BaseException]:
    return await asyncio.gather(*(log.append(batch) for batch in batches), return_exceptions=True)


def test_a_full_disk_refuses_and_the_log_goes_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = await SqliteLog.open(tmp_path / "ledger.db")
        await log.append(batch_of(1))
        ((pages,),) = await log._writer.connection.execute_fetchall("PRAGMA page_count")
        await log._writer.connection.execute_fetchall(f"PRAGMA max_page_count = {pages}")
        big = [recorded(f"big{number}", "x" * 4000, id=f"big{number}") for number in range(20)]
        with pytest.raises(LedgerFull, match="Nothing was written"):
            await log.append(big)
        assert log.broken is None
        assert (await log.head()).position == 1
        assert list((await log.read(Query())).positions) == [1]
        await log._writer.connection.execute_fetchall("PRAGMA max_page_count = 1000000")
        assert [placed.position for placed in await log.append(big)] == list(range(2, 22))
        await log.close()

    run(scenario())


def test_an_unknown_outcome_stops_the_writer_and_a_retry_tells(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        log = await SqliteLog.open(path)
        await log.append(batch_of(2))
        intrude(path, 3)
        with pytest.raises(LedgerUnavailable, match=r"is unknown\. Restart the server, then retry with the same ids"):
            await log.append([recorded("x", id="x")])
        assert log.broken is not None
        with pytest.raises(LedgerUnavailable):
            await log.append([recorded("y", id="y")])
        assert list((await log.read(Query())).positions) == [1, 2, 3]
        assert log.waiting_events == 0
        await log.close()

        log = await SqliteLog.open(path)
        (placed,) = await log.append([recorded("x", id="x")])
        assert (placed.position, placed.duplicate) == (4, False)
        await log.close()

    run(scenario())


def test_what_waits_behind_a_failure_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.append_queue.GROUP_EVENTS_MAX", 1)

    async def scenario() -> None:
        log = await SqliteLog.open(tmp_path / "ledger.db")
        await log.append(batch_of(1))
        broken = draft_of(DecisionThought(decision_id="d0", text=object()))  # type: ignore[arg-type]
        answers = await outcomes(log, [broken], *([one] for one in batch_of(5, "late")))
        assert [type(answer) for answer in answers] == [LedgerUnavailable] * 6
        assert list((await log.read(Query())).positions) == [1]
        await log.close()

    run(scenario())


def test_an_unforeseen_error_is_answered_and_close_still_closes(tmp_path: Path) -> None:
    """A payload that no decoder would let through must not leave callers waiting."""

    async def scenario() -> None:
        log = await SqliteLog.open(tmp_path / "ledger.db")
        await log.append([recorded("d")])
        broken = draft_of(DecisionThought(decision_id="d", text=object()))  # type: ignore[arg-type]
        answers = await outcomes(log, [broken], [recorded("e")])
        assert [type(answer) for answer in answers] == [LedgerUnavailable] * 2
        assert log.broken is not None
        await log.close()

    run(scenario())


@pytest.mark.parametrize("time", [b"0001-01-01T00:00:00+05:00", b"9999-12-31T23:59:59-05:00"])
def test_a_time_no_calendar_holds_refuses_its_batch_alone(tmp_path: Path, time: bytes) -> None:
    late = VOCABULARY.draft(b'{"type":"decision.recorded.v1","time":"' + time + b'","data":{"decision":"x"}}')
    late.source = "/agents/a"

    async def scenario() -> None:
        log = await SqliteLog.open(tmp_path / "ledger.db")
        before, refused, after = await outcomes(log, [recorded("a")], [late], [recorded("b")])
        assert isinstance(before, list)
        assert isinstance(after, list)
        assert "time cannot be stored" in str(refused)
        assert [before[0].position, after[0].position] == [1, 2]
        await log.close()

    run(scenario())
