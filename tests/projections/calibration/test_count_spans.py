"""Ranges of time, counted by kept spans: the same as counting each decision, whatever changed since they were kept."""

from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.envelope import Draft
from projections import column_table
from projections.arrays import Ints, RowNumbers
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.cells import CellNumbers
from projections.calibration.counted_columns import COUNTS_WIDTH, OPEN, WAITING, CountedColumns
from projections.calibration.maturity import Maturity
from projections.calibration.span_counts import CountSpans
from projections.column_table import ColumnTable
from projections.decisions.time_bounds import GroupTimes
from projections.time_range import TimeRange
from tests.projections.drafts import amend, record, review
from tests.projections.random_histories import MOMENTS, NOON, events_of, histories

ends = st.none() | st.sampled_from(MOMENTS)


@pytest.fixture(autouse=True, scope="module")
def _short_spans() -> object:
    """So short that a history of some events has many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_table, "GROUP_ROWS", 2)
        yield


def seen(calibration: Calibration, when: TimeRange) -> list[tuple[object, ...]]:
    table = calibration.table(CalibrationFilter(range=when))
    rows = zip(table.group.tolist(), map(repr, table.confidence.tolist()), table.counts.tolist(), strict=True)
    return sorted(((table.groups[group], confidence, tuple(counts)) for group, confidence, counts in rows), key=repr)


@given(drafts=histories(), cuts=st.lists(st.integers(0, 40), max_size=4), since=ends, until=ends)
def test_ranges_asked_between_folds(
    drafts: list[Draft], cuts: list[int], since: datetime | None, until: datetime | None
) -> None:
    events, when = events_of(drafts), TimeRange(since, until)
    live, start = Calibration(), 0
    for cut in [*sorted(cuts), len(events)]:
        live.fold(events[start:cut])
        start = max(start, cut)
        fresh = Calibration()
        fresh.fold(events[:start])
        assert seen(live, when) == seen(fresh, when)


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3), st.integers(0, 4), st.integers(1, 9)), max_size=30),
    st.integers(-6, 6),
    st.integers(-6, 6),
)
def test_it_is_what_counting_each_gives(rows: list[tuple[int, int, int, int]], since: int, until: int) -> None:
    time_us, cell, outcome, due_us = (np.array([row[column] for row in rows], dtype=np.int64) for column in range(4))
    cells = CellNumbers()
    for each in range(4):
        cells.add(("/agents/a", None, None, None, None, None), each / 4)
    recorded = ColumnTable(time_us=np.int64)
    counted = ColumnTable(cell=np.uint32, outcome=np.uint8, due_us=np.int64, delay_us=np.int64)
    recorded.append(len(rows), {"time_us": time_us})
    counted.append(len(rows), {"cell": cell, "outcome": outcome, "due_us": due_us})
    times = [time_us[slice(*counted.bounds(group))] for group in range(counted.groups)]
    first, last = (np.array([*map(end, times)], dtype=np.int64) for end in (np.min, np.max))
    maturity = Maturity(recorded, counted, cells.now(), now_us=5)
    kept, columns = CountSpans(), CountedColumns(recorded, counted, GroupTimes(first, last), maturity)
    inside = (time_us >= since) & (time_us <= until)
    number = cell * COUNTS_WIDTH + outcome + WAITING * (due_us > 5)
    plain = np.bincount(number[inside], minlength=4 * COUNTS_WIDTH)
    for _ in range(2):
        assert kept.count(columns, since, until, len(plain)).tolist() == plain.tolist()


def test_a_review_of_an_old_decision_is_seen_in_its_range() -> None:
    drafts = [record(f"d{number}", 0.5, time=NOON) for number in range(7)]
    calibration = Calibration()
    everything = events_of([*drafts, review("d1"), amend("d2", confidence=0.9), review("d1", "failure")])
    calibration.fold(everything[:7])
    when = TimeRange(since=NOON, until=NOON)
    assert [counts[OPEN] for *_, counts in seen(calibration, when)] == [7]  # type: ignore[index]
    calibration.fold(everything[7:])
    assert [(confidence, counts) for _, confidence, counts in seen(calibration, when)] == [
        ("0.5", (0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 5)),
        ("0.9", (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)),
    ]


def test_only_groups_that_changed_are_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    count_numbers, counted = CountedColumns.count_numbers, list[int]()

    def count(columns: CountedColumns, group: int, places: RowNumbers | slice) -> Ints:
        counted.append(group)
        return count_numbers(columns, group, places)

    def groups_counted() -> list[int]:
        counted.clear()
        assert seen(calibration, when)
        return counted[:]

    monkeypatch.setattr(column_table, "GROUP_ROWS", 16)
    monkeypatch.setattr(CountedColumns, "count_numbers", count)
    drafts = [record(f"d{number}", 0.5, time=NOON) for number in range(28)]
    events, when = events_of([*drafts, review("d1"), review("d27"), record("d28", 0.5, time=NOON)]), TimeRange(NOON)
    calibration = Calibration()
    calibration.fold(events[:28])
    assert groups_counted() == [0, 1]
    assert groups_counted() == [], "the last group is not full, and is kept too"
    for number, group in ((28, 0), (29, 1), (30, 1)):
        calibration.fold(events[number : number + 1])
        assert groups_counted() == [group]
        fresh = Calibration()
        fresh.fold(events[: number + 1])
        assert seen(calibration, when) == seen(fresh, when)
        assert groups_counted() == []
