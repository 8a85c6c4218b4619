"""The example suite and the example agent: what their documents say of them is what is measured."""

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from instruments.evals.analysis import parse_analysis
from instruments.evals.scenario import Scenario
from instruments.evals.scoring.scorer import ScenarioScore, score
from instruments.evals.suite.loader import Suite, load
from tests.support.paths import ROOT

EXAMPLES = ROOT / "examples"
AGENT = EXAMPLES / "agents" / "triage.py"

SHORT_OF_100 = {
    "cpu-throttling-campaign": 92.0,  # why now, it says in a hypothesis only
    "http-5xx-connections-exhausted": 95.0,  # it looks at the victim next, not at who takes the connections
    "job-access-denied/llm": 85.0,  # it forgets last night's backup: the one that fails
    "node-disk-pressure": 95.0,  # it does not say which node to describe
}

CULPRITS = {
    "CATALOGUE_FEED_URL": "ORDER_TOPIC_NAME", "indexer-settings": "merged", "8081": "9191", "2.14.1": "3.0.9",
    "default-deny-egress": "lockdown", "parcel-tracker": "beacon", "statements-export": "yearly-sums",
    "regcred-2025": "pull-old", "regcred-2026": "pull-new", "api-token": "bearer", "payments-gateway": "bank",
    "delivery_slot": "leaves_at", "ops-backups-2025": "vault-a", "ops-backups-2026": "vault-b",
}  # fmt: skip
"""What is to blame, and what it might have been called."""


@cache
def suite() -> Suite:
    return load(EXAMPLES / "evaluations")


def answer(investigation: dict[str, Any], *options: str) -> dict[str, Any]:
    """What the example agent makes of an investigation."""
    done = subprocess.run(
        [sys.executable, str(AGENT), *options], input=json.dumps(investigation | {"analysis": {}}),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def judged(scenario: Scenario, analysis: object) -> ScenarioScore:
    return score(scenario, parse_analysis(analysis))


@cache
def measured(*options: str) -> dict[str, float | None]:
    """What the example agent scores, by scenario."""
    return {each.title: judged(each, answer(each.investigation, *options)).total for each in suite().scenarios}


TITLES = sorted(
    str(path.parent.relative_to(EXAMPLES / "evaluations"))
    for path in (EXAMPLES / "evaluations").rglob("investigation.json")
)


def scenario_of(title: str) -> Scenario:
    return next(each for each in suite().scenarios if each.title == title)


def test_the_suite_loads_whole() -> None:
    scenarios = suite().scenarios
    assert [each.title for each in scenarios] == TITLES
    assert len(scenarios) == 14
    assert len({each.about.family for each in scenarios}) == 8
    assert {each.mode for each in scenarios} == {None, "llm", "no-llm"}


def test_the_readme_of_the_examples_names_each_with_its_family() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|`")]
    reported = {title: row.split("|")[2] for row in rows for title in re.findall(r"`([^`]+)`", row)}
    assert reported == {each.title: each.about.family for each in suite().scenarios}


def test_the_suite_shows_all_that_a_scenario_can_say() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (EXAMPLES / "evaluations").rglob("scenario.yaml"))
    for word in (
        "exact:", "match_type: exact", "match_type: substring", "match_type: regex", "all_of:", "any_of:", "none_of:",
        "failure_mode:", "command_types:", "must_include:", "root_cause_weight:", "next_steps_weight:", "\nweight:",
        "pass_threshold:", "test_config:", "enable_llm: true",
    ):  # fmt: skip
        assert word in text, word


@pytest.mark.parametrize("title", TITLES)
def test_a_readme_states_threshold_and_score(title: str) -> None:
    scenario = scenario_of(title)
    text = " ".join((scenario.folder / "README.md").read_text(encoding="utf-8").split())
    threshold, stated = (
        re.search(r"Passes from (\d+) points", text),
        re.search(r"captured analysis.*?scores (\d+)", text),
    )
    assert threshold is not None
    assert float(threshold[1]) == scenario.about.scoring.pass_threshold
    result = judged(scenario, scenario.captured)
    assert stated is not None
    assert result.total == pytest.approx(float(stated[1]))
    assert result.passed


@pytest.mark.parametrize("title", TITLES)
def test_saying_nothing_scores_nothing(title: str) -> None:
    assert judged(scenario_of(title), {}).total == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("title", TITLES)
def test_the_agent_scores_what_it_is_worth(title: str) -> None:
    assert measured()[title] == pytest.approx(SHORT_OF_100.get(title, 100.0))


@pytest.mark.slow
def test_exit_codes_alone_cost_one_scenario() -> None:
    worse = {title: points for title, points in measured("--exit-codes").items() if points != measured()[title]}
    assert worse == {"liveness-too-tight": pytest.approx(23.0)}


def _renamed(text: str, names: list[str]) -> str:
    for number, name in enumerate(sorted(names, key=len, reverse=True)):
        text = re.sub(rf"\b{re.escape(name)}\b", f"zz{number}", text)
    for name, other in CULPRITS.items():
        text = text.replace(name, other)
    return text


@pytest.mark.slow
@pytest.mark.parametrize("title", TITLES)
def test_the_agent_goes_by_the_evidence(title: str, tmp_path: Path) -> None:
    """Without alert and target, and with all that matters under other names, it is worth the same."""
    scenario = scenario_of(title)
    target = scenario.investigation["target"]
    names = [name for name in (target["pod"], target["workload_name"], target["container"]) if name]
    shutil.copytree(scenario.folder, tmp_path / "suite" / "renamed")
    for path in (tmp_path / "suite" / "renamed").iterdir():
        path.write_text(_renamed(path.read_text(encoding="utf-8"), names), encoding="utf-8")
    renamed = load(tmp_path / "suite").scenarios[0]
    evidence = {"evidence": renamed.investigation["evidence"]}
    assert judged(renamed, answer(evidence)).total == pytest.approx(SHORT_OF_100.get(title, 100.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    "investigation", [{}, {"evidence": {}}, {"evidence": {"k8s": {"pod_info": None}, "logs": None}}]
)
def test_the_agent_says_so_where_it_finds_nothing(investigation: dict[str, Any]) -> None:
    said = answer(investigation)
    assert said["decision"]["label"] == "unknown"
    assert "rca" not in said


@pytest.mark.slow
def test_the_agent_tells_its_version() -> None:
    done = subprocess.run([sys.executable, str(AGENT), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip().isdigit()


def test_the_expectations_of_the_manual_load(tmp_path: Path) -> None:
    """They load, and an analysis that meets them passes."""
    page = (EXAMPLES.parent / "docs" / "reference" / "scenario-files.md").read_text(encoding="utf-8")
    stated, *_ = re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    shutil.copytree(EXAMPLES / "evaluations" / "secret-key-missing", tmp_path / "one")
    (tmp_path / "one" / "scenario.yaml").write_text(stated, encoding="utf-8")
    scenario = load(tmp_path).scenarios[0]
    assert judged(scenario, scenario.captured).total == 100.0


def _fingerprint(labels: dict[str, str]) -> str:
    """As Prometheus makes it: FNV-1a of names and values, each closed by a byte that no text holds."""
    total = 14695981039346656037
    for byte in b"".join(part.encode() + b"\xff" for name in sorted(labels) for part in (name, labels[name])):
        total = ((total ^ byte) * 1099511628211) % 2**64
    return f"{total:016x}"


@pytest.mark.parametrize("title", TITLES)
def test_an_alert_is_as_an_alertmanager_gives_it(title: str) -> None:
    alert = scenario_of(title).investigation["alert"]
    assert alert["fingerprint"] == _fingerprint(alert["labels"])
    assert alert["labels"]["alertname"]
    assert alert["starts_at"] < alert["ends_at"]
