"""Names of streams, which views look up in the ledger: by position, by name, by the beginning of a name, as of then."""

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Draft
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_numbers import NO_ROW, DecisionNumbers
from projections.decisions.decision_selection import DecisionSelection
from tests.projections.chunks import Chunks, restore_tables
from tests.projections.drafts import record, review, think
from tests.projections.open_ledgers import Opened, encoded, engine, write
from tests.projections.random_histories import events_of, histories
from tests.support.event_loop import run

LEDGER = "ledger.db"


def some() -> list[Draft]:
    return [
        record("abc", 0.9),
        record("abd", 0.6),
        think("abc", "hm"),
        record("xab", 0.7),
        review("abd"),
        review("abc"),
    ]


async def shown(opened: Opened, position: int | None = None) -> list[str]:
    index, _ = await opened.engine.at(DecisionIndex, position)
    return await opened.engine.names.subjects(index.positions(index.find(DecisionSelection())))


def alter(path: Path, *changes: str) -> None:
    """Change a ledger file as someone might who can write it: the triggers are there again afterwards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        triggers = file.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            file.execute(f"DROP TRIGGER {name}")
        for change in changes:
            assert file.execute(change).rowcount > 0, change
        for _, statement in triggers:
            file.execute(statement)


@pytest.mark.slow
@given(drafts=histories(20).filter(bool))
@settings(max_examples=40, deadline=None)
def test_as_of_any_position_those_streams_exist_that_had_begun(drafts: list[Draft]) -> None:
    events = events_of(drafts)
    begun = {event.subject: event.position for event in reversed(events)}

    async def scenario(path: Path) -> None:
        await write(path, drafts)
        async with engine(path) as opened:
            names = opened.engine.names
            positions = [event.position for event in events]
            assert await names.subjects(positions) == [event.subject for event in events]
            for upto in range(len(events) + 1):
                known = {subject: first for subject, first in begun.items() if first <= upto}
                assert await names.first_positions([*begun, "decision/none"], upto) == known
                assert await names.starting_with("decision/", upto, 99) == sorted(
                    subject for subject in known if subject.startswith("decision/")
                )
                recorded = [event.subject for event in events[:upto] if event.name.startswith("decision.recorded")]
                index, _ = await opened.engine.at(DecisionIndex, upto)
                assert await names.subjects(index.numbers.positions(np.arange(len(index)))) == recorded

    with TemporaryDirectory() as folder:
        run(scenario(Path(folder) / LEDGER))


def test_no_name_is_in_the_state_of_a_view_of_decisions(tmp_path: Path) -> None:
    async def scenario() -> dict[str, tuple[bytes, str]]:
        await write(tmp_path / LEDGER, [record("unlikely-name", 0.5), review("unlikely-name")])
        async with engine(tmp_path / LEDGER) as opened:
            return encoded(opened.engine)

    assert not [name for name, state in run(scenario()).items() if b"unlikely-name" in state]


@given(drafts=histories(25), cut=st.integers(0, 25))
@settings(max_examples=100, deadline=None)
def test_each_event_of_a_decision_has_its_row(drafts: list[Draft], cut: int) -> None:
    events = events_of(drafts)
    recorded = [event.position for event in events if event.name.startswith("decision.recorded")]
    numbers = DecisionNumbers()
    rows = numbers.fold(events[:cut])
    assert numbers.fold(events[:cut]) == rows, "a slice that was folded is not folded again"
    before, chunks = numbers, Chunks()
    numbers = DecisionNumbers.decode(before.encode())
    restore_tables({"recorded": before.table}, {"recorded": numbers.table}, chunks)
    rows += numbers.fold(events[cut:])
    firsts = events.firsts.tolist()
    assert rows == [recorded.index(first) if first in recorded else NO_ROW for first in firsts]
    assert [numbers.row(position) for position in recorded] == list(range(len(recorded)))
    assert numbers.row(0) is numbers.row(len(events) + 1) is None
    assert numbers.places(events) == {
        event.subject: recorded.index(first) for event, first in zip(events, firsts, strict=True) if first in recorded
    }


def test_a_first_event_that_is_left_out_gives_the_stream_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / LEDGER

    async def scenario() -> None:
        await write(path, some())
        alter(path, "UPDATE events SET line = CAST(replace(line, 'decision.recorded', 'decision.unheard') AS BLOB)"
              " WHERE position = 1")  # fmt: skip
        async with engine(path) as opened:
            names = opened.engine.names
            assert opened.engine.left_out.keys() == {1, 3, 6}
            assert await shown(opened) == ["decision/abd", "decision/xab"]
            assert await names.first_positions(["decision/abc", "decision/abd"], 6) == {"decision/abd": 2}
            assert await names.starting_with("decision/ab", 6) == ["decision/abd"]
            assert await names.starting_with("decision/x", 3) == []
            await opened.log.append([record("abe"), review("abe"), review("xab")])
            assert await shown(opened) == ["decision/abd", "decision/xab", "decision/abe"]
            assert await names.first_positions(["decision/abe"], 9) == {"decision/abe": 7}
            index, _ = await opened.engine.at(DecisionIndex)
            assert index.count(DecisionSelection()).by_status == {"reviewed": 3}

    run(scenario())


def test_columns_that_name_another_stream_than_the_lines_are_not_believed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, honest = tmp_path / LEDGER, tmp_path / "honest.db"

    async def scenario() -> None:
        await write(path, some())
        await write(honest, some())
        alter(path, "UPDATE events SET subject = 'decision/gone', streamversion = 7 WHERE position = 5")
        async with engine(path) as opened, engine(honest) as other:
            assert encoded(opened.engine) == encoded(other.engine)
            assert not opened.engine.left_out
            assert "other streams than their lines" in caplog.text
            assert await shown(opened) == await shown(other)
            for position in range(7):
                dated, _ = await opened.engine.at(Calibration, position)
                expected, _ = await other.engine.at(Calibration, position)
                assert dated.view(CalibrationFilter()) == expected.view(CalibrationFilter())

    run(scenario())
