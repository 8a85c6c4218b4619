"""What a verb loads before it answers: large packages only if the verb needs them. No time is measured here."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, environment
from tests.api.cli.lines import decided, history
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

LARGE = {
    "cryptography", "httpx", "jinja2", "mcp", "numpy", "prometheus_client", "pyarrow", "pydantic", "regex",
    "scipy", "scipy.optimize", "starlette", "tree_sitter", "uvicorn", "uvloop", "yaml",
}  # fmt: skip
"""Packages that take 5 ms to half a second to load."""

ANSWERED = """
import json, sys
from api.cli.main import main
sys.argv = ["tallystick", *sys.argv[1:]]
code = 0
try:
    main()
except SystemExit as error:
    code = error.code or 0
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def large(*words: str | Path) -> set[str]:
    """Run a verb that must succeed in a process of its own, and return which large packages it loaded."""
    command = [sys.executable, "-c", ANSWERED, *map(str, words)]
    ended = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, check=False)
    lines = ended.stderr.splitlines()
    assert lines, ended
    code, modules = msgspec.json.decode(lines[-1], type=tuple[int, set[str]])
    assert code == 0, ended
    return LARGE & modules


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of reviewed decisions."""
    path = tmp_path_factory.mktemp("start") / "ledger.db"
    done(path, "append", "--agent", "ann", given=history(12) + decided("open"))
    return path


@pytest.mark.parametrize(
    "words", [("log",), ("log", "--json"), ("evidence", "list"), ("token", "list"), ("webhook", "list"), ("schema",),
              ("--help",), ("serve", "--help"), ("--version",)], ids=" ".join,
)  # fmt: skip
def test_a_verb_that_computes_nothing_loads_no_large_package(reviewed: Path, words: tuple[str, ...]) -> None:
    assert large("--ledger", reviewed, *words) == set()


@pytest.mark.parametrize(
    "words",
    [("decisions",), ("decision", "open"), ("status",), ("eval", "list"), ("model", "list"), ("related", "open"),
     ("guardrail", "list"), ("breakers", "list"), ("projections",)],
    ids=" ".join,
)  # fmt: skip
def test_a_verb_that_reads_columns_loads_only_numpy(reviewed: Path, words: tuple[str, ...]) -> None:
    assert large("--ledger", reviewed, *words) == {"numpy"}


@pytest.mark.parametrize("words", [("record", "x", "--agent", "ann"), ("review", "open", "--outcome", "success"),
                                   ("guardrail", "check", "x")], ids=" ".join)  # fmt: skip
def test_a_verb_that_writes_loads_at_most_numpy(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "ledger.db"
    done(path, "append", "--agent", "ann", given=decided("open"))
    assert large("--ledger", path, *words) <= {"numpy"}


def test_figures_load_statistical_functions_and_no_optimizers(reviewed: Path) -> None:
    assert large("--ledger", reviewed, "calibration") == {"numpy", "scipy"}
