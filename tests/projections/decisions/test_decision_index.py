"""The decisions projection against the reference model: find, order, count, look up; and the state of one decision."""

from datetime import timedelta
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.json import encode

from events.envelope import Draft
from projections.decisions.compaction import LEVEL_DAYS, LEVELS, LevelFilter
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection, SortField
from projections.event_slice import EventSlice
from projections.time_range import TimeRange
from tests.projections import reference_model
from tests.projections.drafts import amend, record, review
from tests.projections.named_index import NamedIndex
from tests.projections.random_histories import (
    AGENTS,
    CATEGORIES,
    FEATURES,
    MOMENTS,
    OUTCOMES,
    PROJECTS,
    PRS,
    STAKES,
    TAGS,
    confidences,
    events_of,
    histories,
    lines_of,
)

moments = st.sampled_from(MOMENTS)
level_filters = st.builds(
    LevelFilter,
    levels=st.lists(st.sampled_from(LEVELS), unique=True).map(tuple),
    now=st.builds(
        lambda moment, days, us: moment + timedelta(days=days, microseconds=us),
        st.sampled_from([moment for moment in MOMENTS if moment is not None]),
        st.sampled_from((-1, 0, *LEVEL_DAYS, 100)),
        st.sampled_from((-1, 0, 1)),
    ),
)
selections = st.builds(
    DecisionSelection,
    agent=st.sampled_from((None, *AGENTS)),
    category=st.sampled_from(CATEGORIES),
    stakes=st.sampled_from(STAKES),
    project=st.sampled_from(PROJECTS),
    feature=st.sampled_from(FEATURES),
    status=st.sampled_from((None, "pending", "reviewed", "retracted")),
    outcome=st.sampled_from((None, *OUTCOMES, "unheard")),
    tags=st.lists(st.sampled_from((*TAGS, "z")), max_size=2).map(tuple),
    range=st.builds(TimeRange, moments, moments),
    pr=st.sampled_from((None, *PRS, 0)),
    confidence_min=st.none() | confidences,
    confidence_max=st.none() | confidences,
    compaction=st.none() | level_filters,
    preserved=st.sampled_from((None, True, False)),
)
narrow = st.one_of(
    st.just(DecisionSelection()),
    selections,
    st.builds(DecisionSelection, tags=st.lists(st.sampled_from(TAGS), max_size=2).map(tuple)),
    st.builds(DecisionSelection, range=st.builds(TimeRange, moments, moments)),
    st.builds(DecisionSelection, status=st.sampled_from(("pending", "reviewed"))),
    st.builds(
        DecisionSelection,
        status=st.sampled_from(((), ("pending",), ("reviewed", "retracted"), ("reviewed", "pending"))),
    ),
    st.builds(DecisionSelection, stakes=st.lists(st.sampled_from(("low", "high"))).map(tuple)),
    st.builds(DecisionSelection, pr=st.sampled_from((*PRS, 0))),
    st.builds(DecisionSelection, confidence_min=confidences),
    st.builds(DecisionSelection, confidence_max=confidences),
    st.builds(DecisionSelection, compaction=level_filters),
    st.builds(DecisionSelection, preserved=st.booleans()),
)


def index_of(drafts: list[Draft]) -> NamedIndex:
    index = NamedIndex()
    index.fold(events_of(drafts))
    return index


def found(index: NamedIndex, wanted: DecisionSelection) -> list[str]:
    return index.subjects(index.find(wanted))


@pytest.mark.slow
@given(drafts=histories(), wanted=narrow, sort=st.sampled_from(get_args(SortField)), descending=st.booleans())
@settings(max_examples=300, deadline=None)
def test_find_order_and_count_are_the_models(
    drafts: list[Draft], wanted: DecisionSelection, sort: SortField, descending: bool
) -> None:
    lines = lines_of(drafts)
    reported, index = reference_model.report(lines), index_of(drafts)
    kept = reference_model.find(reported, wanted)
    places = index.find(wanted)
    assert index.subjects(places) == [one.subject for one in kept]
    ordered = [one.subject for one in reference_model.order(kept, sort, descending=descending)]
    assert index.ordered(wanted, sort, descending=descending) == ordered
    seen, expected = index.count(wanted), reference_model.count(kept)
    assert seen == expected
    assert [*seen.by_category.items(), *seen.by_agent.items()] == [
        *expected.by_category.items(),
        *expected.by_agent.items(),
    ]
    assert encode(seen)
    assert len(index) == len(reported)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sort", ["confidence", "category", "stakes"])
def test_a_missing_value_comes_last_in_both_directions(sort: SortField, descending: bool) -> None:
    index = index_of(
        [
            record("none"),
            record("least", 0.0, category="a", stakes="low"),
            record("none-either"),
            record("most", 1.0, category="b", stakes="critical"),
        ]
    )
    names = index.ordered(DecisionSelection(), sort, descending=descending)
    ends = [name.removeprefix("decision/") for name in names]
    assert ends[:2] == (["most", "least"] if descending else ["least", "most"])
    assert ends[2:] == (["none-either", "none"] if descending else ["none", "none-either"])


@pytest.mark.parametrize("year", [1, 1969, 2026, 2300, 9998])
def test_a_microsecond_orders_in_any_year(year: int) -> None:
    noon = MOMENTS[2]
    assert noon is not None
    first = noon.replace(year=year)
    later = [first + timedelta(microseconds=us) for us in range(4)]
    index = index_of([record(f"d{us}", time=later[us]) for us in (2, 0, 3, 1)])
    for descending in (False, True):
        names = index.ordered(DecisionSelection(), "created_at", descending=descending)
        assert names == sorted(names, reverse=descending)
    assert found(index, DecisionSelection(range=TimeRange(later[1], later[2]))) == ["decision/d2", "decision/d1"]
    assert index.count(DecisionSelection()).by_day == [(first.date().isoformat(), 4)]


def test_an_amendment_moves_tags_and_confidence() -> None:
    drafts = [record("d", 0.5, tags=("a",)), review("d"), amend("d", tags=("b",), confidence=0.25)]
    index = index_of(drafts)
    assert found(index, DecisionSelection(tags=("a",))) == []
    assert found(index, DecisionSelection(tags=("a", "b"))) == ["decision/d"]
    emptied = index_of([*drafts, amend("d", tags=())])
    assert found(emptied, DecisionSelection(tags=("a", "b"))) == []
    assert emptied.count(DecisionSelection()).top_tags == []


def test_a_tag_borne_twice_counts_once() -> None:
    index = index_of([record("d", tags=("a", "a", "b")), record("e", tags=("b",))])
    assert index.count(DecisionSelection()).top_tags == [("b", 2), ("a", 1)]


def test_a_review_superseded_is_found_by_the_later_outcome() -> None:
    index = index_of([record("d"), review("d", "failure"), review("d", "success")])
    assert found(index, DecisionSelection(outcome="failure")) == []
    assert found(index, DecisionSelection(outcome="success", status="reviewed")) == ["decision/d"]


def test_an_empty_index_answers() -> None:
    index = NamedIndex()
    index.fold(EventSlice())
    every = DecisionSelection(tags=("a",), outcome="success", status="pending")
    for sort in get_args(SortField):
        assert index.ordered(every, sort, descending=True) == []
    assert len(index.find(every)) == index.total(every) == 0
    assert index.count(every) == reference_model.count([])
    assert index.summary() == DecisionIndex.decode(index.encode()).summary()
