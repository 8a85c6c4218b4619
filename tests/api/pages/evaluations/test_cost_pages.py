"""The pages of evaluations with tokens, cost and latency: the figures are those of the JSON, and absent without any."""

from typing import Any

import httpx

from tests.api.http.posted_evaluations import failed, finished, fresh, scored, started
from tests.api.http.posts import get, post
from tests.api.pages.page_requests import read_page

Json = dict[str, Any]
SECOND = 10**9


def using(event: Json, **fields: object) -> Json:
    """A score that states what the answer used, as its third version can."""
    return {"type": "eval.scored.v3", "data": {**event["data"], **fields}}


def evaluate(client: httpx.Client, suite: str, version: str, cost: float) -> str:
    """A run with a retried attempt, one with all values, and one without any; its id."""
    run = fresh()
    full = {"input_tokens": 1_000, "output_tokens": 200, "model": "big-1", "elapsed_ns": 2 * SECOND}
    events = [
        started(run, suite, agent="rca", agent_version=version),
        using(failed(run, "s0"), cost_usd=1.0, elapsed_ns=30 * SECOND),
        using(scored(run, "s0", 90), retry=1, cost_usd=cost, **full),
        using(scored(run, "s1", 90), **{**full, "cost_usd": cost, "elapsed_ns": 4 * SECOND}),
        scored(run, "s2", 90),
        finished(run),
    ]
    post(client, events)
    return run


def test_a_run_shows_what_it_cost(client: httpx.Client) -> None:
    run = evaluate(client, fresh("suite"), "1", 2.0)
    usage = get(client, f"/evaluations/{run}")["usage"]
    assert (usage["tries"], usage["attempts"]) == (4, 3)
    assert usage["cost_usd"] == {"stated": 3, "total": 5, "attempts": 2, "median": 2.0, "p95": 2.0}
    page = read_page(client, f"/ui/evaluations/{run}")
    assert "Cost ≥ $5.00 $2.00 at the median" in page.text
    assert "Median latency 3.0 s 3.9 s at 95%" in page.text
    assert "input tokens 2,000, 1,000 at the median" in page.text
    row = page.row("s0")
    assert "$3.00" in row
    assert "2.0 s" in row
    assert "1,000 in, 200 out" in row
    assert "big-1" in row
    attempt = read_page(client, f"/ui/evaluations/{run}/scenarios/s0")
    assert "big-1, 1,000 tokens in, 200 out, $2.00, retry 1" in attempt.text


def test_two_runs_and_the_versions_of_a_suite_show_theirs(client: httpx.Client) -> None:
    suite = fresh("suite")
    before, after = evaluate(client, suite, "1", 2.0), evaluate(client, suite, "2", 3.0)
    asked = {"baseline": before, "candidate": after}
    figures = {"1": "2,000 400 ≥ $5.00 $2.00 3.0 s 3.9 s 4", "2": "2,000 400 ≥ $7.00 $3.00 3.0 s 3.9 s 4"}
    page = read_page(client, "/ui/evaluations/compare", **asked)
    assert page.row(f"baseline {figures['1']}")
    assert page.row(f"candidate {figures['2']}")
    worse = read_page(client, "/ui/evaluations/compare", **asked, max_cost_per_attempt=2)
    assert "Worse: a cost of $2.33 per attempt is above $2.00." in worse.text
    unusable = read_page(client, "/ui/evaluations/compare", **asked, max_latency=60)
    assert "Unusable: the latency of 1 attempt is not known." in unusable.text
    board = read_page(client, "/ui/evaluations/scoreboard", suite=suite)
    for version, cells in figures.items():
        assert board.row(f"rca {version} {cells}")
    models = read_page(client, "/ui/evaluations/scoreboard", suite=suite, group_by="model")
    assert models.row("big-1 4,000 800 $12.00 $2.50 3.0 s 4.0 s 6")


def test_pages_without_a_value_say_nothing_of_cost(client: httpx.Client) -> None:
    run, suite = fresh(), fresh("suite")
    post(client, [started(run, suite, agent="rca"), scored(run, "s0", 90), finished(run)])
    for address in (f"/ui/evaluations/{run}", "/ui/evaluations/scoreboard"):
        page = read_page(client, address, **({"suite": suite} if address.endswith("scoreboard") else {}))
        assert "latency" not in page.text
        assert "Cost" not in page.text
