"""What is done to a cluster. Each injection returns when the cluster is whole again."""

import signal
from collections.abc import Callable

from tests.cluster.layout import ETCD_PORTS
from tests.cluster.node import ClusterNode
from tests.faults.patroni.scene import ClusterScene
from tests.faults.postgres.fleet import Worker
from tests.support.wait import wait_until

TTL_S = 20.0
"""The `ttl` of the example: after it, a leader that is silent is replaced."""

OUTAGE_S = (0.0, 5.0)
"""How long a lost node is missing after the others have gone on."""

SHORT_S = (1.0, 8.0)
"""A partition that ends before the others choose another leader."""

LONG_S = (TTL_S + 2.0, TTL_S + 10.0)
APPENDS = 3

ClusterInjection = Callable[[ClusterScene], None]


def kill_postmaster(scene: ClusterScene) -> None:
    """Kill PostgreSQL of the leader: Patroni lets another one lead, or starts it again."""
    leader = scene.leader()
    old = leader.postmaster()
    with scene.fault():
        leader.kill_postmaster()
        wait_until(lambda: leader.postmaster() != old, every_s=0.05)
        scene.fleet.wait_for_appends(APPENDS)


def kill_server(scene: ClusterScene) -> None:
    """Kill the server of a node and its worker: clients go on with another server."""
    node = scene.rng.choice(scene.cluster.nodes)
    worker = scene.worker_on(node)
    with scene.fault(worker):
        worker.kill()
        node.kill_server()
        scene.fleet.wait_for_appends(APPENDS, worker)
        worker.start()


def lose_node(scene: ClusterScene) -> None:
    """Kill everything on a machine: mostly the leader's, else a standby's. Later it is back."""
    node = scene.leader() if scene.rng.random() < 2 / 3 else scene.rng.choice(scene.standbys)
    worker = scene.worker_on(node)
    with scene.fault(worker):
        worker.kill()
        node.kill()
        scene.fleet.wait_for_appends(APPENDS, worker)
        scene.sleep(OUTAGE_S)
        node.start()
        worker.start()


def freeze_leader(scene: ClusterScene) -> None:
    """Stop everything on the machine of the leader for longer than `ttl`: the others go on before it continues."""
    leader = scene.leader()
    worker = scene.worker_on(leader)
    with scene.fault(worker):
        worker.send(signal.SIGSTOP)
        leader.freeze()
        scene.wait_for_other_leader(leader)
        scene.fleet.wait_for_appends(APPENDS, worker)
        scene.sleep(OUTAGE_S)
        leader.thaw()
        worker.send(signal.SIGCONT)
        scene.fleet.wait_for_appends(APPENDS)


def lose_etcd_member(scene: ClusterScene) -> None:
    """Kill a member of etcd: the other two are a majority, and nobody waits."""
    node = scene.rng.choice(scene.cluster.nodes)
    with scene.fault():
        node.kill_etcd()
        scene.sleep(LONG_S)
        scene.fleet.wait_for_appends(APPENDS)
        node.start()


def cut_leader(scene: ClusterScene) -> None:
    """Cut the machine of the leader off, with the worker on it: shortly, or until another node leads."""
    leader = scene.leader()
    worker = scene.worker_on(leader)
    with scene.fault(worker):
        if scene.rng.random() < 1 / 3:
            _cut(scene, worker, SHORT_S)
        else:
            _cut(scene, worker, (0.0, OUTAGE_S[1]), leader)


def cut_standby(scene: ClusterScene) -> None:
    """Cut the machine of a standby off, with the worker on it."""
    worker = scene.worker_on(scene.rng.choice(scene.standbys))
    with scene.fault(worker):
        _cut(scene, worker, scene.rng.choice((SHORT_S, LONG_S)))


def cut_server(scene: ClusterScene) -> None:
    """Cut off a machine that has only a worker."""
    worker = scene.fleet.workers[-1]
    with scene.fault(worker):
        _cut(scene, worker, scene.rng.choice((SHORT_S, LONG_S)))


def cut_etcd_member(scene: ClusterScene) -> None:
    """Cut a member of etcd off from the others, and from the Patroni of other nodes."""
    assert scene.network is not None
    namespace = scene.namespace_of(scene.worker_on(scene.rng.choice(scene.cluster.nodes)))
    with scene.fault():
        scene.network.block(namespace, f"{ETCD_PORTS[0]}-{ETCD_PORTS[1]}")
        scene.sleep(scene.rng.choice((SHORT_S, LONG_S)))
        scene.network.unblock(namespace)


def _cut(
    scene: ClusterScene, worker: Worker, between_s: tuple[float, float], replaced: ClusterNode | None = None
) -> None:
    """Cut off the machine of a worker for a while; before, wait until another node leads, if one is to be replaced."""
    assert scene.network is not None
    scene.network.cut(scene.namespace_of(worker))
    if replaced is not None:
        scene.wait_for_other_leader(replaced)
        scene.fleet.wait_for_appends(APPENDS, worker)
    scene.sleep(between_s)
    scene.network.heal(scene.namespace_of(worker))
