"""A full disk under the primary server: a small file system in memory, of which a ballast file takes what is free."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.faults.full import Disk
from tests.faults.postgres.cluster import Cluster, cluster_of_three
from tests.faults.postgres.injections import OUTAGE_S, Scene
from tests.support.postgres import PostgresServer
from tests.support.postgres_programs import server_account
from tests.support.wait import wait_until

DISK_BYTES = 640 << 20
SPACE_BYTES = 512 << 10
"""At most this much space is left free before the nodes fill the disk."""

ENOUGH_BYTES = 320 << 20

FULL = b'"error":"LedgerFull"'
"""The record of an append that was refused because the disk is full."""

PANIC = re.compile(rb"PANIC:.*No space left on device")


@contextmanager
def cluster_on_small_disk() -> Iterator[Cluster]:
    """Three servers, of which the primary one has its data on a small disk."""
    with cluster_of_three() as cluster:
        server = cluster.primary
        server.stop()
        away = server.data.with_name("away")
        server.data.rename(away)
        server.data.mkdir()
        owner = server_account()
        options = f"size={DISK_BYTES},mode=0700,uid={owner.user},gid={owner.group}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tallystick", server.data], check=True)
        try:
            cluster.run_program(["cp", "-a", f"{away}/.", server.data], server)
            server.start()
            cluster.wait_for_standbys(2)
            yield cluster
        finally:
            server.kill()
            subprocess.run(["umount", "--lazy", server.data], check=True)


def fill_tables(scene: Scene) -> None:
    """Let the nodes fill the disk of the primary server, until an append is answered with that."""
    disk, before = Disk(scene.primary.data), _panics(scene.primary)
    answered = {worker.slot: worker.recorded(FULL) for worker in scene.fleet.workers}
    scene.measure_pause()
    disk.leave(scene.rng.randrange(SPACE_BYTES))
    wait_until(
        lambda: (
            any(worker.recorded(FULL) > answered[worker.slot] for worker in scene.fleet.workers)
            or _panics(scene.primary) > before
        ),
        *scene.fleet.workers,
    )
    _free(scene, disk)


def fill_log(scene: Scene) -> None:
    """Leave no space for the next file of the write-ahead log: the server stops, and cannot start until there is."""
    server, disk, before = scene.primary, Disk(scene.primary.data), _panics(scene.primary)
    scene.measure_pause()
    while _panics(server) == before:
        disk.leave(0)
        with suppress(AssertionError):  # the server stops meanwhile
            server.psql("SELECT pg_switch_wal() FROM (SELECT pg_logical_emit_message(false, 'fill', 'it')) AS written")
    _free(scene, disk)


def _free(scene: Scene, disk: Disk) -> None:
    """Let the nodes meet the full disk for a while; free space, and start the server if it has ended."""
    server = scene.primary
    scene.sleep(OUTAGE_S)
    disk.leave(ENOUGH_BYTES)
    wait_until(lambda: server.poll() is not None or server.accepts())
    if server.poll() is not None:
        server.start()
    scene.cluster.wait_for_standbys(2)
    server.psql("CHECKPOINT")


def _panics(server: PostgresServer) -> int:
    """How often the server stopped for lack of space."""
    return len(PANIC.findall(server.log.read_bytes()))
