"""A server computes on one thread: the variables that numpy's libraries read are set before numpy is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from api.cli.commands.serve import BLAS_THREADS
from tests.api.cli.command import ENDS_S, environment
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

_SERVE = """
import os, runpy, sys

class Numpy:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print(*(os.environ.get(name) for name in {names!r}))
            sys.stdout.flush()
            os._exit(0)

sys.meta_path.insert(0, Numpy())
sys.argv = ["tallystick", "--ledger", {ledger!r}, "serve", "--port", "0"]
runpy.run_module("tallystick", run_name="__main__")
"""


def threads_when_numpy_is_imported(ledger: Path, **variables: str) -> list[str]:
    """Return the numbers of threads that a server has set when it first imports numpy."""
    script = _SERVE.replace("{names!r}", repr(BLAS_THREADS)).replace("{ledger!r}", repr(str(ledger)))
    kept = {name: value for name, value in environment().items() if name not in BLAS_THREADS} | variables
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=ENDS_S, check=True)
    return done.stdout.split()


def test_a_server_computes_on_one_thread_unless_the_environment_says_more(tmp_path: Path) -> None:
    assert threads_when_numpy_is_imported(tmp_path / "t.db") == ["1", "1", "1"]
    assert threads_when_numpy_is_imported(tmp_path / "t.db", OPENBLAS_NUM_THREADS="4") == ["4", "1", "1"]
