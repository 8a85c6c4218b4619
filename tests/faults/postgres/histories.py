"""One history: three nodes, injections one after another, and the checker's verdict."""

import random
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

from ledger.place import DatabasePlace
from ledger.postgres.connection import connect_durably
from tests.faults.history.checker import Verdict, check
from tests.faults.history.records import (
    AnyRecord,
    AppendOk,
    FollowInvoked,
    HeadInvoked,
    HeadOk,
    PageOk,
    ReadInvoked,
    load_folder,
)
from tests.faults.history.workload import WorkloadPlan
from tests.faults.postgres.cluster import Cluster
from tests.faults.postgres.fleet import ENDLESS, EVERYWHERE, Fleet, working
from tests.faults.postgres.injections import FaultScene, Injection, Pause, Scene
from tests.faults.postgres.nodes import OPEN_POSTGRES
from tests.support.event_loop import run

APPENDS = 5
"""Appends that each node makes before an injection, and after it."""

READS = (ReadInvoked, FollowInvoked, PageOk, HeadInvoked, HeadOk)
"""The records of reads."""

AnyScene = TypeVar("AnyScene", bound=FaultScene)

BARRIER_S = 60.0
"""Seconds for the barrier of the connection that reads the final log."""


class CheckedHistory(NamedTuple):
    """The verdict, what else was wrong, the pauses in seconds, and the final log."""

    verdict: Verdict
    early: list[str]
    """Acknowledgements while none could be right: no standby could confirm them, or the database was an old copy."""
    pauses_s: list[float]
    lines: list[tuple[int, bytes]]


def run_history(
    cluster: Cluster,
    folder: Path,
    injections: Sequence[Injection],
    rng: random.Random,
    *,
    opened_by: str = OPEN_POSTGRES,
    prepare: Callable[[DatabasePlace], None] = lambda _place: None,
    report: Callable[[], None] = lambda: None,
    clients: int = 4,
    reads: bool = True,
) -> CheckedHistory:
    """Do some injections under load on a new ledger, settle what is unknown, and check the history.

    `reads`: whether pages and heads are checked, too. There are faults after which they may show what is lost.
    """
    place = cluster.new_ledger()
    prepare(place)
    return record_history(
        place, folder, injections, rng, lambda fleet: Scene(cluster, fleet, place, rng),
        opened_by=opened_by, report=report, clients=clients, reads=reads,
    )  # fmt: skip


def record_history(
    place: DatabasePlace,
    folder: Path,
    injections: Sequence[Callable[[AnyScene], None]],
    rng: random.Random,
    scene_of: Callable[[Fleet], AnyScene],
    *,
    opened_by: str = OPEN_POSTGRES,
    report: Callable[[], None] = lambda: None,
    clients: int = 4,
    reads: bool = True,
    starts: Mapping[str, Sequence[str]] = EVERYWHERE,
) -> CheckedHistory:
    """Do some injections under load on an empty ledger, settle what is unknown, and check the history.

    `reads` is that of `run_history`. `starts` has a worker for each letter, and the words before its command.
    """
    folder.mkdir()
    plan = WorkloadPlan(seed=rng.randrange(2**32), clients=clients, operations=ENDLESS)
    with working(str(place), folder, plan, opened_by, starts) as fleet:
        scene = scene_of(fleet)
        for inject in injections:
            fleet.wait_for_appends(APPENDS)
            inject(scene)
            fleet.wait_for_appends(APPENDS)
            report()
        fleet.finish()
    lines = run(_final_lines(place))
    records = load_folder(folder)
    acknowledged = [record for record in records if isinstance(record, AppendOk)]
    early = [
        f"{record.name} at position {spot.position}"
        for blocked in scene.blocked
        for record in acknowledged
        for spot in record.places
        if spot.position > blocked.position and blocked.from_ns <= record.at_ns < blocked.until_ns
    ]
    checked = records if reads else [record for record in records if not isinstance(record, READS)]
    return CheckedHistory(check(checked, lines), early, _pauses(acknowledged, scene.pauses), lines)


async def _final_lines(place: DatabasePlace) -> list[tuple[int, bytes]]:
    """Every line with its position, from the table itself."""
    connected = await connect_durably(place, BARRIER_S)
    try:
        rows = await connected.fetch("SELECT position, line FROM events ORDER BY position")
        return [(position, line) for position, line in rows]
    finally:
        connected.abort()


def _pauses(acknowledged: Sequence[AnyRecord], pauses: Sequence[Pause]) -> list[float]:
    """The longest time without an acknowledgement, in seconds, from each moment to the next one."""
    found = []
    for pause, end_ns in zip(pauses, [*(pause.from_ns for pause in pauses[1:]), 2**63], strict=bool(pauses)):
        times = [record.at_ns for record in acknowledged if record.process != pause.without]
        inside = times[bisect_left(times, pause.from_ns) : bisect_left(times, end_ns)]
        found.append(max((later - earlier for earlier, later in pairwise([pause.from_ns, *inside])), default=0) / 1e9)
    return found
