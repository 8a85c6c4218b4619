"""Tokens, cost and latency, from the answer of an agent to the gate, in real processes."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cli.evaluating import Json, agent, evaluate, scores, suite
from tests.support.server import served

STATES = """
used = {"crash-loop": {"input_tokens": 1000000, "output_tokens": 100000},
        "image-pull": {"prompt_tokens": 3000000, "completion_tokens": 0, "cost_usd": 1.25},
        "out-of-memory": {"input_tokens": "many"}}[case]
answer(given['evidence']['log'], model="big-1", usage=used, response_id=f"resp_{case}")
"""
PRICES = "vendor/big-1-20260301: {input_usd_per_million: 2, output_usd_per_million: 10}\n"


def priced(tmp_path: Path, text: str = PRICES) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    return path


def used(ledger: Path, run: str) -> dict[str, tuple[int | None, int | None, float | None]]:
    names = ("input_tokens", "output_tokens", "cost_usd")
    return {score["scenario_id"]: tuple(map(score.get, names)) for score in scores(ledger, run)}  # type: ignore[misc]


@pytest.mark.slow
def test_stated_usage_is_recorded_priced_shown_and_limited(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "states", STATES)
    files = {name: tmp_path / f"report.{name}" for name in ("html", "markdown", "junit")}
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    ended = evaluate(ledger, fixtures, "--agent", line, "--run", "one", "--prices", priced(tmp_path), *options)
    assert ended.code == 0, ended.err
    assert used(ledger, "one") == {
        "crash-loop": (1_000_000, 100_000, 3.0),
        "image-pull": (3_000_000, 0, 1.25),
        "out-of-memory": (None, None, None),
    }
    assert {score["response_id"] for score in scores(ledger, "one")} > {"resp_crash-loop"}
    assert "Cost $4.25 in total, $2.12 at the median, of 3 attempts; 1 states none." in ended.text
    assert "warning: no price" not in ended.err

    shown: Json = msgspec.json.decode(done(ledger, "eval", "show", "one", "--json").out)
    cost = {"stated": 2, "total": 4.25, "attempts": 2, "median": 2.125, "p95": 2.9125}
    assert shown["usage"]["cost_usd"] == cost
    assert shown["usage"]["input_tokens"]["total"] == 4_000_000
    assert shown["usage"]["elapsed_ns"]["stated"] == shown["usage"]["tries"] == shown["usage"]["attempts"] == 3
    text = done(ledger, "eval", "show", "one").text
    assert "crash-loop     big-1  1,000,000     100,000" in text
    assert "Input tokens 4,000,000 in total, 2,000,000 at the median, of 3 attempts; 1 states none." in text
    assert "≥ $4.25" in done(ledger, "eval", "list").text
    (board,) = msgspec.json.decode(done(ledger, "scoreboard", "--group-by", "model", "--json").out)["suites"]
    assert [(row["model"], row["usage"]["cost_usd"]) for row in board["rows"]] == [("big-1", cost)]
    assert "$2.12" in done(ledger, "scoreboard").text

    assert "≥ $4.25" in files["html"].read_text()
    assert "|cost|≥ $4.25, $2.12 at the median|" in files["markdown"].read_text()
    properties = {each.get("name"): each.get("value") for each in ET.parse(files["junit"]).iter("property")}
    assert (properties["cost_usd"], properties["input_tokens"], properties["output_tokens"]) == (
        "4.25",
        "4000000",
        "100000",
    )


@pytest.mark.slow
def test_the_gate_limits_cost_and_latency(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    """In the file and through a server: the same verdicts."""
    states = "answer(given['evidence']['log'], usage={'cost_usd': 0.5})"
    for run, code in (("plain", "answer(given['evidence']['log'])"), ("costs", states)):
        assert evaluate(ledger, fixtures, "--agent", agent(tmp_path / run, code), "--run", run).code == 0

    def gate(run: str, *limits: str) -> tuple[int, str]:
        ended = tally(ledger, "eval", "gate", "--baseline", "plain", "--run", run, *limits)
        return ended.code, ended.text.splitlines()[-1]

    passed = (0, "Passed: 3 scenarios compared, none worse.")
    assert gate("costs", "--max-cost-per-attempt", "0.5", "--max-latency", "600", "--max-latency-p95", "600") == passed
    too_dear = (1, "Worse: a cost of $0.50 per attempt is above $0.49.")
    assert gate("costs", "--max-cost-per-attempt", "0.49") == too_dear
    verdict = gate("costs", "--max-latency", "0.000001")
    assert (verdict[0], verdict[1][:26]) == (1, "Worse: a median latency of")
    again = tally(ledger, "eval", "gate", "--baseline", "costs", "--run", "plain", "--max-cost-per-attempt", "9")
    assert again.code in (1, 2), again.text

    with served(ledger) as server:
        url = ("--url", server.url)
        assert gate("costs", "--max-cost-per-attempt", "0.5", "--max-latency", "600", *url) == passed
        assert gate("costs", "--max-cost-per-attempt", "0.49", *url) == too_dear


@pytest.mark.slow
def test_a_run_without_costs_cannot_be_judged_by_them(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "plain")
    for run in ("one", "two"):
        assert evaluate(ledger, fixtures, "--agent", line, "--run", run).code == 0
    ended = tally(ledger, "eval", "gate", "--baseline", "one", "--max-cost-per-attempt", "1", "--json")
    judgement = json.loads(ended.out)["judgement"]
    assert (ended.code, judgement["verdict"], judgement["limits"]["cost_per_attempt_usd"]) == (2, "unusable", 1.0)
    assert judgement["reasons"] == ["no answer of the candidate states its cost"]


@pytest.mark.slow
def test_models_without_a_price_are_named_once(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    other = priced(tmp_path, "small-2: {input_usd_per_million: 2, output_usd_per_million: 10}\n")
    line = agent(tmp_path / "states", STATES)
    ended = evaluate(ledger, fixtures, "--agent", line, "--run", "one", "--attempts", "2", "--prices", other)
    assert ended.code == 0, ended.err
    assert ended.err.count("warning: no price, so no cost: big-1") == 1
    assert used(ledger, "one")["crash-loop"] == (1_000_000, 100_000, None)


def test_bad_prices_stop_before_anything_is_written(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    bad = priced(tmp_path, "big-1: {input_usd_per_million: 2}\n")
    error = refused(ledger, "eval", "run", fixtures, "--prices", bad)
    assert "has no output_usd_per_million for 'big-1'" in error
    assert not ledger.exists()


def test_captured_answers_state_their_usage_too(ledger: Path, tmp_path: Path) -> None:
    captured: Json = {"rca": {"root_cause": "cause of crash-loop"}, "usage": {"cost_usd": 0.75}}
    fixtures = suite(tmp_path / "captured", ("crash-loop",), captured=captured)
    assert evaluate(ledger, fixtures, "--run", "one").code == 0
    assert used(ledger, "one") == {"crash-loop": (None, None, 0.75)}
