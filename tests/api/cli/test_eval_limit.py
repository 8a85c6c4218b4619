"""`eval run` warns of scenarios with equal inputs and different truths, and how many of them can be right."""

import json
from pathlib import Path

import pytest

from tests.api.cli.command import Ended, Value, done, tally
from tests.instruments.evals.labels import LABEL, lines
from tests.instruments.evals.replaying import agent, analysis

CASES = (
    ("Checkout is down.", "missing_config_map", "app/cart"),
    ("Checkout is down.", "missing_config_map", "app/cart"),
    ("Checkout is down.", "full_disk", "app/pay"),
    ("Pages are slow.", "full_disk", "node/n7"),
)
WARNING = "warning: 3 scenarios have the same input as a scenario with another truth: at most 3 of 4 (75.0%) can be"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Four imported cases, three of which have one symptom."""
    labels = [
        LABEL | {"id": f"c{number}", "query": symptom, "root_cause": cause, "fault_object": blamed}
        for number, (symptom, cause, blamed) in enumerate(CASES)
    ]
    (tmp_path / "labels.jsonl").write_bytes(lines(*labels))
    done(tmp_path / "t.db", "eval", "import", "opsbench", tmp_path / "labels.jsonl", "--output", tmp_path / "s")
    return tmp_path / "s"


def evaluated(suite: Path, *more: Value) -> Ended:
    answers = {
        "Checkout is down.": analysis("missing config map", "cart", ["GetPods", "GetLogs"]),
        "Pages are slow.": analysis("full disk", "n7", ["GetPods", "GetLogs"]),
    }
    command = agent(suite.parent, answers, "given['alert']['annotations']['summary']")
    return tally(suite.parent / "t.db", "eval", "run", suite, "--agent", command, "--no-baselines", "--json", *more)


@pytest.mark.slow
def test_the_best_answers_reach_the_limit_that_the_warning_names(suite: Path) -> None:
    ended = evaluated(suite)
    assert WARNING in ended.err
    assert (json.loads(ended.out)["scored"], json.loads(ended.out)["passed"]) == (4, 3)


@pytest.mark.slow
@pytest.mark.parametrize("selection", ["c3", "c0 or c1", "c2 or c3"])
def test_scenarios_that_can_all_be_right_cause_no_warning(suite: Path, selection: str) -> None:
    assert "warning" not in evaluated(suite, "-k", selection).err


@pytest.mark.slow
def test_a_selection_has_a_limit_of_its_own(suite: Path) -> None:
    assert "2 scenarios have the same input" in evaluated(suite, "-k", "c1 or c2").err


def test_captured_answers_cause_no_warning(suite: Path) -> None:
    assert "warning" not in tally(suite.parent / "t.db", "eval", "run", suite).err
