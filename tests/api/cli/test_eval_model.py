"""The model and the confidence of answers, from `eval run` to the scoreboard and the inventory, in real processes."""

from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, refused
from tests.api.cli.evaluating import NAMES, Json, agent, evaluate, events, suite
from tests.support.server import served

RATED = "answer(given['evidence']['log'] if case != 'image-pull' else 'no idea', confidence=0.9)"
"""An answer that states the probability that it is right. One of the three is wrong."""


def scored(ledger: Path, run: str) -> list[Json]:
    return [event["data"] for event in events(ledger, run) if event["type"].startswith("eval.scored.")]


def models(ledger: Path, run: str) -> set[tuple[str | None, str | None]]:
    """The claimed and the reported model of each score of a run."""
    return {(score.get("model"), score.get("reported_model")) for score in scored(ledger, run)}


def board(ledger: Path, *arguments: str) -> list[Json]:
    """The rows of the scoreboard of models of the only suite."""
    out = done(ledger, "scoreboard", "--group-by", "model", "--json", *arguments).out
    (shown,) = msgspec.json.decode(out)["suites"]
    rows: list[Json] = shown["rows"]
    return rows


def inventory(ledger: Path, model: str) -> Json:
    """What the evaluations say of a model."""
    figures = msgspec.json.decode(done(ledger, "inventory", "--model", model, "--json").out)["figures"]
    (evaluated,) = figures["evaluations"]
    return {"model": figures["model"], **evaluated}


@pytest.mark.slow
def test_the_claimed_model_of_a_run_is_in_its_scores(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "plain")
    ended = evaluate(ledger, fixtures, "--agent", line, "--model", "vendor/big-1-20260301", "--run", "one")
    assert ended.code == 0, ended.err
    assert models(ledger, "one") == {("vendor/big-1-20260301", None)}
    assert [(row["model"], row["scored"], row["mean"]) for row in board(ledger)] == [("big-1", 3, 100)]
    assert (found := inventory(ledger, "BIG-1"))["model"] == "big-1"
    assert (found["suite"], found["answers"], found["mean"]) == ("kube", 3, 100)
    (started,) = [event["data"] for event in events(ledger, "one") if event["type"].startswith("eval.started.")]
    assert started["meta"] == {"claimed_model": "vendor/big-1-20260301"}
    assert "big-1" in done(ledger, "scoreboard", "--group-by", "model").text


@pytest.mark.slow
def test_what_the_answer_names_beside_a_claim_is_reported(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    """Without a claim of the caller the answer's own one is kept as it was."""
    line = agent(tmp_path / "names", "answer(given['evidence']['log'], model='small-2')")
    both = agent(tmp_path / "both", "answer(given['evidence']['log'], model='small-2', reported_model='small-2-0301')")
    assert evaluate(ledger, fixtures, "--agent", line, "--run", "answer").code == 0
    assert evaluate(ledger, fixtures, "--agent", line, "--model", "big-1", "--run", "caller").code == 0
    assert evaluate(ledger, fixtures, "--agent", both, "--model", "cursor", "--run", "wrapper").code == 0
    assert models(ledger, "answer") == {("small-2", None)}
    assert models(ledger, "caller") == {("big-1", "small-2")}
    assert models(ledger, "wrapper") == {("cursor", "small-2-0301")}
    assert {row["model"]: row["scored"] for row in board(ledger)} == {"big-1": 3, "small-2": 6}


@pytest.mark.slow
def test_errors_and_skips_have_the_model_and_baselines_have_none(ledger: Path, tmp_path: Path) -> None:
    fixtures = suite(tmp_path / "kube", NAMES)
    assert evaluate(ledger, fixtures, "--agent", "false", "--model", "big-1", "--run", "fails").code == 2
    assert models(ledger, "fails") == {("big-1", None)}
    assert evaluate(ledger, fixtures, "--model", "big-1", "--run", "skips").code == 2
    assert models(ledger, "skips") == {("big-1", None)}
    line = agent(tmp_path / "notes")
    done(ledger, "eval", "run", fixtures, "--agent", line, "--model", "big-1", "--run", "one", given=b"")
    baselines = [row for row in board(ledger) if row.get("baseline")]
    assert [row.get("model") for row in baselines] == [None, None]


@pytest.mark.slow
def test_a_resumed_run_keeps_its_model(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "notes")
    begun = {"run_id": "left", "suite": "kube", "agent": line.split()[0].rpartition("/")[2], "answers": "command"}
    meta = {"claimed_model": "big-1"}
    start = {**begun, "agent": f"command:{begun['agent']}", "scenarios": 3, "attempts": 1, "meta": meta}
    start |= {"scorer_id": "rca", "scorer_version": scorer_version(ledger, fixtures, line)}
    done(ledger, "append", given=msgspec.json.encode({"type": "eval.started.v1", "data": start}))
    said = refused(ledger, "eval", "run", fixtures, "--agent", line, "--resume", "left", "--model", "small-2")
    assert "--model: run left began with 'big-1', not with 'small-2'" in said
    assert evaluate(ledger, fixtures, "--agent", line, "--resume", "left").code == 0
    assert models(ledger, "left") == {("big-1", None)}


def scorer_version(ledger: Path, fixtures: Path, line: str) -> str:
    evaluate(ledger, fixtures, "--agent", line, "--run", "before")
    version: str = scored(ledger, "before")[0]["scorer_version"]
    return version


@pytest.mark.parametrize(("option", "value"), [("--model", ""), ("--model", "a\nb"), ("--meta", "claimed_model=x")])
def test_a_model_without_a_name_is_refused(ledger: Path, fixtures: Path, option: str, value: str) -> None:
    said = refused(ledger, "eval", "run", fixtures, option, value)
    assert option in said
    assert not ledger.exists()


@pytest.mark.slow
def test_a_stated_confidence_meets_its_outcome_through_a_server(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "notes", RATED)
    with served(ledger) as server:
        ended = evaluate(ledger, fixtures, "--url", server.url, "--agent", line, "--model", "big-1", "--run", "one")
        assert ended.code == 1, ended.err
        assert {score["confidence"] for score in scored_by(server.url, ledger, "one")} == {0.9}
        (row,) = board(ledger, "--url", server.url)
        assert (row["model"], row["stated"]["n"]) == ("big-1", 3)
        assert row["stated"]["mean_confidence"] == pytest.approx(0.9)
        assert row["stated"]["pass_rate"] == pytest.approx(2 / 3)
        assert row["stated"]["gap"] == pytest.approx(2 / 3 - 0.9)
        assert row["stated"]["brier_score"] == pytest.approx((2 * 0.01 + 0.81) / 3)
        printed = done(ledger, "scoreboard", "--url", server.url).text
    assert "90%" in printed
    assert inventory(ledger, "big-1")["stated"]["gap"] == pytest.approx(2 / 3 - 0.9)


def scored_by(url: str, ledger: Path, run: str) -> list[Json]:
    lines = done(ledger, "log", "--url", url, "--json").out.splitlines()
    found: list[Json] = [event for event in map(msgspec.json.decode, lines) if event["type"].startswith("eval.scored")]
    return [event["data"] for event in found if event["data"]["run_id"] == run]
