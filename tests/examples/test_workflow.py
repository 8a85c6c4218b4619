"""The workflow of examples/ci: sound as a file, its commands real, and its steps run as they are."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from api.cli.main import app
from tests.support.paths import ROOT

EXAMPLES = ROOT / "examples"
WORKFLOWS = sorted((EXAMPLES / "ci").glob("*.yml"))

_expression = re.compile(r"\$\{\{(.*?)\}\}")


def read(path: Path) -> dict[Any, Any]:
    workflow: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return workflow


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def scripts() -> list[str]:
    return [step["run"] for path in WORKFLOWS for step in steps(path) if "run" in step]


def commands(script: str) -> Iterator[list[str]]:
    """Every call of tallystick in a script, as words."""
    words = shlex.shlex(script.replace("\\\n", " "), posix=True, punctuation_chars="|&;<>\n")
    words.whitespace, words.whitespace_split, words.commenters = " \t", True, ""
    called: list[str] | None = None
    for word in [*words, "\n"]:
        if re.fullmatch(r"[|&;<>\n]+", word):
            if called is not None:
                yield called
            called = None
        elif called is not None:
            called.append(word)
        elif word == "tallystick":
            called = []


def refused(called: list[str]) -> str | None:
    """What the command line says against the verb or the options of a call; `--help` keeps it from being done."""
    said = CliRunner().invoke(app, [*called, "--help"])
    return said.output if said.exit_code else None


def test_there_are_two_workflows() -> None:
    assert [path.name for path in WORKFLOWS] == ["comment.yml", "evaluations.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_trusts_nobody(path: Path) -> None:
    """A workflow uses no secret, only the permissions it needs, and no text from other people within a script."""
    text, workflow = path.read_text(encoding="utf-8"), read(path)
    assert "secrets." not in text
    assert "pull_request_target" not in text
    writes = {"actions": "read", "contents": "read", "pull-requests": "write"}
    assert workflow["permissions"] == (writes if path.stem == "comment" else {"contents": "read"})
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        assert job["timeout-minutes"] <= 30
    for step in steps(path):
        assert "${{" not in step.get("run", "")
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z/-]+@[0-9a-f]{40}", step["uses"])
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"] == {"persist-credentials": False}


def test_the_comment_follows_the_evaluation_and_runs_nothing_of_it() -> None:
    evaluate, comment = read(EXAMPLES / "ci" / "evaluations.yml"), read(EXAMPLES / "ci" / "comment.yml")
    assert comment[True] == {"workflow_run": {"workflows": [evaluate["name"]], "types": ["completed"]}}
    checkout = next(step for step in steps(EXAMPLES / "ci" / "comment.yml") if "checkout" in step.get("uses", ""))
    assert "ref" not in checkout["with"]
    runs = [step["run"] for step in steps(EXAMPLES / "ci" / "comment.yml") if "run" in step]
    assert runs == ["python3 .github/comment.py reports/evaluations.md"]
    kept = next(step for step in steps(EXAMPLES / "ci" / "evaluations.yml") if "upload" in step.get("uses", ""))
    taken = next(step for step in steps(EXAMPLES / "ci" / "comment.yml") if "download" in step.get("uses", ""))
    assert (kept["with"]["name"], kept["with"]["path"]) == (taken["with"]["name"], taken["with"]["path"])


def test_every_command_of_the_workflows_is_one() -> None:
    called = [words for script in scripts() for words in commands(script)]
    assert {tuple(words[:2]) for words in called} == {("eval", "run"), ("eval", "gate")}
    assert [refused(words) for words in called] == [None] * len(called)


@pytest.mark.parametrize(
    "script", ["tallystick eval dance", "cd x && tallystick eval run f --nothing", "tallystick evil"]
)
def test_a_command_that_is_none_would_be_seen(script: str) -> None:
    assert [refused(words) for words in commands(script)] != [None]


class Runner:
    """A machine that runs the steps of evaluations.yml which need no network, as GitHub does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(EXAMPLES, folder / "examples")
        self.workflow = read(EXAMPLES / "ci" / "evaluations.yml")

    def run(self, event: str, number: int, sha: str, agent: str | None = None) -> int:
        """The exit code of the step that failed, or 0."""
        facts = {
            "github.event.pull_request.head.sha || github.sha": sha, "github.run_id": str(number),
            "github.run_attempt": "1",
        }  # fmt: skip
        named = {
            name: _expression.sub(lambda found: facts[found[1].strip()], str(value))
            for name, value in self.workflow["env"].items()
        }
        if agent is not None:
            named["AGENT"] = agent
        shutil.rmtree(self.folder / "reports", ignore_errors=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TALLYSTICK_")}
        environment |= named | {"GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}
        environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        for step in self.workflow["jobs"]["evaluate"]["steps"]:
            wanted = step.get("if", f"github.event_name == '{event}'")
            if "run" in step and "pip install" not in step["run"] and wanted == f"github.event_name == '{event}'":
                done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=self.folder, env=environment, check=False)
                if done.returncode:
                    return done.returncode
        return 0

    def report(self, name: str = "evaluations.md") -> str:
        return (self.folder / "reports" / name).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_steps_run_as_they_are(tmp_path: Path) -> None:
    """A pull request that changes nothing passes. A worse one fails, and the comment says why."""
    runner = Runner(tmp_path)
    assert runner.run("push", 1, "1" * 40) == 0
    assert runner.run("pull_request", 2, "2" * 40) == 0
    assert "liveness-too-tight" in runner.report("evaluations.xml")
    assert "</html>" in runner.report("evaluations.html")
    worse = f"{runner.workflow['env']['AGENT']} --exit-codes"
    assert runner.run("pull_request", 3, "3" * 40, agent=worse) == 1
    reported = runner.report()
    assert "liveness-too-tight" in reported.partition("All scenarios")[0]
    assert (tmp_path / "summary.md").stat().st_size > 0


@pytest.mark.slow
def test_without_a_ledger_of_main_the_gate_says_so(tmp_path: Path) -> None:
    assert Runner(tmp_path).run("pull_request", 1, "1" * 40) == 2
