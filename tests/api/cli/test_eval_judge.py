"""eval run --judge: scores by a judge, and each verdict a decision of the judge; in a file and through a server."""

import os
import signal
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cli.evaluating import Json, agent, evaluate, evaluating, scenario, scores
from tests.api.cli.judging import AGENT, COMMAND, CRITERIA, judged_suite, label, log, openai
from tests.instruments.evals.simulated_judge import FAULTS, SimulatedJudge, judging, valid_reply
from tests.instruments.routers.simulated import Asked, Reply, completed, simulated
from tests.support.server import served
from tests.support.wait import wait_until

ANSWERS = {"all": CRITERIA, "half": CRITERIA[:1], "none": ()}


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    return judged_suite(tmp_path / "judged", ANSWERS)


def token(ledger: Path, name: str, *more: str) -> str:
    """A token that may append and read."""
    return done(ledger, "token", "add", name, "--scope", "append", "--scope", "read", *more).text.split()[-1]


def by_scenario(found: list[Json]) -> dict[str, Json]:
    return {score["scenario_id"]: score for score in found}


@pytest.mark.slow
def test_the_total_is_the_share_of_criteria_that_pass(ledger: Path, judged: Path) -> None:
    with simulated(judging(SimulatedJudge(confidence=0.8))) as endpoint:
        ended = evaluate(ledger, judged, *openai(endpoint.url), "--run", "one", "--judge-repeats", 3)
    assert ended.code == 1, ended.err
    assert "judged by judge:judge-1" in ended.err
    found = by_scenario(scores(ledger))
    assert {name: (score["total_score"], score["passed"]) for name, score in found.items()} == {
        "all": (100, True), "half": (50, False), "none": (0, False),
    }  # fmt: skip
    half = found["half"]
    assert half["scorer_id"] == "judge"
    model, prompt, repeats = half["scorer_version"].split("/")
    assert (model, repeats) == ("judge-1", "k3")
    facts = half["judge"]
    assert facts["prompt_digest"].startswith(prompt)
    assert {name: facts[name] for name in ("agent", "model", "repeats", "input_tokens", "output_tokens")} == {
        "agent": AGENT, "model": "judge-1", "repeats": 3, "input_tokens": 900, "output_tokens": 63,
    }  # fmt: skip
    assert facts["reported_model"] == "simulated-1"
    cause, fix = half["components"]
    assert (cause["name"], cause["score"], cause["weight"], cause["passed"]) == ("root_cause", 100, 0.5, True)
    assert (fix["name"], fix["score"], fix["passed"]) == ("fix", 0, False)
    assert [vote["passed"] for vote in cause["verdict"]["votes"]] == [True] * 3
    assert cause["verdict"]["question"].endswith("?")
    assert cause["verdict"]["votes"][0]["quote"] == "rca.root_cause: root_cause is right,"
    assert half["model"] == "gpt-4o"
    assert len(endpoint.asked) == 9
    assert not any("gpt-4o" in asked.prompt for asked in endpoint.asked)


@pytest.mark.slow
def test_each_verdict_is_a_decision_of_the_judge(ledger: Path, judged: Path) -> None:
    with simulated(valid_reply) as endpoint:
        evaluate(ledger, judged, *openai(endpoint.url), "--run", "one")
    recorded = log(ledger, "decision.recorded")
    assert len(recorded) == 6
    assert {event["source"] for event in recorded} == {f"/agents/{AGENT}"}
    verdicts = {
        component["verdict"]["decision_id"]: (score, component)
        for score in scores(ledger)
        for component in score["components"]
    }
    for event in recorded:
        score, component = verdicts[event["data"]["decision_id"]]
        passed = component["verdict"]["passed"]
        assert event["data"] == {
            "decision_id": event["data"]["decision_id"],
            "decision": f"{'pass' if passed else 'fail'}: {component['name']} of {score['scenario_id']}, "
            "attempt 1 of run one",
            "confidence": component["verdict"]["confidence"],
            "category": component["name"],
            "context": f"Is {component['name']} right?",
            "reasons": [{"type": "analysis", "text": component["verdict"]["votes"][0]["reason"]}],
            "tags": ["run:one", "judged-model:gpt-4o"],
            "project": "judged",
            "feature": "gpt-4o",
            "cluster": score["scenario_id"],
            "model": "judge-1",
            "reported_model": "simulated-1",
        }
    asked = log(ledger, "decision.asked")
    assert len({event["data"]["question"] for event in asked}) == 6


@pytest.mark.slow
def test_a_command_judges_as_an_endpoint_does(ledger: Path, judged: Path) -> None:
    ended = evaluate(ledger, judged, "--judge", COMMAND, "--judge-name", "simulated", "--jobs", 3)
    assert ended.code == 1, ended.err
    found = by_scenario(scores(ledger))
    assert [found[name]["total_score"] for name in ANSWERS] == [100, 50, 0]
    assert found["all"]["judge"]["agent"] == "judge:simulated"
    assert "input_tokens" not in found["all"]["judge"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["broken", "busy", "prose", "truncated", "contradicting verdicts", "invented quote"])
def test_an_outage_is_an_error_and_never_a_score(fault: str, ledger: Path, judged: Path) -> None:
    with simulated(FAULTS[fault]) as endpoint:
        ended = evaluate(ledger, judged, *openai(endpoint.url))
    assert ended.code == 2
    for score in scores(ledger):
        assert (score["state"], score["failure"]) == ("error", "judge")
        assert score["detail"].startswith("the judge's reply: ")
        assert "total_score" not in score
        assert "root_cause is" in score["analysis"]
    assert log(ledger, "decision.recorded") == []


@pytest.mark.slow
def test_an_agent_that_fails_is_not_judged(ledger: Path, judged: Path) -> None:
    with simulated(valid_reply) as endpoint:
        assert evaluate(ledger, judged, "--agent", "false", *openai(endpoint.url)).code == 2
    assert endpoint.asked == []
    assert {score["failure"] for score in scores(ledger)} == {"crash"}


@pytest.mark.slow
def test_expectations_make_a_default_rubric(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "notes", "answer('root_cause is right')")
    with simulated(valid_reply) as endpoint:
        assert evaluate(ledger, fixtures, "--agent", line, *openai(endpoint.url)).code == 0
    assert {tuple(part["name"] for part in score["components"]) for score in scores(ledger)} == {("root_cause",)}


@pytest.mark.slow
def test_through_a_server_it_is_the_same(tmp_path: Path, ledger: Path, judged: Path) -> None:
    with simulated(valid_reply) as endpoint:
        evaluate(tmp_path / "direct.db", judged, *openai(endpoint.url), "--run", "one")
        with served(ledger) as server:
            evaluate(tmp_path / "unused.db", judged, *openai(endpoint.url), "--run", "one", "--url", server.url)

    def seen(place: Path) -> list[Json]:
        found = [event["data"] for event in log(place, "eval.scored", "decision.recorded", "decision.asked")]
        for data in found:
            data.get("judge", {}).pop("elapsed_ns", None)
        return sorted(found, key=lambda data: msgspec.json.encode(data, order="sorted"))

    assert seen(tmp_path / "direct.db") == seen(ledger)


@pytest.mark.slow
def test_a_token_that_cannot_act_for_the_judge_writes_nothing(tmp_path: Path, ledger: Path, judged: Path) -> None:
    plain, own = token(ledger, "ci"), token(ledger, AGENT)
    importer = token(ledger, "importer", "--scope", "import")
    with simulated(valid_reply) as endpoint, served(ledger) as server:

        def judge_as(secret: str, run: str) -> list[str]:
            return [
                "eval",
                "run",
                str(judged),
                *openai(endpoint.url),
                "--run",
                run,
                "--url",
                server.url,
                "--token",
                secret,
            ]

        error = refused(tmp_path / "unused.db", *judge_as(plain, "one"))
        assert "may not record verdicts as judge:judge-1" in error
        assert "--scope append --scope read --scope import" in " ".join(error.split())
        assert endpoint.asked == []
        for permitted, run in ((importer, "two"), (own, "three")):
            assert tally(tmp_path / "unused.db", *judge_as(permitted, run)).code == 1
    assert {score["run_id"] for score in scores(ledger)} == {"two", "three"}
    assert {event["source"] for event in log(ledger, "decision.recorded")} == {f"/agents/{AGENT}"}


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_judge_only(tmp_path: Path, ledger: Path, judged: Path) -> None:
    def script(asked: Asked) -> Reply:
        return Reply(how="stall") if asked.number == 2 else valid_reply(asked)

    with simulated(script) as endpoint:
        with evaluating(ledger, judged, *openai(endpoint.url), "--run", "one") as process:
            endpoint.wait_for(2, process)
            wait_until(lambda: len(scores(ledger, "one")) == 1)
            process.send_signal(signal.SIGINT)
            assert process.wait() == 128 + signal.SIGINT
        for other in (("--judge-repeats", 2), ("--judge-name", "other"), ("--judge-temperature", 1)):
            error = refused(ledger, "eval", "run", judged, *openai(endpoint.url), *other, "--resume", "one")
            assert "run one was scored by judge@judge-1/" in " ".join(error.split())
        assert "rca@" in refused(ledger, "eval", "run", judged, "--resume", "one")
        assert evaluate(ledger, judged, *openai(endpoint.url), "--resume", "one").code == 1
    assert sorted(score["scenario_id"] for score in scores(ledger, "one")) == sorted(ANSWERS)
    assert len(log(ledger, "decision.recorded")) == 6


@pytest.mark.slow
def test_a_labelled_answer_reviews_the_verdict_at_once(ledger: Path, judged: Path) -> None:
    with simulated(valid_reply) as endpoint:
        evaluate(ledger, judged, *openai(endpoint.url), "--run", "one")
        half = by_scenario(scores(ledger))["half"]
        label(ledger, half, "root_cause", passed=True)
        label(ledger, half, "fix", passed=False, agent="bob")
        label(ledger, half, "fix", passed=True, agent="carol")
        evaluate(ledger, judged, *openai(endpoint.url), "--run", "two")
    reviews = {event["data"]["decision_id"]: event for event in log(ledger, "decision.reviewed")}
    parts = next(score for score in scores(ledger, "two") if score["scenario_id"] == "half")["components"]
    cause, fix = (reviews.pop(part["verdict"]["decision_id"]) for part in parts)
    assert reviews == {}
    assert (cause["data"]["outcome"], cause["source"]) == ("success", "/agents/alice")
    assert (fix["data"]["outcome"], fix["source"]) == ("failure", "/agents/carol")


@pytest.mark.slow
def test_a_token_that_cannot_act_for_a_labeller_leaves_the_review_out(
    tmp_path: Path, ledger: Path, judged: Path
) -> None:
    with simulated(valid_reply) as endpoint:
        evaluate(ledger, judged, *openai(endpoint.url), "--run", "one")
        label(ledger, by_scenario(scores(ledger))["half"], "fix", passed=False)
        own, importer = token(ledger, AGENT), token(ledger, "importer", "--scope", "import")
        with served(ledger) as server:
            for secret, run in ((own, "two"), (importer, "three")):
                there = ("--url", server.url, "--token", secret)
                assert evaluate(tmp_path / "unused.db", judged, *openai(endpoint.url), "--run", run, *there).code == 1
    (review,) = log(ledger, "decision.reviewed")
    fix = next(score for score in scores(ledger, "three") if score["scenario_id"] == "half")["components"][1]
    assert (review["data"]["decision_id"], review["source"]) == (fix["verdict"]["decision_id"], "/agents/alice")
    assert len(log(ledger, "decision.recorded")) == 18


def test_options_of_a_judge_without_one_are_refused(ledger: Path, judged: Path) -> None:
    assert "--judge-repeats: is an option of a judge" in refused(ledger, "eval", "run", judged, "--judge-repeats", 2)
    for wrong, name in (
        (("--judge", "gpt-4o"), "--judge"),
        (("--judge", "openai:http://127.0.0.1:1/v1"), "--judge-model"),
        (("--judge", "command:cat", "--judge-timeout", 0), "--judge-timeout"),
        (("--judge", "command:cat", "--judge-repeats", 99), "--judge-repeats"),
    ):
        assert name in refused(ledger, "eval", "run", judged, *wrong)
    assert not ledger.exists()


@pytest.mark.slow
def test_scores_of_judge_and_patterns_are_not_compared(ledger: Path, judged: Path) -> None:
    evaluate(ledger, judged, "--run", "patterns")
    with simulated(valid_reply) as endpoint:
        evaluate(ledger, judged, *openai(endpoint.url), "--run", "judged")
    compared = msgspec.json.decode(tally(ledger, "eval", "compare", "patterns", "judged", "--json").out)
    assert (compared["scenarios"], len(compared["not_comparable"])) == (0, 3)


@pytest.mark.slow
def test_the_key_is_in_no_event(ledger: Path, judged: Path) -> None:
    key = "sk-judge-secret-9"
    with simulated(valid_reply) as endpoint:
        evaluate(ledger, judged, *openai(endpoint.url), OPENAI_API_KEY=key)
    assert endpoint.asked[0].headers["authorization"] == f"Bearer {key}"
    assert key not in done(ledger, "log", "--json").text
    assert key not in os.environ.values()


@pytest.mark.slow
def test_a_long_rubric_keeps_all_votes_in_evidence(ledger: Path, tmp_path: Path) -> None:
    names = [f"criterion-{number}" for number in range(20)]
    rubric = {"criteria": [{"name": name, "question": "q"} for name in names]}
    words = ", ".join(f"{name} is right" for name in names)
    scenario(tmp_path / "long", "one", captured={"rca": {"root_cause": words}}, judge=rubric)

    def script(asked: Asked) -> Reply:
        reply = SimulatedJudge().reply(asked.prompt)
        for verdict in reply["verdicts"]:
            verdict["reason"] = "long " * 190
        return completed(msgspec.json.encode(reply).decode())

    with simulated(script) as endpoint:
        assert evaluate(ledger, tmp_path / "long", *openai(endpoint.url), "--judge-repeats", 15).code == 0
    (score,) = scores(ledger)
    assert (len(score["components"]), score["total_score"]) == (20, pytest.approx(100))
    assert {len(part["verdict"]["votes"]) for part in score["components"]} == {15}
    whole = msgspec.json.decode(done(ledger, "evidence", "get", score["breakdown_digest"]).out)
    assert {len(vote["reason"]) for part in whole for vote in part["verdict"]["votes"]} == {949}


@pytest.mark.slow
def test_reports_and_pages_show_the_verdicts(ledger: Path, judged: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / f"report.{name}" for name in ("html", "junit", "markdown")}
    options = [text for name, path in files.items() for text in (f"--{name}", str(path))]
    with simulated(valid_reply) as endpoint:
        evaluate(ledger, judged, *openai(endpoint.url), "--run", "one", *options)
    line = "judged not met (90% sure): fix is not met."
    assert line in files["html"].read_text()
    assert all(path.stat().st_size for path in files.values())
    shown = done(ledger, "eval", "show", "one").text
    assert f"- {line}" in shown
    with served(ledger) as server:
        page = httpx.get(f"{server.url}/ui/evaluations/one/scenarios/half", headers={"prefer": "wait=20"})
    assert page.status_code == 200
    assert line in page.text
