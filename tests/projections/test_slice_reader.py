"""Where the log has few events of some types, only these are read; a state as of a position is the same either way."""

from pathlib import Path
from random import Random

import pytest

from events.decision import DecisionRecorded, DecisionReviewed
from events.link import DecisionLinked
from events.registry import VOCABULARY
from ledger.postgres.connection import LedgerConnection
from ledger.postgres.log import PostgresLog
from projections import slice_reader
from projections.event_slice import EventSlice
from projections.slice_reader import SliceReader
from tests.ledger.postgres.places import new_ledger
from tests.projections.drafts import link, record, review
from tests.projections.open_ledgers import Opened, engine
from tests.support.event_loop import run
from tests.support.postgres import Primary

DECISIONS = 40


async def write(opened: Opened) -> None:
    """Record and review decisions, and link some of them, in an order that is the same each time."""
    random, names = Random(7), [f"d{number}" for number in range(DECISIONS)]
    await opened.log.append([record(name, 0.5) for name in names])
    changes = [review(name, "success") for name in names[::2]]
    changes += [link(source, target) for source, target in zip(names[::9], names[1::9], strict=False)]
    random.shuffle(changes)
    await opened.log.append(changes)


async def read(opened: Opened, *payloads: type, after: int = 0, upto: int | None = None) -> EventSlice:
    """The events that a fold of these payloads gets."""
    head = (await opened.log.head()).position if upto is None else upto
    found = EventSlice()
    async for events in opened.engine.events.read_slices(after, head, payloads):
        found.firsts.extend(events.firsts)
        found.extend(events)
    return found


def test_few_events_are_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_reader, "SLICE_EVENTS", 4)
    monkeypatch.setattr(slice_reader, "FEW_EVENTS_MAX", DECISIONS // 2)

    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db", ()) as opened:
            await write(opened)
            every = await read(opened)
            assert [event.position for event in every] == list(range(1, len(every) + 1))
            expected = [event for event in every if isinstance(event.data, DecisionReviewed)]
            reviews = await read(opened, DecisionReviewed)
            assert [event.position for event in reviews] == [event.position for event in expected]
            assert list(reviews.firsts) == [every.firsts[event.position - 1] for event in expected]
            assert await read(opened, DecisionLinked, upto=DECISIONS) == []
            some = await read(opened, DecisionReviewed, after=expected[2].position, upto=expected[5].position)
            assert [event.position for event in some] == [event.position for event in expected[3:6]]
            assert len(await read(opened, DecisionRecorded)) == len(every)  # they are many

    run(scenario())


@pytest.mark.slow
def test_states_of_every_position_are_those_of_all_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def digests(few: int) -> list[dict[str, str]]:
        monkeypatch.setattr(slice_reader, "FEW_EVENTS_MAX", few)
        async with engine(tmp_path / f"{few}.db") as opened:
            await write(opened)
            kinds = [type(state) for state in opened.engine.live.values()]
            assert len(kinds) > 10
            return [
                {kind.name: (await opened.engine.at(kind, position))[0].digest() for kind in kinds}
                for position in range(await opened.engine.catch_up())
            ]

    assert run(digests(-1)) == run(digests(20_000))


@pytest.mark.slow
def test_postgresql_reads_the_next_slice_while_one_is_folded(
    postgres: Primary, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    fetch = LedgerConnection.fetch

    async def noted(connection: LedgerConnection, statement: str, *parameters: object) -> object:
        if "AS first" in statement:  # as the engine asks; others of the log ask for lines alone
            sent.append(statement)
        return await fetch(connection, statement, *parameters)

    async def scenario() -> None:
        log = await PostgresLog.open(await new_ledger(postgres), durability="local")
        await log.append([record(f"d{number}", 0.5) for number in range(12)])
        monkeypatch.setattr(LedgerConnection, "fetch", noted)
        monkeypatch.setattr(slice_reader, "SLICE_EVENTS", 4)
        found = [len(sent) async for _ in SliceReader(log, VOCABULARY).read_slices(0, 12)]
        await log.close()
        assert found == [2, 3, 3], "statements that were sent when a slice was handed on"

    run(scenario())
