"""Flipped bits, in short."""

import random
from pathlib import Path

import pytest

from tests.faults import bits

pytestmark = pytest.mark.slow


def test_a_flipped_bit_is_found_and_located_or_is_provably_unused(tmp_path: Path) -> None:
    if why := bits.unfit():
        pytest.skip(why)
    held, figures = bits.run(tmp_path, 6, random.Random(7), lambda done, total: None)
    assert held, figures
