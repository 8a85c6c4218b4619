"""A clock that jumps, in short."""

import random
from pathlib import Path

import pytest

from tests.faults.clock import run
from tests.faults.shim import unfit

pytestmark = [pytest.mark.slow, pytest.mark.skipif(unfit() is not None, reason=str(unfit()))]


def test_i6_the_order_and_recordedtime_hold_whatever_the_clock_does(tmp_path: Path) -> None:
    found = run(tmp_path, 12, random.Random(1), lambda done, of: None)
    assert found.held, found
    assert found.figures["posts recorded later than the clock said"], "no jump went back"
