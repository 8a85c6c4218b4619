"""The tables that the simulation prints: Markdown of at most 80 columns, the same for the same inputs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from benchmarks.scale.costs import DAY_S, Assumptions, Costs
from benchmarks.scale.event_costs import (
    GB,
    HEAD_BYTES,
    STREAMS_AN_EVENT,
    copy_pause_s,
    cost_of_million,
    missing_pages,
    with_stored,
)
from benchmarks.scale.group_commit import GroupTime, groups_a_second, on_clusters, poisson_arrivals, simulate
from benchmarks.scale.ledger_loads import LoadClass, Unit, signed_a_second, unit_cpu, units_of, zipf_classes
from benchmarks.scale.placement import FILL, first_fit, run_days

DISK_BYTES = 8e12
"""The disk of one node."""
YEAR_DAYS = 365
SEAL_PAUSE_S = 2.0
"""The transaction that seals, a checkpoint, a transaction that begins the successor, and the load of its snapshot."""


class Table(NamedTuple):
    """A title, column headings and rows of text."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the table as Markdown."""
        for row in (self.headings, ("-",) * len(self.headings), *self.rows):
            yield f"|{'|'.join(row)}|"


def figure(value: float) -> str:
    """Return a number with three significant digits, as people read it."""
    if value == 0:
        return "0"
    if abs(value) >= 1e6:
        exponent = int(np.floor(np.log10(abs(value))))
        mantissa = f"{value / 10**exponent:.3g}"
        if mantissa == "10":
            mantissa, exponent = "1", exponent + 1
        return f"{mantissa}e{exponent}"
    return f"{float(f'{value:.3g}'):,g}"


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{figure(100 * share)}%"


def latency(costs: Costs, assumed: Assumptions) -> Table:
    """Simulate one ledger at constant loads."""
    time = on_clusters(costs, assumed)
    rng = np.random.default_rng(assumed.seed)
    rows = []
    for rate in (1, 10, 100, 1_000, 5_000, 10_000, 20_000, 24_000, 30_000):
        events = int(min(300_000, max(5_000, 20 * rate)))
        run = simulate(poisson_arrivals(rate, events, rng), time, assumed.waiting_events_max)
        rows.append(
            (
                figure(rate), figure(run.group_mean), percent(run.busy), figure(run.quantile_ms(0.5)),
                figure(run.quantile_ms(0.99)), percent(run.refused / run.arrived),
            )
        )  # fmt: skip
    headings = ("events/s", "events a group", "lock held", "p50 ms", "p99 ms", "refused")
    return Table("Latency of one ledger", headings, rows)


def million(costs: Costs, assumed: Assumptions) -> Table:
    """Compute the cost of a million events by the size of transactions."""
    kinds = {
        "1, and a checkpoint": (1, 1, 1.0),
        "1": (1, 1, 0.0),
        "8": (8, 1, 0.0),
        "64": (64, 1, 0.0),
        "1,000": (1_000, 1_000, 0.0),
    }
    rows = []
    for name, (group, request, checkpoints) in kinds.items():
        cost = cost_of_million(group, request, checkpoints, costs, assumed)
        rows.append((name, *map(figure, cost)))
    headings = ("events a group", "API h", "database h", "GB x3", "WAL GB", "$ once", "$ disks", "$ objects")
    title = "Cost of a million events (hours of a core; GB; dollars once, and for a year of storage)"
    return Table(title, headings, rows)


def ledgers_of(events_a_day: float, assumed: Assumptions) -> int:
    """Return the number of ledgers that share the events of a day."""
    return max(1, round(events_a_day / assumed.events_a_ledger_a_day))


def peak_of_hottest(events_a_day: float, exponent: float, assumed: Assumptions) -> float:
    """Return the events a second of the busiest ledger in its peak hour."""
    hottest = zipf_classes(events_a_day, ledgers_of(events_a_day, assumed), exponent)[0]
    return hottest.rate * (1 + assumed.day_amplitude)


def hottest(costs: Costs, assumed: Assumptions) -> Table:
    """Find the events a day at which the busiest ledger reaches the rate of one primary."""
    limit = on_clusters(costs, assumed).rate_max
    rows = []
    for exponent in (0.6, 0.8, 1.0, 1.2):
        low, high = 1e5, 1e15
        while high / low > 1.01:
            middle = (low * high) ** 0.5
            low, high = (middle, high) if peak_of_hottest(middle, exponent, assumed) < limit else (low, middle)
        share = zipf_classes(low, ledgers_of(low, assumed), exponent)[0].rate * DAY_S / low
        rows.append((f"{exponent:g}", f"{low:.1e}".replace("e+", "e"), percent(share)))
    headings = ("Zipf exponent", "events a day of all ledgers", "share of the hottest")
    return Table(f"Where the hottest ledger reaches {limit:,.0f} events/s", headings, rows)


def split_hottest(classes: list[LoadClass], time: GroupTime, assumed: Assumptions) -> list[LoadClass]:
    """Divide each ledger that one primary cannot write into as many as needed."""
    divided = []
    for load in classes:
        parts = max(1, int(np.ceil(load.rate * (1 + assumed.day_amplitude) / (FILL * time.rate_max))))
        divided.append(LoadClass(load.ledgers * parts, load.rate / parts))
    return divided


def units_at(events_a_day: float, costs: Costs, assumed: Assumptions) -> tuple[list[LoadClass], list[Unit]]:
    """Return the ledgers of so many events a day, the hottest divided, and their units."""
    time = on_clusters(costs, assumed)
    classes = zipf_classes(events_a_day, ledgers_of(events_a_day, assumed), assumed.zipf_exponent)
    classes = split_hottest(classes, time, assumed)
    return classes, units_of(classes, costs, assumed, time)


def clusters_needed(units: list[Unit], costs: Costs, assumed: Assumptions) -> int:
    """Return the clusters that first fit needs on the first day."""
    needs = unit_cpu(units, costs, assumed, on_clusters(costs, assumed), np.ones(len(units)))
    return int(first_fit(needs, FILL * assumed.cluster_cpu).max()) + 1


def sizes(costs: Costs, assumed: Assumptions) -> Table:
    """Place ledgers of 10^6 to 10^11 events a day."""
    time = on_clusters(costs, assumed)
    rows = []
    for exponent in range(6, 12):
        events = 10.0**exponent
        classes, units = units_at(events, costs, assumed)
        counts = np.array([load.ledgers for load in classes], dtype=np.float64)
        rates = np.array([load.rate for load in classes])
        signed = float((counts * signed_a_second(rates, assumed.checkpoint_every_s)).sum())
        cosigned = float((counts * signed_a_second(rates, assumed.witness_every_s)).sum())
        transactions = float((counts * groups_a_second(rates, time)).sum())
        look_ups = counts.sum() * assumed.agents_a_ledger / assumed.look_up_every_s
        clusters = clusters_needed(units, costs, assumed)
        peak = peak_of_hottest(events, assumed.zipf_exponent, assumed)
        full_days = DISK_BYTES * clusters / (events * costs.row_bytes)
        columns = (peak, transactions, signed, cosigned, look_ups, clusters, counts.sum() / clusters, full_days)
        rows.append((f"10^{exponent}", *map(figure, columns)))
    headings = (
        "a day", "hottest", "commits", "signed", "cosigned", "look-ups", "clusters", "ledgers each", "full in"
    )  # fmt: skip
    title = "Sizes (the hottest ledger's peak and other rates a second; ledgers a cluster; days to fill 8 TB a node)"
    return Table(title, headings, rows)


def variants(costs: Costs, assumed: Assumptions, events_a_day: float = 1e10) -> Table:
    """Compute how many clusters some changes of the design would save."""
    shared = replace(costs, primary_group_s=costs.primary_group_s / 8)
    kinds = {
        "as designed": (costs, assumed),
        "signed every 10 s": (costs, replace(assumed, checkpoint_every_s=10.0)),
        "8 ledgers share a transaction": (shared, assumed),
        "both": (shared, replace(assumed, checkpoint_every_s=10.0)),
        "a tenth of the ledgers": (costs, replace(assumed, events_a_ledger_a_day=10 * assumed.events_a_ledger_a_day)),
    }
    rows = []
    for name, (cost, assumption) in kinds.items():
        _, units = units_at(events_a_day, cost, assumption)
        rows.append((name, figure(clusters_needed(units, cost, assumption))))
    return Table(f"Clusters for {figure(events_a_day)} events a day", ("change", "clusters"), rows)


def policies(costs: Costs, assumed: Assumptions, events_a_day: float = 1e10, days: int = 60) -> Table:
    """Compare policies of placement while loads change."""
    time = on_clusters(costs, assumed)
    _, units = units_at(events_a_day, costs, assumed)
    fitted = run_days(units, costs, assumed, time, days)
    moved = run_days(units, costs, assumed, time, days, moving=True)
    hashed = run_days(units, costs, assumed, time, days, hashed_on=fitted.clusters)
    kinds = {"hash": hashed, "first fit, no moves": fitted, "first fit, moves daily": moved}
    rows = [
        (name, figure(month.clusters), percent(month.overloaded), percent(month.busiest_use), figure(month.moves_a_day))
        for name, month in kinds.items()
    ]
    headings = ("policy", "clusters", "overloaded", "busiest hour", "ledgers moved a day")
    return Table(f"Placement of {figure(events_a_day)} events a day over {days} days", headings, rows)


def seals(costs: Costs, assumed: Assumptions, events_a_day: float = 1e10) -> Table:
    """Compute what a cluster has live when its logs are sealed every so many days."""
    _, units = units_at(events_a_day, costs, assumed)
    clusters = clusters_needed(units, costs, assumed)
    a_day = events_a_day / clusters
    ledgers = sum(unit.ledgers for unit in units) / clusters
    time = on_clusters(costs, assumed)
    rows = []
    for days in (1, 7, 30, 90, 365):
        live = a_day * days
        index_bytes = live * costs.random_index_bytes
        rates = [with_stored(time, live, costs, assumed, random_ids=ids).rate_max for ids in (False, True)]
        heads_gb = live * STREAMS_AN_EVENT * HEAD_BYTES / GB
        columns = (live * costs.row_bytes / GB, index_bytes / GB)
        rest = (heads_gb, ledgers / days)
        missing = percent(missing_pages(index_bytes, assumed))
        rows.append((f"{days}", *map(figure, columns), missing, *map(figure, rates), *map(figure, rest)))
    headings = (
        "days", "live GB", "index GB", "misses", "events/s", "random ids", "heads GB", "seals a day"
    )  # fmt: skip
    return Table(f"Seals: a cluster of {figure(a_day)} events a day, {figure(ledgers)} ledgers", headings, rows)


def pauses(costs: Costs) -> Table:
    """Compute how long a ledger accepts nothing while it moves."""
    rows = [
        (f"10^{exponent}", f"{figure(copy_pause_s(10.0**exponent, costs))} s", f"{figure(SEAL_PAUSE_S)} s")
        for exponent in range(5, 11)
    ]
    return Table("Pause of a move", ("events", "`import ledger`", "seal, successor elsewhere"), rows)


def all_tables(costs: Costs, assumed: Assumptions) -> Iterator[Table]:
    """Yield every table."""
    yield latency(costs, assumed)
    yield million(costs, assumed)
    yield sizes(costs, assumed)
    yield hottest(costs, assumed)
    yield variants(costs, assumed)
    yield policies(costs, assumed)
    yield seals(costs, assumed)
    yield pauses(costs)
