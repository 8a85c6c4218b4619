"""eval run --max-cost: a run stops at its budget, by the costs in the log, and goes on with a larger one."""

from pathlib import Path

import pytest

from tests.api.cli.evaluating import agent, evaluate, events, of_type, scores, suite

pytestmark = pytest.mark.slow

NAMES = tuple(f"case-{number:02}" for number in range(14))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def line(notes: Path) -> str:
    return agent(notes, "answer(given['evidence']['log'], usage={'cost_usd': 0.25})")


def test_a_budget_stops_the_run_and_can_be_raised(ledger: Path, tmp_path: Path, notes: Path, line: str) -> None:
    fixtures = suite(tmp_path / "kube", NAMES[:6])
    run = ("--agent", line, "--attempts", 2)
    ended = evaluate(ledger, fixtures, *run, "--run", "one", "--max-cost", 1)
    assert ended.code == 130
    assert len(scores(ledger)) == 4
    assert "Stopped: the budget is spent: $1.00 of $1.00. 8 attempts left." in ended.err
    assert "to continue: --resume one --max-cost MORE, with the same agent." in ended.err
    assert of_type(events(ledger), "finished") == []
    ended = evaluate(ledger, fixtures, *run, "--resume", "one", "--max-cost", 1)
    assert (ended.code, len(scores(ledger))) == (130, 4)
    ended = evaluate(ledger, fixtures, *run, "--resume", "one", "--max-cost", 1.6)
    assert (ended.code, len(scores(ledger))) == (130, 7)
    assert "$1.75 of $1.60" in ended.err
    assert evaluate(ledger, fixtures, *run, "--resume", "one", "--max-cost", 3).code == 0
    assert sum(one["cost_usd"] for one in scores(ledger)) == 3.0


def test_a_budget_is_exceeded_by_no_more_than_the_attempts_in_flight(ledger: Path, tmp_path: Path, notes: Path) -> None:
    line = agent(notes, "time.sleep(0.2)\nanswer(given['evidence']['log'], usage={'cost_usd': 0.25})")
    fixtures = suite(tmp_path / "kube", NAMES)
    assert evaluate(ledger, fixtures, "--agent", line, "--jobs", 4, "--max-cost", 0.5).code == 130
    assert 2 <= len(scores(ledger)) <= 2 + 3


def test_failed_tries_cost_too(ledger: Path, tmp_path: Path, notes: Path) -> None:
    line = agent(
        notes, "print(json.dumps({'usage': {'cost_usd': 0.5}, 'error': {'kind': 'unavailable'}}))\nsys.exit(1)"
    )
    fixtures = suite(tmp_path / "kube", NAMES[:4])
    ended = evaluate(ledger, fixtures, "--agent", line, "--max-cost", 1)
    assert ended.code == 130
    assert [one["cost_usd"] for one in scores(ledger)] == [0.5, 0.5]
    assert {one["failure"] for one in scores(ledger)} == {"unavailable"}


def test_a_budget_without_costs_stops_after_the_first_answer(ledger: Path, tmp_path: Path, notes: Path) -> None:
    line = agent(notes)
    fixtures = suite(tmp_path / "kube", NAMES[:4])
    ended = evaluate(ledger, fixtures, "--agent", line, "--run", "one", "--max-cost", 1)
    assert (ended.code, len(scores(ledger))) == (130, 1)
    assert "1 answer states no cost, so that --max-cost cannot be kept" in ended.err
    assert "to continue: --resume one without --max-cost" in ended.err
    assert evaluate(ledger, fixtures, "--agent", line, "--resume", "one").code == 0
