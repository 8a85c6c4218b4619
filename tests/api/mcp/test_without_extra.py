"""Without the extra `mcp`, everything else runs as before, and a call of MCP says what to install."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.api.mcp.hidden_sdk import hide_sdk
from tests.support.paths import ROOT
from tests.support.server import Served

ADVICE = "pip install 'tallystick[mcp]'"

pytestmark = [pytest.mark.slow, pytest.mark.trial("D1")]


@pytest.fixture
def hidden(tmp_path: Path) -> dict[str, str]:
    return hide_sdk(tmp_path)


def test_the_route_says_what_to_install(tmp_path: Path, hidden: dict[str, str]) -> None:
    server = Served(tmp_path / "team.db", environment=hidden)
    try:
        refused = httpx.post(f"{server.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert (refused.status_code, refused.json()["type"]) == (501, "urn:tallystick:problem:extra-missing")
        assert ADVICE in refused.json()["advice"]
        assert httpx.get(f"{server.url}/decisions").status_code == 200
        assert httpx.get(f"{server.url}/openapi.json").status_code == 200
    finally:
        server.stop()


def test_the_command_says_what_to_install(tmp_path: Path, hidden: dict[str, str]) -> None:
    command = [sys.executable, "-m", "tallystick", "--ledger", str(tmp_path / "team.db"), "mcp"]
    done = subprocess.run(
        command, env={"PATH": "/usr/bin:/bin", **hidden}, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert ADVICE in done.stderr
    assert not (tmp_path / "team.db").exists()


def test_a_server_imports_nothing_of_it_before_the_first_call() -> None:
    program = (
        "import sys, api.http.app, api.cli.main, api.http.server;"
        "loaded = {name.partition('.')[0] for name in sys.modules} | set(sys.modules);"
        "print(loaded & {'mcp', 'mcp_types', 'pydantic', 'httpx2', 'api.mcp.toolsets', 'api.mcp.tool_call'})"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


BYTES_MORE_MAX = 5 * 1024 * 1024


def test_a_server_needs_no_more_memory_with_the_extra_until_the_first_call(
    tmp_path: Path, hidden: dict[str, str]
) -> None:
    pytest.importorskip("mcp")

    def resident(name: str, environment: dict[str, str]) -> int:
        server = Served(tmp_path / f"{name}.db", environment=environment)
        try:
            assert httpx.get(f"{server.url}/decisions").status_code == 200
            return resident_bytes(server)
        finally:
            server.stop()

    without = min(resident(f"without{number}", hidden) for number in range(3))
    with_it = min(resident(f"with{number}", {"PYTHONPATH": str(ROOT)}) for number in range(3))
    assert with_it - without <= BYTES_MORE_MAX


def resident_bytes(server: Served) -> int:
    """The resident memory of a server, in bytes."""
    status = Path(f"/proc/{server.process.pid}/status")
    if not status.exists():
        pytest.skip("The memory of a process is read from /proc.")
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024
