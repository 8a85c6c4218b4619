"""The load of many ledgers: heavy-tailed means, and a daily cycle in three time zones."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from benchmarks.scale.costs import DAY_S, Assumptions, Costs
from benchmarks.scale.group_commit import Floats, GroupTime, groups_a_second

HOURS = 24
ZONES = 3
ALONE = 1_000
"""So many of the busiest ledgers are classes of their own; the others share classes of similar load."""


class LoadClass(NamedTuple):
    """Ledgers of equal load: how many, and the mean events a second of each."""

    ledgers: int
    rate: float


class Unit(NamedTuple):
    """Ledgers that are placed together, all of one time zone: a busy ledger alone, or many quiet ones."""

    ledgers: int
    rate: float
    zone: int


def zipf_classes(events_a_day: float, ledgers: int, exponent: float) -> list[LoadClass]:
    """Divide the events of a day: the ledger of rank i gets a share proportional to i ** -exponent."""
    alone = min(ledgers, ALONE)
    edges = np.unique(np.geomspace(alone, ledgers, 200).astype(np.int64)) if ledgers > alone else np.array([alone])
    weights = np.arange(1, alone + 1, dtype=np.float64) ** -exponent
    counts = np.diff(edges)
    shared = np.array([_sum_of_powers(low, high, exponent) for low, high in pairwise(edges)])
    total = events_a_day / DAY_S / (weights.sum() + shared.sum())
    busy = [LoadClass(1, float(weight * total)) for weight in weights]
    quiet = zip(counts, shared, strict=True)
    return busy + [LoadClass(int(count), float(weight * total / count)) for count, weight in quiet]


def _sum_of_powers(low: int, high: int, exponent: float) -> float:
    """Return the sum of i ** -exponent over low < i <= high, by the midpoint rule."""
    if abs(exponent - 1) < 1e-9:
        return float(np.log((high + 0.5) / (low + 0.5)))
    power = 1 - exponent
    return float(((high + 0.5) ** power - (low + 0.5) ** power) / power)


def daily_cycle(amplitude: float) -> Floats:
    """Return the factor of the mean rate for each time zone and hour: ZONES x HOURS, each row has the mean 1."""
    hours = np.arange(HOURS) / HOURS
    phases = np.arange(ZONES)[:, None] / ZONES
    cycle: Floats = 1 + amplitude * np.cos(2 * np.pi * (hours - phases))
    return cycle


def signed_a_second(rate: Floats, every_s: float) -> Floats:
    """Return how often a ledger has grown, looked at every so many seconds, if its events are independent."""
    grown: Floats = -np.expm1(-rate * every_s) / every_s
    return grown


def primary_cpu(rate: Floats, costs: Costs, assumed: Assumptions, time: GroupTime) -> Floats:
    """Return the CPU seconds a second of a primary for one ledger at a rate, its checkpoints included."""
    transactions = groups_a_second(rate, time) + signed_a_second(rate, assumed.checkpoint_every_s)
    cpu: Floats = transactions * costs.primary_group_s + rate * costs.primary_event_s
    return cpu


def units_of(classes: list[LoadClass], costs: Costs, assumed: Assumptions, time: GroupTime) -> list[Unit]:
    """Divide classes into units for placement: a quiet unit needs at most 1/200 of a cluster."""
    units: list[Unit] = []
    for load in classes:
        one = float(primary_cpu(np.array([load.rate]), costs, assumed, time)[0])
        together = max(1, min(-(-load.ledgers // ZONES), int(assumed.cluster_cpu / 200 / one)))
        left = load.ledgers
        while left:
            taken = min(left, together)
            units.append(Unit(taken, load.rate, len(units) % ZONES))
            left -= taken
    return units


def unit_cpu(units: list[Unit], costs: Costs, assumed: Assumptions, time: GroupTime, factor: Floats) -> Floats:
    """Return the CPU that each unit needs of a primary in each hour: units x HOURS. `factor` multiplies its rate."""
    cycle = daily_cycle(assumed.day_amplitude)[[unit.zone for unit in units]]
    rates = np.array([unit.rate for unit in units]) * factor
    ledgers = np.array([unit.ledgers for unit in units], dtype=np.float64)
    cpu: Floats = ledgers[:, None] * primary_cpu(rates[:, None] * cycle, costs, assumed, time)
    return cpu
