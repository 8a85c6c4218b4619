"""The inputs of the simulation: measured costs with their sources, and assumptions with their values.

Replace a figure here, then run `python -m benchmarks.scale` and copy its tables into decision 82.
"""

from dataclasses import dataclass
from typing import NamedTuple

MICRO = 1e-6
DAY_S = 86_400.0


class Figure(NamedTuple):
    """One measured figure: the field of `Costs`, its value, its unit and meaning, and the letter of its source."""

    name: str
    value: float
    meaning: str
    source: str


SOURCES = {
    "a": "measured for issue 20: two cores, Debian 12, +-30%, rows of about 480 bytes",
    "b": "measured for decision 82, which says how: PostgreSQL 15, one standby",
    "c": "docs/explanation/performance.md, of the log on SQLite",
}

MEASURED = (
    Figure("rate_of_64", 14_500.0, "events/s, groups of 64, quorum", "a"),
    Figure("rate_of_1000", 26_900.0, "events/s, groups of 1,000, quorum", "a"),
    Figure("copy_rate", 58_000.0, "events/s by raw COPY", "a"),
    Figure("verify_rate", 397_213.0, "events/s verified of an export", "c"),
    Figure("sync_s", 1 / 5_000, "s for a synced commit on that disk", "c"),
    Figure("primary_group_s", 660 * MICRO, "CPU s of the primary, a transaction", "b"),
    Figure("primary_event_s", 15 * MICRO, "CPU s of the primary, an event", "b"),
    Figure("standby_group_s", 110 * MICRO, "CPU s of a standby, a transaction", "b"),
    Figure("standby_event_s", 6 * MICRO, "CPU s of a standby, an event", "b"),
    Figure("node_group_s", 350 * MICRO, "CPU s of an API node, a transaction", "b"),
    Figure("node_event_s", 9 * MICRO, "CPU s of an API node, an event", "b"),
    Figure("request_s", 47 * MICRO, "CPU s of a request without its commit", "c"),
    Figure("batched_event_s", 14 * MICRO, "CPU s of an event in a batch", "c"),
    Figure("fold_event_s", 1.87 * MICRO, "CPU s to read and fold an event", "c"),
    Figure("line_bytes", 480.0, "bytes of a line", "a"),
    Figure("heap_bytes", 683.0, "bytes of its row in the table", "b"),
    Figure("index_bytes", 265.0, "bytes in four indexes", "b"),
    Figure("random_index_bytes", 172.0, "of these, by stream and by id", "b"),
    Figure("wal_event_bytes", 1_050.0, "bytes of WAL, an event", "b"),
    Figure("wal_group_bytes", 225.0, "bytes of WAL, a transaction", "b"),
    Figure("slower_per_doubling", 0.024, "slowdown when a log doubles", "c"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Costs:
    """The measured costs; `MEASURED` says what each one is."""

    rate_of_64: float
    rate_of_1000: float
    copy_rate: float
    verify_rate: float
    sync_s: float
    primary_group_s: float
    primary_event_s: float
    standby_group_s: float
    standby_event_s: float
    node_group_s: float
    node_event_s: float
    request_s: float
    batched_event_s: float
    fold_event_s: float
    line_bytes: float
    heap_bytes: float
    index_bytes: float
    random_index_bytes: float
    wal_event_bytes: float
    wal_group_bytes: float
    slower_per_doubling: float

    @property
    def row_bytes(self) -> float:
        """Bytes of an event in the table and its indexes."""
        return self.heap_bytes + self.index_bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumptions:
    """What nobody has measured: machines, traffic and prices. Prices are examples, in dollars."""

    seed: int = 20
    node_cores: int = 16
    node_memory_bytes: float = 128e9
    memory_for_pages: float = 0.6
    """Share of the memory for pages of tables and indexes."""
    cpu_share_max: float = 0.6
    """Share of the primary's cores that the peak hour may use."""
    nodes: int = 3
    """Copies of everything: one primary, two standbys."""
    disk_sync_s: float = 0.001
    """One synced write on a cloud volume; it replaces the measured one."""
    round_trip_s: float = 0.0003
    """Between zones, for each statement under the head's lock and for the standby."""
    round_trips: int = 6
    page_read_s: float = 0.0001
    """One page that is not in memory."""
    group_events_max: int = 1_000
    waiting_events_max: int = 20_000
    """Events that wait for one ledger before it answers 503."""
    view_copies: int = 2
    """API nodes that fold each ledger."""
    events_a_ledger_a_day: float = 10_000.0
    """The mean; the number of ledgers follows from it."""
    zipf_exponent: float = 1.0
    day_amplitude: float = 0.7
    """The rate of a ledger swings by this share of its mean within a day."""
    drift_a_day: float = 0.05
    """Standard deviation of the logarithm of how the load of a ledger changes in a day."""
    growth_a_day: float = 0.002
    agents_a_ledger: float = 10.0
    look_up_every_s: float = 300.0
    """How long an agent keeps an answer of the directory."""
    checkpoint_every_s: float = 1.0
    """A ledger that has grown is signed so often."""
    witness_every_s: float = 60.0
    """A ledger that has grown is cosigned so often."""
    price_core_hour: float = 0.05
    price_disk_gb_month: float = 0.10
    price_object_gb_month: float = 0.02
    price_zone_gb: float = 0.01
    """One GB sent to another zone."""

    @property
    def page_memory_bytes(self) -> float:
        """Memory of one node for pages."""
        return self.node_memory_bytes * self.memory_for_pages

    @property
    def cluster_cpu(self) -> float:
        """CPU seconds a second that the primary of a cluster may use."""
        return self.node_cores * self.cpu_share_max


def measured() -> Costs:
    """Return the figures of `MEASURED`."""
    return Costs(**{figure.name: figure.value for figure in MEASURED})
