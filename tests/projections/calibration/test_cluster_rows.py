"""Reviews of named clusters, counted a group of rows at a time: the figures of single reviews, also after a restart."""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest

from events.envelope import Draft
from projections import column_table
from projections.calibration import cluster_rows, counted_decisions, kept_clusters, outcome_counts
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.cell_groups import alike_cells, number_groups
from projections.calibration.cells import Cells
from projections.calibration.cluster_rows import NO_ROWS, AlikeCells, ClusterRows, count_alike
from projections.calibration.counted_columns import CountedColumns
from projections.calibration.counted_decisions import read_older
from projections.calibration.kept_clusters import KeptOlder, OlderClusters, ReadRows
from projections.calibration.named_clusters import NO_REVIEWS, ClusterPart, NamedReviews
from projections.calibration.words import GroupBy
from projections.event_slice import EventSlice
from projections.stats.gap_martingale import BETS, CLUSTER_REVIEWS
from projections.time_range import TimeRange
from tallystick.shapes.calibration import CalibrationView
from tests.projections.chunks import Chunks, restored
from tests.projections.drafts import record, review
from tests.projections.random_histories import events_of

GROUP_ROWS = 300
GROUPINGS: tuple[GroupBy, ...] = ("confidence_bucket", "category", "agent")


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_table, "GROUP_ROWS", GROUP_ROWS)
    monkeypatch.setattr(cluster_rows, "ROWS_PER_KEPT", 1)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether rows were counted together, for each group of rows that was read."""
    found: list[bool] = []

    def count(rows: ClusterRows, alike: AlikeCells) -> ClusterRows | None:
        kept = count_alike(rows, alike)
        found.append(kept is not None)
        return kept

    monkeypatch.setattr(counted_decisions, "count_alike", count)
    return found


def drafted(seed: int, decisions: int) -> list[Draft]:
    """Decisions in clusters of about two hundred, which overlap, each reviewed some decisions later."""
    rng = random.Random(seed)
    drafts: list[Draft] = []
    for number in range(decisions + 20):
        if number < decisions:
            drafts.append(
                record(
                    f"d{number}",
                    rng.choice([0.62, 0.65, 0.65, 0.9, None]),
                    category=rng.choice(["process", "tooling"]),
                    agent=rng.choice(["ada", "ada", "bo"]),
                    cluster=rng.choice([f"c{number // 250}"] * 6 + [f"c{number // 170}", None]),
                )
            )
        if number >= 20 and rng.random() < 0.9:
            drafts.append(review(f"d{number - 20}", rng.choice(["success", "success", "failure", "partial"])))
    return drafts


def history(seed: int, decisions: int) -> EventSlice:
    return events_of(drafted(seed, decisions))


def folded(events: EventSlice) -> Calibration:
    calibration = Calibration()
    calibration.fold(events)
    return calibration


def views(calibration: Calibration) -> list[CalibrationView]:
    return [
        calibration.view(CalibrationFilter(), "agent", 5),
        calibration.view(CalibrationFilter(agent="ada"), "category", 5),
    ]


def plain(view: object) -> object:
    return msgspec.json.decode(msgspec.json.encode(view))


def assert_alike(found: object, expected: object) -> None:
    """The same, but for the order in which numbers were added."""
    if isinstance(expected, dict):
        assert isinstance(found, dict)
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert_alike(found[key], value)
    elif isinstance(expected, list):
        assert isinstance(found, list)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_alike(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    else:
        assert found == expected


def test_figures_are_those_of_single_reviews(counted: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    live, done = Calibration(), 0
    events = history(1, 1_000)
    for size in (1_300, len(events)):
        live.fold(events[done:size])
        done = size
        found = plain(views(live))
        assert any(counted), "most reviews of a group of rows are counted together"
        with monkeypatch.context() as patch:
            patch.setattr(counted_decisions, "count_alike", lambda rows, alike: None)
            expected = plain(views(folded(events[:size])))
        assert_alike(found, expected)


def test_clusters_that_get_no_newer_reviews_are_added_to_the_older_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger grows by some groups of rows, looked at all the time."""
    live, done, added, with_more = Calibration(), 0, list[int](), OlderClusters.with_more

    def add(
        older: OlderClusters, read: Callable[[], NamedReviews], more: NamedReviews, alike: AlikeCells
    ) -> OlderClusters:
        added.append(len(more.cell))
        return with_more(older, read, more, alike)

    monkeypatch.setattr(OlderClusters, "with_more", add)
    events, found = history(9, 1_600), []
    for size in (1_800, 2_400, len(events)):
        live.fold(events[done:size])
        done = size
        found.append(plain(live.view(CalibrationFilter(), "category", 5)))
    assert sum(number > 0 for number in added) >= 2
    monkeypatch.setattr(counted_decisions, "count_alike", lambda rows, alike: None)
    assert_alike(found[-1], plain(folded(events).view(CalibrationFilter(), "category", 5)))


def test_each_cluster_has_its_first_reviews_one_by_one() -> None:
    """Random rows, in three ways of grouping: what clusters change is that of all rows."""
    rng = np.random.default_rng(5)
    calibration = folded(history(2, 1_300))
    decisions = calibration.decisions(CalibrationFilter())
    cells, values = decisions.cells, calibration.selection(CalibrationFilter()).values
    single = decisions.named()
    for grouping in (*GROUPINGS, *GROUPINGS):  # the second time from what is kept
        together = decisions.view_clusters(alike_cells(cells, grouping))
        assert together.older is not None
        assert len(together.newer.cell) + len(together.older.reviews().cell) < len(single.cell)
        assert together.newer.n.sum() + together.older.reviews().n.sum() == len(single.cell)
        group, _ = number_groups(cells, values, grouping)
        found, expected = together.by_group(grouping, group), single.by_group(group)
        assert found.keys() == expected.keys()
        for number, part in expected.items():
            assert found[number].log_factors == pytest.approx(part.log_factors, abs=1e-9)
            assert found[number].sizes.tolist() == part.sizes.tolist()
            assert found[number].sums == pytest.approx(part.sums)
            assert (found[number].square, found[number].product) == pytest.approx((part.square, part.product))
            low = float(rng.choice([0.6, 0.63, 0.7]))
            assert found[number].within(low, 1).sums == pytest.approx(part.within(low, 1).sums)


@pytest.mark.parametrize("first", ["everything", "some groups"])
def test_what_is_kept_is_not_that_of_decisions_within_some_groups(first: str) -> None:
    """A filter by model is not in the key of what is kept."""
    everything = folded(history(6, 1_000)).decisions(CalibrationFilter())
    cells = everything.cells
    within = np.arange(len(cells.columns[0])) % 2 == 0
    some, alike = everything._replace(within=within), alike_cells(cells, "category")
    for decisions in (everything, some, everything) if first == "everything" else (some, everything, some):
        single, together = decisions.named(), decisions.view_clusters(alike)
        reviews = together.newer.n.sum() + (0 if together.older is None else together.older.reviews().n.sum())
        assert reviews == len(single.cell)
    assert len(some.named().cell) < len(everything.named().cell)


def test_ranges_of_time_use_what_is_kept_of_whole_groups() -> None:
    calibration = folded(history(7, 1_000))
    alike = alike_cells(calibration.cells.cells(), "category")
    times = calibration.cells.numbers.table.column("time_us")
    moments = [datetime.fromtimestamp(int(times[place]) / 1e6, UTC) for place in (40, 310, 650, 980)]
    for since, until in ((None, None), (moments[0], None), (moments[1], moments[2]), (None, moments[3]), (None, None)):
        decisions = calibration.decisions(CalibrationFilter(range=TimeRange(since, until)))
        together = decisions.view_clusters(alike)
        reviews = together.newer.n.sum() + (0 if together.older is None else together.older.reviews().n.sum())
        assert reviews == len(decisions.named().cell)


def test_a_restart_counts_only_what_is_newer(monkeypatch: pytest.MonkeyPatch) -> None:
    events = history(3, 1_100)
    calibration = folded(events)
    keep, chunks = calibration.kept(), Chunks()
    assert keep is not None
    kept = keep(chunks)
    counted, count_numbers = list[int](), CountedColumns.count_numbers

    def count(columns: CountedColumns, group: int, places: slice) -> object:
        counted.append(group)
        return count_numbers(columns, group, places)

    monkeypatch.setattr(CountedColumns, "count_numbers", count)
    expected = plain(calibration.view(CalibrationFilter()))
    for saved, groups in ((kept, [3]), (None, [0, 1, 2, 3])):
        new = restored(calibration)
        if saved is not None:
            new.take_kept(saved, chunks)
        counted.clear()
        assert_alike(plain(new.view(CalibrationFilter())), expected)
        assert counted == groups
        assert new.digest() == calibration.digest()


def test_a_restart_does_not_read_older_clusters_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What these change in the groups of a view is saved; for other groups they are read, from the rows that are."""
    calibration, read = folded(history(8, 1_100)), list[int]()

    def read_rows(cells: Cells, rows: Sequence[ReadRows], first: int) -> NamedReviews:
        read.append(first)
        return read_older(cells, rows, first)

    keep, chunks = calibration.kept(), Chunks()
    assert keep is not None
    saved = keep(chunks)
    monkeypatch.setattr(outcome_counts, "read_older", read_rows)
    monkeypatch.setattr(counted_decisions, "read_older", read_rows)
    new = restored(calibration)
    new.take_kept(saved, chunks)
    assert_alike(plain(new.view(CalibrationFilter())), plain(calibration.view(CalibrationFilter())))
    assert not read
    assert_alike(plain(views(new)), plain(views(calibration)))
    assert read


def test_rows_that_were_kept_are_read_when_they_are_used() -> None:
    calibration, chunks = folded(history(8, 2_000)), Chunks()
    keep = calibration.kept()
    assert keep is not None
    saved, all_kept = keep(chunks), list(chunks.kept)
    new = restored(calibration)
    new.take_kept(saved, chunks)
    new.view(CalibrationFilter())
    read = chunks.reads
    assert 0 < read < len(set(all_kept))
    keep_again = new.kept()
    assert keep_again is not None
    chunks.kept.clear()
    assert keep_again(chunks) == saved
    assert sorted(chunks.kept) == sorted(all_kept)
    assert chunks.reads == read  # nothing is read to be saved again
    new.view(CalibrationFilter(), "agent")
    assert chunks.reads == read  # by agent other rows count together
    views(new)


def test_what_was_kept_of_other_rows_is_not_used() -> None:
    drafts = drafted(4, 600)
    keep, chunks = folded(events_of(drafts)).kept(), Chunks()
    assert keep is not None
    later = folded(events_of([*drafts, review("d5", "failure"), review("d305", "partial"), review("d6", "abandoned")]))
    new = restored(later)
    new.take_kept(keep(chunks), chunks)
    found, expected = (plain(each.view(CalibrationFilter())) for each in (new, later))
    assert_alike(found, expected)


def test_a_small_state_keeps_nothing() -> None:
    assert folded(history(5, GROUP_ROWS - 1)).kept() is None


def test_any_number_of_confidences_is_saved() -> None:
    some = np.arange(70_000)
    factors = np.ones((BETS, len(CLUSTER_REVIEWS)))
    part = ClusterPart.of(factors, np.full(35_000, 2.0), (some / 70_000, some % 3 / 2, np.ones(70_000), some // 2))
    saved = kept_clusters._save(KeptOlder((), 1, OlderClusters(lambda: NO_REVIEWS, {"category": {4: part}}), NO_ROWS))
    ((name, ((number, arrays),)),) = saved.parts
    found = kept_clusters._part(arrays)
    assert (name, number) == ("category", 4)
    assert found.difference.tolist() == part.difference.tolist()
    assert found.sums.tolist() == part.sums.tolist()
