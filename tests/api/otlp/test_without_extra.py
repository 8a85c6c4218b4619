"""Without the extra `otlp`, JSON works as before, and a request in protobuf says what to install."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.api.otlp.json_bodies import LABEL, NAME, log_record, logs
from tests.support.paths import ROOT
from tests.support.server import Served

pytestmark = pytest.mark.slow

_MISSING = "raise ModuleNotFoundError(\"No module named 'opentelemetry'\", name='opentelemetry')\n"


def test_json_is_taken_and_protobuf_says_what_to_install(tmp_path: Path) -> None:
    package = tmp_path / "hidden" / "opentelemetry"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(_MISSING)
    server = Served(tmp_path / "team.db", environment={"PYTHONPATH": f"{package.parent}:{ROOT}"})
    try:
        for path in ("/v1/logs", "/v1/traces"):
            refused = httpx.post(f"{server.url}{path}", content=b"", headers={"content-type": "application/x-protobuf"})
            assert refused.status_code == 501
            assert refused.content.startswith(b"\x08\x0c\x12")  # google.rpc.Status: code 12, then the message
            assert b"pip install 'tallystick[otlp]'" in refused.content
        taken = httpx.post(f"{server.url}/v1/logs", json=logs(log_record({NAME: "Relevance", LABEL: "pass"})))
        assert (taken.status_code, taken.json()) == (200, {})
    finally:
        server.stop()


def test_nothing_of_it_is_imported_before_the_first_request() -> None:
    program = (
        "import sys, api.http.app, api.cli.main, api.http.server, api.http.route_table, api.http.routes.otlp;"
        "print({name.partition('.')[0] for name in sys.modules} & {'opentelemetry', 'google'})"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
