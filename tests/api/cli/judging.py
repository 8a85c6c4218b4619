"""Help to test judges through the command line: suites with rubrics, and the events of a judge."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from instruments.evals.judging.label_ids import label_id_of
from tests.api.cli.command import done
from tests.api.cli.evaluating import Json, scenario

CRITERIA = ("root_cause", "fix")
MODEL = "judge-1"
AGENT = "judge:judge-1"

COMMAND = "command:" + shlex.join([sys.executable, "-m", "tests.instruments.evals.simulated_judge", "--command"])
"""A simulated judge that is a command."""


def judged_suite(folder: Path, answers: Mapping[str, Sequence[str]]) -> Path:
    """Write a suite whose captured answers meet these criteria, by scenario."""
    rubric = {"criteria": [{"name": name, "question": f"Is {name} right?"} for name in CRITERIA]}
    for name, met in answers.items():
        words = [f"{criterion} is {'right' if criterion in met else 'wrong'}" for criterion in CRITERIA]
        scenario(folder, name, captured={"rca": {"root_cause": ", ".join(words)}, "model": "gpt-4o"}, judge=rubric)
    return folder


def openai(address: str) -> tuple[str, ...]:
    """The options that name an endpoint."""
    return "--judge", f"openai:{address}", "--judge-model", MODEL


def log(ledger: Path, *types: str) -> list[Json]:
    """The events of these types, in order."""
    found: list[Json] = [msgspec.json.decode(line) for line in done(ledger, "log", "--json").out.splitlines()]
    return [event for event in found if event["type"].rpartition(".")[0] in types]


def label(ledger: Path, score: Json, criterion: str, passed: bool, agent: str = "alice") -> None:
    """Record a person's label of a scored answer."""
    data = {
        "label_id": label_id_of(score["scenario_id"], score["analysis_digest"], criterion),
        "run_id": score["run_id"],
        "scenario_id": score["scenario_id"],
        "attempt": score["attempt"],
        "analysis_digest": score["analysis_digest"],
        "criterion": criterion,
        "passed": passed,
    }
    event = {"type": "eval.labelled.v1", "source": f"/agents/{agent}", "data": data}
    done(ledger, "append", "-", given=json.dumps(event).encode())
