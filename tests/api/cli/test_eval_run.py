"""eval run over a file and over a server: the questions to each agent, the scores, the output, and the exit code."""

import json
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cli.evaluating import (
    NAMES,
    PASSES,
    Json,
    agent,
    asked,
    evaluate,
    events,
    of_type,
    places,
    scenario,
    scores,
    suite,
)
from tests.instruments.evals.embedder import embedder
from tests.support.server import served

WRONG = (
    ("--agent", "no-such-program-here"),
    ("--agent", "'"),
    ("--timeout", "0"),
    ("--timeout", "nan"),
    ("--meta", "x"),
    ("--meta", "enable_llm=true"),
    ("--name", ""),
    ("--agent-name", "a\nb"),
    ("--agent-version", "v" * 257),
    ("--enable-llm",),
    ("--run", "a b"),
    ("--run", "x" * 65),
)


@pytest.mark.slow
def test_an_agent_is_asked_and_scored(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "notes")
    ended = evaluate(
        ledger, fixtures, "--agent", line, "--agent-version", "1.4", "--meta", "commit=3f2a", "--run", "one"
    )
    assert ended.code == 0, ended.err
    assert ended.err.endswith("Run one is saved: tallystick eval show one\n")
    assert asked(tmp_path / "notes") == list(NAMES)
    found = events(ledger, "one")
    (started,) = of_type(found, "started")
    assert started["suite"] == "kube"
    assert started["agent"].startswith("command:python")
    assert (started["agent_version"], started["answers"], started["meta"]) == ("1.4", "command", {"commit": "3f2a"})
    assert (started["scenarios"], started["attempts"], started["scorer_id"]) == (3, 1, "rca")
    assert [event["id"] for event in found[1:-1]] == [f"eval:one:{name}:1" for name in NAMES]
    for score in of_type(found, "scored"):
        assert (score["state"], score["total_score"], score["passed"], score["pass_threshold"]) == (
            "scored",
            100,
            True,
            70,
        )
        assert score["elapsed_ns"] > 0
        answer = {"rca": {"root_cause": f"the cause of {score['scenario_id']}"}}
        assert msgspec.json.decode(score["analysis"]) == answer
        assert score["analysis_digest"] == sha256(score["analysis"].encode()).hexdigest()
        assert (score["agent_version"], score["scorer_version"]) == ("1.4", started["scorer_version"])
    (finished,) = of_type(found, "finished")
    assert finished["elapsed_ns"] > 0
    assert found[-1]["data"] == finished


@pytest.mark.slow
def test_through_a_server_it_is_the_same(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "notes", "answer('nothing much' if case == 'image-pull' else given['evidence']['log'])")
    direct = evaluate(tmp_path / "direct.db", fixtures, "--agent", line, "--run", "one", "--json")
    with served(ledger) as server:
        through = evaluate(
            tmp_path / "unused.db", fixtures, "--agent", line, "--run", "one", "--json", "--url", server.url
        )
    assert (direct.code, through.code) == (1, 1)
    assert not (tmp_path / "unused.db").exists()
    reported = [msgspec.json.decode(ended.out) for ended in (direct, through)]
    for one in reported:
        for name in ("started_at", "finished_at", "elapsed_ns"):
            del one[name]
        for measured in (one, *one["results"]):
            assert measured["usage"].pop("elapsed_ns")["stated"] == measured["usage"]["tries"]
        for row in (row for result in one["results"] for row in result["rows"]):
            del row["elapsed_ns"], row["position"]
    assert reported[0] == reported[1]
    assert [result["verdict"] for result in reported[0]["results"]] == ["stable", "failing", "stable"]
    assert (reported[0]["mean"], reported[0]["failed"], reported[0]["ended"]) == (pytest.approx(200 / 3), 1, True)


@pytest.mark.slow
def test_an_answer_that_says_nothing_scores_exactly_0(ledger: Path, fixtures: Path) -> None:
    for line in ("true", "echo {}", "printf ''"):
        assert evaluate(ledger, fixtures, "--agent", line).code == 1
    assert len(scores(ledger)) == 9
    for score in scores(ledger):
        assert (score["state"], score["total_score"], score["passed"]) == ("scored", 0, False)


def test_patterns_are_reported_as_they_were_written(ledger: Path, tmp_path: Path) -> None:
    wanted = {"root_cause": {"patterns": ["\\bdisk's (full|\\d+%)"], "match_type": "regex"}}
    scenario(tmp_path / "suite", "full", captured={"rca": {"root_cause": "no idea"}}, expected_outcomes=wanted)
    assert (
        "root_cause.patterns[0] '\\bdisk's (full|\\d+%)' (regex) not found" in evaluate(ledger, tmp_path / "suite").text
    )
    wanted["root_cause"]["patterns"] = ["\\b(disk"]
    scenario(tmp_path / "broken", "full", expected_outcomes=wanted)
    assert "patterns[0] '\\b(disk' is not a regular expression" in " ".join(
        evaluate(ledger, tmp_path / "broken").err.split()
    )


@pytest.mark.slow
def test_several_attempts_report_a_flaky_scenario(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    code = "answer(given['evidence']['log'] if case != 'image-pull' or number != 2 else 'hm')"
    line = agent(tmp_path / "notes", code)
    ended = evaluate(ledger, fixtures, "--agent", line, "--attempts", 3, "--jobs", 1)
    assert ended.code == 1
    assert asked(tmp_path / "notes") == [*NAMES, *NAMES, *NAMES]
    assert places(ledger) == [(name, attempt) for name in NAMES for attempt in (1, 2, 3)]
    rows = {line.split()[0]: line.split()[1:] for line in ended.text.splitlines() if line.strip()}
    assert rows["image-pull"] == ["66.7", "-", "-", "-", "66.7", "70.0", "flaky", "2/3"]
    assert rows["crash-loop"][-2:] == ["passed", "3/3"]
    assert "image-pull, attempt 2: 0.0 of the 70.0 to pass" in ended.text


@pytest.mark.slow
def test_jobs_are_asked_at_once_and_each_is_scored_once(ledger: Path, tmp_path: Path) -> None:
    names = [f"case-{number:02}" for number in range(12)]
    fixtures = suite(tmp_path / "many", names)
    code = """
        beside = folder / "beside"
        beside.mkdir(exist_ok=True)
        (beside / case).touch()
        while len(os.listdir(beside)) < 4 and os.getppid() == parent:
            time.sleep(0.01)
        answer(given["evidence"]["log"])
        """
    ended = evaluate(ledger, fixtures, "--agent", agent(tmp_path / "notes", code), "--jobs", 4)
    assert ended.code == 0, ended.err
    assert sorted(asked(tmp_path / "notes")) == names
    assert places(ledger) == [(name, 1) for name in names]


@pytest.mark.slow
def test_test_config_is_handed_on(ledger: Path, tmp_path: Path) -> None:
    fixtures = tmp_path / "suite"
    scenario(fixtures, "asks", test_config={"enable_llm": False, "time_window": "1h"})
    line = agent(tmp_path / "notes", "(folder / 'given').write_text(json.dumps(given))\nanswer('?')")

    def config(*arguments: str) -> object:
        assert evaluate(ledger, fixtures, "--agent", line, *arguments).code == 1
        return msgspec.json.decode((tmp_path / "notes" / "given").read_bytes())["test_config"]

    assert config() == {"enable_llm": False, "time_window": "1h"}
    assert config("--enable-llm") == {"enable_llm": True, "time_window": "1h"}
    assert config("--no-enable-llm") == {"enable_llm": False, "time_window": "1h"}
    assert [one.get("meta") for one in of_type(events(ledger), "started")] == [
        None, {"enable_llm": "true"}, {"enable_llm": "false"},
    ]  # fmt: skip


@pytest.mark.slow
def test_the_agent_learns_nothing_of_what_is_expected(ledger: Path, tmp_path: Path) -> None:
    fixtures = tmp_path / "hush-suite"
    captured = {"rca": {"root_cause": "hush-captured"}, "decision": {"why": ["hush-why"]}}
    scenario(fixtures, "hush-case", captured=captured)
    line = agent(tmp_path / "notes", """
        (folder / "told").write_text(json.dumps([given, sys.argv, dict(os.environ), os.getcwd()]))
        print("{}")
        """)  # fmt: skip
    assert evaluate(ledger, fixtures, "--agent", line).code == 1
    given, argv, variables, folder = json.loads((tmp_path / "notes" / "told").read_text())
    assert given["evidence"].pop("case") == "hush-case"
    assert given["evidence"].pop("log") == "the cause of hush-case"
    assert (given["analysis"], variables["TALLYSTICK_REPLAY"]) == ({}, "1")
    reported = json.dumps([given, argv, variables, folder]).replace(str(tmp_path), "").lower()
    assert "hush" not in reported


def test_what_was_captured_is_scored_without_an_agent(ledger: Path, tmp_path: Path) -> None:
    fixtures = tmp_path / "suite"
    scenario(fixtures, "right", captured={"rca": {"root_cause": "the cause of right"}})
    scenario(fixtures, "none", captured={})
    ended = evaluate(ledger, fixtures, "--run", "captured")
    assert ended.code == 0, ended.err
    (started,) = of_type(events(ledger), "started")
    assert (started["agent"], started["answers"]) == ("captured", "captured")
    skipped, scored = sorted(scores(ledger), key=lambda score: score["scenario_id"])
    assert (skipped["state"], skipped["detail"]) == (
        "skipped",
        "no analysis was captured with it, and no agent was asked",
    )
    assert (scored["state"], scored["total_score"]) == ("scored", 100)
    assert "elapsed_ns" not in scored
    assert "1 scenario skipped: no analysis was captured with it" in ended.text
    assert evaluate(ledger, fixtures, "-k", "none").code == 2


@pytest.mark.slow
def test_scenarios_are_recorded_once_and_again_where_they_changed(ledger: Path, fixtures: Path) -> None:
    assert evaluate(ledger, fixtures, "--agent", "true").code == 1
    captured = of_type(events(ledger), "scenario_captured")
    assert [one["scenario_id"] for one in captured] == list(NAMES)
    assert captured[0]["name"] == "hush-crash-loop"
    assert evaluate(ledger, fixtures, "--agent", "true").code == 1
    changed = json.loads((fixtures / "image-pull" / "scenario.json").read_text())
    changed["expected_outcomes"]["root_cause"]["patterns"] = ["the registry"]
    (fixtures / "image-pull" / "scenario.json").write_text(json.dumps(changed))
    assert evaluate(ledger, fixtures, "--agent", "true").code == 1
    assert len(of_type(events(ledger), "scenario_captured")) == 3
    assert [one["scenario_id"] for one in of_type(events(ledger), "scenario_revised")] == ["image-pull"]


@pytest.mark.slow
def test_baselines_are_scored_once_for_what_a_suite_holds(ledger: Path, fixtures: Path) -> None:
    def baselines() -> list[tuple[str, int]]:
        found = events(ledger)
        runs = [one for one in of_type(found, "started") if "baseline" in one]
        assert all(one["agent"] == "baseline" for one in runs)
        ended = {one["run_id"] for one in of_type(found, "finished")}
        assert {one["run_id"] for one in runs} <= ended
        return [(one["baseline"], len(places(ledger, one["run_id"]))) for one in runs]

    run = ("eval", "run", fixtures, "--agent", "true", "-k", "image")
    assert tally(ledger, *run, "--no-baselines").code == 1
    assert baselines() == []
    for _ in range(2):
        assert tally(ledger, *run).code == 1
        assert baselines() == [("empty", 3), ("most_frequent", 3)]
    assert {score["total_score"] for score in scores(ledger) if score["run_id"].endswith(".empty")} == {0}
    scenario(fixtures, "another")
    assert tally(ledger, *run).code == 1
    assert baselines() == [("empty", 3), ("most_frequent", 3), ("empty", 4), ("most_frequent", 4)]
    assert tally(ledger, *run, "--name", "else").code == 1
    assert len(baselines()) == 6


@pytest.mark.slow
def test_long_answers_and_findings_are_evidence(ledger: Path, tmp_path: Path) -> None:
    fixtures = tmp_path / "suite"
    patterns = [f"{number} {'p' * 900}" for number in range(100)]
    scenario(fixtures, "long")
    scenario(fixtures, "wide", expected_outcomes={"root_cause": {"patterns": patterns, "match_type": "substring"}})
    line = agent(tmp_path / "notes", "answer(given['evidence']['log'], notes='n' * 100_000)")
    ended = evaluate(ledger, fixtures, "--agent", line, "--json")
    assert ended.code == 1
    reported = {result["scenario_id"]: result["rows"][0] for result in msgspec.json.decode(ended.out)["results"]}
    for score in scores(ledger):
        assert "analysis" not in score
        text = done(ledger, "evidence", "get", score["analysis_digest"]).out
        assert msgspec.json.decode(text)["notes"] == "n" * 100_000
        assert sha256(text).hexdigest() == score["analysis_digest"]
    long, wide = sorted(scores(ledger), key=lambda score: score["scenario_id"])
    assert "breakdown_digest" not in long
    assert all("findings" not in part for part in wide["components"])
    breakdown = msgspec.json.decode(done(ledger, "evidence", "get", wide["breakdown_digest"]).out)
    assert [finding["pattern"] for finding in breakdown[0]["findings"]] == patterns
    assert reported["wide"]["components"][0]["findings"] == breakdown[0]["findings"]


@pytest.mark.slow
def test_what_patterns_mean_is_asked_once(ledger: Path, tmp_path: Path) -> None:
    wanted = {"root_cause": {"patterns": ["memory was used up"], "match_type": "semantic"}}
    fixtures = tmp_path / "suite"
    scenario(fixtures, "oom", expected_outcomes=wanted, captured={"rca": {"root_cause": "It was OOM"}})

    def finding(**variables: str) -> Json:
        ended = evaluate(ledger, fixtures, "--json", **variables)
        (result,) = msgspec.json.decode(ended.out)["results"]
        found: Json = result["rows"][0]["components"][0]["findings"][0]
        return found

    assert (finding()["matched"], "no embeddings endpoint" in finding()["note"]) == (False, True)
    with embedder() as endpoint:
        variables = {"TALLYSTICK_EMBEDDINGS_URL": endpoint.url}
        assert finding(**variables)["similarity"] > 0.9
        asked_before = len(endpoint.asked)
        assert asked_before > 0
        assert finding(**variables)["matched"] is True
        assert len(endpoint.asked) == asked_before


@pytest.mark.slow
def test_only_what_is_chosen_is_asked(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "notes")
    assert evaluate(ledger, fixtures, "--agent", line, "-k", "image or hush-crash").code == 0
    assert asked(tmp_path / "notes") == ["crash-loop", "image-pull"]
    (started,) = of_type(events(ledger), "started")
    assert (started["selection"], started["scenarios"]) == ("image or hush-crash", 2)
    assert evaluate(ledger, fixtures, "--agent", line, "-k", " ").code == 0
    assert asked(tmp_path / "notes")[2:] == list(NAMES)
    assert "selection" not in of_type(events(ledger), "started")[1]


@pytest.mark.slow
def test_what_is_unusable_is_refused_before_anything_is_written(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    run = ("eval", "run")
    said = refused(ledger, *run, fixtures, "-k", "liveness")
    assert "-k: 'liveness' chooses no scenario." in said
    assert "Scenarios: crash-loop, image-pull, out-of-memory." in said
    assert "error: -k: a word, not, or ( belongs where its end is." in refused(
        ledger, *run, fixtures, "-k", "image and"
    )
    assert "cannot be reached" in refused(ledger, *run, fixtures, "--url", "http://127.0.0.1:1")
    assert "--html: " in refused(ledger, *run, fixtures, "--html", ledger)
    (tmp_path / "empty").mkdir()
    assert "contains no scenario" in refused(ledger, *run, tmp_path / "empty")
    refused(ledger, *run, tmp_path / "nowhere")
    for option, *value in WRONG:
        assert f"{option}: " in refused(ledger, *run, fixtures, option, *value)
    (fixtures / "image-pull" / "scenario.json").write_text('{"name": "x", "expected_outcomes": {}}')
    (fixtures / "crash-loop" / "investigation.json").write_text("[]")
    said = refused(ledger, *run, fixtures)
    assert "image-pull/scenario.json" in said
    assert "crash-loop/investigation.json" in said
    assert not ledger.exists()


@pytest.mark.slow
def test_errors_alone_are_nothing_to_judge_by(ledger: Path, fixtures: Path) -> None:
    ended = evaluate(ledger, fixtures, "--agent", "false")
    assert ended.code == 2
    assert "3 scenarios: 0 passed, 0 failed, 3 errors" in ended.text


@pytest.mark.slow
def test_an_id_that_is_taken_is_refused(ledger: Path, fixtures: Path) -> None:
    assert evaluate(ledger, fixtures, "--agent", "true", "--run", "mine").code == 1
    before = events(ledger)
    said = refused(ledger, "eval", "run", fixtures, "--agent", "true", "--run", "mine")
    assert "run mine is there already." in said
    assert "--resume mine" in said
    assert events(ledger) == before


@pytest.mark.slow
def test_a_folder_of_one_scenario_is_a_suite(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    assert evaluate(ledger, fixtures / "image-pull", "--agent", agent(tmp_path / "notes", PASSES)).code == 0
    assert places(ledger) == [("image-pull", 1)]
