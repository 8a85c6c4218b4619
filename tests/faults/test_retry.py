"""Answers that never came (I5), at a small dose."""

import random
from pathlib import Path

import pytest

from tests.faults import retry

pytestmark = pytest.mark.slow


def test_i5_what_is_posted_again_without_an_answer_is_stored_once(tmp_path: Path) -> None:
    held, figures = retry.run(tmp_path, 150, random.Random(7), lambda done, total: None)
    assert held, figures
    assert 0 < int(figures["written before they were posted again"]) < 150
