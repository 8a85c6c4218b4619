"""`import results` as a command, and what it answers."""

import json
from pathlib import Path
from typing import Any

from api.importers.results.importer import ResultsOptions, read_file
from tests.api.cli.command import done

Json = dict[str, Any]


def imported(ledger: Path, *arguments: str | Path) -> Json:
    """Import files; return the report."""
    answer: Json = json.loads(done(ledger, "import", "results", *arguments, "--json").out)
    return answer


def not_kept(answer: Json) -> dict[str, int]:
    """What was not kept of the only file."""
    (file,) = answer["files"]
    return {each["what"]: each["count"] for each in file["not_kept"]}


def left_out(path: Path) -> dict[str, int]:
    """What is not kept of a file, without importing it."""
    file, _ = read_file(str(path), ResultsOptions())
    return {each.what: each.count for each in file.not_kept}


def shown(ledger: Path, run_id: str) -> Json:
    """A run as `eval show` states it."""
    answer: Json = json.loads(done(ledger, "eval", "show", run_id, "--json").out)
    return answer


def scores_of(ledger: Path, run_id: str) -> list[Json]:
    """The payloads of the scores of a run."""
    lines = done(ledger, "log", "--subject", f"evaluation/{run_id}", "--json").out.splitlines()
    return [event["data"] for event in map(json.loads, lines) if event["type"].startswith("eval.scored.")]
