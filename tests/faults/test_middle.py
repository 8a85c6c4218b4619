"""Long work that is killed in the middle, at a small dose."""

import random
from pathlib import Path

import pytest

from tests.faults import middle

pytestmark = pytest.mark.slow


def test_long_work_that_is_killed_can_be_done_again(tmp_path: Path) -> None:
    held, figures = middle.run(tmp_path, 3, random.Random(7), lambda done, total: None)
    assert held, figures
