"""A full disk (I3, I4), at a small dose."""

import random
from pathlib import Path

import pytest

from tests.faults import full


def test_a_full_disk_refuses_whole_batches_and_is_recovered_from(tmp_path: Path) -> None:
    if why := full.unfit():
        pytest.skip(why)
    held, figures = full.run(tmp_path, 2, random.Random(7), lambda done, total: None)
    assert held, figures
    assert int(figures["refused"]) > 0
