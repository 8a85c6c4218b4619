"""The cluster that faults act on: three nodes under Patroni, workers with a node of the log each, and a load.

The workers a, b and c are on the machines of the nodes n1, n2 and n3, and d is on a machine of its own, if machines are
network namespaces. Their histories are checked. Clients of the load append to another ledger, through the servers.
"""

import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple

from ledger.place import DatabasePlace, Place
from tests.cluster.load import Load
from tests.cluster.network import MachineNetwork, machine_network
from tests.cluster.node import ClusterNode
from tests.cluster.patroni_cluster import PatroniCluster, patroni_cluster
from tests.faults.postgres.fleet import EVERYWHERE, Fleet, Worker
from tests.faults.postgres.injections import FaultScene
from tests.support.wait import wait_until

MACHINES = 4
RATE = 6.0
CLIENTS = 3
POLL_S = 0.2
FINISH_S = 60.0
"""How long the clients of the load get to finish at the end."""


class FaultyCluster(NamedTuple):
    """A cluster, its network if it has one, and the load on its servers."""

    cluster: PatroniCluster
    network: MachineNetwork | None
    load: Load

    @property
    def starts(self) -> Mapping[str, Sequence[str]]:
        """The workers, and the words that start each on its machine."""
        if self.network is None:
            return EVERYWHERE
        spaces = zip("abcd", self.network.namespaces, strict=True)
        return {slot: ("nsenter", f"--net=/run/netns/{namespace}") for slot, namespace in spaces}


class ClusterScene(FaultScene):
    """The nodes and workers that injections act on. `silences_s` are the longest ones of a client of the load."""

    def __init__(self, faulty: FaultyCluster, fleet: Fleet, place: DatabasePlace, rng: random.Random) -> None:
        super().__init__(fleet, place, rng)
        self.cluster, self.network, self.load = faulty.cluster, faulty.network, faulty.load
        self.silences_s: list[float] = []

    @property
    def standbys(self) -> list[ClusterNode]:
        """The nodes that do not lead."""
        leader = self.leader()
        return [node for node in self.cluster.nodes if node is not leader]

    def leader(self) -> ClusterNode:
        """The node that leads, once one does."""
        wait_until(self.cluster.leader, every_s=POLL_S)
        return self.cluster.leader() or self.leader()

    def worker_on(self, node: ClusterNode) -> Worker:
        """The worker on the machine of a node."""
        return self.fleet.workers[self.cluster.nodes.index(node)]

    def namespace_of(self, worker: Worker) -> str:
        """The machine of a worker."""
        assert self.network is not None
        return self.network.namespaces[self.fleet.workers.index(worker)]

    def wait_for_other_leader(self, old: ClusterNode) -> None:
        """Wait until another node leads."""
        wait_until(lambda: self.cluster.leader() not in {None, old}, every_s=POLL_S)

    @contextmanager
    def fault(self, without: Worker | None = None) -> Iterator[None]:
        """Measure the pauses of the workers but one, and of each client of the load, until all is whole again."""
        began_s = time.monotonic()
        self.measure_pause(without)
        yield
        self.cluster.wait_until_whole()
        self.fleet.wait_for_appends(1)
        self.silences_s.append(self.load.longest_silence(began_s))


@contextmanager
def faulty_cluster(*, separate: bool) -> Iterator[FaultyCluster]:
    """Start a cluster with a load; `separate`: each node is a machine of its own, which can be cut off."""
    if separate:
        with (
            machine_network(MACHINES) as network,
            patroni_cluster(network=network) as cluster,
            _loaded(cluster) as load,
        ):
            yield FaultyCluster(cluster, network, load)
    else:
        with patroni_cluster() as cluster, _loaded(cluster) as load:
            yield FaultyCluster(cluster, None, load)


@contextmanager
def _loaded(cluster: PatroniCluster) -> Iterator[Load]:
    """A load on the servers. Meanwhile this process and the workers have the passwords of the roles."""
    before = os.environ.get("PGPASSFILE")
    os.environ["PGPASSFILE"] = str(cluster.pgpass)
    load = Load(cluster.urls, cluster.token, clients=CLIENTS, rate=RATE)
    load.start()
    try:
        yield load
    finally:
        load.stop(FINISH_S)
        os.environ.pop("PGPASSFILE")
        if before is not None:
            os.environ["PGPASSFILE"] = before


_numbers = count(1)


def new_ledger(cluster: PatroniCluster) -> DatabasePlace:
    """Make an empty ledger, which the role of the servers may use; return its place for that role."""
    name = f"history{next(_numbers)}"
    cluster.tallystick("ledger", "create", "--grant", "tallystick", owner=True, ledger=name)
    place = Place.parse(cluster.place(ledger=name)).database
    assert place is not None
    return place
