"""Calibration and reasons over restarts: the same digests and views, of which only the needed part is loaded."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Draft
from projections import column_table
from projections.calibration import count_table, view_evidence
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.history_view import build_history
from projections.calibration.plot_data import build_plot_data
from projections.calibration.reason_index import ReasonIndex
from projections.time_range import TimeRange
from tests.projections.chunks import restored
from tests.projections.drafts import amend, ask, record, retract, review
from tests.projections.random_histories import NOON, events_of, histories

ROWS = 4
"""Rows of a group, so that a history of some events has many groups."""

EVERYTHING = CalibrationFilter()
FILTERS = (
    EVERYTHING,
    CalibrationFilter(agent="ada"),
    CalibrationFilter(category="a", range=TimeRange(NOON, NOON + timedelta(hours=9))),
    CalibrationFilter(range=TimeRange(NOON + timedelta(hours=5))),
)


@pytest.fixture(autouse=True, scope="module")
def _small_parts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_table, "GROUP_ROWS", ROWS)
        patch.setattr(view_evidence, "DEPENDENCE_REVIEWS", 35)
        yield


def clustered_history(seed: int, size: int, *, retracting: bool = True, unnamed: float = 0.3) -> list[Draft]:
    """Decisions, most of them in clusters, that go wrong too often; some are amended, asked about or retracted."""
    rng = np.random.default_rng(seed)
    drafts: list[Draft] = []
    waiting: list[str] = []
    known: list[str] = []
    for number in range(size):
        name = f"d{number}"
        drafts.append(
            record(
                name,
                float(rng.choice([0.61, 0.77, 0.9])),
                agent=str(rng.choice(["ada", "bo"])),
                category=str(rng.choice(["a", "b"])),
                cluster=None if rng.random() < unnamed else f"task {rng.integers(0, 1 + number // 4)}",
                time=NOON + timedelta(minutes=int(number * 6 + rng.integers(0, 30))),
            )
        )
        waiting.append(name)
        if rng.random() < 0.1:
            drafts.append(amend(str(rng.choice(waiting)), confidence=0.66))
        if rng.random() < 0.1:
            drafts.append(ask(str(rng.choice(waiting)), "which?"))
        if rng.random() < 0.9:
            reviewed = waiting.pop(int(rng.integers(0, len(waiting))))
            drafts.append(review(reviewed, "success" if rng.random() < 0.3 else "failure"))
            known.append(reviewed)
        if known and rng.random() < 0.06:
            drafts.append(review(str(rng.choice(known)), "partial"))
        if retracting and known and rng.random() < 0.04:
            drafts.append(retract(known.pop(int(rng.integers(0, len(known))))))
    return drafts


def seen(calibration: Calibration, filters: CalibrationFilter) -> list[Any]:
    """Everything that one asks of calibration, as plain values."""
    selection = calibration.selection(filters)
    history, dated = calibration.history(filters), calibration.dated(filters)
    rows = calibration.cells.rows(filters.key_filter(), filters.range)
    columns = [*plain(history), *plain(dated), *plain(rows)]
    parts: list[object] = [build_history(history, ("trend", "comparison"))]
    if filters is EVERYTHING:
        parts.append(build_plot_data(calibration.drawn(filters, selection)))
    views = [calibration.view(filters, group_by) for group_by in ("confidence_bucket", "agent")]
    return [columns, *map(msgspec.to_builtins, (*views, *parts))]


def plain(columns: msgspec.Struct) -> list[object]:
    values = [getattr(columns, name) for name in columns.__struct_fields__]
    return [repr(value.tolist()) if isinstance(value, np.ndarray) else value for value in values]


def verdicts(calibration: Calibration, filters: CalibrationFilter = EVERYTHING) -> list[Any]:
    view = calibration.view(filters, "agent", 1)
    rows = [view.overall, *view.groups]
    return [(row.supported, row.gap_e_values, row.e_value, row.gap_sequence) for row in rows if row is not None]


cuts = st.lists(st.tuples(st.integers(0, 400), st.booleans()), max_size=5)
"""Where a process ends, and whether it was asked before."""


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), size=st.integers(0, 90), stops=cuts)
@settings(max_examples=25, deadline=None)
def test_a_restart_changes_nothing(seed: int, size: int, stops: list[tuple[int, bool]]) -> None:
    events = events_of(clustered_history(seed, size))
    live, reasons, start = Calibration(), ReasonIndex(), 0
    for stop, asked in sorted(stops):
        if start < stop:
            live.fold(events[start:stop])
            reasons.fold(events[start:stop])
            start = min(stop, len(events))
        if asked:
            verdicts(live, FILTERS[stop % len(FILTERS)])
        live, reasons = restored(live), restored(reasons)
        reasons.share_with([live])
    live.fold(events[start:])
    reasons.fold(events[start:])
    whole, whole_reasons = Calibration(), ReasonIndex()
    whole.fold(events)
    whole_reasons.fold(events)
    assert (live.digest(), reasons.digest()) == (whole.digest(), whole_reasons.digest())
    for filters in FILTERS:
        assert seen(live, filters) == seen(whole, filters)
        assert reasons.view(filters) == whole_reasons.view(filters)


@pytest.mark.slow
@given(drafts=histories(), stops=st.lists(st.integers(0, 40), max_size=3))
@settings(max_examples=60, deadline=None)
def test_any_history_goes_on_after_a_restart(drafts: list[Draft], stops: list[int]) -> None:
    events = events_of(drafts)
    live, reasons, start = Calibration(), ReasonIndex(), 0
    for stop in [*sorted(stops), len(events)]:
        for projection in (live, reasons):
            projection.fold(events[start:stop])
        start = max(start, stop)
        live, reasons = restored(live), restored(reasons)
    whole, whole_reasons = Calibration(), ReasonIndex()
    whole.fold(events)
    whole_reasons.fold(events)
    assert (live.digest(), reasons.digest()) == (whole.digest(), whole_reasons.digest())
    assert seen(live, EVERYTHING) == seen(whole, EVERYTHING)
    assert reasons.summary() == whole_reasons.summary()


def test_a_selection_stays_as_it_was() -> None:
    events = events_of(clustered_history(2, 60))
    calibration = Calibration()
    calibration.fold(events[:40])
    selections = [calibration.selection(filters) for filters in FILTERS]
    before = [plain(calibration.selection(filters).table()) for filters in FILTERS]
    calibration.fold(events[40:])
    assert [plain(selection.table()) for selection in selections] == before


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 20, 90])
def test_many_cells_give_the_figures_of_few(size: int) -> None:
    """Cells that differ in fields that a view does not need are merged; only the last digits of sums may differ."""
    calibration = Calibration()
    calibration.fold(events_of(clustered_history(5, size)))
    for filters in FILTERS:
        for group_by in ("confidence_bucket", "agent", "category", "model"):
            few = calibration.view(filters, group_by, 1, curves=True)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(count_table, "MERGED_CELLS_MIN", 0)
                many = calibration.view(filters, group_by, 1, curves=True)
            assert flat(many) == flat(few)


def flat(value: object) -> dict[str, Any]:
    """The values of an answer by their paths, floats rounded."""
    found: dict[str, Any] = {}

    def walk(path: str, one: object) -> None:
        if isinstance(one, dict):
            for name, inner in one.items():
                walk(f"{path}.{name}", inner)
        elif isinstance(one, list | tuple):
            for number, inner in enumerate(one):
                walk(f"{path}.{number}", inner)
        else:
            found[path] = round(one, 9) + 0.0 if isinstance(one, float) else one

    walk("", msgspec.to_builtins(value))
    return found
