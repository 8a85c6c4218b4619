"""Pages of decisions against plain lists: any filter, order and page, however the log is cut into slices and groups."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.decision import DecisionPreserved
from events.envelope import Draft
from events.model_names import join_names
from events.registry import VOCABULARY
from projections import column_table
from projections.decisions import time_blocks, value_counts
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_lists import Order
from projections.decisions.decision_selection import STATUSES, DecisionSelection, SortField
from projections.event_slice import EventSlice
from projections.time_range import TimeRange
from tests.projections import reference_model
from tests.projections.chunks import Chunks, restored
from tests.projections.decisions.test_decision_index import level_filters, moments, narrow, selections
from tests.projections.drafts import amend, post, record, retract, review
from tests.projections.named_index import NamedIndex
from tests.projections.random_histories import (
    AGENTS,
    CATEGORIES,
    DAWN,
    FEATURES,
    MOMENTS,
    OUTCOMES,
    PROJECTS,
    PRS,
    STAKES,
    TAGS,
    confidences,
    lines_of,
    sliced,
)

CLUSTERS = (None, "s1", "s2")
MODELS = (None, "large", "small")
NEARBY = tuple(DAWN + timedelta(seconds=seconds) for seconds in range(8))


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four rows in a group, and so few codes and kept values that every way of counting is used."""
    monkeypatch.setattr(column_table, "GROUP_ROWS", 4)
    monkeypatch.setattr(time_blocks, "BLOCK_ROWS", 2)
    monkeypatch.setattr(value_counts, "CONFIDENCE_CODES", 4)
    monkeypatch.setattr(value_counts, "KEPT_VALUES_MAX", 2)
    monkeypatch.setattr(value_counts, "KEPT_SELECTIONS_MAX", 3)
    monkeypatch.setattr(value_counts, "KEPT_ORDERS_MAX", 2)
    monkeypatch.setattr(value_counts, "_DENSE_MAX", 2)


class Query(NamedTuple):
    selection: DecisionSelection
    order: Order
    offset: int
    limit: int


recorded = st.fixed_dictionaries(
    {
        "agent": st.sampled_from(AGENTS),
        "confidence": st.none() | confidences,
        "time": st.sampled_from((*MOMENTS, *[None] * 4, *NEARBY)),
        "category": st.sampled_from(CATEGORIES),
        "stakes": st.sampled_from(STAKES),
        "project": st.sampled_from(PROJECTS),
        "feature": st.sampled_from(FEATURES),
        "tags": st.lists(st.sampled_from(TAGS), max_size=2).map(tuple),
        "pr": st.sampled_from((None, None, *PRS)),
        "review_by": st.sampled_from((None, *MOMENTS)),
        "cluster": st.sampled_from(CLUSTERS),
        "model": st.sampled_from(MODELS),
        "reported_model": st.sampled_from((None, None, "small")),
    }
)
changes = st.sampled_from(["review", "review", "amend", "retract", "preserve", "release"])
steps = st.lists(recorded | st.tuples(changes, st.integers(0, 99)), max_size=40)
everything = st.builds(
    DecisionSelection,
    agent=st.sampled_from((None, None, *AGENTS)),
    category=st.sampled_from(CATEGORIES),
    stakes=st.sampled_from((*STAKES, ("low", "high"))),
    status=st.sampled_from((None, *STATUSES, ("pending",), STATUSES)),
    tags=st.lists(st.sampled_from((*TAGS, "z")), max_size=2).map(tuple),
    cluster=st.sampled_from((*CLUSTERS, "s9")),
    models=st.sampled_from(
        (None, frozenset[str](), frozenset({"large"}), frozenset({"small", str(join_names("large", "small"))}))
    ),
    range=st.builds(TimeRange, moments, moments | st.sampled_from(NEARBY)),
    compaction=st.none() | level_filters,
    preserved=st.sampled_from((None, True, False)),
    due_before=moments,
    dated=st.sampled_from((None, None, True, False)),
    confidence_min=st.none() | confidences,
)
single = st.one_of(
    narrow,
    st.builds(DecisionSelection, cluster=st.sampled_from(("s1", "s9"))),
    st.builds(DecisionSelection, models=st.sampled_from((frozenset({"small"}), frozenset({"large", "small"})))),
    st.builds(DecisionSelection, due_before=moments),
    st.builds(DecisionSelection, dated=st.booleans()),
    st.builds(DecisionSelection, agent=st.sampled_from(AGENTS)),
    st.builds(DecisionSelection, outcome=st.sampled_from(OUTCOMES)),
)
queries = st.builds(
    Query,
    selection=single | everything | selections,
    order=st.builds(Order, st.sampled_from(get_args(SortField)), st.booleans()),
    offset=st.integers(0, 12),
    limit=st.integers(0, 6) | st.just(99),
)


def drafts_of(wanted: Sequence[Any]) -> list[Draft]:
    """The drafts of steps: a dictionary records a decision, a pair changes one."""
    drafts: list[Draft] = []
    retracted: set[str] = set()
    names: list[str] = []
    for number, step in enumerate(wanted):
        if isinstance(step, dict):
            names.append(f"d{number}")
            drafts.append(record(names[-1], **step))
            continue
        verb, pick = step
        if not names or (name := names[pick % len(names)]) in retracted:
            continue
        if verb == "review":
            drafts.append(review(name, OUTCOMES[pick % len(OUTCOMES)]))
        elif verb == "amend":
            drafts.append(amend(name, confidence=pick / 100, tags=TAGS[: pick % 3], pattern="rule"))
        elif verb == "retract":
            drafts.append(retract(name))
            retracted.add(name)
        else:
            drafts.append(post(DecisionPreserved(decision_id=name, preserve=verb == "preserve")))
    return drafts


def slices_of(lines: Sequence[bytes], cuts: Sequence[int]) -> Iterator[tuple[int, EventSlice]]:
    """Consecutive slices of a log, each with the number of lines up to its end."""
    events = sliced(VOCABULARY.event(line) for line in lines)
    for start, end in pairwise(sorted({0, *(cut % (len(lines) + 1) for cut in cuts), len(lines)})):
        yield end, events[start:end]


@pytest.mark.slow
@given(steps=steps, cuts=st.lists(st.integers(0, 99), max_size=4), asked=st.lists(queries, min_size=1, max_size=4))
@settings(max_examples=400, deadline=None)
def test_a_page_is_that_part_of_the_whole_list(steps: list[Any], cuts: list[int], asked: list[Query]) -> None:
    lines, index = lines_of(drafts_of(steps)), NamedIndex()
    for end, events in slices_of(lines, cuts):
        index.fold(events)
        reported = reference_model.report(lines[:end])
        for selection, order, offset, limit in asked:
            kept = reference_model.find(reported, selection)
            names = [one.subject for one in reference_model.order(kept, order.sort, descending=order.descending)]
            total, rows = index.page(selection, order, offset, limit)
            assert (total, index.subjects(rows)) == (len(names), names[offset : offset + limit])
            every = index.find(selection)
            assert index.subjects(every) == [one.subject for one in kept]
            among = np.arange(0, len(index), 2)
            passing = among[index.passing(among, selection)]
            assert passing.tolist() == [row for row in every.tolist() if row % 2 == 0]
            some = index.page_among(among, selection, order, offset, limit)
            evens = set(index.subjects(passing))
            assert index.subjects(some.rows) == [name for name in names if name in evens][offset : offset + limit]


@given(steps=steps, cuts=st.lists(st.integers(0, 99), max_size=4), query=queries)
@settings(max_examples=100, deadline=None)
def test_the_state_is_that_of_any_slices_saved_and_restored(steps: list[Any], cuts: list[int], query: Query) -> None:
    lines = lines_of(drafts_of(steps))
    whole, parts = DecisionIndex(), DecisionIndex()
    whole.fold(sliced(VOCABULARY.event(line) for line in lines))
    for _, events in slices_of(lines, cuts):
        parts.fold(events)
        frozen = parts.frozen()
        before = frozen.page(*query)
        parts = restored(parts, Chunks())
        parts.page(*query)
        assert frozen.page(*query).rows.tolist() == before.rows.tolist()
    assert parts.digest() == whole.digest()
    assert parts.page(*query).rows.tolist() == whole.page(*query).rows.tolist()
    assert parts.count_by_agent() == whole.count_by_agent()


@pytest.mark.parametrize("descending", [False, True])
def test_confidences_of_many_digits_are_in_their_exact_order(descending: bool) -> None:
    stated = [number * 37 % 101 / 1000 + number % 3 / 4 for number in range(60)]
    lines, index = lines_of([record(f"d{n}", confidence) for n, confidence in enumerate(stated)]), NamedIndex()
    index.fold(sliced(VOCABULARY.event(line) for line in lines))
    every = reference_model.order(reference_model.report(lines), "confidence", descending=descending)
    for offset in range(0, 60, 7):
        page = index.page(DecisionSelection(), Order("confidence", descending), offset, 7)
        assert index.subjects(page.rows) == [one.subject for one in every[offset : offset + 7]]


def test_a_frozen_index_stays_as_it_was() -> None:
    lines = lines_of([*(record(f"d{n}", 0.5) for n in range(6)), review("d0"), retract("d5"), amend("d1", tags=("a",))])
    events = sliced(VOCABULARY.event(line) for line in lines)
    index = DecisionIndex()
    index.fold(events[:6])
    frozen = index.frozen()
    index.fold(events[6:])
    every, reviewed = DecisionSelection(), DecisionSelection(status="reviewed")
    assert (frozen.total(every), frozen.total(reviewed), frozen.total(DecisionSelection(tags=("a",)))) == (6, 0, 0)
    assert (index.total(every), index.total(reviewed), index.total(DecisionSelection(tags=("a",)))) == (5, 1, 1)


def test_a_frozen_index_does_not_count_again_what_the_other_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    count_values, counted = value_counts.count_values, list[int]()

    def count(column: str, values: np.ndarray) -> value_counts.ValueCounts:
        counted.append(len(values))
        return count_values(column, values)

    def page(one: DecisionIndex) -> tuple[int, list[int]]:
        total, rows = one.page(DecisionSelection(agent="ada", status="pending"), Order("confidence"), 0, 99)
        return total, rows.tolist()

    monkeypatch.setattr(value_counts, "count_values", count)
    lines = lines_of([*(record(f"d{n}", n % 2, agent="ada") for n in range(6)), review("d5")])
    events = sliced(VOCABULARY.event(line) for line in lines)
    index = DecisionIndex()
    index.fold(events[:6])
    before = page(index)
    assert counted
    counted.clear()
    frozen = index.frozen()
    assert page(frozen) == before == (6, [5, 3, 1, 4, 2, 0])
    assert not counted, "neither of the full group nor of the last one"
    index.fold(events[6:])
    assert page(index) == (5, [3, 1, 4, 2, 0])
    assert counted
    assert max(counted) <= 2, "only the last group, which changed"
    assert page(frozen) == before


@given(steps=steps)
@settings(max_examples=50, deadline=None)
def test_agents_have_the_counts_of_their_decisions(steps: list[Any]) -> None:
    lines, index = lines_of(drafts_of(steps)), NamedIndex()
    index.fold(sliced(VOCABULARY.event(line) for line in lines))
    counted = index.count_by_agent()
    reported = reference_model.report(lines)
    assert counted.keys() == {one.agent for one in reported}
    for agent, by_status in counted.items():
        for status, count in by_status.items():
            assert count == sum(one.agent == agent and one.status == status for one in reported)


@given(steps=steps)
@settings(max_examples=50, deadline=None)
def test_names_have_the_counts_of_their_decisions(steps: list[Any]) -> None:
    index = NamedIndex()
    index.fold(sliced(VOCABULARY.event(line) for line in lines_of(drafts_of(steps))))
    counted, counts = index.count_names(), index.count(DecisionSelection(status=STATUSES))
    assert {name: n for name, n in counted["agent"] if n} == counts.by_agent
    assert {name: n for name, n in counted["category"] if n} == counts.by_category
    assert {name for name, _ in counted["tag"]} >= {tag for tag, _ in counts.top_tags}
    for parameter in ("agent", "category", "project", "feature", "tag"):
        assert {name for name, _ in counted[parameter]} == index.names()[parameter]
    models = [index.count(DecisionSelection(status=STATUSES, models=frozenset({name}))) for name in index.models]
    assert [n for _, n in counted["model"]] == [found.total for found in models]


def test_a_first_page_loads_a_few_chunks() -> None:
    lines = lines_of([*(record(f"d{n}", n / 100, category="process") for n in range(80)), review("d0"), retract("d1")])
    index, chunks = DecisionIndex(), Chunks()
    index.fold(sliced(VOCABULARY.event(line) for line in lines))
    reader = restored(index, chunks)
    assert reader.page(DecisionSelection(), Order(), 0, 3).total == 79
    assert reader.count_by_agent()["ada"] == {"pending": 78, "reviewed": 1, "retracted": 1}
    assert chunks.reads == 1, "the times of the last group"
    reader.page(DecisionSelection(), Order(descending=False), 0, 3)
    assert chunks.reads == 3, "the times and the flags of the first group"
    reader.page(DecisionSelection(category="process"), Order(), 0, 3)
    assert chunks.reads <= 3 + 1, "groups of fields with the number 0 alone are not stored"
