"""Tampering with the files beside a ledger, in short."""

import random
from pathlib import Path

import pytest

from tests.faults import tamper

pytestmark = pytest.mark.slow


@pytest.mark.trial("C13")
def test_no_answer_changes_when_a_file_beside_the_ledger_does(tmp_path: Path) -> None:
    held, figures = tamper.run(tmp_path, 40, random.Random(7), lambda done, total: None)
    assert held, figures
