"""Without the extra `mcp`, everything else runs as before, and a call of MCP says what to install."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.paths import ROOT
from tests.support.server import Served

ADVICE = "pip install 'tallystick[mcp]'"

pytestmark = pytest.mark.trial("D1")


@pytest.fixture
def hidden(tmp_path: Path) -> dict[str, str]:
    """An environment in which the SDK cannot be imported."""
    package = tmp_path / "hidden" / "mcp"
    package.mkdir(parents=True)
    missing = "raise ModuleNotFoundError(\"No module named 'mcp'\", name='mcp')\n"
    (package / "__init__.py").write_text(missing)
    (package.parent / "mcp_types.py").write_text(missing.replace("'mcp'", "'mcp_types'"))
    return {"PYTHONPATH": f"{package.parent}:{ROOT}"}


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
        "loaded = {name.partition('.')[0] for name in sys.modules};"
        "print(loaded & {'mcp', 'mcp_types', 'pydantic', 'httpx2'})"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
