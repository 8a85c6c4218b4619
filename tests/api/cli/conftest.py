"""What tests of the command line begin with."""

from pathlib import Path

import pytest

from tests.api.cli.evaluating import NAMES, suite


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger that is not there yet."""
    return tmp_path / "ledger.db"


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    """A suite of scenarios."""
    return suite(tmp_path / "kube", NAMES)
