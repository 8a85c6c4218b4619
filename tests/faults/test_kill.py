"""I1, I3, I4, I5 and I7 against kill -9, at a small dose."""

import random
from pathlib import Path

import pytest

from tests.faults import kill

pytestmark = pytest.mark.slow

KILLS = 30
SEED = 20260221


def test_i4_every_acknowledged_event_survives_kill_9_and_is_there_once(tmp_path: Path) -> None:
    held, figures = kill.run(tmp_path, KILLS, random.Random(SEED), lambda done, total: None)
    assert held, figures
    assert int(figures["acknowledged"]) > KILLS
    assert int(figures["of them there already"]) > 0, "no kill fell between a commit and its answer"
    assert int(figures["posted again"]) > int(figures["of them there already"]), "none fell before a commit"
