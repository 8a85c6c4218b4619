"""A server against its OpenAPI document: thousands of requests, right and wrong, and no answer outside the schema."""

import os
import re
import subprocess
import sys
from collections.abc import Set
from pathlib import Path

import httpx
import pytest

from api.http.openapi.document import openapi_document
from api.http.route_table import operations
from tests.api.http import schemathesis_checks
from tests.support.paths import ROOT
from tests.support.server import Served, served

pytestmark = pytest.mark.slow

SEED = 20261121
EXAMPLES_MAX = 15
"""Random cases for an operation, besides those that cover its schema systematically."""
WALKS_MAX = 50
"""Random walks along the links of the description."""
STEPS_MAX = 6
"""Requests of a walk."""
WRITERS = frozenset({"post_events", "put_evidence", "post_discovery"})
"""The first request of a walk. Schemathesis itself would begin with operations that list something."""
FOLLOWED_MIN = 2
"""How many links of a writer lead somewhere at least; a random event is seldom right."""

CONFIG = f"""
[phases.fuzzing.generation]
max-examples = {EXAMPLES_MAX}

[phases.stateful]
max-steps = {STEPS_MAX}
generation.max-examples = {WALKS_MAX}
generation.mode = "positive"
# Links that the description has, none that are guessed.
inference.algorithms = []

[checks]
# tests/api/http/schemathesis_checks.py has a check that knows the reasons that the description cannot state.
positive_data_acceptance.enabled = false

[[operations]]
include-name = "POST /cstp"
# The errors of JSON-RPC are answers with status 200.
checks.negative_data_rejection.enabled = false

[[operations]]
include-name = "POST /mcp"
# The messages of MCP are those of its SDK: tests/sdks/test_mcp_conformance.py checks them.
enabled = false

"""


def run(server: Served, folder: Path, phases: str, *words: str) -> str:
    """Run Schemathesis and return its output; it finds nothing wrong, and the server logs no error."""
    config = folder / "schemathesis.toml"
    config.write_text(CONFIG)
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", str(config),
        "run", f"{server.url}/openapi.json",
        "--phases", phases,
        "--seed", str(SEED),
        "--generation-database", "none",
        "--continue-on-failure",
        "--no-color",
        "--header", "accept: application/json",
        *words,
    ]  # fmt: skip
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": schemathesis_checks.__name__}
    ended = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    assert [line for line in server.log() if line["level"] == "error"] == []
    return ended.stdout


def walk(server: Served, folder: Path, sources: Set[str]) -> tuple[int, int]:
    """Follow links from these operations at random: how many were followed, and how many the description has."""
    ends = sources | {link.operation for each in operations() if each.name in sources for link in each.links.values()}
    output = run(server, folder, "stateful", *(f"--include-operation-id={name}" for name in sorted(ends)))
    links = re.search(r"API Links: +(\d+) covered / \d+ selected / (\d+) total", output)
    assert links is not None, output
    return int(links[1]), int(links[2])


@pytest.mark.trial("B5")
def test_nothing_is_refused_or_answered_outside_the_description(tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db") as server:
        output = run(server, tmp_path, "examples,coverage,fuzzing,stateful")
        paths = openapi_document()["paths"]
        operations = sum(len(item) for item in paths.values()) - 2  # all but the description itself, and MCP
        assert f"Tested: {operations}" in output, output
        assert httpx.get(f"{server.url}/readyz").json()["head"] > 0, "no event was right"


def test_what_was_written_is_found_along_the_links(tmp_path: Path) -> None:
    links = sum(len(each.links) * sum(200 <= status < 300 for status in each.answers) for each in operations())
    with served(tmp_path / "ledger.db") as server:
        for writer in sorted(WRITERS):
            followed, known = walk(server, tmp_path, {writer})
            assert known == links
            assert followed >= FOLLOWED_MIN, writer
        followed, known = walk(server, tmp_path, {each.name for each in operations() if each.links} - WRITERS)
        assert known == links
        assert followed > 0
