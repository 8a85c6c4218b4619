"""What a server loads before it listens, and for its first figure. No time is measured here."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.api.cli.command import done, environment
from tests.api.cli.lines import history
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

LARGE = {
    "api.cstp", "api.export", "api.http.openapi", "api.mcp", "api.service.webhooks.alert_checks", "httpx",
    "instruments.discovery", "instruments.evals", "instruments.probes", "jinja2", "mcp", "numpy", "pyarrow", "regex",
    "rich", "scipy", "scipy.optimize", "tree_sitter", "yaml",
}  # fmt: skip
"""Packages, of others and our own, that only some requests need."""

SERVED = """
import json, signal, sys
from tallystick.__main__ import main
signal.signal(signal.SIGUSR1, lambda *_: print(json.dumps(sorted(sys.modules)), flush=True))
sys.argv = ["tallystick", *sys.argv[1:]]
main()
"""
"""A server that writes which modules it has loaded when it gets a signal."""


class Started(httpx.Client):
    """A client of a server in a process of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stderr is not None
        said = next(line for line in process.stderr if b'"event":"serving"' in line)
        super().__init__(base_url=msgspec.json.decode(said)["address"])
        self._process = process

    def large(self) -> set[str]:
        """Which large packages the server has loaded."""
        assert self._process.stdout is not None
        self._process.send_signal(signal.SIGUSR1)
        return LARGE & msgspec.json.decode(self._process.stdout.readline(), type=set[str])


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """A server that was started again on a ledger of reviewed decisions."""
    ledger = tmp_path / "ledger.db"
    done(ledger, "append", "--agent", "ann", given=history(12))
    command = [sys.executable, "-c", SERVED, "--ledger", str(ledger), "serve", "--port", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=pipe, stderr=pipe) as process:
        try:
            with Started(process) as client:
                yield client
        finally:
            process.terminate()
            process.communicate()


def test_a_server_that_listens_has_loaded_only_numpy(started: Started) -> None:
    assert started.large() == {"numpy"}


def test_a_first_figure_loads_statistical_functions(started: Started) -> None:
    assert started.get("/calibration").status_code == 200
    assert started.large() == {"numpy", "scipy"}


def test_a_first_decision_and_a_first_list_load_nothing_else(started: Started) -> None:
    assert started.post("/decisions", json={"data": {"decision_id": "x", "decision": "wait"}}).status_code == 201
    assert started.get("/decisions?limit=1").status_code == 200
    assert started.large() == {"numpy"}


def test_a_request_loads_what_it_needs(started: Started) -> None:
    called = {"jsonrpc": "2.0", "id": 1, "method": "cstp.getStats", "params": {}}
    assert "result" in started.post("/cstp", json=called).json()
    assert "api.cstp" in started.large()
    assert started.get("/openapi.json").status_code == 200
    assert {"api.http.openapi", "instruments.discovery"} <= started.large()
    # The path with a slash is the same operation, and a method that no route has is refused before anything is loaded.
    assert started.post("/cstp/", json=called).json()["result"] == started.post("/cstp", json=called).json()["result"]
    assert started.put("/calibration").status_code == 405
