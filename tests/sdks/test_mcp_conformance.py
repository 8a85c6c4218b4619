"""The official conformance suite of MCP, and the official inspector, against a server.

The suite's other scenarios need tools of its own fixture server. It sends no token, so the ledger has none.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.http.posted_evaluations import finished, scored, started
from tests.sdks.conftest import path_with
from tests.support.server import Served

pytestmark = [pytest.mark.slow, pytest.mark.trial("D1")]

EVERY_TOOLSET = "decisions,links,discovery,evaluations,proof"
MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"

SCENARIOS = {
    MODERN: (
        "tools-list", "resources-list", "prompts-list", "sep-2164-resource-not-found", "dns-rebinding-protection",
        "caching", "http-header-validation", "input-required-result-unsupported-methods",
        "input-required-result-ignore-extra-params", "input-required-result-missing-input-response",
        "input-required-result-validate-input", "server-stateless",
    ),
    HANDSHAKE: (
        "server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection",
    ),
}  # fmt: skip
"""The scenarios of each revision that a server can pass without the suite's own tools."""

WITHOUT_WIRE_CHECK = {"dns-rebinding-protection", "server-stateless"}
"""Scenarios that send requests of their own making, and whose report has no check `wire-schema-valid`."""


def needs_fixture(check: dict[str, Any]) -> bool:
    """Whether a check says that it needs a tool of the suite's own server: four of `server-stateless` do."""
    return bool(check.get("details", {}).get("untestable")) and "diagnostic tool 'test_" in check["errorMessage"]


def run_node(environment: Path, packages: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the packages."""
    command = [str(environment / "node"), str(packages / "node_modules/.bin" / words[0]), *words[1:]]
    variables = {**os.environ, "PATH": path_with(environment)}
    return subprocess.run(command, cwd=packages, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("revision", "scenario"), [(revision, scenario) for revision, names in SCENARIOS.items() for scenario in names]
)
def test_the_conformance_suite_passes(
    server: Served, python_environment: Path, npm_environment: Path, tmp_path: Path, revision: str, scenario: str
) -> None:
    done = run_node(
        python_environment, npm_environment, "conformance", "server", "--url", f"{server.url}/mcp",
        "--scenario", scenario, "--spec-version", revision, "-o", str(tmp_path / "out"),
    )  # fmt: skip
    reports = list((tmp_path / "out").rglob("checks.json"))
    assert len(reports) == 1, done.stdout + done.stderr
    checks = json.loads(reports[0].read_bytes())
    failed = [check for check in checks if check["status"] == "FAILURE" and not needs_fixture(check)]
    assert failed == []
    wire = [check["status"] for check in checks if check["id"] == "wire-schema-valid"]
    assert wire or scenario in WITHOUT_WIRE_CHECK
    assert set(wire) <= {"SUCCESS"}


def inspect(server: Served, environment: Path, packages: Path, *words: str) -> Any:  # noqa: ANN401 - any JSON
    """What the inspector prints."""
    address = f"{server.url}/mcp?tools={EVERY_TOOLSET}"
    done = run_node(environment, packages, "mcp-inspector", "--cli", address, "--transport", "http", "--method", *words)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("pre_action", {"description": "Use a queue", "category": "tooling", "confidence": 0.7}),
    ("record_decision", {"decision": "Use a queue", "category": "tooling", "confidence": 0.7}),
    ("review_outcome", {"id": "ID", "outcome": "success"}),
    ("update_decision", {"id": "ID", "pattern": "queues"}),
    ("record_thought", {"text": "It is short", "decision_id": "ID"}),
    ("check_action", {"description": "Drop the queue", "stakes": "high", "confidence": 0.3}),
    ("link_decisions", {"source_id": "ID", "target_id": "later", "edge_type": "supersedes", "weight": 0.5}),
    ("get_neighbors", {"node_id": "ID", "direction": "outgoing"}),
    ("get_graph", {"node_id": "ID", "depth": 2}),
    ("query_decisions", {"query": "queue"}),
    ("get_decision", {"id": "ID"}),
    ("get_calibration", {}),
    ("get_reason_stats", {}),
    ("ready", {}),
    ("get_session_context", {"task_description": "queue"}),
    ("start_discovery", {"run_id": "inspected", "probe_id": "debugging"}),
    ("get_discovery_prompt", {"run_id": "inspected"}),
    ("submit_discovery_response", {"run_id": "inspected", "failure": "timeout", "attempt": 1}),
    ("emit_signal", {"run_id": "inspected", "event": "seen"}),
    ("get_signals", {"run_id": "inspected"}),
    ("get_discovery_report", {"run_id": "inspected"}),
    ("list_evaluations", {}),
    ("show_evaluation", {"run_id": "first"}),
    ("compare_evaluations", {"baseline": "first", "candidate": "second"}),
    ("get_scoreboard", {}),
    ("get_checkpoint", {}),
    ("get_receipt", {"position": 1}),
    ("verify_receipt", {"receipt": "RECEIPT"}),
)
"""A call of every tool."""


def test_the_inspector_lists_and_calls_every_tool(
    server: Served, python_environment: Path, npm_environment: Path
) -> None:
    def call(name: str, arguments: dict[str, object]) -> Any:  # noqa: ANN401 - any JSON
        words = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={value}")]
        return inspect(server, python_environment, npm_environment, "tools/call", "--tool-name", name, *words)

    drafts = [
        draft
        for run_id in ("first", "second")
        for draft in (started(run_id, "suite"), scored(run_id, "scenario", 80), finished(run_id))
    ]
    assert httpx.post(f"{server.url}/events", json=drafts).is_success
    listed = inspect(server, python_environment, npm_environment, "tools/list")
    assert {tool["name"] for tool in listed["tools"]} == {name for name, _ in CALLS}
    known = {"ID": "", "RECEIPT": ""}
    structured: Any = None
    for name, arguments in CALLS:
        filled = {key: known.get(str(value), value) for key, value in arguments.items()}
        answer = call(name, filled)
        assert not answer.get("isError"), (name, answer)
        structured = answer["structuredContent"]
        assert json.loads(answer["content"][0]["text"]) == structured
        known["ID"] = structured["id"] if name == "record_decision" else known["ID"]
        known["RECEIPT"] = structured.get("receipt", known["RECEIPT"])
    assert call("show_evaluation", {"run_id": "none"})["isError"]
    assert structured["valid"]
