"""Placement of ledgers on clusters: by hash, by first fit, and by first fit with moves when loads change."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.costs import Assumptions, Costs
from benchmarks.scale.group_commit import Floats, GroupTime
from benchmarks.scale.ledger_loads import HOURS, Unit, unit_cpu

FILL = 0.8
"""First fit fills a cluster to this share of its capacity in its peak hour; a move goes on down to it."""
MOVE_ABOVE = 0.95
"""A cluster above this share gives units to others."""

Places = NDArray[np.int64]


class Month(NamedTuple):
    """A policy over some days: clusters at the end, overloaded cluster-hours, and moves of ledgers."""

    clusters: int
    overloaded: float
    """Share of cluster-hours in which the load was above the capacity."""
    moves_a_day: float
    busiest_use: float
    """The most that any cluster used of its capacity in an hour."""


def place_by_hash(units: int, clusters: int, rng: np.random.Generator) -> Places:
    """Return a cluster for each unit, each with the same probability."""
    return (rng.random(units) * clusters).astype(np.int64)


def first_fit(needs: Floats, capacity: float) -> Places:
    """Return the first cluster with enough capacity in every hour, largest needs first; begin clusters as needed."""
    places = np.zeros(len(needs), dtype=np.int64)
    used = np.zeros((1, HOURS))
    for unit in np.argsort(-needs.max(axis=1), kind="stable"):
        fits = np.flatnonzero((used + needs[unit]).max(axis=1) <= capacity)
        if len(fits):
            place = int(fits[0])
        else:
            place = len(used) if used[-1].any() else len(used) - 1
            if place == len(used):
                used = np.vstack([used, np.zeros(HOURS)])
        places[unit] = place
        used[place] += needs[unit]
    return places


def load_of(places: Places, needs: Floats, clusters: int) -> Floats:
    """Return what each cluster needs in each hour: clusters x HOURS."""
    load = np.zeros((clusters, HOURS))
    np.add.at(load, places, needs)
    return load


def move_units(places: Places, needs: Floats, clusters: int, capacity: float) -> tuple[Places, int, list[int]]:
    """Move units from clusters above MOVE_ABOVE to the least loaded; return places, clusters, and the moved units."""
    places, moved = places.copy(), []
    load = load_of(places, needs, clusters)
    for full in np.flatnonzero(load.max(axis=1) > MOVE_ABOVE * capacity):
        mine = [int(unit) for unit in np.flatnonzero(places == full)]
        mine.sort(key=lambda unit: -float(needs[unit].max()))
        while load[full].max() > FILL * capacity and len(mine) > 1:
            unit = mine.pop(0)
            peaks = (load + needs[unit]).max(axis=1)
            peaks[full] = np.inf
            if not len(peaks) or peaks.min() > MOVE_ABOVE * capacity:
                load = np.vstack([load, np.zeros(HOURS)])
                peaks = np.append(peaks, 0.0)
            target = int(peaks.argmin())
            load[full] -= needs[unit]
            load[target] += needs[unit]
            places[unit] = target
            moved.append(unit)
    return places, len(load), moved


def run_days(
    units: list[Unit],
    costs: Costs,
    assumed: Assumptions,
    time: GroupTime,
    days: int,
    *,
    hashed_on: int = 0,
    moving: bool = False,
) -> Month:
    """Place units on the first day, change their loads each day, and count hours above the capacity.

    `hashed_on` is the number of clusters of the static hash; 0 is first fit.
    """
    rng = np.random.default_rng(assumed.seed)
    factor = np.ones(len(units))
    needs = unit_cpu(units, costs, assumed, time, factor)
    capacity = assumed.cluster_cpu
    if hashed_on:
        places, clusters = place_by_hash(len(units), hashed_on, rng), hashed_on
    else:
        places = first_fit(needs, FILL * capacity)
        clusters = int(places.max()) + 1
    overloaded = hours = moved_ledgers = 0
    busiest = 0.0
    for _ in range(days):
        load = load_of(places, needs, clusters)
        overloaded += int((load > capacity).sum())
        hours += load.size
        busiest = max(busiest, float(load.max()) / capacity)
        if moving:
            places, clusters, moved = move_units(places, needs, clusters, capacity)
            moved_ledgers += sum(units[unit].ledgers for unit in moved)
        factor *= np.exp(assumed.growth_a_day + _normal(rng, len(units)) * assumed.drift_a_day)
        needs = unit_cpu(units, costs, assumed, time, factor)
    return Month(clusters, overloaded / hours, moved_ledgers / days, busiest)


def _normal(rng: np.random.Generator, count: int) -> Floats:
    """Return normal values by Box and Muller: unlike numpy's own, the same in every version."""
    radius = np.sqrt(-2 * np.log1p(-rng.random(count)))
    values: Floats = radius * np.cos(2 * np.pi * rng.random(count))
    return values
