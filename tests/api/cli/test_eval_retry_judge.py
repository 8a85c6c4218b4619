"""eval run --retries and --retry-errors: outages of a judge and of embeddings; the agent is not asked again."""

import time
from pathlib import Path

import pytest

from tests.api.cli.evaluating import agent, evaluate, scores, suite
from tests.api.cli.judging import CRITERIA, judged_suite, openai
from tests.instruments.evals.embedder import Reply as Vectors
from tests.instruments.evals.embedder import embedder
from tests.instruments.evals.simulated_judge import valid_reply
from tests.instruments.routers.simulated import Asked, Reply, error, simulated

pytestmark = pytest.mark.slow

NAMES = tuple(f"case-{number:02}" for number in range(5))


def test_an_outage_of_the_judge_is_retried_with_the_same_answer(ledger: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    line = agent(notes, "answer('root_cause is right, fix is right', usage={'cost_usd': 0.25})")
    judged = judged_suite(tmp_path / "judged", {"one": CRITERIA, "two": CRITERIA})
    times: list[float] = []

    def busy_first(asked: Asked) -> Reply:
        times.append(time.monotonic())
        return error(503, "Down.") if asked.number <= 2 else valid_reply(asked)

    with simulated(busy_first) as endpoint:
        options = (*openai(endpoint.url), "--agent", line, "--jobs", "1", "--max-cost", "5")
        ended = evaluate(ledger, judged, *options, "--run", "one")
        assert ended.code == 2, ended.err
        assert {(one["failure"], one["cost_usd"]) for one in scores(ledger)} == {("judge", 0.25)}
        ended = evaluate(ledger, judged, *options, "--retry-errors", "one")
        assert ended.code in (0, 1), ended.err
    assert len((notes / "asked").read_text().split()) == 2, "the agent is not asked again"
    assert [(one["state"], one.get("retry"), one["cost_usd"]) for one in scores(ledger)] == [
        ("error", None, 0.25), ("error", None, 0.25), ("scored", 1, 0.25), ("scored", 1, 0.25),
    ]  # fmt: skip
    assert all(one["analysis_digest"] == scores(ledger)[0]["analysis_digest"] for one in scores(ledger))


def test_an_unusable_verdict_is_not_retried_and_an_outage_is(ledger: Path, tmp_path: Path) -> None:
    judged = judged_suite(tmp_path / "judged", {"one": CRITERIA})
    with simulated(lambda asked: error(500, "Broken.") if asked.number == 1 else valid_reply(asked)) as endpoint:
        assert evaluate(ledger, judged, *openai(endpoint.url), "--run", "down", "--retries", 2).code == 0
    assert [one["state"] for one in scores(ledger, "down")] == ["error", "scored"]
    with simulated(lambda asked: error(401, "No such key.")) as endpoint:
        assert evaluate(ledger, judged, *openai(endpoint.url), "--run", "key", "--retries", 2).code == 2
    assert len(scores(ledger, "key")) == 1


def test_retry_after_of_the_judge_pauses_its_jobs(ledger: Path, tmp_path: Path) -> None:
    judged = judged_suite(tmp_path / "judged", dict.fromkeys(("one", "two", "three"), CRITERIA))
    times: list[float] = []

    def limited(asked: Asked) -> Reply:
        times.append(time.monotonic())
        if asked.number == 1:
            return error(429, "Slow down.")._replace(headers={"retry-after": "3"})
        return valid_reply(asked)

    with simulated(limited) as endpoint:
        limit = f"{endpoint.url.split('/')[2]}=600/m"
        ended = evaluate(ledger, judged, *openai(endpoint.url), "--judge-timeout", 2, "--rate-limit", limit)
        assert ended.code == 2, "a Retry-After beyond the judge's time is an error of the attempt"
    assert times[1] - times[0] >= 3.0
    assert times[2] - times[1] >= 0.09


def test_an_outage_of_embeddings_is_retried(ledger: Path, tmp_path: Path) -> None:
    expected = {"root_cause": {"patterns": ["memory was used up"], "match_type": "semantic"}}
    names = tuple(NAMES[:5])
    captured = {"rca": {"root_cause": "It was OOM"}}
    fixtures = suite(tmp_path / "suite", names, expected_outcomes=expected, captured=captured)
    with embedder(lambda _: Vectors(b"", 503)) as endpoint:
        variables = {"TALLYSTICK_EMBEDDINGS_URL": endpoint.url, "TALLYSTICK_EMBEDDINGS_MODEL": "meadow"}
        assert evaluate(ledger, fixtures, "--run", "one", **variables).code == 2
    assert len(scores(ledger)) == 5
    with embedder() as endpoint:
        variables["TALLYSTICK_EMBEDDINGS_URL"] = endpoint.url
        assert evaluate(ledger, fixtures, "--retry-errors", "one", **variables).code == 0
    assert [one["state"] for one in scores(ledger)] == ["error"] * 5 + ["scored"] * 5
