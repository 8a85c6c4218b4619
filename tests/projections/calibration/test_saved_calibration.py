"""Calibration and reasons over restarts: the same digests and views, of which only the needed part is loaded."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events import Draft
from projections import column_table
from projections.calibration import (
    cluster_intervals,
    cluster_sums,
    count_table,
    dependence,
    evidence_trace,
    plot_data,
    stakes,
    view_evidence,
)
from projections.calibration.calibration import Calibration, CalibrationFilter
from projections.calibration.history_view import build_history
from projections.calibration.plot_data import build_plot_data
from projections.calibration.reason_index import ReasonIndex
from projections.query_check import no_check
from projections.time_range import TimeRange
from tests.projections.chunks import Chunks, restored
from tests.projections.drafts import amend, ask, record, retract, review
from tests.projections.random_histories import NOON, events_of, histories

ROWS, BLOCK = 4, 3
"""Rows of a group and reviews of a block, so that a history of some events has many of both."""

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
        patch.setattr(dependence, "DEPENDENCE_REVIEWS", 35)
        patch.setattr(cluster_sums, "CLUSTERS_MIN", 12)
        patch.setattr(cluster_sums, "CLUSTERS_MAX", 24)
        patch.setattr(stakes, "CLUSTERS_STORED_MAX", 8)
        for module in (cluster_intervals, dependence, evidence_trace, plot_data, view_evidence):
            patch.setattr(module, "BLOCK_REVIEWS", BLOCK)
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
    parts: list[msgspec.Struct] = [build_history(history, ("trend", "comparison"))]
    if filters is EVERYTHING:
        parts.append(build_plot_data(calibration.drawn(filters, selection)))
    views = [calibration.view(filters, group_by) for group_by in ("confidence_bucket", "agent")]
    return [columns, *map(msgspec.to_builtins, (*views, *parts))]


def plain(columns: msgspec.Struct) -> list[object]:
    values = [getattr(columns, name) for name in columns.__struct_fields__]
    return [repr(value.tolist()) if isinstance(value, np.ndarray) else value for value in values]


def verdicts(calibration: Calibration, filters: CalibrationFilter = EVERYTHING) -> list[Any]:
    """The verdicts of a view with the reviews at which they became supported."""
    view = calibration.view(filters, "agent", 1)
    rows = [view.overall, *view.groups]
    return [(row.supported, row.supported_at, row.e_value, row.gap_sequence) for row in rows if row is not None]


cuts = st.lists(st.tuples(st.integers(0, 400), st.booleans(), st.booleans()), max_size=5)
"""Where a process ends, whether it was asked before, and whether its cache is restored."""


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), size=st.integers(0, 90), stops=cuts)
@settings(max_examples=25, deadline=None)
def test_a_restart_changes_nothing(seed: int, size: int, stops: list[tuple[int, bool, bool]]) -> None:
    events = events_of(clustered_history(seed, size))
    live, reasons, start = Calibration(), ReasonIndex(), 0
    for stop, asked, cache in sorted(stops):
        if start < stop:
            live.fold(events[start:stop])
            reasons.fold(events[start:stop])
            start = min(stop, len(events))
        if asked:
            verdicts(live, FILTERS[stop % len(FILTERS)])
        live, reasons = restored(live, cache=cache), restored(reasons)
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("retracting", [False, True])
def test_kept_evidence_gives_the_verdicts_of_all_reviews(seed: int, retracting: bool) -> None:
    """Whatever is amended or retracted between the review up to which it was followed and the next question."""
    events = events_of(clustered_history(seed, 150, retracting=retracting))
    half = len(events) // 2
    kept, whole = Calibration(), Calibration()
    kept.fold(events[:half])
    before = verdicts(kept)
    assert any(at for _, at, *_ in before), "nothing is supported, so nothing is tested"
    kept = restored(kept)
    assert verdicts(kept) == before
    kept.fold(events[half:])
    whole.fold(events)
    assert verdicts(kept) == verdicts(whole)
    assert (kept.cells.review_order().retractions > 0) == retracting


def new_reviews(calibration: Calibration, filters: CalibrationFilter = EVERYTHING) -> int:
    """How many reviews the next question reads."""
    return calibration.evidence(filters, "confidence_bucket", calibration.selection(filters)).new_reviews


@pytest.mark.slow
def test_evidence_is_brought_up_to_date_without_a_question() -> None:
    events = events_of(clustered_history(1, 150))
    cut = 2 * len(events) // 3
    calibration, whole = Calibration(), Calibration()
    assert calibration.refresh_cache() is None
    calibration.fold(events[:cut])
    verdicts(calibration, FILTERS[1])
    calibration.fold(events[cut:])
    assert new_reviews(calibration) > 0
    assert new_reviews(calibration, FILTERS[1]) > 0
    refresh = calibration.refresh_cache()
    assert refresh is not None
    calibration.fold(events_of(clustered_history(2, 5))[:0])
    refresh(no_check)
    assert calibration.refresh_cache() is None
    assert new_reviews(calibration) == 0
    whole.fold(events)
    assert verdicts(calibration) == verdicts(whole)
    assert verdicts(calibration, FILTERS[1]) == verdicts(whole, FILTERS[1])
    again = restored(calibration)
    assert (new_reviews(again), again.refresh_cache()) == (0, None)
    assert new_reviews(restored(calibration, cache=False)) > 0


def test_what_is_refreshed_is_that_of_the_moment_it_was_asked() -> None:
    """The engine folds further while a thread brings evidence up to date."""
    events = events_of(clustered_history(3, 120))
    half = len(events) // 2
    calibration, whole = Calibration(), Calibration()
    calibration.fold(events[:half])
    refresh = calibration.refresh_cache()
    assert refresh is not None
    calibration.fold(events[half:])
    refresh(no_check)
    whole.fold(events)
    assert verdicts(calibration) == verdicts(whole)


@pytest.mark.slow
def test_a_cache_of_another_history_or_version_is_not_taken_up() -> None:
    events = events_of(clustered_history(1, 100))
    calibration, other = Calibration(), Calibration()
    calibration.fold(events)
    other.fold(events[:50])
    want = verdicts(calibration)
    verdicts(other)
    cache = calibration.encode_cache()
    fields = msgspec.msgpack.decode(cache)
    later = msgspec.msgpack.encode([99, *fields[1:]])
    short = msgspec.msgpack.encode([*fields[:3], [[*one[:5], one[5][:-8], *one[6:]] for one in fields[3]]])
    for bad in (b"", b"\xc1", b"\x90", cache[:-1], later, short, other.encode_cache()):
        again = restored(calibration, cache=False)
        again.restore_cache(bad)
        assert new_reviews(again) > 0
        assert verdicts(again) == want
    again = restored(calibration, cache=False)
    again.restore_cache(cache)
    assert new_reviews(again) == 0


def test_the_cache_is_bounded_and_keeps_the_view_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    calibration = Calibration()
    calibration.fold(events_of(clustered_history(1, 100)))
    verdicts(calibration)
    calibration.view(EVERYTHING)
    alone = len(calibration.encode_cache())
    weight = sum(kept.weight for kept in calibration._evidence.stakes._kept.values())
    monkeypatch.setattr(stakes, "STAKES_KEPT_MAX", weight + 2)
    for filters in (CalibrationFilter(agent=name) for name in ("ada", "bo", "cyd", "ada", "bo")):
        calibration.view(filters)
        assert new_reviews(calibration) == 0
    assert len(calibration.encode_cache()) < 2 * alone
    assert new_reviews(restored(calibration)) == 0


def test_a_first_figure_loads_the_newest_reviews_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_sums, "CLUSTERS_MIN", 1_000)
    monkeypatch.setattr(stakes, "CLUSTERS_STORED_MAX", 1_000)
    calibration, chunks = Calibration(), Chunks()
    calibration.fold(events_of(clustered_history(1, 200, unnamed=0)))
    view = calibration.view(EVERYTHING)
    again = restored(calibration, chunks)
    chunks.reads = 0
    assert again.view(EVERYTHING) == view
    assert 0 < chunks.reads <= 4 * (35 // ROWS + 2), "four columns of the reviews that tell of dependence"


def test_a_range_of_time_loads_the_rows_that_it_touches() -> None:
    calibration, chunks = Calibration(), Chunks()
    calibration.fold(events_of([record(f"d{n}", n % 2 / 2, time=NOON + timedelta(hours=n)) for n in range(20 * ROWS)]))
    again = restored(calibration, chunks)
    chunks.reads = 0
    newest = CalibrationFilter(range=TimeRange(NOON + timedelta(hours=19 * ROWS + 1)))
    assert again.view(newest).coverage.total == ROWS - 1
    assert chunks.reads == 2, "the times and the cells of one group of rows; no outcome is stored"


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
        elif isinstance(one, list):
            for number, inner in enumerate(one):
                walk(f"{path}.{number}", inner)
        else:
            found[path] = round(one, 9) + 0.0 if isinstance(one, float) else one

    walk("", msgspec.to_builtins(value))
    return found
