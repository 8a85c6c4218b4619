"""The simulation of many ledgers: the same every time, right in cases that are known, and printed in decision 82."""

from dataclasses import replace
from math import isclose

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scale.__main__ import main
from benchmarks.scale.costs import DAY_S, MEASURED, SOURCES, Assumptions, measured
from benchmarks.scale.event_costs import copy_pause_s, cost_of_million, missing_pages, with_stored
from benchmarks.scale.group_commit import (
    GroupTime,
    as_measured,
    groups_a_second,
    on_clusters,
    poisson_arrivals,
    simulate,
)
from benchmarks.scale.ledger_loads import HOURS, daily_cycle, primary_cpu, units_of, zipf_classes
from benchmarks.scale.placement import FILL, MOVE_ABOVE, first_fit, load_of, move_units, place_by_hash, run_days
from benchmarks.scale.tables import latency
from tests.support.paths import ROOT

COSTS, ASSUMED = measured(), Assumptions()
TIME = GroupTime(0.004, 0.00003, 1_000)
DECISION = ROOT / "docs" / "decisions" / "0082-many-ledgers-on-clusters.md"


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.slow
def test_the_decision_has_the_tables_that_the_simulation_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """Another process printed those of the page, so the simulation prints the same every time."""
    main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 60
    assert max(map(len, lines)) <= 80
    page = DECISION.read_text(encoding="utf-8").splitlines()
    missing = [line for line in lines if line.startswith("|") and line not in page]
    assert not missing, "copy the tables of `python -m benchmarks.scale` into decision 82"


@pytest.mark.slow
def test_another_seed_gives_other_arrivals_and_the_same_seed_the_same() -> None:
    first, again = latency(COSTS, ASSUMED), latency(COSTS, ASSUMED)
    assert first == again != latency(COSTS, replace(ASSUMED, seed=21))


def test_every_figure_has_a_source() -> None:
    assert {figure.source for figure in MEASURED} == SOURCES.keys()
    assert all(figure.value > 0 for figure in MEASURED)


def test_the_time_of_a_group_goes_through_both_measured_rates() -> None:
    time = as_measured(COSTS, 1_000)
    for events, rate in ((64, COSTS.rate_of_64), (1_000, COSTS.rate_of_1000)):
        assert isclose(events / (time.fixed_s + time.event_s * events), rate)
    assert on_clusters(COSTS, ASSUMED).rate_max < time.rate_max == pytest.approx(COSTS.rate_of_1000)


def test_events_far_apart_take_one_transaction_each() -> None:
    run = simulate(np.arange(1.0, 101.0), TIME, 20_000)
    assert (run.groups, run.refused) == (100, 0)
    assert np.allclose(run.latencies, TIME.fixed_s + TIME.event_s)
    assert run.busy == pytest.approx((TIME.fixed_s + TIME.event_s) * 100 / run.elapsed_s)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_constant_load_below_the_capacity_settles_at_its_group(share: float) -> None:
    """A steady group commits in the time in which the next one arrives: n = rate (fixed + each n)."""
    rate = share * TIME.rate_max
    run = simulate(np.arange(1, 100_001) / rate, TIME, 20_000)
    steady = rate * TIME.fixed_s / (1 - rate * TIME.event_s)
    assert run.refused == 0
    assert run.group_mean == pytest.approx(steady, rel=0.03)
    assert run.quantile_ms(1) <= 2.1e3 * (TIME.fixed_s + TIME.event_s * steady)


@pytest.mark.slow
def test_a_load_above_the_capacity_fills_the_queue_and_the_rest_is_refused() -> None:
    rate = 1.25 * TIME.rate_max
    run = simulate(np.arange(1, 600_001) / rate, TIME, 5_000)
    assert run.refused / run.arrived == pytest.approx(1 - 1 / 1.25, abs=0.02)
    assert run.committed / run.elapsed_s == pytest.approx(TIME.rate_max, rel=0.02)
    assert run.quantile_ms(0.5) == pytest.approx(1e3 * (5_000 + 500) / TIME.rate_max, rel=0.2)
    assert simulate(np.arange(1, 600_001) / (0.95 * TIME.rate_max), TIME, 5_000).refused == 0


def test_the_number_in_the_system_is_rate_times_latency() -> None:
    """Little's law. The number is counted at each change, the latency is that of each event."""
    run = simulate(poisson_arrivals(2_000, 50_000, rng()), TIME, 20_000)
    assert run.mean_in_system == pytest.approx(run.committed / run.elapsed_s * float(run.latencies.mean()))


@given(
    gaps=st.lists(st.floats(0, 0.02), min_size=1, max_size=200),
    events_max=st.integers(1, 20),
    waiting_max=st.integers(1, 30),
)
def test_no_event_is_lost_or_committed_early(gaps: list[float], events_max: int, waiting_max: int) -> None:
    time = GroupTime(0.004, 0.001, events_max)
    run = simulate(np.cumsum(gaps), time, waiting_max)
    assert run.arrived == len(gaps) == run.committed + run.refused == len(run.latencies) + run.refused
    assert run.latencies.min() >= time.fixed_s + time.event_s - 1e-9
    assert run.busy_s == pytest.approx(run.groups * time.fixed_s + run.committed * time.event_s)
    assert run.busy_s <= run.elapsed_s + 1e-9
    assert run.groups >= run.committed / events_max


@pytest.mark.parametrize("rate", [1, 30, 100, 1_000, 10_000, 20_000])
def test_the_closed_form_has_the_transactions_of_the_simulation(rate: float) -> None:
    run = simulate(poisson_arrivals(rate, 40_000, rng()), TIME, 20_000)
    expected = float(groups_a_second(np.array([float(rate)]), TIME)[0])
    assert run.groups / run.elapsed_s == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("exponent", [0.7, 1.0, 1.3])
def test_classes_have_every_ledger_and_every_event(exponent: float) -> None:
    classes = zipf_classes(1e9, 50_000, exponent)
    assert sum(load.ledgers for load in classes) == 50_000
    assert sum(load.ledgers * load.rate for load in classes) * DAY_S == pytest.approx(1e9)
    exact = np.arange(1, 50_001.0) ** -exponent
    assert classes[0].rate * DAY_S / 1e9 == pytest.approx(float(exact[0] / exact.sum()), rel=1e-3)
    assert classes[1].rate / classes[0].rate == pytest.approx(2**-exponent)
    units = units_of(classes, COSTS, ASSUMED, TIME)
    assert sum(unit.ledgers for unit in units) == 50_000
    assert sum(unit.ledgers * unit.rate for unit in units) * DAY_S == pytest.approx(1e9)


def test_a_day_has_the_mean_load() -> None:
    cycle = daily_cycle(0.7)
    assert np.allclose(cycle.mean(axis=1), 1)
    assert (cycle.max(), cycle.min()) == pytest.approx((1.7, 0.3))


def test_a_quiet_ledger_needs_a_commit_and_a_checkpoint_for_each_event() -> None:
    rate = 1e-4
    cpu = float(primary_cpu(np.array([rate]), COSTS, ASSUMED, TIME)[0])
    assert cpu == pytest.approx(rate * (2 * COSTS.primary_group_s + COSTS.primary_event_s), rel=1e-3)


def test_first_fit_keeps_the_capacity_and_places_every_unit_once() -> None:
    needs = rng().random((300, HOURS)) * 0.3
    places = first_fit(needs, 1.0)
    load = load_of(places, needs, int(places.max()) + 1)
    assert load.max() <= 1.0
    assert load.min(axis=1).min() > 0, "no cluster is empty"
    assert np.allclose(load.sum(axis=0), needs.sum(axis=0))
    assert len(load) >= needs.sum(axis=0).max()


def test_equal_units_are_packed_exactly() -> None:
    assert int(first_fit(np.full((40, HOURS), 0.25), 1.0).max()) + 1 == 10
    assert first_fit(np.full((1, HOURS), 5.0), 1.0).tolist() == [0], "a unit above the capacity is alone"


def test_moves_relieve_a_full_cluster_and_lose_no_unit() -> None:
    needs = np.full((30, HOURS), 0.1)
    everything_on_one = np.zeros(30, dtype=np.int64)
    places, clusters, moved = move_units(everything_on_one, needs, 1, 1.0)
    load = load_of(places, needs, clusters)
    assert load.max() <= MOVE_ABOVE
    assert FILL - 0.1 < load[0].max() <= FILL, "no more than needed moves away"
    assert load.sum() == pytest.approx(needs.sum())
    assert sorted(moved) == np.flatnonzero(places).tolist()
    assert move_units(places, needs, clusters, 1.0)[2] == []


def test_a_hash_needs_more_clusters_than_first_fit() -> None:
    small = replace(ASSUMED, node_cores=1)
    units = units_of(zipf_classes(2e9, 200_000, 1.0), COSTS, small, TIME)
    fitted = run_days(units, COSTS, small, TIME, 3)
    hashed = run_days(units, COSTS, small, TIME, 3, hashed_on=fitted.clusters)
    assert fitted.clusters > 20
    assert hashed.busiest_use > fitted.busiest_use
    assert fitted.overloaded == 0
    assert fitted.busiest_use < 1 / FILL
    assert set(place_by_hash(len(units), 2, rng()).tolist()) == {0, 1}


def test_loads_that_do_not_change_need_no_moves() -> None:
    steady = replace(ASSUMED, drift_a_day=0.0, growth_a_day=0.0)
    units = units_of(zipf_classes(2e9, 200_000, 1.0), COSTS, steady, TIME)
    assert run_days(units, COSTS, steady, TIME, 5, moving=True).moves_a_day == 0
    growing = replace(steady, growth_a_day=0.05)
    month = run_days(units, COSTS, growing, TIME, 20, moving=True)
    assert month.moves_a_day > 0
    assert month.clusters > run_days(units, COSTS, growing, TIME, 20).clusters


def test_the_cost_of_a_million_is_the_sum_of_its_parts() -> None:
    cost = cost_of_million(1_000, 1_000, 0.0, COSTS, ASSUMED)
    database_s = 1e6 * (15e-6 + 2 * 6e-6) + 1e3 * (660e-6 + 2 * 110e-6)
    assert cost.database_core_hours == pytest.approx(database_s / 3_600)
    assert cost.stored_gb == pytest.approx(3 * (683 + 265) * 1e6 / 1e9)
    assert cost.wal_gb == pytest.approx((1_050 * 1e6 + 225 * 1e3) / 1e9)
    assert cost.dollars_on_disks == pytest.approx(cost.stored_gb * 1.2)
    single = cost_of_million(1, 1, 1.0, COSTS, ASSUMED)
    assert single.database_core_hours > 50 * cost.database_core_hours
    assert copy_pause_s(58_000, COSTS) == pytest.approx(1 + 58_000 / COSTS.verify_rate)


def test_random_ids_cost_reads_only_beyond_memory() -> None:
    fits = ASSUMED.page_memory_bytes
    assert missing_pages(fits, ASSUMED) == 0
    assert missing_pages(2 * fits, ASSUMED) == pytest.approx(0.5)
    small, large = fits / COSTS.random_index_bytes, 4 * fits / COSTS.random_index_bytes
    for events, slower in ((small, False), (large, True)):
        own, random = (with_stored(TIME, events, COSTS, ASSUMED, random_ids=ids) for ids in (False, True))
        assert (random.rate_max < own.rate_max) is slower
    assert with_stored(TIME, 1e5, COSTS, ASSUMED, random_ids=False) == TIME
