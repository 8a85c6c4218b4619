"""The faults of a cluster in the order of the table, and how each is measured."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from tests.cluster.network import network_missing
from tests.cluster.programs import missing_programs
from tests.faults.patroni import injections
from tests.faults.patroni.injections import ClusterInjection
from tests.faults.patroni.scene import ClusterScene, FaultyCluster, faulty_cluster, new_ledger
from tests.faults.postgres.fleet import Fleet
from tests.faults.postgres.histories import CheckedHistory, record_history
from tests.faults.postgres.table import figures_of
from tests.faults.row import Fault, Figures, Outcome, Report

PER_HISTORY = 2
"""Injections into one ledger."""

WORKER_CLIENTS = 2

MUST_HOLD = (
    "0 acknowledged lost, 0 twice, 0 gaps, 0 torn, 0 forked; clients with several URLs lose and repeat nothing; "
    "pauses are measured"
)


def run_cluster_history(
    faulty: FaultyCluster,
    folder: Path,
    kinds: Sequence[ClusterInjection],
    rng: random.Random,
    report: Callable[[], None] = lambda: None,
) -> tuple[CheckedHistory, list[float]]:
    """Do some injections under load on a new ledger; return the checked history, and the silences of the load."""
    place = new_ledger(faulty.cluster)
    silences_s: list[float] = []

    def scene_of(fleet: Fleet) -> ClusterScene:
        scene = ClusterScene(faulty, fleet, place, rng)
        scene.silences_s = silences_s
        return scene

    history = record_history(
        place, folder, kinds, rng, scene_of, report=report, clients=WORKER_CLIENTS, starts=faulty.starts
    )
    return history, silences_s


def cluster_figures(
    faulty: FaultyCluster, histories: Sequence[CheckedHistory], silences_s: Sequence[float]
) -> tuple[bool, Figures]:
    """Whether nothing was found in the histories and by the clients of the load, and all figures."""
    held, figures = figures_of(histories)
    found = faulty.load.check()
    state = faulty.load.state()
    figures |= {
        "appended by clients": found.acknowledged,
        "of them lost": found.lost,
        "moved": found.moved,
        "there twice": found.twice,
        "given up": state.given_up,
        "pause of a client s, median": round(median(silences_s), 1),
        "pause of a client s, most": round(max(silences_s), 1),
    }
    return held and found.clean and not state.given_up and found.acknowledged > 0, figures


def _runner(kind: ClusterInjection, *, separate: bool) -> Callable[[Path, int, random.Random, Report], Outcome]:
    def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            report(done, dose)

        histories, silences_s = [], []
        with faulty_cluster(separate=separate) as faulty:
            for start in range(0, dose, PER_HISTORY):
                kinds = [kind] * min(PER_HISTORY, dose - start)
                history, silent_s = run_cluster_history(faulty, folder / f"history-{start}", kinds, rng, count)
                histories.append(history)
                silences_s += silent_s
            return Outcome(*cluster_figures(faulty, histories, silences_s))

    return run


def _partitions_unfit() -> str | None:
    return missing_programs() or network_missing()


def _fault(name: str, title: str, dose: int, unit: str, kind: ClusterInjection, *, separate: bool = False) -> Fault:
    return Fault(
        name=f"cluster-{name}", title=f"PostgreSQL under Patroni with etcd, three nodes: {title}", must_hold=MUST_HOLD,
        dose=dose, unit=unit, run=_runner(kind, separate=separate),
        unfit=_partitions_unfit if separate else missing_programs,
    )  # fmt: skip


CLUSTER: Sequence[Fault] = (
    _fault("postmaster", "kill -9 of the leader's PostgreSQL", 30, "kills", injections.kill_postmaster),
    _fault("server", "kill -9 of a server", 30, "kills", injections.kill_server),
    _fault("node", "a whole node lost: the leader's or a standby's", 30, "losses", injections.lose_node),
    _fault("freeze", "SIGSTOP of the leader's node for longer than ttl", 20, "stops", injections.freeze_leader),
    _fault("etcd", "a member of etcd lost", 20, "losses", injections.lose_etcd_member),
    _fault("cut-leader", "the leader's node cut off", 20, "partitions", injections.cut_leader, separate=True),
    _fault("cut-standby", "a standby's node cut off", 10, "partitions", injections.cut_standby, separate=True),
    _fault("cut-server", "a server's machine cut off", 10, "partitions", injections.cut_server, separate=True),
    _fault("cut-etcd", "a member of etcd cut off", 10, "partitions", injections.cut_etcd_member, separate=True),
)
"""50 partitions in all."""
