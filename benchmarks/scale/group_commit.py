"""Group commit of one ledger: a transaction takes all events that wait, and holds the head's lock until it is durable.

The time of a transaction is `fixed + each * events`. `simulate` follows every event. `groups_a_second` is the rate of
transactions that a steady load needs, in a closed form; the simulation of many ledgers uses it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.costs import Assumptions, Costs

Floats = NDArray[np.float64]


class GroupTime(NamedTuple):
    """The time of a transaction: seconds for itself and for each event, and the most events that it takes."""

    fixed_s: float
    event_s: float
    events_max: int

    @property
    def rate_max(self) -> float:
        """Events a second that one ledger can commit."""
        return self.events_max / (self.fixed_s + self.event_s * self.events_max)


def as_measured(costs: Costs, events_max: int) -> GroupTime:
    """Return the line through the two measured rates, on the disk and network of the measurement."""
    of_64, of_1000 = 64 / costs.rate_of_64, 1_000 / costs.rate_of_1000
    event_s = (of_1000 - of_64) / (1_000 - 64)
    return GroupTime(of_64 - 64 * event_s, event_s, events_max)


def on_clusters(costs: Costs, assumed: Assumptions) -> GroupTime:
    """Return the same with the assumed disk and with a network between the nodes."""
    there = as_measured(costs, assumed.group_events_max)
    more_s = assumed.disk_sync_s - costs.sync_s + assumed.round_trips * assumed.round_trip_s
    return there._replace(fixed_s=there.fixed_s + more_s)


def groups_a_second(rate: Floats, time: GroupTime) -> Floats:
    """Return the transactions a second of steady loads in events a second; of overloaded ones, those of full groups.

    A group is what arrived during the transaction before it, or one event if none did. With T = fixed + each g and
    independent arrivals, its mean is g = rate T + exp(-rate T).
    """
    rate = np.asarray(rate, dtype=np.float64)
    below = np.minimum(rate, 0.999999 * time.rate_max)
    group = np.ones_like(rate)
    for _ in range(15):
        hold_s = time.fixed_s + time.event_s * group
        group = (below * time.fixed_s + np.exp(-below * hold_s)) / (1 - below * time.event_s)
    full = time.rate_max / time.events_max
    steady: Floats = np.where(rate >= time.rate_max, full, below / np.minimum(group, time.events_max))
    return steady


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueRun:
    """What the simulation of one ledger saw. Times are in seconds; latencies are those of committed events."""

    arrived: int
    committed: int
    refused: int
    groups: int
    elapsed_s: float
    busy_s: float
    mean_in_system: float
    """Mean over time of the number of events that were accepted and not committed, counted at each change."""
    latencies: Floats

    @property
    def group_mean(self) -> float:
        """Mean events of a transaction."""
        return self.committed / self.groups

    @property
    def busy(self) -> float:
        """Share of the time in which the lock was held."""
        return self.busy_s / self.elapsed_s

    def quantile_ms(self, share: float) -> float:
        """Return a quantile of the latencies in milliseconds."""
        return float(np.quantile(self.latencies, share)) * 1e3


def poisson_arrivals(rate: float, events: int, rng: np.random.Generator) -> Floats:
    """Return the times of events that arrive independently at a rate."""
    arrivals: Floats = np.cumsum(-np.log1p(-rng.random(events)) / rate)
    return arrivals


def simulate(arrivals: Floats, time: GroupTime, waiting_max: int) -> QueueRun:
    """Commit events that arrive at given times; refuse those that find `waiting_max` events waiting."""
    accepted: list[float] = []
    finished: list[float] = []
    waiting: list[float] = []
    free_s = busy_s = 0.0
    groups = refused = 0

    def commit_group() -> None:
        nonlocal free_s, busy_s, groups
        taken = waiting[: time.events_max]
        del waiting[: time.events_max]
        hold_s = time.fixed_s + time.event_s * len(taken)
        free_s = max(free_s, taken[0]) + hold_s
        busy_s += hold_s
        groups += 1
        accepted.extend(taken)
        finished.extend([free_s] * len(taken))

    for arrival in arrivals.tolist():
        while waiting and max(free_s, waiting[0]) < arrival:
            commit_group()
        if len(waiting) >= waiting_max:
            refused += 1
        else:
            waiting.append(arrival)
    while waiting:
        commit_group()
    started, ended = np.array(accepted), np.array(finished)
    elapsed_s = float(max(ended[-1], arrivals[-1]))
    return QueueRun(
        arrived=len(arrivals),
        committed=len(finished),
        refused=refused,
        groups=groups,
        elapsed_s=elapsed_s,
        busy_s=busy_s,
        mean_in_system=_mean_count(started, ended, elapsed_s),
        latencies=ended - started,
    )


def _mean_count(started: Floats, ended: Floats, elapsed_s: float) -> float:
    """Return the mean over time of how many have started and not ended, by a sweep over all changes."""
    times = np.concatenate([started, ended])
    steps = np.concatenate([np.ones(len(started)), -np.ones(len(ended))])
    order = np.argsort(times, kind="stable")
    counts = np.cumsum(steps[order])
    return float(np.sum(counts[:-1] * np.diff(times[order])) / elapsed_s)
