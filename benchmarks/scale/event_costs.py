"""What events cost: CPU, storage, write-ahead log and money; and what the age and size of a log do to its rate."""

from typing import NamedTuple

from benchmarks.scale.costs import Assumptions, Costs
from benchmarks.scale.group_commit import GroupTime

MILLION = 1e6
HOUR_S = 3_600.0
GB = 1e9
HEAD_BYTES = 120.0
"""One stream in the table of streams that crosses a seal: name, version, type, owner, first position."""
STREAMS_AN_EVENT = 0.5
"""A decision and its review are one stream."""


class MillionEvents(NamedTuple):
    """The cost of a million events in transactions of one size."""

    api_core_hours: float
    database_core_hours: float
    stored_gb: float
    wal_gb: float
    dollars_once: float
    """Cores and traffic between zones."""
    dollars_on_disks: float
    """A year on the disks of all nodes."""
    dollars_as_objects: float
    """A year of the lines alone in an object store."""


def cost_of_million(
    group: float, request: float, checkpoints: float, costs: Costs, assumed: Assumptions
) -> MillionEvents:
    """Return the cost of a million events.

    `group` is the events of a transaction, `request` those of an HTTP request, `checkpoints` the checkpoints an event.
    An idle core is paid for, too: the price is divided by `cpu_share_max` and by the ratio of mean to peak.
    """
    transactions = 1 / group + checkpoints
    standbys = assumed.nodes - 1
    http_s = costs.request_s / request + costs.batched_event_s * (1 - 1 / request)
    api_s = http_s + costs.node_group_s * transactions + costs.node_event_s + assumed.view_copies * costs.fold_event_s
    database_s = transactions * (costs.primary_group_s + standbys * costs.standby_group_s)
    database_s += costs.primary_event_s + standbys * costs.standby_event_s
    wal = costs.wal_event_bytes + transactions * costs.wal_group_bytes
    stored_gb = assumed.nodes * costs.row_bytes * MILLION / GB
    wal_gb = wal * MILLION / GB
    core_hours = (api_s + database_s) * MILLION / HOUR_S
    paid_hours = core_hours / assumed.cpu_share_max * (1 + assumed.day_amplitude)
    return MillionEvents(
        api_s * MILLION / HOUR_S,
        database_s * MILLION / HOUR_S,
        stored_gb,
        wal_gb,
        paid_hours * assumed.price_core_hour + standbys * wal_gb * assumed.price_zone_gb,
        stored_gb * assumed.price_disk_gb_month * 12,
        costs.line_bytes * MILLION / GB * assumed.price_object_gb_month * 12,
    )


def missing_pages(index_bytes: float, assumed: Assumptions) -> float:
    """Return the probability that a page of an index that is used at random is not in memory."""
    return max(0.0, 1 - assumed.page_memory_bytes / index_bytes) if index_bytes else 0.0


def with_stored(time: GroupTime, events: float, costs: Costs, assumed: Assumptions, *, random_ids: bool) -> GroupTime:
    """Return the time of a transaction when a cluster has so many live events.

    Indexes get deeper as they grow. Where clients choose random ids, two indexes are used at random, and a page that is
    not in memory is read while the lock is held.
    """
    doublings = 0.0
    while events > 1e5 * 2 ** (doublings + 1):
        doublings += 1
    event_s = time.event_s * (1 + costs.slower_per_doubling * doublings)
    if random_ids:
        event_s += 2 * missing_pages(events * costs.random_index_bytes, assumed) * assumed.page_read_s
    return time._replace(event_s=event_s)


def copy_pause_s(events: float, costs: Costs) -> float:
    """Return how long a ledger accepts no events while `import ledger` copies it and verifies the copy."""
    return events / costs.copy_rate + events / costs.verify_rate
