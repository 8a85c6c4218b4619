"""What is done to the servers and the nodes. Each injection returns when the cluster is whole again."""

import random
import signal
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ledger.place import DatabasePlace
from tests.faults.postgres.cluster import BARRIERS, KEEPER, WAITING, Cluster
from tests.faults.postgres.fleet import Fleet, Worker
from tests.faults.postgres.nodes import STOP_IN_TRANSACTION
from tests.support.postgres import PostgresServer
from tests.support.wait import wait_until

FROZEN_S = (0.5, 7.0)
"""How long processes are stopped: less and more than the time after which a node gives up a silent connection."""

OUTAGE_S = (0.2, 2.0)
"""How long a process is missing before it is started again."""

HEAD = "SELECT position FROM tallystick_acme.head"


class Blocked(NamedTuple):
    """No event after a position may be acknowledged until a moment, from another one on: nothing could confirm it."""

    position: int
    until_ns: int
    from_ns: int = 0


class Pause(NamedTuple):
    """From when the longest time without an acknowledgement is measured, and of which process none counts."""

    from_ns: int
    without: str = ""


class FaultScene:
    """The nodes that injections act on, and what is to be found in the history afterwards."""

    def __init__(self, fleet: Fleet, place: DatabasePlace, rng: random.Random) -> None:
        self.fleet, self.place, self.rng = fleet, place, rng
        self.blocked: list[Blocked] = []
        self.pauses: list[Pause] = []

    def choose_worker(self) -> Worker:
        """One of the workers."""
        return self.rng.choice(self.fleet.workers)

    def sleep(self, between_s: tuple[float, float]) -> None:
        """Let the nodes meet the fault for a while."""
        time.sleep(self.rng.uniform(*between_s))

    def measure_pause(self, without: Worker | None = None) -> None:
        """From now on, measure how long nothing is acknowledged."""
        self.pauses.append(Pause(time.monotonic_ns(), without.name if without else ""))


class Scene(FaultScene):
    """The servers and nodes that injections act on."""

    def __init__(self, cluster: Cluster, fleet: Fleet, place: DatabasePlace, rng: random.Random) -> None:
        super().__init__(fleet, place, rng)
        self.cluster = cluster

    @property
    def primary(self) -> PostgresServer:
        """The primary server."""
        return self.cluster.primary

    def wait_for_waiting(self, *, kill: bool) -> None:
        """Wait until a node waits for a standby to confirm its events, while both standbys are stopped or killed.

        If a barrier has the head first, both standbys are back for a while.
        """
        while True:
            wait_until(lambda: self.waiting() != "0" or self._ask(BARRIERS) != "0", self.primary)
            if self.waiting() != "0":
                return
            _begin(self.cluster.standbys, kill=kill)
            self.fleet.wait_for_appends(1)
            _end(self.cluster.standbys, kill=kill)

    def waiting(self, what: str = "count(*)") -> str:
        """Ask something about the backends that wait for a standby to confirm events."""
        return self._ask(WAITING.format(what=what))

    def _ask(self, sql: str) -> str:
        return self.primary.psql(sql, self.place.database)


Injection = Callable[[Scene], None]


def kill_postmaster(scene: Scene) -> None:
    """Kill the primary server and start it again where it was."""
    scene.measure_pause()
    scene.primary.kill()
    scene.sleep(OUTAGE_S)
    scene.primary.start()
    scene.cluster.wait_for_standbys(2)


def lose_primary(scene: Scene) -> None:
    """Kill the primary server, promote a standby, and bring the old one back as a standby."""
    scene.measure_pause()
    old = scene.cluster.fail_over()
    scene.fleet.wait_for_appends(3)
    scene.cluster.rejoin(old)


def lose_standby(scene: Scene) -> None:
    """Kill a standby: the other one confirms every commit."""
    scene.measure_pause()
    standby = scene.rng.choice(scene.cluster.standbys)
    standby.kill()
    scene.fleet.wait_for_appends(3)
    standby.start()
    scene.cluster.wait_for_standbys(2)


def kill_node(scene: Scene) -> None:
    """Kill a node; its successor posts again what was unknown."""
    _kill_worker(scene, scene.choose_worker())


def kill_keeper(scene: Scene) -> None:
    """Kill the node that stores the tiles; another one stores them."""
    names = {worker.name: worker for worker in scene.fleet.workers}
    found: list[Worker] = []

    def is_known() -> bool:
        keeper = scene.primary.psql(KEEPER, scene.place.database)
        found[:] = [names[keeper]] if keeper in names else []
        return bool(found)

    wait_until(is_known, *scene.fleet.workers)
    old = found[0].name
    _kill_worker(scene, found[0])
    wait_until(lambda: scene.primary.psql(KEEPER, scene.place.database) not in ("", old), *scene.fleet.workers)


def _kill_worker(scene: Scene, worker: Worker) -> None:
    scene.measure_pause(worker)
    worker.kill()
    scene.fleet.wait_for_appends(3, worker)
    worker.start()


def freeze_primary(scene: Scene) -> None:
    """Stop every process of the primary server, and let it continue."""
    scene.measure_pause()
    scene.primary.freeze()
    scene.sleep(FROZEN_S)
    scene.primary.thaw()


def freeze_and_lose_primary(scene: Scene) -> None:
    """Stop every process of the primary server, then fail over."""
    scene.measure_pause()
    scene.primary.freeze()
    scene.sleep(OUTAGE_S)
    old = scene.cluster.fail_over()
    scene.fleet.wait_for_appends(3)
    scene.cluster.rejoin(old)


def freeze_standby(scene: Scene) -> None:
    """Stop every process of a standby."""
    standby = scene.rng.choice(scene.cluster.standbys)
    standby.freeze()
    scene.fleet.wait_for_appends(3)
    standby.thaw()


def freeze_node(scene: Scene) -> None:
    """Stop a node while it holds the head; the others go on, and it finds its connection closed."""
    worker = scene.choose_worker()
    worker.send(STOP_IN_TRANSACTION)
    wait_until(worker.is_stopped, worker)
    scene.measure_pause(worker)
    scene.fleet.wait_for_appends(3, worker)
    worker.send(signal.SIGCONT)


def stop_confirmation(scene: Scene) -> None:
    """Stop or kill both standbys: nothing is acknowledged until one is back."""
    kill = scene.rng.random() < 0.5
    _end(scene.cluster.standbys, kill=kill)
    scene.wait_for_waiting(kill=kill)
    position = int(scene.primary.psql(HEAD, scene.place.database))
    scene.sleep(FROZEN_S)
    assert int(scene.primary.psql(HEAD, scene.place.database)) == position, "events that no standby has are visible"
    scene.blocked.append(Blocked(position, time.monotonic_ns()))
    for standby in scene.cluster.standbys:
        _begin([standby], kill=kill)
        scene.fleet.wait_for_appends(3)
    scene.cluster.wait_for_standbys(2)


def cancel_wait(scene: Scene) -> None:
    """Cancel the wait of a commit for the standbys, or end its backend, again and again, while they are stopped."""
    _end(scene.cluster.standbys, kill=False)
    for _ in range(scene.rng.randint(1, 3)):
        scene.wait_for_waiting(kill=False)
        _cancel(scene)
        scene.sleep((0, 0.5))
    _begin(scene.cluster.standbys, kill=False)


def lose_cancelled(scene: Scene) -> None:
    """Cancel the wait of a commit that no standby ever gets: the primary is lost.

    Nodes whose connections were open may have read what is lost. They append and sign nothing until they are restarted.
    """
    _lose_signalled(scene, "pg_cancel_backend")


def lose_terminated(scene: Scene) -> None:
    """End the backend of a commit that waits, and that no standby ever gets: the primary is lost."""
    _lose_signalled(scene, "pg_terminate_backend")


def _lose_signalled(scene: Scene, signal_: str) -> None:
    def send(_scene: Scene) -> None:
        scene.wait_for_waiting(kill=True)
        scene.waiting(f"{signal_}(pid)")

    _lose_unreplicated(scene, send, restart=True)


def lose_crashed(scene: Scene) -> None:
    """Crash the primary while a commit waits: after the restart its rows are readable there, and then it is lost."""
    _lose_unreplicated(scene, _crash)


def lose_crashed_and_restart(scene: Scene) -> None:
    """Do the same, and restart the nodes: one without a barrier may know what is lost, and append nothing any more."""
    _lose_unreplicated(scene, _crash, restart=True)


def lose_unreplicated(scene: Scene) -> None:
    """Lose a primary that has commits which no standby got."""
    _lose_unreplicated(scene, lambda _scene: None)


def lose_confirmed(scene: Scene) -> None:
    """Lose a primary that has confirmed commits which no standby got, as it may with `--durability local`."""

    def confirm(_scene: Scene) -> None:
        scene.fleet.wait_for_appends(3)

    _lose_unreplicated(scene, confirm, restart=True)


def restart_nodes(scene: Scene) -> None:
    """Kill every node, and start it again: as an operator does when they append nothing any more."""
    for worker in scene.fleet.workers:
        worker.kill()
        worker.start()


def _lose_unreplicated(scene: Scene, hazard: Injection, *, restart: bool = False) -> None:
    scene.measure_pause()
    _end(scene.cluster.standbys, kill=True)
    hazard(scene)
    scene.sleep(OUTAGE_S)
    scene.primary.kill()
    _begin(scene.cluster.standbys, kill=True)
    old = scene.cluster.fail_over()
    if restart:
        restart_nodes(scene)
    scene.fleet.wait_for_appends(3)
    scene.cluster.rejoin(old)


def _crash(scene: Scene) -> None:
    scene.wait_for_waiting(kill=True)
    scene.primary.kill()
    scene.primary.start()


def _cancel(scene: Scene) -> None:
    end = scene.rng.choice(("pg_cancel_backend", "pg_terminate_backend"))
    scene.waiting(f"{end}(pid)")


def _end(servers: Iterable[PostgresServer], *, kill: bool) -> None:
    for server in servers:
        server.kill() if kill else server.freeze()


def _begin(servers: Iterable[PostgresServer], *, kill: bool) -> None:
    for server in servers:
        server.start() if kill else server.thaw()
