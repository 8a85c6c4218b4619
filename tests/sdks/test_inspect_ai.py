"""Logs that inspect-ai writes here are imported: its means and ours agree, in both file formats, with errors."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.api.cli.command import command, environment
from tests.sdks.conftest import install
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

WRITER = '''
import json, sys
from pathlib import Path

import tiktoken


class Words:
    """Counts words as tokens: the vocabulary of tiktoken is on the net."""

    def encode(self, text, **settings):
        return text.split()


tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: Words()

from inspect_ai import Task, eval, task
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score, accuracy, includes, match, mean, scorer, stderr
from inspect_ai.solver import solver

LETTERS = ["C", "I", "P", "N"]


@scorer(metrics=[accuracy(), stderr()])
def letters():
    async def score(state, target):
        return Score(value=LETTERS[(int(state.metadata["number"]) + state.epoch) % 4], explanation="by its number")
    return score


@scorer(metrics=[mean()])
def fraction():
    async def score(state, target):
        return Score(value=state.metadata["number"] / 7 / state.epoch)
    return score


@scorer(metrics={"*": [mean()]})
def parts():
    async def score(state, target):
        return Score(value={"tone": 1 / (1 + state.metadata["number"]), "words": 12, "right": state.epoch == 1})
    return score


@scorer(metrics=[mean()])
def points():
    async def score(state, target):
        return Score(value=float("nan") if state.metadata["number"] == 1 else 70)
    return score


@solver
def answers(fails):
    async def solve(state, generate):
        if fails and state.metadata["number"] == 2 and state.epoch == 2:
            raise ValueError("no answer today")
        return await generate(state)
    return solve


@task
def quiz(fails=False):
    samples = [
        Sample(id=number if number else "a b/c", input="Question %s? " % number + "long " * 300,
               target=["mockllm", "other"] if number % 2 else "Paris", metadata={"number": number})
        for number in range(7)
    ]
    return Task(dataset=samples, solver=[answers(fails)], epochs=2,
                scorer=[includes(), match(), letters(), fraction(), parts(), points()])


def write(name, fails, form, **settings):
    settings |= {"model": "mockllm/model", "log_dir": "logs/" + name, "log_format": form, "display": "none"}
    (log,) = eval(quiz(fails), **settings)
    log = read_eval_log(log.location)
    means = {}
    for score in log.results.scores if log.results else ():
        key = score.scorer if score.name == score.scorer else score.scorer + "." + score.name
        means[key] = next(m.value for n, m in score.metrics.items() if n in ("accuracy", "mean"))
    other = Path("logs") / name / ("other.json" if form == "eval" else "other.eval")
    write_eval_log(log, str(other))
    files = {"file": log.location.removeprefix("file://"), "other": str(other.absolute())}
    return {**files, "status": log.status, "means": means}


json.dump({
    "whole.eval": write("whole-eval", False, "eval"),
    "whole.json": write("whole-json", False, "json"),
    "errors": write("errors", True, "eval", fail_on_error=False),
    "failed": write("failed", True, "json", fail_on_error=True),
}, open("written.json", "w"))
'''
"""What the Python of the environment runs: it writes each log in one file format, and copies it to the other."""

Json = dict[str, Any]


class Written(NamedTuple):
    """The logs by name, with the means that Inspect states, and a folder with Zstandard for Python."""

    logs: Mapping[str, Json]
    packages: Path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("inspect")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    install([*pip, "--require-hashes", "-r", str(ROOT / "requirements-inspect.txt")], folder)
    program = folder / "writer.py"
    program.write_text(WRITER)
    ended = subprocess.run([folder / "bin/python", program], cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    (zstandard,) = folder.glob("lib/python*/site-packages/zstandard")
    shutil.copytree(zstandard, folder / "packages/zstandard")
    return Written(json.loads((folder / "written.json").read_text()), folder / "packages")


def tally(ledger: Path, written: Written, *arguments: str) -> Json:
    variables = environment(PYTHONPATH=str(written.packages))
    ended = subprocess.run(
        [*command(ledger, *arguments), "--json"], cwd=ROOT, env=variables, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    answer: Json = json.loads(ended.stdout)
    return answer


@pytest.mark.parametrize("name", ["whole.eval", "whole.json", "errors"])
def test_the_means_of_inspect_are_ours(written: Written, tmp_path: Path, name: str) -> None:
    log = written.logs[name]
    answer = tally(tmp_path / "l.db", written, "import", "results", log["file"])
    runs = {run["scorer_id"]: run for run in answer["files"][0]["runs"]}
    assert set(runs) == {"includes", "match", "letters", "fraction", "parts.tone", "parts.right"}
    assert all(run["agrees"] for run in runs.values())
    for scorer, run in runs.items():
        shown = tally(tmp_path / "l.db", written, "eval", "show", run["run_id"])
        assert shown["mean_scored"] / 100 == pytest.approx(log["means"][scorer], abs=1e-9, rel=1e-9), scorer
        if name != "errors":
            assert shown["mean"] / 100 == pytest.approx(log["means"][scorer], abs=1e-9, rel=1e-9)
        assert (shown["scored"], shown["errors"]) == ((13, 1) if name == "errors" else (14, 0))
        assert {row["attempt"] for result in shown["results"] for row in result["rows"]} == {1, 2}
    kept = {each["what"]: each["count"] for each in answer["files"][0]["not_kept"]}
    assert kept["values of points, which are not all in 0..1 and have no known scale"] >= 13
    assert kept["values of parts.words, which are not all in 0..1 and have no known scale"] >= 13
    assert kept["messages of conversations"] >= 27
    assert kept["events of transcripts"] > 100


@pytest.mark.parametrize("name", ["whole.eval", "whole.json", "errors"])
def test_the_same_log_in_the_other_file_format_adds_nothing(written: Written, tmp_path: Path, name: str) -> None:
    log = written.logs[name]
    first = tally(tmp_path / "l.db", written, "import", "results", log["file"])
    assert first["runs"] == 6
    for path in (log["file"], log["other"]):
        again = tally(tmp_path / "l.db", written, "import", "results", path)
        assert (again["runs"], again["there"], again["appended"]) == (0, 6, 0)


def test_an_evaluation_that_failed(written: Written, tmp_path: Path) -> None:
    log = written.logs["failed"]
    assert (log["status"], log["means"]) == ("error", {})
    answer = tally(tmp_path / "l.db", written, "import", "results", log["file"])
    run = answer["files"][0]["runs"][0]
    shown = tally(tmp_path / "l.db", written, "eval", "show", run["run_id"])
    assert shown["ended"]
    assert "no answer today" in shown["reason"]
    assert shown["errors"] >= 1


@pytest.mark.skipif(
    sys.version_info >= (3, 14) or find_spec("zstandard") is not None, reason="this Python reads Zstandard"
)
def test_without_zstandard_the_message_says_what_to_install(written: Written, tmp_path: Path) -> None:
    words = command(tmp_path / "l.db", "import", "results", written.logs["whole.eval"]["file"])
    ended = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "pip install 'tallystick[inspect]'" in ended.stderr
    assert "inspect log convert --to json" in ended.stderr
    assert not (tmp_path / "l.db").exists()
