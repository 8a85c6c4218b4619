"""Results that promptfoo writes here, imported: its counts and means are ours, also when they are exported again."""

import json
import os
import shutil
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.api.cli.command import refused
from tests.sdks.conftest import install, path_with
from tests.support.made_once import made_once
from tests.support.results_imports import Json, imported, not_kept, scores_of, shown

pytestmark = pytest.mark.slow

PACKAGES = Path(__file__).parent / "promptfoo"

AGENT = """
module.exports = class {
  constructor(options) { this.options = options; }
  id() { return this.options.id; }
  async callApi(prompt, { vars }) {
    if (vars.city === 'Nowhere') return { error: 'the map service refused the request' };
    if (vars.city === 'Atlantis') throw new Error('connection reset by peer');
    const output = this.options.config.careful ? `The capital is ${vars.city}.` : vars.city.toLowerCase();
    return { output, tokenUsage: { total: 30, prompt: 20, completion: 10 }, cost: 0.0012 };
  }
};
"""

CONFIG = """
description: Capitals
prompts:
  - 'Name the capital: {{city}}'
  - 'In one sentence: what is the capital {{city}} known for?'
providers:
  - {id: 'file://agent.cjs', label: careful, config: {careful: true}}
  - {id: 'file://agent.cjs', label: hasty, config: {careful: false}}
  - echo
defaultTest:
  assert: [{type: javascript, value: 'output.length < 100', metric: brevity}]
tests:
  - description: Paris is named
    vars: {city: Paris}
    assert:
      - {type: contains, value: Paris, weight: 3, metric: naming}
      - {type: equals, value: paris}
  - vars: {city: Rome}
    threshold: 0.5
    assert:
      - {type: contains, value: Rome}
      - {type: javascript, value: "({pass: true, score: 0.25, reason: 'a quarter'})", metric: quarter}
  - description: two alternatives
    vars: {city: [Oslo, Bern]}
    assert:
      - type: assert-set
        threshold: 0.5
        metric: either
        assert: [{type: icontains, value: oslo}, {type: icontains, value: bern}]
  - vars: {city: Nowhere}
    assert: [{type: contains, value: x}]
  - vars: {city: Atlantis}
  - vars: {city: Lima}
    options: {disableDefaultAsserts: true}
"""

FAILED_TESTS = 100
"""The exit code of promptfoo if any test failed."""


class Results(NamedTuple):
    """The files of one evaluation, by `eval` as JSON and JSON Lines, and by `export`; and the content of the first."""

    written: Path
    lines: Path
    exported: Path
    content: Json


@pytest.fixture(scope="module")
def results(python_environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = made_once(tmp_path_factory, "promptfoo", partial(evaluate, python_environment))
    content: Json = json.loads((folder / "results.json").read_text())
    return Results(folder / "results.json", folder / "results.jsonl", folder / "exported.json", content)


def evaluate(programs: Path, folder: Path) -> None:
    """Install promptfoo, and evaluate two agents with it."""
    shutil.copytree(PACKAGES, folder / "packages")
    left_out = ("--omit=optional", "--omit=peer", "--ignore-scripts", "--no-audit", "--no-fund")
    install(["npm", "ci", *left_out], folder / "packages", path_with(programs))
    (folder / "agent.cjs").write_text(AGENT)
    (folder / "promptfooconfig.yaml").write_text(CONFIG)
    offline = dict.fromkeys(("TELEMETRY", "UPDATE", "REMOTE_GENERATION", "SHARING"), "1")
    variables = {
        **os.environ,
        **{f"PROMPTFOO_DISABLE_{name}": value for name, value in offline.items()},
        "PATH": path_with(programs),
        "PROMPTFOO_CONFIG_DIR": str(folder / "state"),
    }

    def promptfoo(*arguments: str, code: int = 0) -> None:
        words = [str(folder / "packages/node_modules/.bin/promptfoo"), *arguments]
        ended = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, check=False)
        assert ended.returncode == code, ended.stdout[-2000:] + ended.stderr[-2000:]

    outputs = ("-o", "results.json", "-o", "results.jsonl")
    promptfoo("eval", "--repeat", "2", "--no-cache", "--no-table", "--no-progress-bar", *outputs, code=FAILED_TESTS)
    promptfoo("export", "eval", json.loads((folder / "results.json").read_text())["evalId"], "-o", "exported.json")


def test_the_counts_and_means_of_promptfoo_are_ours(results: Results, tmp_path: Path) -> None:
    answer = imported(tmp_path / "l.db", results.written)
    stats, columns = (results.content["results"][name] for name in ("stats", "prompts"))
    (file,) = answer["files"]
    assert file["imported_from"] == f"promptfoo {results.content['metadata']['promptfooVersion']}"
    assert len(file["runs"]) == len(columns) == 6
    for run, column in zip(file["runs"], columns, strict=True):
        counts = column["metrics"]
        passed, failed, errors = (counts[f"test{name}Count"] for name in ("Pass", "Fail", "Error"))
        show = shown(tmp_path / "l.db", run["run_id"])
        assert (show["passed"], show["failed"], show["errors"]) == (passed, failed, errors)
        assert show["pass_rate"] == pytest.approx(passed / (passed + failed + errors), abs=1e-9)
        assert show["mean_scored"] / 100 == pytest.approx(counts["score"] / (passed + failed), abs=1e-9)
        assert run["agrees"] is True
        assert (show["suite"], show["agent"]) == ("Capitals", column["provider"])
    assert sum(run["passed"] for run in file["runs"]) == stats["successes"] > 0
    assert sum(run["scored"] - run["passed"] for run in file["runs"]) == stats["failures"] > 0
    assert sum(run["errors"] for run in file["runs"]) == stats["errors"] > 0


def test_repeats_are_attempts_and_assertions_are_components(results: Results, tmp_path: Path) -> None:
    run = imported(tmp_path / "l.db", results.written)["files"][0]["runs"][0]
    scores = scores_of(tmp_path / "l.db", run["run_id"])
    assert Counter(score["attempt"] for score in scores) == {1: 7, 2: 7}
    paris = next(score for score in scores if "Paris" in score["scenario_id"])
    parts = [(part["name"], part["score"], part["weight"], part["passed"]) for part in paris["components"]]
    expected = [("brevity", 100, 0.2, True), ("naming", 100, 0.6, True), ("equals", 0, 0.2, False)]
    assert parts == expected
    assert (paris["input_tokens"], paris["output_tokens"], paris["cost_usd"]) == (20, 10, 0.0012)
    assert json.loads(paris["analysis"]) == {"answer": "The capital is Paris."}
    rome = next(score for score in scores if "Rome" in score["scenario_id"])
    assert (rome["total_score"], rome["pass_threshold"], rome["passed"]) == (75, 50, True)
    assert {score["detail"] for score in scores if score["state"] == "error"} == {
        "the map service refused the request",
        "Error: connection reset by peer",
    }


def test_a_second_import_adds_nothing_also_of_the_exported_evaluation(results: Results, tmp_path: Path) -> None:
    first = imported(tmp_path / "l.db", results.written)
    assert (first["runs"], first["scores"]) == (6, 84)
    for path in (results.written, results.exported):
        again = imported(tmp_path / "l.db", path)
        assert (again["runs"], again["there"], again["appended"]) == (0, 6, 0)


def test_what_is_not_kept_is_named(results: Results, tmp_path: Path) -> None:
    found = not_kept(imported(tmp_path / "l.db", results.written))
    assert found == {
        "inputs (variables and prompts), of which the digest is kept": 84,
        "stacks of errors": 8,
        "configurations of the evaluation": 1,
    }


def test_json_lines_are_refused_with_the_way_out(results: Results, tmp_path: Path) -> None:
    assert "JSON Lines and YAML of promptfoo are not read" in refused(
        tmp_path / "l.db", "import", "results", results.lines
    )
