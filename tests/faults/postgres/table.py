"""The faults of the log on PostgreSQL in the order of the table, and how each is measured."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.faults import full
from tests.faults.postgres import backups, disks, injections
from tests.faults.postgres.cluster import Cluster, cluster_of_three
from tests.faults.postgres.histories import CheckedHistory, run_history
from tests.faults.postgres.injections import Injection
from tests.faults.postgres.nodes import OPEN_JUMPING, OPEN_POSTGRES, OPEN_SIGNING
from tests.faults.row import Fault, Figures, Outcome, Report
from tests.support.postgres_programs import MISSING, postgres_folder

PER_HISTORY = 5
"""Injections into one ledger."""

RULES = {
    1: "acknowledged lost",
    7: "twice",
    8: "forked checkpoints",
    9: "gaps",
    10: "torn batches",
}
"""The rules of the checker that have a figure of their own."""

MUST_HOLD = "0 acknowledged lost, 0 twice, 0 gaps, 0 torn, 0 forked; pauses are measured"

RESTORED_MUST_HOLD = (
    "on the old copy: every node refuses, 0 acknowledged, 0 signed; with the newer one back: 0 acknowledged lost, "
    "0 twice, 0 gaps, 0 torn, 0 forked. Reads of the old copy go on, and are not checked"
)

CANCELLED_MUST_HOLD = (
    "0 acknowledged lost, 0 twice, 0 gaps, 0 torn, 0 forked signatures. Reads are not checked: those on connections "
    "that were open may show what is lost"
)

COUNTED = ("events acknowledged", "duplicates", "unknown", "lines read", "checkpoints")
"""Figures of the histories that are added up."""


def figures_of(histories: Sequence[CheckedHistory]) -> tuple[bool, Figures]:
    """Whether nothing was found in some histories, and their figures."""
    counted = Counter[str]()
    found = Counter[str]()
    for history in histories:
        counted.update({name: history.verdict.figures[name] for name in COUNTED})
        found.update(RULES.get(violation.rule, "other violations") for violation in history.verdict.violations)
        found["acknowledged without a standby"] += len(history.early)
    figures: Figures = {"histories": len(histories)}
    figures |= {name: counted[name] for name in COUNTED}
    figures |= {name: found[name] for name in (*RULES.values(), "other violations", "acknowledged without a standby")}
    if pauses_s := [pause_s for history in histories for pause_s in history.pauses_s]:
        figures |= {"pause s, median": median(pauses_s), "pause s, most": max(pauses_s)}
    return not found.total(), figures


class _Setup(NamedTuple):
    """How a fault is done: on which servers, by which nodes, and whether reads are checked."""

    opened_by: str = OPEN_POSTGRES
    reads: bool = True
    cluster: Callable[[], AbstractContextManager[Cluster]] = cluster_of_three


USUAL = _Setup()


def _runner(kinds: Sequence[Injection], setup: _Setup) -> Callable[[Path, int, random.Random, Report], Outcome]:
    def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            report(done, dose)

        order = [kinds[number % len(kinds)] for number in range(dose)]
        with setup.cluster() as cluster:
            histories = [
                run_history(
                    cluster, folder / f"history-{start}", order[start : start + PER_HISTORY], rng,
                    opened_by=setup.opened_by, report=count, reads=setup.reads,
                )
                for start in range(0, dose, PER_HISTORY)
            ]  # fmt: skip
        return Outcome(*figures_of(histories))

    return run


def _unfit() -> str | None:
    return None if postgres_folder() else MISSING


def _unfit_disk() -> str | None:
    return _unfit() or full.unfit()


def _fault(
    name: str, title: str, dose: int, unit: str, *kinds: Injection,
    setup: _Setup = USUAL, must_hold: str = MUST_HOLD, unfit: Callable[[], str | None] = _unfit,
) -> Fault:  # fmt: skip
    return Fault(
        name=f"postgres-{name}", title=f"PostgreSQL, three servers and nodes: {title}", must_hold=must_hold,
        dose=dose, unit=unit, run=_runner(kinds, setup), unfit=unfit,
    )  # fmt: skip


POSTGRES: Sequence[Fault] = (
    _fault("kill", "kill -9 of the primary server, restarted", 100, "kills", injections.kill_postmaster),
    _fault("node", "kill -9 of a node, continued by a successor", 100, "kills", injections.kill_node),
    _fault("keeper", "kill -9 of the node that stores tiles", 100, "kills", injections.kill_keeper),
    _fault(
        "loss", "a server lost: the primary with failover, running or stopped, or a standby", 30, "losses",
        injections.lose_primary, injections.lose_standby, injections.freeze_and_lose_primary,
    ),
    _fault(
        "stop", "SIGSTOP of the primary, a standby, a node that holds the head", 50, "stops",
        injections.freeze_primary, injections.freeze_standby, injections.freeze_node,
    ),
    _fault("cancel", "a waiting commit cancelled, or its backend ended", 20, "times", injections.cancel_wait),
    _fault(
        "unreplicated", "primary lost with commits that no standby has, once restarted before", 20, "losses",
        injections.lose_unreplicated, injections.lose_crashed,
    ),
    _fault("standbys", "both standbys down: writes block", 20, "outages", injections.stop_confirmation),
    _fault(
        "clock", "clocks of the nodes jump by up to 30 hours, and the primary is killed", 20, "kills",
        injections.kill_postmaster, setup=_Setup(OPEN_JUMPING),
    ),
    _fault(
        "disk", "the disk of the primary server full, its tables or its write-ahead log", 20, "times",
        disks.fill_tables, disks.fill_log, setup=_Setup(cluster=disks.cluster_on_small_disk), unfit=_unfit_disk,
    ),
    _fault(
        "restore", "an old backup in the place of all servers, and a node restarted on it", 20, "restores",
        backups.restore_backup, setup=_Setup(OPEN_SIGNING, reads=False), must_hold=RESTORED_MUST_HOLD,
    ),
    _fault(
        "cancelled-loss", "a waiting commit cancelled, or its backend ended, and then the primary lost", 20, "losses",
        injections.lose_cancelled, injections.lose_terminated,
        setup=_Setup(OPEN_SIGNING, reads=False), must_hold=CANCELLED_MUST_HOLD,
    ),
)  # fmt: skip
