"""A ledger that version 0.1.0 wrote opens, verifies, gives the same figures and accepts new events."""

from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done
from tests.recorded.append_requests import decision
from tests.recorded.difference import difference, lines_of
from tests.recorded.figures import figures
from tests.recorded.old_ledger import FIGURES, unpack

pytestmark = pytest.mark.slow


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return unpack(tmp_path)


def test_it_verifies(ledger: Path) -> None:
    verified = msgspec.json.decode(done(ledger, "verify", "--json").out)
    assert (verified["right"], verified["events"]) == (True, 742), verified
    replayed = msgspec.json.decode(done(ledger, "replay", "--check", "--json").out)
    assert replayed["same"] is True, replayed


def test_its_figures_are_the_same(ledger: Path) -> None:
    expected, found = lines_of(FIGURES.read_bytes()), lines_of(figures(ledger))
    differs = difference(expected, found)
    assert not differs, differs


def test_it_accepts_new_events(ledger: Path) -> None:
    done(ledger, "append", given=msgspec.json.encode(decision("appended")))
    done(ledger, "verify")
    exported = ledger.with_name("export")
    done(ledger, "export", "--output", exported, "--evidence")
    done(ledger, "verify", exported)
