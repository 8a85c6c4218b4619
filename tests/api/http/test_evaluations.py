"""Evaluations over HTTP: posted by any runner, listed, shown whole, compared, and on the scoreboard."""

import hashlib

import httpx
import msgspec
import pytest

from tests.api.http.posted_evaluations import (
    CHANGED,
    FIXTURE,
    Json,
    component,
    failed,
    finished,
    fresh,
    scored,
    started,
)
from tests.api.http.posts import get, head, post


def evaluate(client: httpx.Client, suite: str, version: str, *points: float, agent: str = "rca") -> str:
    """A run that scored a scenario for each number of points; its id."""
    run = fresh()
    events = [started(run, suite, agent=agent, agent_version=version)]
    events += [scored(run, f"s{number}", value) for number, value in enumerate(points)]
    post(client, [*events, finished(run)])
    return run


def test_a_run_is_listed_and_shown_while_it_goes_on_and_when_it_ended(client: httpx.Client) -> None:
    suite, run = fresh("suite"), fresh()
    begun = started(run, suite, agent="rca", agent_version="1", scenarios=2, attempts=2, meta={"commit": "abc"})
    findings = component(("root_cause.patterns[0]", "ImagePullBackOff", True))
    first = scored(run, "pull", 80, components=[findings], fixture_digest=FIXTURE, elapsed_ns=5, analysis='{"rca":{}}')
    last = post(client, [begun, first, failed(run, "oom", failure="crash", detail="exit 1", said="boom")])["last"]
    (going,) = get(client, "/evaluations", suite=suite)["evaluations"]
    assert (going["run_id"], going["ended"], going["planned"]) == (run, False, 4)
    assert (going["scored"], going["passed"], going["failed"], going["errors"]) == (1, 1, 0, 1)
    assert (going["mean"], going["mean_scored"], going["pass_rate"]) == (40, 80, 0.5)
    assert "finished_at" not in going
    post(client, finished(run, elapsed_ns=9, reason="stopped"))
    whole = get(client, f"/evaluations/{run}")
    assert (whole["ended"], whole["elapsed_ns"], whole["reason"], whole["meta"]) == (
        True,
        9,
        "stopped",
        {"commit": "abc"},
    )
    assert [(one["scenario_id"], one["verdict"]) for one in whole["results"]] == [("oom", "error"), ("pull", "stable")]
    error, (row,) = whole["results"][0]["rows"][0], whole["results"][1]["rows"]
    assert (error["failure"], error["detail"], error["said"]) == ("crash", "exit 1", "boom")
    assert row["components"] == [findings]
    assert (row["position"], row["fixture_digest"], row["elapsed_ns"]) == (last - 1, FIXTURE, 5)
    assert "analysis" not in row
    assert get(client, f"/evaluations/{run}", include="analyses")["results"][1]["rows"][0]["analysis"] == '{"rca":{}}'
    then = get(client, f"/evaluations/{run}", as_of=last)
    assert not then["ended"]
    assert {**then, "as_of": None, "results": None} == {**going, "as_of": None, "results": None}


def test_evaluations_are_filtered_and_paged(client: httpx.Client) -> None:
    suite = fresh("suite")
    names = [evaluate(client, suite, "1", 80) for _ in range(3)][::-1]
    other = evaluate(client, suite, "1", 80, agent="rival")
    first = get(client, "/evaluations", suite=suite, agent="rca", limit=2)
    assert ([one["run_id"] for one in first["evaluations"]], first["total"], first["next"]) == (names[:2], 3, 2)
    rest = get(client, "/evaluations", suite=suite, agent="rca", limit=2, offset=2)
    assert ([one["run_id"] for one in rest["evaluations"]], rest["next"]) == (names[2:], None)
    assert [one["run_id"] for one in get(client, "/evaluations", suite=suite, agent="rival")["evaluations"]] == [other]
    assert get(client, "/evaluations", suite=suite, until="2001-01-01")["total"] == 0


def test_what_became_worse_is_named_first_with_what_used_to_match(client: httpx.Client) -> None:
    suite, before, after = fresh("suite"), fresh(), fresh()
    matched = component(("root_cause.patterns[0]", "limit", True))
    not_now = component(("root_cause.patterns[0]", "limit", False), score=0)
    events = [
        started(before, suite, agent="rca", agent_version="1"),
        scored(before, "pull", 100, fixture_digest=FIXTURE),
        scored(before, "oom", 90, components=[matched], fixture_digest=FIXTURE),
        scored(before, "probe", 90, fixture_digest=FIXTURE),
        finished(before),
        started(after, suite, agent="rca", agent_version="2"),
        scored(after, "pull", 95, fixture_digest=FIXTURE),
        scored(after, "oom", 30, components=[not_now], fixture_digest=FIXTURE),
        scored(after, "probe", 10, fixture_digest=CHANGED),
        finished(after),
    ]
    post(client, events)
    found = get(client, "/evaluations/compare", baseline=before, candidate=after)
    (worse,) = found["regressed"]
    assert (worse["scenario_id"], worse["before"], worse["after"], worse["difference"]) == ("oom", 90, 30, -60)
    assert [(one["expectation"], one["pattern"]) for one in worse["lost"]] == [("root_cause.patterns[0]", "limit")]
    assert [one["scenario_id"] for one in found["lower"]] == ["pull"]
    assert [(one["scenario_id"], one["reason"]) for one in found["not_comparable"]] == [("probe", "fixture changed")]
    assert (found["regressions"], found["pairs"], found["difference"]) == (1, 2, -32.5)
    assert (found["baseline"]["run_id"], found["candidate"]["run_id"]) == (before, after)
    newest = get(client, "/evaluations/compare", baseline="latest", candidate=after)
    assert newest == found
    then = get(client, "/evaluations/compare", baseline=before, candidate=after, as_of=head(client) - 2)
    assert ([one["scenario_id"] for one in then["missing"]], then["regressions"]) == (["probe"], 2)
    assert not then["candidate"]["ended"]


def test_the_board_pools_runs_and_shows_baselines_beside_them(client: httpx.Client) -> None:
    suite = fresh("suite")
    evaluate(client, suite, "1", 80, 90)
    evaluate(client, suite, "1", 60, 90)
    second = evaluate(client, suite, "2", 20, 90)
    last = head(client)
    run = fresh()
    post(client, [started(run, suite, agent="baseline", baseline="empty"), scored(run, "s0", 0), scored(run, "s1", 0)])
    (board,) = get(client, "/scoreboard", suite=suite)["suites"]
    rows = [(one["agent"], one.get("agent_version"), one["runs"], one["mean"]) for one in board["rows"]]
    assert rows == [("rca", "1", 2, 80), ("rca", "2", 1, 55), ("baseline", None, 1, 0)]
    newer = board["rows"][1]
    assert (newer["previous_version"], newer["difference"], newer["regressed"]) == ("1", -25, ["s0"])
    assert [(one["scenario_id"], one["verdict"]) for one in board["rows"][0]["results"]] == [
        ("s0", "flaky"),
        ("s1", "stable"),
    ]
    assert [one["agent_version"] for one in board["trend"]] == ["1", "2"]
    assert [row["agent"] for row in get(client, "/scoreboard", suite=suite, agent="x")["suites"][0]["rows"]] == [
        "baseline"
    ]
    (then,) = get(client, "/scoreboard", suite=suite, as_of=last)["suites"]
    assert [one["agent"] for one in then["rows"]] == ["rca", "rca"]
    assert get(client, f"/evaluations/{second}")["mean"] == 55


def test_what_a_runner_leaves_out_changes_no_figure(client: httpx.Client) -> None:
    """One that says all there is on every score, and one that says what it must, each on a suite of its own."""
    said: Json = {
        "agent": "rca", "agent_version": "1", "scorer_id": "rca", "scorer_version": "1", "fixture_digest": FIXTURE,
        "expectation_digest": FIXTURE, "weight": 1, "pass_threshold": 70, "elapsed_ns": 5, "analysis": "{}",
    }  # fmt: skip
    boards, heads = [], []
    for about, begun in ((said, {}), ({}, {"agent": "rca", "agent_version": "1"})):
        suite, run = fresh("suite"), fresh()
        events = [scored(run, "pull", 80, **about), scored(run, "pull", 40, 2, **about), failed(run, "oom", **about)]
        post(client, [started(run, suite, **begun), *events, finished(run)])
        (board,) = get(client, "/scoreboard", suite=suite)["suites"]
        boards.append({**board, "suite": None, "scorer_id": None, "scorer_version": None})
        (head_,) = get(client, "/evaluations", suite=suite)["evaluations"]
        heads.append({**head_, "suite": None, "run_id": None, "scorer_id": None, "scorer_version": None})
    for shown in (*(row for board in boards for row in (*board["rows"], *board["trend"])), *heads):
        for moment in ("first_at", "last_at", "started_at", "finished_at"):
            shown.pop(moment, None)
        usage = shown.pop("usage", None)
        assert usage is None or list(usage) == ["tries", "attempts", "elapsed_ns"], "the latency that one runner states"
    assert boards[0] == boards[1]
    assert heads[0] == heads[1]
    assert heads[0]["mean"] == 30


def test_erased_evidence_changes_no_figure(client: httpx.Client) -> None:
    suite, run = fresh("suite"), fresh()
    parts = [component(("root_cause.patterns[0]", "limit", True))]
    breakdown, answer = msgspec.json.encode(parts), f'{{"rca":{{"root_cause":"{run}"}}}}'.encode()
    digests = [hashlib.sha256(data).hexdigest() for data in (breakdown, answer)]
    for data in (breakdown, answer):
        assert client.put("/evidence", content=data, headers={"content-type": "application/json"}).status_code < 300
    about: Json = {"breakdown_digest": digests[0], "analysis_digest": digests[1]}
    post(client, [started(run, suite, agent="rca"), scored(run, "pull", 90, **about), scored(run, "oom", 10)])

    def figures() -> tuple[Json, Json, Json]:
        board = get(client, "/scoreboard", suite=suite)["suites"]
        (listed,) = get(client, "/evaluations", suite=suite)["evaluations"]
        return board, listed, get(client, f"/evaluations/{run}", include="analyses")

    board, listed, whole = figures()
    row = whole["results"][1]["rows"][0]
    assert (row["components"], row["analysis"]) == (parts, answer.decode())
    for digest in digests:
        assert client.delete(f"/evidence/{digest}").status_code == 200
    assert figures()[:2] == (board, listed)
    after = figures()[2]
    gone = after["results"][1]["rows"][0]
    assert gone == {name: shown for name, shown in row.items() if name not in ("components", "analysis")} | {
        "erased": True
    }
    assert {**after, "results": 0, "as_of": 0} == {**whole, "results": 0, "as_of": 0}


@pytest.mark.parametrize(
    ("path", "status", "field"),
    [
        ("/evaluations/nothing", 404, None),
        ("/evaluations/compare", 400, "baseline"),
        ("/evaluations/compare?baseline=a", 400, "candidate"),
        ("/evaluations/compare?baseline=a&candidate=b", 404, None),
        ("/evaluations/compare?baseline=latest&candidate=b", 404, None),
        ("/evaluations?limit=0", 400, "limit"),
        ("/evaluations?run=x", 400, "run"),
        ("/evaluations?since=soon", 400, "since"),
        ("/evaluations/nothing?include=all", 400, "include"),
        ("/scoreboard?as_of=999999999", 400, "as_of"),
        ("/scoreboard?suite=a&suite=b", 400, "suite"),
    ],
)
def test_refusals(client: httpx.Client, path: str, status: int, field: str | None) -> None:
    answered = client.get(path)
    assert (answered.status_code, answered.json().get("field")) == (status, field)
    assert answered.json()["advice"]


def test_the_gate_judges_a_run_by_limits(client: httpx.Client) -> None:
    suite = fresh("suite")
    before, after = evaluate(client, suite, "1", 90, 80), evaluate(client, suite, "2", 90, 10)
    judged = get(client, f"/evaluations/{after}/gate", baseline=before)
    assert (judged["judgement"]["verdict"], judged["judgement"]["exit"]) == ("unusable", 2)
    assert (judged["judgement"]["rule"], judged["judgement"]["test"]["p"]) == ("test", 0.5)
    strict = get(client, f"/evaluations/{after}/gate", baseline=before, max_regressions=0)["judgement"]
    assert (strict["verdict"], strict["exit"], strict["rule"]) == ("worse", 1, "count")
    named = get(client, f"/evaluations/{after}/gate", baseline=before, alpha="0.5", drop="0.4", drop_in=1)["judgement"]
    assert (named["verdict"], named["test"]["drop"], named["limits"]["drop_scenarios"]) == ("worse", 0.4, 1)
    compared = get(client, "/evaluations/compare", baseline=before, candidate=after)
    assert {name: value for name, value in judged.items() if name != "judgement"} == compared
    allowed = get(client, f"/evaluations/{after}/gate", baseline=before[:9], max_regressions=1, min_score=50)
    assert (allowed["judgement"]["verdict"], allowed["judgement"]["limits"]["score"]) == ("passed", 50)
    assert get(client, f"/evaluations/{after}/gate", baseline=before, max_regressions=1, min_score="50.5")["judgement"][
        "reasons"
    ]
    wide = get(client, f"/evaluations/{after}/gate", baseline=before, drop_in=99)["judgement"]
    assert (wide["limits"]["drop_scenarios"], wide["test"]["drop_scenarios"]) == (99, 2)
    itself = client.get(f"/evaluations/{after}/gate?baseline={after}")
    assert (itself.status_code, itself.json()["field"]) == (400, "run")
    newest = get(client, "/evaluations/latest/gate", baseline="latest", suite=suite)
    assert (newest["baseline"]["run_id"], newest["candidate"]["run_id"]) == (before, after)
    assert newest["judgement"] == judged["judgement"]


def test_only_runs_before_the_candidate_show_what_was_flaky(client: httpx.Client) -> None:
    suite = fresh("suite")
    first, second, third = (evaluate(client, suite, "1", points) for points in (90, 10, 90))
    assert get(client, f"/evaluations/{second}/gate", baseline=first)["judgement"]["flaky"] == []
    (flaky,) = get(client, f"/evaluations/{third}/gate", baseline=first)["judgement"]["flaky"]
    assert (flaky["attempts"], flaky["passed"]) == (2, 1)


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ("", 400, "baseline"),
        ("?baseline=none", 404, None),
        ("?baseline=none&max_regressions=-1", 400, "max_regressions"),
        ("?baseline=none&max_errors=x", 400, "max_errors"),
        ("?baseline=none&min_score=101", 400, "min_score"),
        ("?baseline=none&min_score=-1", 400, "min_score"),
        ("?baseline=none&candidate=x", 400, "candidate"),
        ("?baseline=none&alpha=0", 400, "alpha"),
        ("?baseline=none&drop=1.5", 400, "drop"),
        ("?baseline=none&drop_in=0", 400, "drop_in"),
    ],
)
def test_a_gate_that_cannot_judge(client: httpx.Client, query: str, status: int, field: str | None) -> None:
    run = evaluate(client, fresh("suite"), "1", 90)
    response = client.get(f"/evaluations/{run}/gate{query}")
    assert (response.status_code, response.json().get("field")) == (status, field)


def test_a_run_is_found_by_the_beginning_of_its_id_on_request(client: httpx.Client) -> None:
    run = evaluate(client, fresh("suite"), "1", 90)
    assert client.get(f"/evaluations/{run[:-1]}").status_code == 404
    assert get(client, f"/evaluations/{run[:-1]}", prefix="true") == get(client, f"/evaluations/{run}")
    compared = get(client, "/evaluations/compare", baseline=run[:-1], candidate=run[:-1], prefix="true")
    assert compared == get(client, "/evaluations/compare", baseline=run, candidate=run)
    assert client.get(f"/evaluations/{run}?prefix=yes").json()["field"] == "prefix"
