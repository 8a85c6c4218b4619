"""A refused batch leaves the group as it was: what follows it is decided as if it had never been posted."""

import random
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import example, settings
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from events.envelope import Draft
from events.errors import TallystickError
from ledger.admission import GroupAdmission, prepare
from ledger.log import Head
from tallystick.shapes.appended import AppendedEvent
from tests.ledger.given import Row, Scene, given, known_of, rows_of
from tests.ledger.run_vocabulary import (
    RUNS,
    finish,
    score,
    start,
    step,
)

NAMES = st.sampled_from(["a", "b", "c"])
IDS = st.sampled_from(["1", "2", "3", "4", "5", "6", "7", "8"])
EXPECTED = st.sampled_from([None, None, None, 0, 1, 2])
DRAFTS = st.one_of(
    [
        st.builds(make, NAMES, st.sampled_from(["", "n"]), id=IDS, expectedversion=EXPECTED)
        for make in (start, step, finish)
    ]
    + [st.builds(score, NAMES, id=IDS)]
)
BATCHES = st.lists(st.lists(DRAFTS, min_size=1, max_size=4), max_size=12)


def admit(group: GroupAdmission, batch: Sequence[Draft]) -> list[AppendedEvent] | None:
    """Return the places of a batch's events, or None if the batch was refused."""
    try:
        return group.admit([prepare(RUNS, draft, index) for index, draft in enumerate(batch)])
    except TallystickError:
        return None


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@hypothesis_given(batches=BATCHES)
@example(batches=[[start("a", id="1")], [step("a", id="2"), step("a", id="1")], [step("a", id="2")]])
@example(batches=[[start("a", id="1"), start("a", id="2")], [start("a", id="1")]])
@example(
    batches=[[start("a", id="1"), step("a", id="2"), finish("a", id="3"), step("a", id="4")], [score("a", id="4")]]
)
def test_refused_batches_leave_no_trace(batches: list[list[Draft]]) -> None:
    mixed, alone = given().group(), given().group()
    answers = [admit(mixed, batch) for batch in batches]
    good = [(batch, answer) for batch, answer in zip(batches, answers, strict=True) if answer is not None]
    assert [admit(alone, batch) for batch, _ in good] == [answer for _, answer in good]
    assert rows_of(mixed) == rows_of(alone)
    assert mixed.position == alone.position


@settings(max_examples=200, deadline=None)
@hypothesis_given(batches=BATCHES, cut=st.integers(0, 12))
def test_one_group_decides_as_many_would(batches: list[list[Draft]], cut: int) -> None:
    """Whether batches share a transaction or follow each other makes no difference."""
    together = given().group()
    answers = [admit(together, batch) for batch in batches]

    scene, split = Scene(), []
    for part in (batches[:cut], batches[cut:]):
        group = scene.group()
        split += [admit(group, batch) for batch in part]
        scene.history += rows_of(group)
    assert split == answers
    assert scene.history == rows_of(together)


@settings(max_examples=200, deadline=None)
@hypothesis_given(batches=BATCHES)
def test_what_is_admitted_is_contiguous_and_says_what_it_is(batches: list[list[Draft]]) -> None:
    group = given().group()
    for batch in batches:
        admit(group, batch)
    rows = rows_of(group)
    assert [row.position for row in rows] == list(range(1, len(rows) + 1))
    versions: dict[str, int] = {}
    for row in rows:
        versions[row.subject] = versions.get(row.subject, 0) + 1
        assert row.streamversion == versions[row.subject]
        check_line(row)
    assert len({(row.source, row.id) for row in rows}) == len(rows)


def check_line(row: Row) -> None:
    """The line says what the columns say."""
    line = msgspec.json.decode(row.line)
    columns = ("position", "source", "id", "subject", "streamversion", "type")
    assert {name: line[name] for name in columns} == {name: getattr(row, name) for name in columns}


def test_an_unforeseen_error_undoes_the_batch_too() -> None:
    scene = given(start("a", id="1"))
    group = scene.group()
    entries = scene.entries([step("a", id="2"), step("a", id="3")])
    unencodable = step("a", note=object(), id="3")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        group.admit([entries[0], *scene.entries([unencodable])])
    assert rows_of(group) == []
    assert [placed.streamversion for placed in group.admit(entries)] == [2, 3]


def test_a_group_stands_on_the_head_it_is_given() -> None:
    history = given(start("a", id="1"), step("a", id="2")).history
    later = GroupAdmission(
        RUNS, Head(2, history[-1].recordedtime + 5), Scene().now, known_of(history), random.Random(0)
    )
    (placed,) = later.admit([prepare(RUNS, step("a", id="3"), 0)])
    assert (placed.position, placed.streamversion) == (3, 3)
    assert later.recorded_us == history[-1].recordedtime + 5
