"""Suites that are sound load as they are, flat or nested, as YAML or JSON."""

import hashlib
import json
from pathlib import Path

import pytest

from instruments.errors import BadFixtures, NoScenarios
from instruments.evals.scenario import Matcher
from instruments.evals.suite.loader import Suite, load, scenario_id
from tests.instruments.evals.suites import DESCRIPTION, INVESTIGATION, scenario

FIELD = """\
name: Job ImagePullBackOff
family: pod_not_healthy
failure_type: image_pull
description: "Detailed description"
captured_at: 2026-02-18T10:05:00Z
captured_by: ana
cluster: prod-cluster
alert_labels:
  alertname: KubeJobFailed
  severity: null
expected_outcomes:
  root_cause:
    patterns:
      - 'S3.*(?:access denied|403|forbidden)'
      - AWS.*credentials
    match_type: regex
  failure_mode:
    exact: image_pull
  proposed_fix:
    all_of:
      - patterns: ["kubectl describe pod"]
        match_type: "substring"
    any_of:
      - patterns: ["imagePullSecret", "ECR.*auth"]
        match_type: regex
  hypotheses:
    any_of: ["image not found", authentication]
  next_steps:
    command_types: [kubectl, aws]
    must_include: ["describe pod"]
scoring:
  root_cause_weight: 0.4
  fix_accuracy_weight: 0.3
  hypothesis_quality_weight: 0.2
  next_steps_weight: 0.1
  pass_threshold: 70
test_config:
  time_window: "1h"
  enable_llm: false
  enable_diagnostics: true
"""


def titles(suite: Suite) -> list[str]:
    return [each.title for each in suite.scenarios]


def test_a_scenario_of_the_field_loads_unchanged(tmp_path: Path) -> None:
    scenario(tmp_path / "my-scenario", FIELD, name="scenario.yaml")
    (found,) = load(tmp_path).scenarios
    about = found.about
    assert (about.name, about.family, about.failure_type) == ("Job ImagePullBackOff", "pod_not_healthy", "image_pull")
    assert about.captured_at == "2026-02-18T10:05:00Z"
    assert about.test_config == {"time_window": "1h", "enable_llm": False, "enable_diagnostics": True}
    expected = about.expected_outcomes
    assert expected.root_cause is not None
    assert expected.root_cause.patterns == ("S3.*(?:access denied|403|forbidden)", "AWS.*credentials")
    assert expected.proposed_fix is not None
    assert expected.proposed_fix.all_of == (Matcher(patterns=("kubectl describe pod",), match_type="substring"),)
    assert expected.hypotheses is not None
    assert expected.hypotheses.any_of == ("image not found", "authentication")
    assert expected.next_steps is not None
    assert expected.next_steps.command_types == ("kubectl", "aws")
    assert found.captured == INVESTIGATION["analysis"]
    assert "analysis" not in found.investigation
    assert found.investigation["alert"] == INVESTIGATION["alert"]
    assert found.investigation_digest == hashlib.sha256(json.dumps(INVESTIGATION).encode()).hexdigest()


@pytest.mark.parametrize(
    "expected",
    [
        "root_cause: {exact: The disk is full}",
        "root_cause: {exact: [one, two]}",
        "hypotheses: {any_of: [oom, out of memory]}",
        "failure_mode: {exact: image_pull}",
        "proposed_fix: {all_of: [{patterns: [a b], match_type: exact}], any_of: []}",
        "root_cause: {patterns: [disk], match_type: semantic, none_of: [not the disk]}",
        "next_steps: {must_include: [describe]}",
    ],
)
def test_short_expectations_load_with_the_defaults(tmp_path: Path, expected: str) -> None:
    text = f"name: Short\nexpected_outcomes:\n  {expected}\n"
    scenario(tmp_path / "short", text, {"alert": {}}, name="scenario.yml")
    (found,) = load(tmp_path).scenarios
    assert found.about.scoring.pass_threshold == 70
    assert found.about.scoring.root_cause_weight == 0.4
    assert found.captured is None


def test_flat_and_nested_scenarios_stand_beside_each_other(tmp_path: Path) -> None:
    scenario(tmp_path / "suite" / "flat")
    scenario(tmp_path / "suite" / "job" / "no-llm")
    scenario(tmp_path / "suite" / "job" / "llm")
    (tmp_path / "suite" / "job" / "COMPARISON.md").write_text("# Beside")
    (tmp_path / "suite" / "job" / "job-manifest.yaml").write_text("kind: Job")
    scenario(tmp_path / "suite" / ".git" / "hidden", "no scenario")
    (tmp_path / "suite" / "scripts" / "deep" / "deeper").mkdir(parents=True)
    suite = load(tmp_path / "suite")
    assert suite.name == "suite"
    assert [(each.title, each.id, each.mode) for each in suite.scenarios] == [
        ("flat", "flat", None),
        ("job/llm", "job.llm", "llm"),
        ("job/no-llm", "job.no-llm", "no-llm"),
    ]


def test_a_folder_that_is_a_scenario_is_a_suite_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario(tmp_path / "image-pull")
    assert titles(load(tmp_path / "image-pull")) == ["image-pull"]
    monkeypatch.chdir(tmp_path / "image-pull")
    (found,) = load(Path()).scenarios
    assert (found.id, found.mode) == ("image-pull", None)


def test_one_scenario_is_loaded_alone(tmp_path: Path) -> None:
    folder = scenario(tmp_path / "job" / "llm")
    assert load(folder).scenarios[0].fixture_digest == load(tmp_path).scenarios[0].fixture_digest


def test_ids_are_what_a_stream_may_be_named() -> None:
    assert scenario_id("job-image/llm") == "job-image.llm"
    assert scenario_id("Größe 5 (neu)") == "Gr--e-5--neu-"
    long = scenario_id("a" * 60 + "/" + "b" * 60)
    assert len(long) == 64
    assert long[:55] == "a" * 55
    assert long != scenario_id("a" * 60 + "/" + "c" * 60)
    assert scenario_id("a" * 64) == "a" * 64


def test_two_folders_of_one_id_are_refused(tmp_path: Path) -> None:
    scenario(tmp_path / "a b")
    scenario(tmp_path / "a+b")
    with pytest.raises(BadFixtures, match=r"a\+b has the id a-b, as .*a b has\. Rename one"):
        load(tmp_path)


@pytest.mark.parametrize("inside", [[], ["README.md"], ["notes/README.md"]])
def test_a_folder_without_scenarios_is_refused(tmp_path: Path, inside: list[str]) -> None:
    for name in inside:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("nothing")
    with pytest.raises(NoScenarios, match=r"contains no scenario\. Name a folder with NAME/scenario.yaml"):
        load(tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFixtures, match=r"nowhere cannot be read: No such file or directory"):
        load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(BadFixtures, match=r"file cannot be read: Not a directory"):
        load(tmp_path / "file")


def test_a_scenario_in_json_is_the_same_scenario(tmp_path: Path) -> None:
    scenario(tmp_path / "one" / "case", DESCRIPTION)
    text = f"# a comment\r\n{json.dumps(DESCRIPTION, indent=1)}".replace("\n", "\r\n")
    scenario(
        tmp_path / "two" / "case",
        text,
        b"\xef\xbb\xbf" + json.dumps(INVESTIGATION, indent=2).encode(),
        name="scenario.yaml",
    )
    one, two = load(tmp_path / "one"), load(tmp_path / "two")
    assert one.scenarios[0].fixture_digest == two.scenarios[0].fixture_digest
    assert one.digest == two.digest
    assert one.scenarios[0].investigation_digest != two.scenarios[0].investigation_digest
