"""Errors of the disk, in short: those that once did not hold among them."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.disk import memory
from tests.faults.errors import Driver, trial
from tests.faults.outage import outage
from tests.faults.shim import CALLS, Call, unfit

pytestmark = [pytest.mark.slow, pytest.mark.skipif(unfit() is not None, reason=str(unfit()))]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    with memory(tmp_path_factory.mktemp("errors")) as place, Driver(place) as driver:
        yield driver


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("number", [1, 6, 16, 45])
def test_nothing_acknowledged_is_lost_when_a_call_fails(driver: Driver, call: Call, number: int) -> None:
    found = trial(driver, call, number, seed=number)
    assert found.hit
    assert found.wrong == []
    assert found.reported.opened or not found.reported.acknowledged


def test_a_failed_sync_stops_the_log_and_what_it_covered_is_synced_before_it_is_reported_again(driver: Driver) -> None:
    stopped = [trial(driver, "sync", 15, seed) for seed in range(3)]
    assert all(one.reported.stopped and one.wrong == [] for one in stopped)


@pytest.mark.parametrize("call", ["read", "sync"])
def test_a_server_whose_disk_fails_says_so_and_stops_when_asked(tmp_path: Path, call: Call) -> None:
    found = outage(tmp_path, call, 5, random.Random(4))
    assert found.wrong == []
    assert found.stopped or call == "read"
