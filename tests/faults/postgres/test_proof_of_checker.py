"""The checker finds each missing safeguard on real servers, once the fault happens that the safeguard is for."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.place import DatabasePlace
from tests.faults.postgres import faulty_nodes, injections
from tests.faults.postgres.cluster import Cluster, cluster_of_three
from tests.faults.postgres.histories import run_history
from tests.faults.postgres.injections import Injection
from tests.faults.postgres.nodes import OPEN_SIGNING
from tests.support.postgres import requires_postgres

pytestmark = [requires_postgres, pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with cluster_of_three() as made:
        yield made


@pytest.mark.parametrize(
    ("opened_by", "injection"),
    [
        ("open_local", injections.lose_confirmed),
        ("open_without_barrier", injections.lose_crashed_and_restart),
        ("open_without_warnings", injections.lose_cancelled),
    ],
)
def test_a_lost_acknowledgement_is_found(
    cluster: Cluster, tmp_path: Path, opened_by: str, injection: Injection
) -> None:
    found = run_history(
        cluster, tmp_path / "history", [injection], random.Random(1), opened_by=f"{faulty_nodes.__name__}:{opened_by}"
    )
    assert 1 in found.verdict.rules, str(found.verdict)


@pytest.mark.parametrize("injection", [injections.lose_unreplicated, injections.lose_crashed])
def test_with_every_safeguard_the_same_faults_do_no_harm(
    cluster: Cluster, tmp_path: Path, injection: Injection
) -> None:
    found = run_history(cluster, tmp_path / "history", [injection], random.Random(1))
    assert not found.verdict.violations, str(found.verdict)


def test_after_a_cancelled_wait_reads_may_show_what_is_lost_but_nothing_acknowledged_or_signed_is(
    cluster: Cluster, tmp_path: Path
) -> None:
    """PostgreSQL shows the rows of a cancelled wait to connections that passed their barrier before.

    No node may cancel a wait: its role has no right to signal. An administrator can.
    """
    kinds, folder = [injections.lose_cancelled, injections.lose_terminated], tmp_path / "history"
    found = run_history(cluster, folder, kinds, random.Random(1), opened_by=OPEN_SIGNING, reads=False)
    assert not found.verdict.violations, str(found.verdict)


def test_positions_from_a_sequence_are_found(cluster: Cluster, tmp_path: Path) -> None:
    def prepare(place: DatabasePlace) -> None:
        faulty_nodes.remove_lock(place, cluster.primary)

    found = run_history(
        cluster, tmp_path / "history", [], random.Random(1), prepare=prepare,
        opened_by=f"{faulty_nodes.__name__}:open_without_lock",
    )  # fmt: skip
    assert 9 in found.verdict.rules, str(found.verdict)
