"""judge run and judge compare: recorded answers, judged again or in pairs; and the figures of the judge as an agent."""

import shutil
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import command, done, environment, refused, tally
from tests.api.cli.evaluating import Json, agent, evaluate, events, of_type, scores
from tests.api.cli.judging import AGENT, COMMAND, CRITERIA, MODEL, judged_suite, label, log, openai
from tests.instruments.evals.simulated_judge import FAULTS, SimulatedJudge, judge_process, judging, valid_reply
from tests.instruments.routers.simulated import Asked, Reply, simulated
from tests.support.paths import ROOT
from tests.support.server import served
from tests.support.wait import wait_until

ANSWERS = {"all": CRITERIA, "half": CRITERIA[:1], "none": ()}


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    return judged_suite(tmp_path / "judged", ANSWERS)


def totals(ledger: Path, run: str) -> dict[str, float | None]:
    return {score["scenario_id"]: score.get("total_score") for score in scores(ledger, run)}


@pytest.mark.slow
def test_recorded_answers_are_judged_without_the_agent(ledger: Path, judged: Path) -> None:
    evaluate(ledger, judged, "--run", "patterns", "--meta", "commit=3f2a", "--model", "gpt-5")
    with simulated(valid_reply) as endpoint:
        ended = tally(ledger, "judge", "run", "patterns", judged, *openai(endpoint.url), "--run", "judged")
    assert ended.code == 1, ended.err
    assert "  fix: judged not met (90% sure): fix is not met." in ended.text
    assert totals(ledger, "judged") == {"all": 100, "half": 50, "none": 0}
    (started,) = of_type(events(ledger, "judged"), "started")
    assert (started["scorer_id"], started["suite"], started["answers"]) == ("judge", "judged", "captured")
    assert started["meta"] == {"commit": "3f2a", "judged_run": "patterns"}
    before, after = (
        {score["scenario_id"]: (score["analysis_digest"], score["model"], score["reported_model"]) for score in found}
        for found in (scores(ledger, "patterns"), scores(ledger, "judged"))
    )
    assert before == after
    assert len(log(ledger, "decision.recorded")) == 6


@pytest.mark.slow
def test_after_the_folder_is_gone_answers_are_judged_by_the_kept_files(ledger: Path, judged: Path) -> None:
    evaluate(ledger, judged, "--run", "patterns")
    shutil.rmtree(judged)
    with simulated(valid_reply) as endpoint:
        ended = tally(ledger, "judge", "run", "patterns", *openai(endpoint.url), "--run", "judged")
    assert ended.code == 1, ended.err
    assert totals(ledger, "judged") == {"all": 100, "half": 50, "none": 0}
    (before,), (after,) = (of_type(events(ledger, run), "started") for run in ("patterns", "judged"))
    assert before["suite_files_digest"] == after["suite_files_digest"]


@pytest.mark.slow
def test_through_a_server_answers_are_judged_too(ledger: Path, tmp_path: Path, judged: Path) -> None:
    evaluate(ledger, judged, "--run", "patterns")
    with simulated(valid_reply) as endpoint, served(ledger) as server:
        words = (*openai(endpoint.url), "--run", "judged", "--url", server.url, "--name", "kube-judged")
        assert tally(tmp_path / "unused.db", "judge", "run", "patterns", judged, *words).code == 1
    assert totals(ledger, "judged") == {"all": 100, "half": 50, "none": 0}
    board = msgspec.json.decode(done(ledger, "scoreboard", "--json").out)
    assert {suite["suite"]: suite["scorer_id"] for suite in board["suites"]} == {
        "judged": "rca",
        "kube-judged": "judge",
    }


@pytest.mark.slow
def test_answers_of_a_failed_judge_and_failed_agents(ledger: Path, judged: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "notes", "answer('root_cause is right')")
    with simulated(FAULTS["broken"]) as endpoint:
        assert evaluate(ledger, judged, "--agent", "false", *openai(endpoint.url), "--run", "crashed").code == 2
        assert evaluate(ledger, judged, "--agent", line, *openai(endpoint.url), "--run", "outage").code == 2
        assert evaluate(ledger, judged, "--agent", "true", *openai(endpoint.url), "--run", "silent").code == 2
    with simulated(valid_reply) as endpoint:
        for run, code in (("crashed", 2), ("outage", 1), ("silent", 1)):
            again = f"{run}.judged"
            assert tally(ledger, "judge", "run", run, judged, *openai(endpoint.url), "--run", again).code == code
    assert set(totals(ledger, "outage.judged").values()) == {50}
    assert set(totals(ledger, "silent.judged").values()) == {0}
    assert {score["failure"] for score in scores(ledger, "crashed.judged")} == {"crash"}


@pytest.mark.slow
def test_a_long_answer_is_read_from_evidence(ledger: Path, tmp_path: Path) -> None:
    folder = judged_suite(tmp_path / "long", {"one": CRITERIA})
    line = agent(tmp_path / "notes", "answer('root_cause is right, fix is right ' + 'x ' * 50_000)")
    evaluate(ledger, folder, "--agent", line, "--run", "long")
    assert "analysis" not in scores(ledger, "long")[0]
    with simulated(valid_reply) as endpoint:
        assert tally(ledger, "judge", "run", "long", folder, *openai(endpoint.url), "--run", "judged").code == 0
    done(ledger, "evidence", "erase", scores(ledger, "long")[0]["analysis_digest"], "--reason", "asked", "--yes")
    assert tally(ledger, "judge", "run", "long", folder, "--judge", COMMAND, "--run", "erased").code == 2
    (score,) = scores(ledger, "erased")
    assert (score["state"], score["failure"]) == ("error", "unreadable")


@pytest.mark.slow
def test_an_interrupted_judgement_goes_on(ledger: Path, judged: Path) -> None:
    evaluate(ledger, judged, "--run", "patterns")

    def script(asked: Asked) -> Reply:
        return Reply(how="stall") if asked.number == 2 else valid_reply(asked)

    with simulated(script) as endpoint:
        verb = ("judge", "run", "patterns", str(judged), *openai(endpoint.url))
        words = command(ledger, *verb, "--run", "judged")
        with subprocess.Popen(words, cwd=ROOT, env=environment(), stderr=subprocess.PIPE) as process:
            endpoint.wait_for(2, process)
            wait_until(lambda: len(scores(ledger, "judged")) == 1)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate()
        assert process.returncode == 128 + signal.SIGINT
        assert b"--resume judged, with the same judge" in err
        evaluate(ledger, judged, "--run", "other")
        assert "judges the answers of patterns" in refused(
            ledger, "judge", "run", "other", judged, *openai(endpoint.url), "--resume", "judged"
        )
        assert "was scored by judge@" in refused(ledger, *verb, "--judge-repeats", 2, "--resume", "judged")
        assert "is of the suite judged" in refused(ledger, *verb, "--name", "other", "--resume", "judged")
        assert tally(ledger, *verb, "--resume", "judged").code == 1
    assert totals(ledger, "judged") == {"all": 100, "half": 50, "none": 0}


def test_what_cannot_be_judged_is_refused(ledger: Path, judged: Path, tmp_path: Path) -> None:
    evaluate(ledger, judged, "--run", "one")
    other = judged_suite(tmp_path / "other", {"unknown": ()})
    assert "There is no evaluation two" in refused(ledger, "judge", "run", "two", judged, "--judge", COMMAND)
    assert "--name" in refused(ledger, "judge", "run", "one", judged, "--judge", COMMAND, "--name", "")
    assert "all and 2 more was answered" in refused(ledger, "judge", "run", "one", other, "--judge", COMMAND)
    assert "both runs are the same" in refused(ledger, "judge", "compare", "one", "one", judged, "--judge", COMMAND)
    assert log(ledger, "decision.recorded") == []


def compared(ledger: Path, *words: object, code: int = 0) -> Json:
    ended = tally(ledger, "judge", "compare", "a", "b", *map(str, words), "--json")
    assert ended.code == code, ended.err
    answer: Json = msgspec.json.decode(ended.out)
    return answer


@pytest.mark.slow
def test_pairs_are_compared_in_both_orders(ledger: Path, judged: Path, tmp_path: Path) -> None:
    evaluate(ledger, judged, "--run", "a")
    line = agent(tmp_path / "notes", "answer('root_cause is right, fix is wrong', model='b-model')")
    evaluate(ledger, judged, "--agent", line, "--run", "b")
    with simulated(judging(SimulatedJudge(confidence=0.8))) as endpoint:
        found = compared(ledger, judged, *openai(endpoint.url), "--judge-repeats", 2)
        again = compared(ledger, judged, *openai(endpoint.url), "--judge-repeats", 2)
    assert len(endpoint.asked) == 12
    assert again == found
    assert [(pair["scenario_id"], pair["preferred"]) for pair in found["pairs"]] == [
        ("all", "first"), ("half", "tie"), ("none", "second"),
    ]  # fmt: skip
    assert (found["first"], found["second"], found["ties"], found["order_disagreements"]) == (1, 1, 1, 0)
    recorded = log(ledger, "judge.compared")
    assert [len(event["data"]["votes"]) for event in recorded] == [4, 4, 4]
    assert {event["source"] for event in recorded} == {f"/agents/{AGENT}"}
    decisions = {event["data"]["decision_id"]: event["data"] for event in log(ledger, "decision.recorded")}
    first = next(event["data"] for event in recorded if event["data"]["scenario_id"] == "all")
    decision = decisions[first["decision_id"]]
    assert decision["decision"] == "first is better: all, attempt 1 of run a and attempt 1 of run b"
    assert (decision["confidence"], decision["category"]) == (0.8, "comparison")
    assert decision["tags"] == ["run:a", "run:b", "judged-model:gpt-4o", "judged-model:b-model"]


@pytest.mark.slow
def test_a_preference_that_follows_the_order_is_a_tie(ledger: Path, judged: Path) -> None:
    for run in ("a", "b"):
        evaluate(ledger, judged, "--run", run)
    with simulated(judging(SimulatedJudge(prefers_first=1.0))) as endpoint:
        found = compared(ledger, judged, *openai(endpoint.url))
    assert (found["ties"], found["order_disagreements"]) == (3, 3)
    table = done(ledger, "judge", "compare", "a", "b", judged, *openai(endpoint.url), COLUMNS="80").text
    assert "The preference changed with the order in 3 of 3." in table
    assert max(map(len, table.splitlines())) <= 80


@pytest.mark.slow
def test_a_pair_without_a_usable_reply_is_an_error(ledger: Path, judged: Path) -> None:
    evaluate(ledger, judged, "--run", "a")
    evaluate(ledger, judged, "--agent", "false", "--run", "b")
    assert compared(ledger, judged, "--judge", COMMAND)["skipped"] == 3
    evaluate(ledger, judged, "--run", "c")
    with simulated(FAULTS["prose"]) as endpoint:
        ended = tally(ledger, "judge", "compare", "a", "c", judged, *openai(endpoint.url))
    assert ended.code == 2
    assert "none #1 error: reply 1 of 2 of the judge: is not one JSON object" in ended.text
    assert log(ledger, "judge.compared") == []


@pytest.mark.slow
def test_the_judge_has_the_figures_of_an_agent(ledger: Path, tmp_path: Path) -> None:
    """60 verdicts with known errors, labelled with the truth: Brier score, gap and groups of the judge."""
    answers = {f"case-{number:02}": CRITERIA if number % 2 else () for number in range(30)}
    folder = judged_suite(tmp_path / "many", answers)
    evaluate(ledger, folder, "--run", "patterns")
    for score in scores(ledger, "patterns"):
        for criterion in CRITERIA:
            label(ledger, score, criterion, passed=bool(answers[score["scenario_id"]]))
    rates = ("--seed", "7", "--sensitivity", "0.9", "--specificity", "0.6", "--confidence", "0.9")
    with judge_process(*rates) as address:
        tally(ledger, "judge", "run", "patterns", folder, *openai(address), "--run", "judged")
    right = total = 0
    for score in scores(ledger, "judged"):
        for part in score["components"]:
            total += 1
            right += part["passed"] is bool(answers[score["scenario_id"]])
    assert (total, 36 < right < 57) == (60, True)
    brier = (right * 0.01 + (total - right) * 0.81) / total
    answer = msgspec.json.decode(done(ledger, "calibration", "--agent", AGENT, "--json").out)
    overall = answer["overall"]
    assert answer["coverage"]["reviewed"] == total
    assert overall["brier_score"] == pytest.approx(brier)
    assert overall["gap"] == pytest.approx(right / total - 0.9)
    for field, names in (("category", set(CRITERIA)), ("feature", {"gpt-4o"}), ("model", {MODEL})):
        grouped = msgspec.json.decode(done(ledger, "calibration", "--agent", AGENT, "--group-by", field, "--json").out)
        assert {group["group"] for group in grouped["groups"]} == names
    listed = msgspec.json.decode(done(ledger, "decisions", "--tag", "judged-model:gpt-4o", "--json").out)
    assert listed["total"] == total
