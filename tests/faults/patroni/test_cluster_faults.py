"""Faults of a whole cluster, once each: nothing that was acknowledged is lost or repeated, and others go on."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.network import network_missing
from tests.cluster.programs import missing_programs
from tests.faults.patroni import injections
from tests.faults.patroni.injections import ClusterInjection
from tests.faults.patroni.scene import FaultyCluster, faulty_cluster
from tests.faults.patroni.table import CLUSTER, cluster_figures, run_cluster_history

MISSING = missing_programs()
UNCONNECTED = MISSING or network_missing()

pytestmark = [pytest.mark.slow, pytest.mark.skipif(MISSING is not None, reason=MISSING or "")]


@pytest.fixture(scope="module")
def faulty() -> Iterator[FaultyCluster]:
    with faulty_cluster(separate=UNCONNECTED is None) as made:
        yield made


def check_faults(faulty: FaultyCluster, folder: Path, *kinds: ClusterInjection) -> None:
    history, silences_s = run_cluster_history(faulty, folder / "history", kinds, random.Random(20))
    assert not history.verdict.violations, str(history.verdict)
    held, figures = cluster_figures(faulty, [history], silences_s)
    assert held, figures
    assert int(figures["events acknowledged"]) > 0
    assert int(figures["appended by clients"]) > 0


def test_a_killed_server_a_killed_leader_and_a_lost_member_of_etcd_lose_nothing(
    faulty: FaultyCluster, tmp_path: Path
) -> None:
    check_faults(faulty, tmp_path, injections.kill_server, injections.kill_postmaster, injections.lose_etcd_member)


def test_a_lost_node_and_a_node_that_was_stopped_lose_nothing(faulty: FaultyCluster, tmp_path: Path) -> None:
    check_faults(faulty, tmp_path, injections.lose_node, injections.freeze_leader)


@pytest.mark.skipif(UNCONNECTED is not None, reason=UNCONNECTED or "")
def test_partitions_lose_nothing(faulty: FaultyCluster, tmp_path: Path) -> None:
    check_faults(faulty, tmp_path, injections.cut_leader, injections.cut_server, injections.cut_etcd_member)


def test_there_are_fifty_partitions() -> None:
    assert sum(fault.dose for fault in CLUSTER if fault.unit == "partitions") == 50
    assert all(fault.name.startswith("cluster-") for fault in CLUSTER)
