"""The pages of evaluations over a real server: their figures are those of the JSON routes."""

import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.reports.format import point_interval, points, rate, rate_interval
from tallystick.shapes.parts import Interval
from tests.api.http.posted_evaluations import (
    CHANGED,
    FIXTURE,
    component,
    failed,
    finished,
    fresh,
    scored,
    started,
    stating,
)
from tests.api.http.posts import get, post
from tests.api.pages.html_page import HtmlPage
from tests.api.pages.page_requests import read_page
from tests.support.server import serving

Json = dict[str, Any]


def evaluate(client: httpx.Client, suite: str, version: str, *marks: float, **fields: object) -> str:
    """A run that scored a scenario for each number of points; its id."""
    run = fresh()
    events = [started(run, suite, agent="rca", agent_version=version, **fields)]
    events += [scored(run, f"s{number}", value, fixture_digest=FIXTURE) for number, value in enumerate(marks)]
    post(client, [*events, finished(run)])
    return run


def around(text: str, low_high: list[float] | None, form: Callable[[Interval], str]) -> str:
    """A figure with its interval, as pages show it."""
    return f"{text} ({form(Interval(*low_high))})" if low_high else text


def mean_of(view: Json) -> str:
    return around(points(view.get("mean")), view.get("mean_interval"), point_interval)


def rate_of(view: Json) -> str:
    return around(rate(view.get("pass_rate")), view.get("pass_interval"), rate_interval)


def figures(page: HtmlPage, view: Json, *words: str) -> None:
    """The row with the words has the mean and the pass rate of a view, both with their intervals."""
    row = page.row(*words)
    assert mean_of(view) in row
    assert rate_of(view) in row


@pytest.fixture(scope="module")
def ledger(client: httpx.Client) -> httpx.Client:
    """A ledger with three runs of one suite, and one of another."""
    for number, marks in enumerate([(90, 40, 100, 70), (90, 80, 30, 70), (100, 100, 100, 60)]):
        evaluate(client, "incidents", str(number), *marks)
    evaluate(client, "drills", "0", 10, 20)
    return client


def test_the_list_shows_each_run_with_the_figures_of_the_json(ledger: httpx.Client) -> None:
    page = read_page(ledger, "/ui/evaluations")
    found = get(ledger, "/evaluations", limit=50)["evaluations"]
    for run in found:
        figures(page, run, run["run_id"])
        assert f"/ui/evaluations/{run['run_id']}" in page.addresses
    assert "/evaluations?limit=50" in page.addresses
    assert page.live == "type=eval.started.v1%2Ceval.started.v2%2Ceval.finished.v1%2Ceval.reopened.v1"


def test_the_list_is_filtered_and_its_address_restores_it(ledger: httpx.Client) -> None:
    page = read_page(ledger, "/ui/evaluations", suite="drills", agent="", window="")
    (run,) = get(ledger, "/evaluations", suite="drills")["evaluations"]
    figures(page, run, run["run_id"])
    assert sum("/ui/evaluations/run-" in link for link in page.addresses) == 1
    none = read_page(ledger, "/ui/evaluations", suite="dril")
    assert "No run matches." in none.text
    assert "No evaluation has the suite dril. Did you mean drills?" in none.text
    assert "nothing was" not in read_page(ledger, "/ui/evaluations", offset=1_000).text


def test_a_list_has_pages(client: httpx.Client) -> None:
    suite = fresh("suite")
    runs = [evaluate(client, suite, str(number), 90) for number in range(53)]
    page = read_page(client, "/ui/evaluations", suite=suite)
    assert "1 to 50 of 53" in page.text
    rest = read_page(client, f"/ui/evaluations?suite={suite}&offset=50")
    assert f"/ui/evaluations?suite={suite}&offset=50" in page.addresses
    assert "51 to 53 of 53" in rest.text
    assert f"/ui/evaluations?suite={suite}" in rest.addresses
    assert {f"/ui/evaluations/{run}" for run in runs[:3]} <= set(rest.addresses)


def test_a_run_shows_its_figures_and_every_scenario(ledger: httpx.Client) -> None:
    run = get(ledger, "/evaluations", suite="incidents")["evaluations"][0]["run_id"]
    whole = get(ledger, f"/evaluations/{run}")
    page = read_page(ledger, f"/ui/evaluations/{run}")
    assert page.live is None
    assert f"Mean points {points(whole['mean'])}" in page.text
    assert point_interval(Interval(*whole["mean_interval"])) in page.text
    assert f"Pass rate {rate(whole['pass_rate'])} {rate_interval(Interval(*whole['pass_interval']))}" in page.text
    for result in whole["results"]:
        row = page.row(f"{result['verdict']} {result['scenario_id']}")
        assert points(result["mean"]) in row
        assert f"{result['passed']} of {result['attempts']}" in row
        assert rate_interval(Interval(*result["pass_interval"])) in row
    assert "Not all passed: 3 of 4 scenarios passed every attempt; 1 failing." in page.text
    failing = read_page(ledger, f"/ui/evaluations/{run}", verdict="failing")
    assert "failing s3" in failing.text
    assert "stable s0" not in failing.text
    orders = [read_page(ledger, f"/ui/evaluations/{run}", sort=sort).text for sort in ("scenario", "points")]
    listed = [re.findall(r"(?:stable|failing) (s\d)", text) for text in orders]
    assert listed == [
        ["s0", "s1", "s2", "s3"],
        ["s3", "s0", "s1", "s2"],
    ]


def test_the_versions_of_a_run_are_those_of_the_scoreboard(ledger: httpx.Client) -> None:
    run = get(ledger, "/evaluations", suite="incidents")["evaluations"][0]["run_id"]
    (board,) = get(ledger, "/scoreboard", suite="incidents")["suites"]
    page = read_page(ledger, f"/ui/evaluations/{run}")
    for point in board["trend"]:
        figures(page, point, f"{point['agent_version']} {points(point['mean'])}", "4")


def test_a_run_that_goes_on_is_live_and_tells_its_errors(client: httpx.Client) -> None:
    run, suite = fresh(), fresh("suite")
    errors = [failed(run, f"s{n}", failure="crash", detail="exit 3", said="boom <b>") for n in range(12)]
    post(client, [started(run, suite, scenarios=30), *errors, failed(run, "t", failure="timeout")])
    page = read_page(client, f"/ui/evaluations/{run}")
    assert page.live == f"subject=evaluation%2F{run}"
    assert "This run has not ended: 13 of 30 attempts are recorded." in page.text
    assert "Errors: 13" in page.text
    assert "crash: exit 3" in page.text
    assert "attempt 1 and 2 more" in page.text
    assert "boom <b>" in page.text
    listed = read_page(client, "/ui/evaluations", suite=suite)
    assert "not ended" in listed.text


def test_a_scenario_of_a_run_shows_its_attempts(client: httpx.Client) -> None:
    run, suite = fresh(), fresh("suite")
    parts = [
        component(
            ("root_cause.patterns[0]", "ImagePullBackOff", False), ("root_cause.none_of[0]", "nodes", True), score=0
        )
    ]
    answer = '{"rca": {"root_cause": "it was the nodes"}}'
    post(client, [
        started(run, suite, agent="rca", agent_version="1"),
        stating(scored(run, "pull", 40, components=parts, analysis=answer, pass_threshold=70.0), confidence=0.8),
        scored(run, "pull", 90, attempt=2), scored(run, "other", 90), finished(run),
    ])  # fmt: skip
    page = read_page(client, f"/ui/evaluations/{run}/scenarios/pull")
    assert "Attempt 1, 40.0 points, 70.0 needed: not passed" in page.text
    assert "Attempt 2, 90.0 points: passed" in page.text
    assert "ImagePullBackOff not found" in page.text
    assert "nodes forbidden, but found" in page.text
    assert "it was the nodes" in page.text
    assert "It stated a confidence of 0.80." in page.text
    assert f"/evaluations/{run}?include=analyses" in page.addresses
    whole = read_page(client, f"/ui/evaluations/{run}")
    assert "not found: ImagePullBackOff; said nodes" in whole.row("pull")
    assert "other is not in" not in read_page(client, f"/ui/evaluations/{run}/scenarios/other").text
    missing = read_page(client, f"/ui/evaluations/{run}/scenarios/none", 404)
    assert f"none is not in {run}." in missing.text


def test_two_runs_compared(client: httpx.Client) -> None:
    suite = fresh("suite")
    before = evaluate(client, suite, "1", 90, 90, 20, 90, 90)
    after = evaluate(client, suite, "2", 30, 85, 95, 90)
    asked = {"baseline": before, "candidate": after}
    said, gate = (
        get(client, "/evaluations/compare", **asked),
        get(client, f"/evaluations/{after}/gate", baseline=before),
    )
    page = read_page(client, "/ui/evaluations/compare", **asked)
    assert "Worse: 1 scenario missing." in page.text
    assert "Rule: test of losses, p = 0.750, alpha 0.05." in page.text
    assert gate["judgement"]["verdict"] == "worse"
    assert f"/evaluations/{after}/gate?baseline={before}" in page.addresses
    assert f"/evaluations/compare?baseline={before}&candidate={after}" in page.addresses
    for side in ("baseline", "candidate"):
        figures(page, said[side], f"{side} {said[side]['run_id']}")
    assert f"Difference of the means {points(said['difference'], '+')}" in page.text
    test = said["mcnemar"]
    assert f"Of {said['pairs']} pairs of attempts, 1 passed only before and 1 only now." in page.text
    assert (test["passed_to_failed"], test["failed_to_passed"]) == (1, 1)
    assert f"p = {test['p']:.3f}: this may well be chance" in page.text
    assert "the interval has 0 in it, so the mean may not have changed" in page.text
    for change in (*said["regressed"], *said["lower"], *said["improved"]):
        row = page.row(f"{change['scenario_id']} {points(change['before'])} {points(change['after'])}")
        assert points(change["difference"], "+") in row
        assert f"{change['passed_before']} : {change['passed_after']}" in row
    assert "not scored" in page.row("s4")
    allowed = read_page(client, "/ui/evaluations/compare", **asked, max_regressions=2)
    assert "Passed: 4 scenarios compared, 2 regressions allowed." in allowed.text
    only = read_page(client, "/ui/evaluations/compare", **asked, list="improved")
    assert "Improved: more pass, or more points: 1" in only.text
    assert "Regressed: fewer" not in only.text
    assert "/ui/evaluations/compare?baseline=" + before + "&candidate=" + after in only.addresses


def test_the_latest_baseline_and_what_is_missing(client: httpx.Client) -> None:
    suite = fresh("suite")
    before, after = evaluate(client, suite, "1", 90), evaluate(client, suite, "2", 90)
    page = read_page(client, "/ui/evaluations/compare", baseline="latest", candidate=after)
    assert f"{after} against {before}" in page.text
    assert "No scenario has changed." in page.text
    assert "no attempt passed in one run alone, so there is nothing to test" in page.text
    assert "Choose two runs." in read_page(client, "/ui/evaluations/compare").text
    assert "Choose two runs." in read_page(client, "/ui/evaluations/compare", baseline="", candidate=after).text
    assert (
        "Evaluation not found: nope"
        in read_page(client, "/ui/evaluations/compare", 404, baseline="nope", candidate=after).text
    )


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/ui/evaluations/none", 404, "Evaluation not found: none"),
        ("/ui/evaluations/scenarios/none", 404, "Scenario not found: none"),
        ("/ui/evaluations?sort=x", 400, "sort"),
        ("/ui/evaluations?offset=-1", 400, "offset"),
        ("/ui/evaluations?window=7d", 400, "window"),
        ("/ui/evaluations/compare?baseline=a&candidate=b&list=all", 400, "list"),
        ("/ui/evaluations/compare?baseline=a&candidate=b&max_errors=x", 400, "max_errors"),
        ("/ui/evaluations/scoreboard?versions=0", 400, "versions"),
        ("/ui/evaluations/scoreboard/figures/means.svg?suite=none", 404, "No evaluation"),
    ],
)
def test_a_wrong_address_is_explained(client: httpx.Client, address: str, status: int, said: str) -> None:
    assert said in read_page(client, address, status).text


def test_the_scoreboard_ranks_with_the_figures_of_the_json(client: httpx.Client) -> None:
    suite = fresh("suite")
    evaluate(client, suite, "1", 90, 40, 90)
    evaluate(client, suite, "2", 90, 90, 90)
    evaluate(client, suite, "base", 0, 0, 90, baseline="empty")
    page = read_page(client, "/ui/evaluations/scoreboard", suite=suite)
    (board,) = get(client, "/scoreboard", suite=suite, versions=5)["suites"]
    assert f"/scoreboard?versions=5&suite={suite}" in page.addresses
    for number, row in enumerate(board["rows"], 1):
        name = "empty answer" if "baseline" in row else f"{row['agent']} {row['agent_version']}"
        figures(page, row, f"{'-' if 'baseline' in row else number} {name}")
    assert "+16.7" in page.row("1 rca 2")
    drawn = client.get("/ui/evaluations/scoreboard/figures/means.svg", params={"suite": suite})
    check_drawing(drawn)
    assert f"{points(board['rows'][0]['mean'])}, n=3" in drawn.text
    by_model = read_page(client, "/ui/evaluations/scoreboard", suite=suite, group_by="model")
    assert "unnamed model" in by_model.text
    assert f"/scoreboard?suite={suite}&group_by=model" in by_model.addresses


def check_drawing(drawn: httpx.Response) -> None:
    """A drawing is an SVG file with a title, a description, and a policy that allows its own style alone."""
    assert (drawn.status_code, drawn.headers["content-type"]) == (200, "image/svg+xml")
    assert "<title" in drawn.text
    assert "<desc>" in drawn.text
    (style,) = re.findall("<style>(.*?)</style>", drawn.text, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in drawn.headers["content-security-policy"]
    assert "sandbox" in drawn.headers["content-security-policy"]


def test_without_a_suite_the_scoreboard_is_that_of_the_newest_run(client: httpx.Client) -> None:
    suite = fresh("suite")
    evaluate(client, suite, "1", 90)
    assert f"/scoreboard?versions=5&suite={suite}" in read_page(client, "/ui/evaluations/scoreboard").addresses


def test_a_scenario_in_all_runs(client: httpx.Client) -> None:
    suite, scenario = fresh("suite"), fresh("scenario")
    for version, (value, digest) in enumerate([(10, FIXTURE), (90, CHANGED), (40, CHANGED), (90, CHANGED)]):
        run = fresh()
        post(client, [
            started(run, suite, agent="rca", agent_version=str(version)),
            scored(run, scenario, value, fixture_digest=digest), finished(run),
        ])  # fmt: skip
    said = get(client, f"/scenarios/{scenario}")
    assert (said["total"], [run["superseded"] for run in said["runs"] if "superseded" in run]) == (4, [1])
    assert [version["agent_version"] for version in said["versions"]] == ["1", "2", "3"]
    page = read_page(client, f"/ui/evaluations/scenarios/{scenario}")
    for run in said["runs"]:
        row = page.row(f"{run['verdict']} {run['run_id']}")
        assert rate_of(run) in row
        (result,) = get(client, f"/evaluations/{run['run_id']}")["results"]
        assert {name: result[name] for name in ("verdict", "attempts", "passed", "mean", "pass_interval")} == {
            name: run[name] for name in ("verdict", "attempts", "passed", "mean", "pass_interval")
        }
    for version in said["versions"]:
        (row,) = [
            row
            for row in [" ".join(cells) for cells in page.cells()]
            if row.startswith(f"rca {version['agent_version']} ")
        ]
        assert rate_of(version) in row
    address = f"/ui/evaluations/scenarios/{scenario}/figures/pass-rates.svg"
    assert address in page.addresses
    drawn = client.get(address)
    check_drawing(drawn)
    assert "Pass rate of rca by version, n=3 attempts" in drawn.text
    none = read_page(client, f"/ui/evaluations/scenarios/{scenario}", agent="nobody")
    assert "No run has scored it." in none.text


def test_a_scenario_of_several_agents_and_one_without_comparable_scores(client: httpx.Client) -> None:
    suite, scenario, skipped = fresh("suite"), fresh("scenario"), fresh("scenario")
    for agent in ("a", "b"):
        run = fresh()
        skip = {
            "type": "eval.scored.v1",
            "data": {"run_id": run, "scenario_id": skipped, "attempt": 1, "state": "skipped"},
        }
        post(client, [started(run, suite, agent=agent), scored(run, scenario, 90), skip])
    page = read_page(client, f"/ui/evaluations/scenarios/{scenario}")
    assert "100%: 1 of 1" in page.text
    assert "Pass rate by version, the oldest of each agent first" in page.text
    assert "skipped" in read_page(client, f"/ui/evaluations/scenarios/{skipped}").text
    captured = fresh("scenario")
    data = {"scenario_id": captured, "name": "Never run", "fixture_digest": FIXTURE}
    post(client, {"type": "eval.scenario_captured.v1", "data": data})
    page = read_page(client, f"/ui/evaluations/scenarios/{captured}")
    assert "Never run" in page.text
    assert "No run has scored it." in page.text


def test_the_past_is_shown_as_it_was(client: httpx.Client) -> None:
    run, suite = fresh(), fresh("suite")
    position = post(client, [started(run, suite), scored(run, "s", 90)])["last"]
    post(client, [scored(run, "t", 10), finished(run)])
    assert "1 scenario" in read_page(client, f"/ui/evaluations/{run}", as_of=position).text
    assert "This run has not ended" in read_page(client, f"/ui/evaluations/{run}", as_of=position).text
    assert "This run has not ended" not in read_page(client, f"/ui/evaluations/{run}").text
    listed = read_page(client, "/ui/evaluations", suite=suite, as_of=position)
    assert f"/ui/evaluations/{run}?as_of={position}" in listed.addresses
    assert listed.live is None
    before = read_page(client, "/ui/evaluations/scoreboard", suite=suite, as_of=position)
    assert mean_of(get(client, "/scoreboard", suite=suite, as_of=position)["suites"][0]["rows"][0]) in before.text


@pytest.mark.slow
def test_an_empty_ledger(tmp_path: Path) -> None:
    with serving(tmp_path / "ledger.db") as url, httpx.Client(base_url=url, timeout=None) as client:
        assert "No evaluation is recorded yet." in read_page(client, "/ui/evaluations").text
        assert "No evaluation is here." in read_page(client, "/ui/evaluations/scoreboard").text
        post(client, started("r", "s"))
        assert "Nothing was scored." in read_page(client, "/ui/evaluations/r").text
        assert "No scenario is here." in read_page(client, "/ui/evaluations/r").text
        assert "not ended" in read_page(client, "/ui/evaluations").text
        read_page(client, "/ui/evaluations/scoreboard")
        post(client, scored("r", "one", 50))
        read_page(client, "/ui/evaluations/scoreboard")
        read_page(client, "/ui/evaluations/scenarios/one")
        assert "against r" in read_page(client, "/ui/evaluations/compare", baseline="r", candidate="r").text
