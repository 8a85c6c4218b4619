"""`tallystick eval capture`, and what it left in a folder and in the ledger."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import msgspec
import yaml

from instruments.evals.scenario import Scenario
from instruments.evals.suite.loader import load
from tests.api.cli.command import Value, done

Json = dict[str, Any]

NAMED: tuple[Value, ...] = ("--scenario-name", "Image pull", "--failure-type", "ImagePullBackOff")
FILES = ["README.md", "investigation.json", "scenario.yaml"]

INVESTIGATION: Json = {
    "alert": {
        "fingerprint": "c04b4d550f89c90e",
        "labels": {"alertname": "KubePodNotReady", "namespace": "shop", "pod": "web-1"},
        "annotations": {"summary": "The pod waits for its image"},
    },
    "time_window": {"window": "1h"},
    "target": {"namespace": "shop", "pod": "web-1"},
    "evidence": {"k8s": {"pod_events": [{"reason": "Failed", "message": "manifest for web:1.2 not found"}]}},
    "analysis": {"rca": {"root_cause": "The tag web:1.2 is not in the registry", "remediation": ["Push the tag"]}},
}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def events(ledger: Path) -> list[Json]:
    """Every event of the ledger; none where there is no ledger."""
    if not ledger.exists():
        return []
    return [msgspec.json.decode(line) for line in done(ledger, "log", "--json").out.splitlines()]


def scenarios(ledger: Path) -> list[tuple[str, Json]]:
    """Return the scenario events of the ledger: `captured` or `revised`, and the data of the event."""
    found = [event for event in events(ledger) if event["subject"].startswith("scenario/")]
    return [(event["type"].removeprefix("eval.scenario_").removesuffix(".v1"), event["data"]) for event in found]


def edit(folder: Path, words: str = "web:1.2") -> Scenario:
    """Put words in place of every text of a template that is to be edited; the scenario, as the loader takes it."""
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(_edited(yaml.safe_load(path.read_text()), words)))
    return load(folder).scenarios[0]


def _edited(value: Any, words: str) -> Any:  # noqa: ANN401 - YAML
    if isinstance(value, dict):
        return {name: _edited(each, words) for name, each in value.items()}
    if isinstance(value, list):
        return [_edited(each, words) for each in value]
    return words if isinstance(value, str) and value.startswith("todo".upper()) else value


def program(code: str) -> str:
    """A command that runs Python code, with what it is given as `given`."""
    return shlex.join([sys.executable, "-c", f"import json, os, sys, time\ngiven = json.load(sys.stdin)\n{code}"])


def answering(**more: object) -> str:
    """A command whose investigation is what it was given, with more."""
    return program(f"print(json.dumps({{**given, **json.loads({json.dumps(json.dumps(more))})}}))")
