"""Test runs that DeepEval writes here, imported: its scores, passes, fails and errors of each metric are ours."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.sdks.conftest import install
from tests.support.made_once import made_once
from tests.support.paths import ROOT
from tests.support.results_imports import Json, imported, not_kept, scores_of, shown

pytestmark = pytest.mark.slow

METRICS = '''
from deepeval.metrics import BaseConversationalMetric, BaseMetric, ExactMatchMetric


class Own:
    """What the metrics here have in common: they need no model."""

    def __init__(self, threshold=0.5, model=None):
        self.threshold, self.evaluation_model = threshold, model
        self.async_mode = self.strict_mode = False
        self.include_reason = True

    async def a_measure(self, test_case, *arguments, **settings):
        return self.measure(test_case)

    def is_successful(self):
        return bool(self.success)

    @property
    def __name__(self):
        return type(self).__name__


class Words(Own, BaseMetric):
    def measure(self, test_case, *arguments, **settings):
        if "boom" in test_case.input:
            raise ValueError("no words to count")
        words = test_case.actual_output.split()
        self.score, self.reason = min(len(words) / 4, 1.0), f"{len(words)} words"
        self.success, self.evaluation_cost = self.score >= self.threshold, 0.002
        return self.score


class Bias(Own, BaseMetric):
    """Passes up to its threshold."""

    def measure(self, test_case, *arguments, **settings):
        self.score = 0.9 if "Rome" in test_case.actual_output else 0.1
        self.success, self.reason = self.score <= self.threshold, "by the name"
        return self.score


class Polite(Own, BaseConversationalMetric):
    def measure(self, test_case, *arguments, **settings):
        self.score = float(any("please" in turn.content for turn in test_case.turns))
        self.success, self.reason = self.score >= self.threshold, "by a word"
        return self.score
'''

EVALUATION = """
from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.test_case import LLMTestCase
from metrics import Bias, ExactMatchMetric, Words

cases = [
    LLMTestCase(name="paris", input="Capital of France?", actual_output="Paris it is", expected_output="Paris it is",
                completion_time=1.25, token_cost=0.003, context=["a"], retrieval_context=["b", "c"], tags=["x"]),
    LLMTestCase(input="Capital of Italy?", actual_output="Rome", expected_output="Rome"),
    LLMTestCase(input="Capital of Norway?", actual_output="Bergen", expected_output="Oslo"),
    LLMTestCase(input="boom", actual_output="x", expected_output="y"),
]
evaluate(cases, [Words(0.5, "gpt-x"), ExactMatchMetric(), Bias()], identifier="nightly",
         hyperparameters={"model": "tiny-1", "temperature": 0.5}, async_config=AsyncConfig(run_async=False),
         display_config=DisplayConfig(show_indicator=False, print_results=False),
         error_config=ErrorConfig(ignore_errors=True))
"""

TESTS = """
import pytest
from deepeval import assert_test
from deepeval.test_case import ConversationalTestCase, LLMTestCase, Turn
from metrics import ExactMatchMetric, Polite


@pytest.mark.parametrize("city", ["Oslo", "Rome"])
def test_city(city):
    case = LLMTestCase(input=f"where is {city}", actual_output=city, expected_output="Oslo")
    assert_test(case, [ExactMatchMetric()], run_async=False)


def test_talk():
    turns = [Turn(role="user", content="please"), Turn(role="assistant", content="no")]
    assert_test(ConversationalTestCase(name="talk", scenario="asks", turns=turns), [Polite()], run_async=False)
"""


class Runs(NamedTuple):
    """The files of an evaluation in a program, and of `deepeval test run --repeat 2`."""

    evaluation: Path
    latest: Path
    tests: Path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = made_once(tmp_path_factory, "deepeval", evaluate)
    return Runs(*(folder / f"{name}.json" for name in Runs._fields))


def evaluate(folder: Path) -> None:
    """Install DeepEval, and evaluate with it in a program and in tests."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    install([*pip, "--require-hashes", "-r", str(ROOT / "requirements-deepeval.txt")], folder)
    (folder / "metrics.py").write_text(METRICS)
    (folder / "program.py").write_text(EVALUATION)
    (folder / "test_cities.py").write_text(TESTS)

    def run(name: str, *words: str) -> None:
        variables = {
            **os.environ,
            "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
            "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
            "DEEPEVAL_DISABLE_DOTENV": "1",
            "DEEPEVAL_RESULTS_FOLDER": str(folder / name),
            "PYTHONPATH": str(folder),
        }
        program = [str(folder / "bin" / words[0]), *words[1:]]
        ended = subprocess.run(program, cwd=folder, env=variables, capture_output=True, text=True, check=False)
        files = list((folder / name).glob("test_run_*.json"))
        assert len(files) == 1, ended.stdout[-2000:] + ended.stderr[-2000:]
        files[0].rename(folder / f"{name}.json")

    run("evaluation", "python", "program.py")
    (folder / ".deepeval/.latest_test_run.json").rename(folder / "latest.json")
    run("tests", "deepeval", "test", "run", "test_cities.py", "--repeat", "2")


@pytest.mark.parametrize("name", ["evaluation", "tests"])
def test_the_figures_of_deepeval_are_ours(runs: Runs, tmp_path: Path, name: str) -> None:
    path: Path = getattr(runs, name)
    content: Json = json.loads(path.read_text())
    ours = {run["scorer_id"]: run for run in imported(tmp_path / "l.db", path)["files"][0]["runs"]}
    assert ours.keys() == {stated["metric"] for stated in content["metricsScores"]}
    for stated in content["metricsScores"]:
        run, scores = ours[stated["metric"]], stated["scores"]
        show = shown(tmp_path / "l.db", run["run_id"])
        assert (show["passed"], show["failed"], show["errors"]) == (stated["passes"], stated["fails"], stated["errors"])
        assert show["mean_scored"] / 100 == pytest.approx(sum(scores) / len(scores), abs=1e-9)
        assert run["agrees"] is True
        assert show["pass_rate"] == pytest.approx(stated["passes"] / (len(scores) + stated["errors"]), abs=1e-9)


def test_what_a_test_run_keeps(runs: Runs, tmp_path: Path) -> None:
    answer = imported(tmp_path / "l.db", runs.evaluation)
    ours = {run["scorer_id"]: run["run_id"] for run in answer["files"][0]["runs"]}
    show = shown(tmp_path / "l.db", ours["Words"])
    assert (show["agent"], show["scorer_version"], show["meta"]["identifier"]) == ("tiny-1", "gpt-x", "nightly")
    scores = scores_of(tmp_path / "l.db", ours["Words"])
    paris = next(score for score in scores if score["scenario_id"] == "deepeval.paris")
    assert (paris["total_score"], paris["pass_threshold"], paris["passed"]) == (75, 50, True)
    assert (paris["cost_usd"], paris["elapsed_ns"]) == (0.003, 1_250_000_000)
    assert [score["detail"] for score in scores if score["state"] == "error"] == ["ValueError: no words to count"]
    assert not any("pass_threshold" in score for score in scores_of(tmp_path / "l.db", ours["Bias"]))
    found = not_kept(answer)
    assert found["retrieved contexts"] == 2
    assert found["thresholds that are the highest score that passes; whether a case passed is kept"] == 4


def test_a_second_import_adds_nothing_also_from_the_latest_test_run(runs: Runs, tmp_path: Path) -> None:
    assert imported(tmp_path / "l.db", runs.evaluation)["runs"] == 3
    for path in (runs.evaluation, runs.latest):
        again = imported(tmp_path / "l.db", path)
        assert (again["runs"], again["there"], again["appended"]) == (0, 3, 0)


def test_repeats_of_a_test_are_attempts(runs: Runs, tmp_path: Path) -> None:
    ours = {run["scorer_id"]: run["run_id"] for run in imported(tmp_path / "l.db", runs.tests)["files"][0]["runs"]}
    assert shown(tmp_path / "l.db", ours["Polite"])["suite"] == "test_cities.py"
    for name, scenarios in (("Exact Match", 2), ("Polite", 1)):
        scores = scores_of(tmp_path / "l.db", ours[name])
        assert Counter(score["attempt"] for score in scores) == {1: scenarios, 2: scenarios}
