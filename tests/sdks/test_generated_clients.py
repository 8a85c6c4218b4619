"""Clients that others' generators make of `/openapi.json`: they post an event, read it back, and get figures."""

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.sdks.conftest import path_with
from tests.support.paths import ROOT
from tests.support.server import Served

pytestmark = [pytest.mark.slow, pytest.mark.trial("B2")]


def run(commands: Path, command: list[str | Path], folder: Path, **variables: str) -> str:
    """Run a command from the folder `commands` in another folder, and return its output."""
    environment = {**os.environ, "PATH": path_with(commands), **variables}
    command = [commands / command[0], *command[1:]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def check(output: str) -> None:
    """The position, the stored event and the figures that a client printed are those of one reviewed decision."""
    position, event, figures = msgspec.json.decode(output, type=tuple[int, dict[str, Any], dict[str, Any]])
    assert position == event["position"] == 1
    assert event["data"] == {"decision_id": "generated", "decision": "Use one file", "confidence": 0.8}
    assert figures["overall"]["brier_score"] == pytest.approx(0.04)


def test_openapi_python_client(python_environment: Path, server: Served, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("content_type_overrides:\n  application/x-protobuf: application/octet-stream\n")
    generate: list[str | Path] = ["openapi-python-client", "generate", "--fail-on-warning", "--output-path", "client"]
    run(python_environment, [*generate, "--config", settings, "--url", f"{server.url}/openapi.json"], tmp_path)
    command: list[str | Path] = ["python", ROOT / "tests/sdks/generated_client", server.url]
    check(run(python_environment, command, tmp_path, PYTHONPATH=str(tmp_path / "client")))


def test_openapi_typescript(python_environment: Path, npm_environment: Path, server: Served) -> None:
    generate: list[str | Path] = ["npx", "openapi-typescript", f"{server.url}/openapi.json", "-o", "api.ts"]
    run(python_environment, generate, npm_environment)
    run(python_environment, ["npx", "tsc"], npm_environment)
    check(run(python_environment, ["node", "out/generated_client.js", server.url], npm_environment))


def test_redocly_finds_nothing(python_environment: Path, npm_environment: Path, server: Served) -> None:
    command: list[str | Path] = ["npx", "redocly", "lint", f"{server.url}/openapi.json", "--format", "json"]
    output = run(
        python_environment, command, npm_environment, REDOCLY_TELEMETRY="off", REDOCLY_SUPPRESS_UPDATE_NOTICE="true"
    )
    totals = msgspec.json.decode(output)["totals"]
    assert totals == {"errors": 0, "warnings": 0, "ignored": 0}
