"""Servers and reading verbs compute on one thread: what numpy's libraries read is set before numpy is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from api.cli.ledger_target import BLAS_THREADS
from tests.api.cli.command import ENDS_S, done, environment
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

_VERB = """
import os, runpy, sys

class Numpy:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print(*(os.environ.get(name) for name in {names!r}))
            sys.stdout.flush()
            os._exit(0)

sys.meta_path.insert(0, Numpy())
sys.argv = ["tallystick", "--ledger", *{words!r}]
runpy.run_module("tallystick", run_name="__main__")
"""


def threads_when_numpy_is_imported(ledger: Path, *verb: str, **variables: str) -> list[str]:
    """Return the numbers of threads that a verb has set when it first imports numpy."""
    words = [str(ledger), *verb]
    script = _VERB.replace("{names!r}", repr(BLAS_THREADS)).replace("{words!r}", repr(words))
    kept = {name: value for name, value in environment().items() if name not in BLAS_THREADS} | variables
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=ENDS_S, check=True)
    return ended.stdout.split()


@pytest.mark.parametrize("verb", [("serve", "--port", "0"), ("calibration",), ("status",)])
def test_a_verb_computes_on_one_thread_unless_the_environment_says_more(verb: tuple[str, ...], tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "record", "Ship it", "--agent", "scout")
    assert threads_when_numpy_is_imported(ledger, *verb) == ["1", "1", "1"]
    assert threads_when_numpy_is_imported(ledger, *verb, OPENBLAS_NUM_THREADS="4") == ["4", "1", "1"]
