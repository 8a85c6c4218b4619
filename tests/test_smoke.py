"""The gate's one test through real processes: a server starts, an agent records, an owner asks, an auditor verifies."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.paths import ROOT
from tests.support.server import Served

EVENT = {"type": "decision.recorded.v1", "data": {"decision_id": "d1", "decision": "Use the queue", "confidence": 0.7}}


def tallystick(ledger: Path, *words: str) -> str:
    """Run a command to its end, and return what it printed."""
    command = [sys.executable, "-m", "tallystick", "--ledger", str(ledger), *words]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.smoke
def test_what_a_server_recorded_is_listed_and_verified_and_it_ends_when_it_is_asked(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    server = Served(ledger, module="tallystick")
    try:
        answer = httpx.post(f"{server.url}/events", json=EVENT)
        assert (answer.status_code, answer.json()["position"]) == (201, 1)
        assert httpx.get(f"{server.url}/decisions").json()["decisions"][0]["decision_id"] == "d1"
        assert "Use the queue" in tallystick(ledger, "decisions")
    finally:
        code = server.stop()
    assert code == 0
    assert "1 event" in tallystick(ledger, "verify")
