"""Score tables: a row a model, ranks, first against last; and they are the plain figures."""

from datetime import UTC, datetime, timedelta
from statistics import mean, stdev

import pytest
from hypothesis import given, settings
from msgspec import UNSET

from events.envelope import Draft
from events.probe import ProbeScored
from projections.discovery.probe_score_tables import percentiles
from tests.projections.random_histories import discoveries, events_of
from tests.projections.short_runs import (
    RUNS,
    alias,
    inventory_of,
    real,
    register,
    score,
    scores,
    tables,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
real_runs = pytest.mark.skipif(not RUNS.is_dir(), reason="the real runs are not beside this checkout")


def test_a_row_a_model_the_best_first() -> None:
    (table,) = tables(scores(low=[0.2, 0.4], high=[0.8, 1.0, 0.9], Auto=[0.5], unknown=[0.5]))
    assert (table.probe_id, table.scorer_id, table.scores) == ("p", "s", 7)
    assert [(row.kind, row.model, row.percentile) for row in table.models] == [
        ("model", "high", 75.0),
        ("model", "low", 25.0),
        ("wrapper", "auto", None),
        ("unresolved", "unknown", None),
    ]
    high = table.models[0]
    assert (high.scores, high.min, high.max) == (3, 0.8, 1.0)
    assert high.mean == pytest.approx(0.9)
    assert high.std_dev == pytest.approx(0.1)
    assert high.interval is not None
    assert [high.interval.low, high.interval.high] == [pytest.approx(0.9 - 4.30265 * 0.1 / 3**0.5, abs=1e-5), 1.0]
    assert table.models[2].interval is None
    assert table.discrimination.models == 2


def test_scores_all_alike_have_no_interval() -> None:
    (table,) = tables(scores(one=[1.0, 1.0, 1.0]))
    assert (table.models[0].std_dev, table.models[0].interval, table.models[0].percentile) == (0.0, None, None)


def test_first_against_last_by_time() -> None:
    drafts = [
        score("b", "one", 0.9, time=NOON + HOUR),
        score("a", "one", 0.4, time=NOON),
        score("c", "one", None, time=NOON + 2 * HOUR),
    ]
    row = tables(drafts)[0].models[0]
    assert row.first is not None
    assert row.last is not None
    assert (row.first.total, row.first.time) == (0.4, NOON)
    assert (row.last.total, row.last.time) == (0.9, NOON + HOUR)
    assert (row.scores, row.totals) == (3, 2)
    assert row.change == pytest.approx(0.5)
    alone = tables([score("a", "one", 0.4)])[0].models[0]
    assert (alone.first, alone.change) == (alone.last, None)


def test_validity_counts_and_dimensions() -> None:
    drafts = [
        score("a", "one", 0.5, valid=True, counts={"renames": 2, "splits": 1}, dimension_scores={"speed": 0.5}),
        score("b", "one", None, valid=False),
        score("c", "one", 0.7, counts={"splits": 3}, dimension_scores={"speed": 1.0, "depth": 0.1}),
        score("d", "two", None, valid=False),
    ]
    one, two = tables(drafts)[0].models
    assert (one.valid_share, one.totals) == (0.5, 2)
    assert one.counts == {"renames": 2.0, "splits": 2.0}
    assert one.dimensions == {"depth": pytest.approx(0.1), "speed": 0.75}
    assert (two.valid_share, two.totals, two.mean, two.first, two.percentile) == (0.0, 0, None, None, None)


def test_declining_counts_as_nothing_and_ranks() -> None:
    """One good answer and four that decline are worth less than five honest ones of .703."""
    declined = [score(f"d{n}", "declining", None, valid=False) for n in range(4)]
    (table,) = tables([score("d", "declining", 0.95, valid=True), *declined, *scores(honest=[0.703] * 5)])
    honest, declining = table.models
    assert (honest.model, declining.model) == ("honest", "declining")
    assert (declining.mean, declining.percentile) == (0.95, 75.0)
    assert (declining.answered, declining.counted) == (1, 5)
    assert declining.counted_mean == pytest.approx(0.19)
    assert declining.counted_percentile == 25.0
    assert declining.counted_interval is not None
    assert declining.counted_interval.low == 0.0
    assert declining.counted_interval.high == pytest.approx(0.19 + 2.77645 * 0.4249 / 5**0.5, abs=1e-3)
    assert (honest.answered, honest.counted, honest.counted_percentile) == (5, 5, 75.0)
    assert honest.counted_mean == pytest.approx(0.703)


def test_an_answer_without_a_total_that_is_not_invalid_does_not_count() -> None:
    drafts = [score("a", "one", None), score("b", "one", None, valid=True), score("c", "one", 0.4, valid=False)]
    (row,) = tables(drafts)[0].models
    assert (row.scores, row.totals, row.mean) == (3, 1, 0.4)
    assert (row.answered, row.counted, row.counted_mean) == (0, 1, 0.0)
    (missing,) = tables(drafts[:1])[0].models
    assert (missing.counted, missing.counted_mean, missing.counted_interval) == (0, None, None)


def test_versions_are_not_mixed() -> None:
    drafts = [
        score("a", "one", 0.1),
        score("b", "one", 0.2, probe_version="1"),
        score("c", "one", 0.3, probe_version="1", scorer_version="2"),
        score("d", "one", 0.4, scorer_id="t"),
        score("e", "one", 0.5, probe="q"),
    ]
    reported = [
        (table.probe_id, table.probe_version, table.scorer_id, table.scorer_version) for table in tables(drafts)
    ]
    assert reported == [
        ("p", None, "s", None), ("p", None, "t", None), ("p", "1", "s", None), ("p", "1", "s", "2"),
        ("q", None, "s", None),
    ]  # fmt: skip
    assert len(tables(drafts, probe="p")) == 4
    assert len(tables(drafts, probe="p@1")) == 2
    assert [table.models[0].mean for table in tables(drafts, probe="p@1", scorer="s@2")] == [0.3]
    assert tables(drafts, probe="p@2") == tables(drafts, scorer="u") == []


def test_names_are_those_that_owners_gave() -> None:
    drafts = [*scores(alpha=[0.2, 0.3], beta=[0.8]), score("d", "Alpha-20250101", 0.4), score("n", None, 0.1)]
    said = [register("alpha"), alias("alpha", "beta")]
    (before,), (after,) = tables(drafts), tables([*drafts, *said])
    assert [(row.model, row.scores, row.known) for row in before.models] == [
        ("beta", 1, False), ("alpha", 3, False), (None, 1, False),
    ]  # fmt: skip
    assert [(row.kind, row.model, row.scores, row.known) for row in after.models] == [
        ("model", "alpha", 4, True), ("unnamed", None, 1, False),
    ]  # fmt: skip
    assert before.discrimination.scores == 5


def test_a_page_of_rows_is_a_part_of_the_table() -> None:
    drafts = scores(one=[0.2, 0.4], two=[0.9, 0.8], three=[0.5], auto=[1.0])
    (whole,) = tables(drafts)
    (page,) = tables(drafts, limit=2, offset=1)
    assert (whole.rows, page.rows) == (UNSET, 4)
    assert page.models == whole.models[1:3]
    assert page.discrimination == whole.discrimination


def test_one_model_keeps_its_rank_among_all() -> None:
    drafts = scores(one=[0.1], two=[0.5], three=[0.5], four=[0.9])
    (table,) = tables(drafts, model="TWO")
    assert [(row.model, row.percentile) for row in table.models] == [("two", 50.0)]
    assert table.discrimination == tables(drafts)[0].discrimination


@pytest.mark.parametrize(
    ("means", "reported"),
    [
        ({}, {}),
        ({"a": 0.5}, {}),
        ({"a": 0.5, "b": 0.5}, {"a": 50.0, "b": 50.0}),
        ({"a": 0.1, "b": 0.5, "c": 0.5, "d": 0.9}, {"a": 12.5, "b": 50.0, "c": 50.0, "d": 87.5}),
        ({"a": 0.1 + 0.2, "b": 0.3, "c": 1.0}, {"a": 100 / 3, "b": 100 / 3, "c": 250 / 3}),
    ],
)
def test_percentiles_are_midranks(means: dict[str, float], reported: dict[str, float]) -> None:
    assert percentiles(means) == pytest.approx(reported)


@pytest.mark.slow
@given(drafts=discoveries(60))
@settings(max_examples=200, deadline=None)
def test_they_are_the_plain_figures(drafts: list[Draft]) -> None:
    names = inventory_of(drafts).names
    own: dict[tuple[object, ...], list[ProbeScored]] = {}
    for event in events_of(drafts):
        data = event.data
        if isinstance(data, ProbeScored):
            whose = ("unnamed", None) if data.model_name is None else names.resolve(data.model_name)
            about = (data.probe_id, data.probe_version, data.scorer_id, data.scorer_version)
            own.setdefault((*about, *whose), []).append(data)
    seen = tables(drafts)
    assert {
        (table.probe_id, table.probe_version, table.scorer_id, table.scorer_version, row.kind, row.model)
        for table in seen
        for row in table.models
    } == set(own)
    for table in seen:
        for row in table.models:
            reported = own[
                table.probe_id, table.probe_version, table.scorer_id, table.scorer_version, row.kind, row.model
            ]
            totals = [data.total_score for data in reported if data.total_score is not None]
            assert (row.scores, row.totals) == (len(reported), len(totals))
            assert row.mean == (pytest.approx(mean(totals)) if totals else None)
            assert row.std_dev == (pytest.approx(stdev(totals), abs=1e-9) if len(totals) > 1 else None)
            assert (row.min, row.max) == ((min(totals), max(totals)) if totals else (None, None))
            counted = [
                0.0 if data.valid is False else data.total_score or 0.0
                for data in reported
                if data.valid is False or data.total_score is not None
            ]
            assert row.counted == len(counted)
            assert row.counted_mean == (pytest.approx(mean(counted)) if counted else None)
            assert row.answered == sum(data.valid is not False and data.total_score is not None for data in reported)
            assert row.counts == _means([data.counts or {} for data in reported])
            assert row.dimensions == _means([data.dimension_scores or {} for data in reported])
            stated = [data.valid for data in reported if data.valid is not None]
            assert row.valid_share == (pytest.approx(mean(stated)) if stated else None)


def _means(found: list[dict[str, int]] | list[dict[str, float]]) -> object:
    labels = {label for one in found for label in one}
    return {label: pytest.approx(mean(one[label] for one in found if label in one)) for label in labels}


@real_runs
def test_the_real_scores_are_saturated() -> None:
    (table,) = tables(list(real()), probe="refactor-v1")
    assert table.discrimination.says == (
        "saturated: 12 of 13 scores are 1.00; not shown to tell models apart: 6 scores of 2 models are all the same"
    )
    assert (table.discrimination.variance_share, table.discrimination.tells_apart) == (None, None)
    (worst,) = [row for row in table.models if row.percentile == 10.0]
    assert (worst.model, worst.mean) == ("gpt-4o-mini", 0.75)
    assert worst.dimensions["speed"] == pytest.approx(0.55)
