"""Faults of the log on PostgreSQL, at a small dose."""

import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from ledger.clock import system_clock
from tests.faults import full
from tests.faults.history.final_log import FinalLog
from tests.faults.postgres import backups, disks, injections
from tests.faults.postgres.cluster import Cluster, cluster_of_three
from tests.faults.postgres.histories import CheckedHistory, run_history
from tests.faults.postgres.injections import Injection
from tests.faults.postgres.nodes import OPEN_JUMPING, OPEN_POSTGRES, OPEN_SIGNING
from tests.faults.postgres.table import POSTGRES
from tests.support.postgres import requires_postgres

pytestmark = [pytest.mark.slow, requires_postgres]

SHORT = (injections.kill_node, injections.cancel_wait, injections.lose_primary)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with cluster_of_three() as made:
        yield made


def check_history(
    cluster: Cluster, folder: Path, kinds: list[Injection], *, opened_by: str = OPEN_POSTGRES, reads: bool = True
) -> CheckedHistory:
    found = run_history(cluster, folder / "history", kinds, random.Random(20), opened_by=opened_by, reads=reads)
    assert not found.verdict.violations, str(found.verdict)
    assert not found.early, found.early
    assert found.verdict.figures["events acknowledged"] > 0
    return found


def test_i4_i6_faults_lose_nothing_and_recordedtime_never_decreases_although_clocks_jump(
    cluster: Cluster, tmp_path: Path
) -> None:
    found = check_history(cluster, tmp_path, list(SHORT), opened_by=OPEN_JUMPING)
    newest = max(line.recordedtime for line in FinalLog(found.lines).lines.values())
    assert newest > (system_clock() + timedelta(hours=1)).isoformat(), "no clock jumped"


@pytest.mark.parametrize(
    "kind",
    [
        injections.kill_postmaster,
        injections.kill_keeper,
        injections.lose_standby,
        injections.freeze_and_lose_primary,
        injections.freeze_primary,
        injections.freeze_standby,
        injections.freeze_node,
        injections.stop_confirmation,
    ],
)
def test_each_fault_loses_nothing(cluster: Cluster, tmp_path: Path, kind: Injection) -> None:
    check_history(cluster, tmp_path, [kind])


def test_on_an_old_backup_nodes_append_and_sign_nothing(cluster: Cluster, tmp_path: Path) -> None:
    found = check_history(cluster, tmp_path, [backups.restore_backup], opened_by=OPEN_SIGNING, reads=False)
    assert found.verdict.figures["checkpoints"] > 0


def test_a_full_disk_of_the_primary_server_loses_nothing(tmp_path: Path) -> None:
    if why := full.unfit():
        pytest.skip(why)
    with disks.cluster_on_small_disk() as cluster:
        check_history(cluster, tmp_path, [disks.fill_tables, disks.fill_log])


def test_a_row_of_the_table_is_measured(tmp_path: Path) -> None:
    fault = next(fault for fault in POSTGRES if fault.name == "postgres-node")
    held, figures = fault.run(tmp_path, 2, random.Random(20), lambda done, total: None)
    assert held, figures
    assert int(figures["events acknowledged"]) > 0
    assert float(figures["pause s, most"]) > 0
