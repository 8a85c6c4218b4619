"""The door against its own description: thousands of requests, right and wrong, and no answer outside the schema."""

import subprocess
import sys
from pathlib import Path

import httpx

from api.openapi import document
from tests.serving import served

SEED = 20261121
EXAMPLES_MAX = 25
"""Random cases for an operation, besides those that cover its schema systematically."""

CONFIG = """
[checks]
# A cursor beyond the head, `since` after `until`, the media type of binary mode: right by the schema, refused by sense.
positive_data_acceptance.enabled = false

[[operations]]
include-name = "POST /cstp"
# The errors of JSON-RPC are answers with status 200.
checks.negative_data_rejection.enabled = false

[[operations]]
include-name = "POST /events"
# Headers of binary mode mean nothing in the other modes.
checks.negative_data_rejection.enabled = false
"""


def test_nothing_is_answered_outside_the_description(tmp_path: Path) -> None:
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG)
    with served(tmp_path / "ledger.db") as server:
        command = [
            sys.executable, "-m", "schemathesis.cli", "--config-file", str(config),
            "run", f"{server.url}/openapi.json",
            "--phases", "examples,coverage,fuzzing,stateful",
            "--seed", str(SEED),
            "--max-examples", str(EXAMPLES_MAX),
            "--generation-database", "none",
            "--continue-on-failure",
            "--no-color",
            "--header", "accept: application/json",
        ]  # fmt: skip
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
        operations = sum(len(item) for item in document()["paths"].values()) - 1  # all but the description itself
        assert f"Tested: {operations}" in run.stdout, run.stdout
        assert httpx.get(f"{server.url}/readyz").json()["head"] > 0, "no event was right"
        faults = [line for line in server.log() if line["level"] == "error"]
        assert faults == []
