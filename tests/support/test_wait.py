"""A wait ends when what it waits for is true, and fails when its process has ended before."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.wait import wait_until

pytestmark = pytest.mark.slow


def test_a_wait_ends_when_it_is_true_also_if_the_process_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "made"
    with subprocess.Popen([sys.executable, "-S", "-c", f"open({str(path)!r}, 'w')"]) as process:
        wait_until(path.exists, process)
    wait_until(path.exists, process)


def test_a_wait_for_a_process_that_has_ended_fails() -> None:
    with (
        subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(3)"]) as process,
        pytest.raises(AssertionError, match=f"process {process.pid} ended with 3 before what the test waits for"),
    ):
        wait_until(lambda: False, process)
