"""An old backup in the place of the database: the nodes know more, so they append and sign nothing on it."""

import shutil
import time
from pathlib import Path

from tests.faults.postgres.cluster import Cluster
from tests.faults.postgres.injections import HEAD, OUTAGE_S, Blocked, Scene, restart_nodes
from tests.support.postgres import SUPERUSER, PostgresServer
from tests.support.wait import wait_until

REFUSED = b"Nothing is signed or appended"
"""What a node answers that knows events which the database does not have."""

NOTE = "SELECT encode(content, 'hex') FROM tallystick_acme.notes WHERE name = 'checkpoint'"


def restore_backup(scene: Scene) -> None:
    """Put a backup in the place of all servers while the nodes run; restart one node; then bring the newer data back.

    It ends once every node has refused the older copy. Nothing may be appended to it or signed for it meanwhile.
    """
    cluster, place, workers = scene.cluster, scene.place, scene.fleet.workers
    backup = cluster.primary.data.with_name("backup")
    _take_backup(cluster, backup)
    taken = int(scene.primary.psql(HEAD, place.database))
    wait_until(lambda: all(worker.signed() > taken for worker in workers), *workers)
    for server in cluster.servers:
        server.kill()
    for server in cluster.servers:
        server.data.rename(_kept(server))
        _copy_backup(cluster, backup, server)
    from_ns = time.monotonic_ns()
    cluster.start()
    before = _state(scene)
    refused = {worker.slot: worker.recorded(REFUSED) for worker in workers}
    restarted = scene.choose_worker()
    wait_until(lambda: all(worker.recorded(REFUSED) > refused[worker.slot] for worker in workers), *workers)
    restarted.kill()
    restarted.start()
    wait_until(lambda: restarted.recorded(REFUSED) > 0, restarted)
    scene.sleep(OUTAGE_S)
    assert _state(scene) == before, "the older copy has another head or checkpoint than before"
    for server in cluster.servers:
        server.kill()
    scene.blocked.append(Blocked(0, time.monotonic_ns(), from_ns))
    for server in cluster.servers:
        shutil.rmtree(server.data)
        _kept(server).rename(server.data)
    shutil.rmtree(backup)
    cluster.start()
    restart_nodes(scene)


def _take_backup(cluster: Cluster, backup: Path) -> None:
    primary = cluster.primary
    source = f"host={primary.host} port={primary.port} user={SUPERUSER}"
    program = primary.programs / "pg_basebackup"
    cluster.run_program([program, "-N", "-c", "fast", "-X", "stream", "-D", backup, "-d", source], primary)


def _copy_backup(cluster: Cluster, backup: Path, server: PostgresServer) -> None:
    """Make the data of a server from a backup: those of the primary one, or of a standby that receives from it."""
    cluster.run_program(["cp", "-a", backup, server.data], server)
    if server is cluster.primary:
        return
    cluster.run_program(["touch", server.data / "standby.signal"], server)
    with (server.data / "postgresql.auto.conf").open("a", encoding="utf-8") as file:
        file.write(f"primary_conninfo = '{cluster.source_of(server)}'\n")


def _state(scene: Scene) -> tuple[str, str]:
    """The head, and the newest checkpoint in the database."""
    return scene.primary.psql(HEAD, scene.place.database), scene.primary.psql(NOTE, scene.place.database)


def _kept(server: PostgresServer) -> Path:
    return server.data.with_name(f"{server.data.name}-kept")
