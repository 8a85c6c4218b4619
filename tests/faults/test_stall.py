"""A disk that stalls, in short."""

import random
from pathlib import Path

import pytest

from tests.faults.shim import unfit
from tests.faults.stall import run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(unfit() is not None, reason=str(unfit()))]


def test_a_full_queue_refuses_at_once_while_the_disk_stalls_and_is_written_when_it_goes_on(tmp_path: Path) -> None:
    found = run(tmp_path, 1, random.Random(1), lambda done, of: None)
    assert found.held, found
