"""The events projection: counts of types, times of blocks, and marks of correlation ids, against all events."""

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from events.envelope import Event, EventFacts, timestamp
from events.registry import VOCABULARY
from ledger.clock import microseconds
from projections import column_table, event_index
from projections.column_table import ColumnTable
from projections.event_index import EventIndex, Span
from projections.event_slice import EventSlice
from tests.golden import path_of
from tests.projections.random_histories import DAWN

IDS = (None, None, "a", "b", "Ü")
TYPES = ("decision.recorded.v1", "decision.recorded.v2", "decision.reviewed.v1", "evidence.stored.v1")
BLOCK = 4
STORED: dict[str, EventFacts] = {
    name: VOCABULARY.facts(path_of(name).read_bytes().rstrip(b"\n"))[0] for name in VOCABULARY.type_names
}
"""One event of each type, as it is stored."""


class Step(NamedTuple):
    """An event: its type, when it happened, its correlation id, and whether it is left out of the views."""

    type: str
    hours: int
    correlationid: str | None
    left_out: bool


def steps(*, left_out: bool) -> st.SearchStrategy[list[Step]]:
    lost = st.sampled_from([False, False, False, left_out])
    step = st.builds(Step, st.sampled_from(TYPES), st.integers(-9, 9), st.sampled_from(IDS), lost)
    return st.lists(step, max_size=60)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_index, "BLOCK_EVENTS", BLOCK)
    monkeypatch.setattr(column_table, "GROUP_ROWS", 8)


def events_of(history: list[Step]) -> list[EventFacts]:
    return [
        structs.replace(
            STORED[step.type],
            position=place,
            time=timestamp(DAWN + timedelta(hours=step.hours)),
            correlationid=step.correlationid,
        )
        for place, step in enumerate(history, 1)
        if not step.left_out
    ]


def folded(events: list[EventFacts], cuts: list[int]) -> EventIndex:
    index = EventIndex()
    bounds = sorted({0, *(min(cut, len(events)) for cut in cuts), len(events)})
    for begin, end in pairwise(bounds):
        index.fold(EventSlice(events[begin:end], [0] * (end - begin)))
    return index


def within(spans: list[Span]) -> set[int]:
    return {position for span in spans for position in range(span.after + 1, span.before)}


@settings(max_examples=150, deadline=None)
@given(
    history=steps(left_out=False) | steps(left_out=True),
    cuts=st.lists(st.integers(0, 60), max_size=8),
    bounds=st.tuples(st.integers(-10, 10), st.integers(-10, 10)),
)
def test_what_it_says_is_true_of_all_events(history: list[Step], cuts: list[int], bounds: tuple[int, int]) -> None:
    events = events_of(history)
    index = folded(events, cuts)
    assert index.digest() == folded(events, []).digest(), "the sizes of slices make no difference"
    assert index.types() == Counter(event.name for event in events)

    since, until = sorted(DAWN + timedelta(hours=hour) for hour in bounds)
    matching = {event.position for event in events if timestamp(since) <= event.time <= timestamp(until)}
    found = within(index.spans(microseconds(since), microseconds(until)))
    assert matching <= found
    for block in {(position - 1) // BLOCK for position in found}:
        times = [event.time for event in events if (event.position - 1) // BLOCK == block]
        assert min(times) <= timestamp(until)
        assert max(times) >= timestamp(since)
    assert within(index.spans(None, None)) >= {event.position for event in events}

    marks, everything = index.marks(), Span(0, len(history) + 1)
    for name in ("a", "b", "Ü", "nowhere"):
        having = [event.position for event in events if event.correlationid == name]
        assert marks.find(name, everything, 1000, newest_first=False) == having
        assert marks.find(name, everything, 3, newest_first=True) == having[::-1][:3]
        inner = Span(3, len(history) - 3)
        assert marks.find(name, inner, 1000, newest_first=False) == [one for one in having if 3 < one < inner.before]


def test_a_restored_state_goes_on() -> None:
    history = [Step(TYPES[number % 4], number % 7, IDS[number % 5], left_out=False) for number in range(40)]
    events = events_of(history)
    index = folded(events[:21], [])
    restored = EventIndex.decode(index.encode())
    chunks: dict[bytes, bytes] = {}

    class Chunks:
        def read(self, digest: bytes) -> bytes:
            return chunks[digest]

    table: ColumnTable = index.tables()["marks"].freeze()
    saved = table.saved()
    chunks.update(table.unsaved(Chunks()))
    restored.tables()["marks"].restore(saved, Chunks())
    for state in (index, restored):
        state.fold(EventSlice(events[21:], [0] * 19))
    assert restored.digest() == index.digest() == folded(events, [5]).digest()


def test_a_log_without_correlation_ids_has_no_marks() -> None:
    index = folded(events_of([Step(TYPES[0], 0, None, left_out=False)] * 30), [7])
    table = index.tables()["marks"]
    assert [table.is_zero("mark", group) for group in range(table.groups)] == [True] * 4
    assert index.marks().find("a", Span(0, 31), 10, newest_first=False) == []


@pytest.mark.parametrize("name", VOCABULARY.type_names)
def test_each_type_is_counted_as_it_is_stored(name: str) -> None:
    """A type that an upcaster reads as another one would not be."""
    stored = VOCABULARY.stored(path_of(name).read_bytes().rstrip(b"\n"))
    assert isinstance(stored, Event)
    assert type(STORED[name].data) in EventIndex.reads
    assert folded([structs.replace(STORED[name], position=1)], []).types() == {stored.name: 1} == {name: 1}
