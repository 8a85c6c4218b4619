"""import results: files of promptfoo, twice, exported again, changed, and in forms that are not read."""

import json
from pathlib import Path

import pytest

from api.importers.results.promptfoo_reader import model_of
from tests.api.cli.command import done, refused, tally
from tests.support.promptfoo_results import Json, capitals, check, evaluation, graded, result, written
from tests.support.results_imports import imported, left_out, not_kept, scores_of, shown


def first_run(answer: Json) -> Json:
    run: Json = answer["files"][0]["runs"][0]
    return run


def only_score(tmp_path: Path, made: Json) -> Json:
    answer = imported(tmp_path / "l.db", written(tmp_path, evaluation([made])))
    (score,) = scores_of(tmp_path / "l.db", first_run(answer)["run_id"])
    return score


def test_each_prompt_of_a_provider_is_a_run_and_each_repeat_an_attempt(tmp_path: Path) -> None:
    ledger, made = tmp_path / "l.db", capitals()
    runs = imported(ledger, written(tmp_path, made))["files"][0]["runs"]
    stats = made["results"]["stats"]
    assert [(run["scored"], run["passed"], run["errors"], run["scenarios"]) for run in runs] == 2 * [(5, 3, 1, 3)]
    assert sum(run["passed"] for run in runs) == stats["successes"]
    assert sum(run["scored"] - run["passed"] for run in runs) == stats["failures"]
    assert sum(run["errors"] for run in runs) == stats["errors"]
    show = shown(ledger, runs[1]["run_id"])
    assert (show["suite"], show["agent"]) == ("Capitals", "careful")
    assert show["agent_version"] == "In one sentence: what is {{city}} known for?"
    assert (show["started_at"], show["finished_at"]) == ("2026-11-26T22:01:48.745000Z", "2026-11-26T22:01:50.469000Z")
    assert (show["meta"]["passed"], show["meta"]["failed"], show["meta"]["errors"]) == ("3", "2", "1")
    assert sorted(row["attempt"] for each in show["results"] for row in each["rows"]) == [1, 1, 1, 2, 2, 2]


def test_the_means_are_those_of_promptfoo(tmp_path: Path) -> None:
    made = capitals()
    repeated = [each for each in made["results"]["results"] if each["vars"]["city"] != "Oslo"]
    answer = imported(tmp_path / "l.db", written(tmp_path, evaluation(repeated)))
    for run in answer["files"][0]["runs"]:
        assert run["agrees"] is True
        assert run["mean_scored"] == run["stated_mean"] == pytest.approx(75.0)
    text = done(tmp_path / "l.db", "import", "results", tmp_path / "results.json").out.decode()
    assert "Means: 2 of 2 that files state are equal to ours." in text


def test_a_mean_over_answers_is_kept_but_not_compared_where_attempts_are_uneven(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    run = first_run(imported(ledger, written(tmp_path, capitals())))
    assert not {"stated_mean", "agrees"} & run.keys()
    assert shown(ledger, run["run_id"])["meta"]["mean"] == "80"  # of five answers; ours is of three scenarios
    assert run["mean_scored"] == pytest.approx((75 + 75 + 100) / 3)


def test_what_a_score_keeps(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    run_id = first_run(imported(ledger, written(tmp_path, capitals())))["run_id"]
    scores = scores_of(ledger, run_id)
    rome = next(score for score in scores if "Rome" in score["scenario_id"])
    assert (rome["total_score"], rome["pass_threshold"], rome["passed"], rome["attempt"]) == (75, 90, False, 1)
    assert (rome["input_tokens"], rome["output_tokens"], rome["cost_usd"]) == (20, 10, 0.0012)
    assert rome["elapsed_ns"] == 18_000_000
    assert json.loads(rome["analysis"]) == {"answer": "answer 2"}
    naming, equals = rome["components"]
    assert (naming["name"], naming["score"], naming["weight"], naming["passed"]) == ("naming", 100, 0.75, True)
    assert (equals["name"], equals["score"], equals["weight"], equals["passed"]) == ("equals", 0, 0.25, False)
    assert equals["findings"][0]["pattern"] == "rome"
    assert equals["findings"][0]["note"] == "Expected output to meet equals"
    error = next(score for score in scores if score["state"] == "error")
    assert (error["detail"], error["attempt"]) == ("Error: reset", 2)
    assert "input_tokens" not in error


def test_a_set_of_assertions_has_a_share_and_its_assertions_have_none(tmp_path: Path) -> None:
    inner = [check("icontains", 1, "oslo"), check("icontains", 0, "bern")]
    either = {
        "pass": True, "score": 0.5, "reason": "Aggregate score 0.50 is enough", "componentResults": inner,
        "metadata": {"assertionSet": {"type": "assert-set", "metric": "either", "threshold": 0.5, "weight": 3}},
    }  # fmt: skip
    grading = graded(check("javascript", 1, "true")) | {
        "score": 0.625,
        "componentResults": [check("javascript", 1, "true"), either, *inner],
    }
    score = only_score(tmp_path, result(0, 0, {"city": "Oslo"}, grading))
    parts = [(each["name"], each["score"], each.get("weight"), each.get("mark")) for each in score["components"]]
    assert parts == [
        ("javascript", 100, 0.25, None),
        ("either", 50, 0.75, 50),
        ("either: icontains", 100, None, None),
        ("either: icontains 2", 0, None, None),
    ]


def test_shares_are_left_out_where_a_function_made_the_score(tmp_path: Path) -> None:
    grading = graded(check("contains", 1, "a"), check("equals", 0, "b")) | {"score": 0.9}
    score = only_score(tmp_path, result(0, 0, {"city": "Oslo"}, grading))
    assert [each.get("weight") for each in score["components"]] == [None, None]


def test_a_named_score_beside_the_assertions_is_a_component(tmp_path: Path) -> None:
    grading = graded(check("javascript", 1, "f"), namedScores={"tone": 0.25, "length": 12})
    score = only_score(tmp_path, result(0, 0, {"city": "Oslo"}, grading))
    assert [(each["name"], each["score"]) for each in score["components"]] == [("javascript", 100), ("tone", 25)]


def test_a_score_outside_of_0_to_1_is_skipped_and_counted(tmp_path: Path) -> None:
    made = [result(place, 0, {"city": name}, graded(check("javascript", 1, "f"))) for place, name in enumerate("ab")]
    made[1] |= {"score": 7}
    answer = imported(tmp_path / "l.db", written(tmp_path, evaluation(made)))
    run = first_run(answer)
    assert (run["scored"], run["skipped"], "stated_mean" in run) == (1, 1, False)
    assert not_kept(answer)["scores that are not in 0..1, and whether these passed"] == 1
    detail = next(each["detail"] for each in scores_of(tmp_path / "l.db", run["run_id"]) if each["state"] == "skipped")
    assert detail == "the score 7.0 is not in 0..1"


def test_cached_answers_state_no_time_and_no_tokens(tmp_path: Path) -> None:
    usage = {"cached": 30, "total": 30, "assertions": {"total": 12}}
    made = result(0, 0, {"city": "Oslo"}, graded(), tokenUsage=usage)
    made["response"] |= {"cached": True}
    answer = imported(tmp_path / "l.db", written(tmp_path, evaluation([made])))
    (score,) = scores_of(tmp_path / "l.db", first_run(answer)["run_id"])
    assert not {"elapsed_ns", "input_tokens", "output_tokens"} & score.keys()
    found = not_kept(answer)
    assert found["latencies of answers from promptfoo's cache"] == 1
    assert found["totals of tokens of cached answers"] == 1
    assert found["tokens of models that judged answers"] == 12


def test_what_is_not_kept_is_named_and_counted(tmp_path: Path) -> None:
    made = capitals()
    made["traces"] = [{"traceId": "1"}]
    made["config"]["tags"] = {"branch": "main"}
    made["results"]["results"][0]["response"]["metadata"] = {"model": "x", "_promptfooFileMetadata": {}}
    made["results"]["results"][0]["gradingResult"]["comment"] = "looks right"
    made["results"]["prompts"][0]["metrics"]["namedScores"]["f1"] = 0.5
    found = not_kept(imported(tmp_path / "l.db", written(tmp_path, made)))
    assert found == {
        "inputs (variables and prompts), of which the digest is kept": 12,
        "metadata of answers": 1,
        "comments of people": 1,
        "stacks of errors": 2,
        "configurations of the evaluation": 1,
        "metrics derived from others": 1,
        "traces": 1,
        "tags of the evaluation": 1,
    }


@pytest.mark.parametrize(
    ("stated", "what"),
    [
        ({"latencyMs": -1}, "latencies of answers that are not within 0 to 9,007,199 seconds"),
        ({"latencyMs": 1e300}, "latencies of answers that are not within 0 to 9,007,199 seconds"),
        (
            {"tokenUsage": {"prompt": -3, "completion": 5}},
            "counts of tokens that are not whole numbers within 0 to 9,007,199,254,740,991",
        ),
    ],
)
def test_what_no_event_can_state_is_counted(tmp_path: Path, stated: Json, what: str) -> None:
    path = written(tmp_path, evaluation([result(0, 0, {"city": "Oslo"}, graded(), **stated)]))
    assert left_out(path)[what] == 1


def test_times_of_the_evaluation_that_are_none_are_counted_once(tmp_path: Path) -> None:
    made = capitals()
    made["results"] |= {"timestamp": "x", "stats": {"durationMs": -1}}
    found = left_out(written(tmp_path, made))
    assert found["times of the evaluation that are not a date or an RFC 3339 time"] == 1
    assert found["durations (stats.durationMs) that are not a number from 0"] == 1


def test_an_end_after_the_year_9999_is_the_fault_of_its_file(tmp_path: Path) -> None:
    made = capitals()
    made["results"] |= {"timestamp": "9999-12-31T23:59:59Z", "stats": {"durationMs": 100_000}}
    bad, good = written(tmp_path, made, "bad.json"), written(tmp_path, capitals())
    ended = tally(tmp_path / "l.db", "import", "results", bad, good)
    assert ended.code == 1
    message = (
        "bad.json: stats.durationMs gives a date that is not within the years 1 to 9999. Correct the value. Nothing"
    )
    assert message in " ".join(ended.err.split())
    assert "2 runs with" in ended.text


@pytest.mark.parametrize("rearranged", [False, True])
def test_a_second_import_adds_nothing_also_when_exported_again_by_another_version(
    tmp_path: Path, rearranged: bool
) -> None:
    ledger, made = tmp_path / "l.db", capitals()
    imported(ledger, written(tmp_path, made))
    if rearranged:
        made["metadata"] |= {"promptfooVersion": "0.200.0", "exportedAt": "2026-12-01T00:00:00.000Z"}
        made["results"]["results"].reverse()
    answer = imported(ledger, written(tmp_path, made, "again.json"))
    assert (answer["runs"], answer["there"], answer["appended"]) == (0, 2, 0)


def test_other_content_of_the_same_evaluation_is_refused_and_named(tmp_path: Path) -> None:
    ledger, made = tmp_path / "l.db", capitals()
    imported(ledger, written(tmp_path, made))
    before = done(ledger, "log", "--json").out
    made["results"]["results"][0] |= {"score": 0.5}
    ended = tally(ledger, "import", "results", written(tmp_path, made))
    assert ended.code == 1
    assert "total_score of scenario Capitals.Paris-is-named" in ended.err
    assert "is 75.0 there and 50.0 in the file" in ended.err
    assert done(ledger, "log", "--json").out == before


def test_tests_are_named_by_description_or_variables(tmp_path: Path) -> None:
    def tested(place: int, variables: Json, description: str | None = None, value: str = "x") -> Json:
        return result(place, 0, variables, graded(check("contains", 1, value)), description=description)

    made = [
        tested(0, {"n": 1}, "one"),
        tested(1, {"n": 2}, "twice"),
        tested(2, {"n": 3}, "twice"),
        tested(3, {"n": 4}),
        tested(4, {"n": 5}, value="x"),
        tested(5, {"n": 5}, value="y"),
        tested(6, {"text": "long " * 40}),
        tested(7, {"sessionId": "drawn-1", "n": 4}),
    ]
    ledger = tmp_path / "l.db"
    run = first_run(imported(ledger, written(tmp_path, evaluation(made))))
    assert (run["scenarios"], run["scored"]) == (7, 8)  # the last is a second attempt at the fourth
    ids = json.loads(done(ledger, "evidence", "get", shown(ledger, run["run_id"])["meta"]["sample_ids"]).out)
    names = sorted(ids.values())
    assert {"twice n=2", "twice n=3", "n=4"} <= set(names)
    assert sum(name.startswith("n=5 ") for name in names) == 2
    assert sum(name.startswith("text=long long") and len(name) == 60 for name in names) == 1


def test_providers_without_a_label_are_named_by_their_id(tmp_path: Path) -> None:
    made = [result(0, 0, {"city": "Oslo"}, graded()), result(0, 1, {"city": "Oslo"}, graded())]
    made[0]["provider"] = {"id": "openai:chat:gpt-5", "label": ""}
    made[1]["provider"] = "echo"
    ledger = tmp_path / "l.db"
    runs = imported(ledger, written(tmp_path, evaluation(made)))["files"][0]["runs"]
    assert [run["agent"] for run in runs] == ["openai:chat:gpt-5", "echo"]
    assert scores_of(ledger, runs[0]["run_id"])[0]["model"] == "gpt-5"
    assert "model" not in scores_of(ledger, runs[1]["run_id"])[0]


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai:gpt-5", "gpt-5"),
        ("anthropic:messages:claude-opus-4-1", "claude-opus-4-1"),
        ("ollama:chat:llama3:8b", "llama3:8b"),
        ("bedrock:us.amazon.nova-lite-v1:0", "us.amazon.nova-lite-v1:0"),
        ("echo", None),
        ("file://agent.cjs", None),
        ("exec:python agent.py", None),
        ("https://agent.example/answer", None),
    ],
)
def test_the_model_is_in_the_id_of_a_provider(provider: str, model: str | None) -> None:
    assert model_of(provider) == model


def test_forms_that_are_not_read_are_refused_with_the_way_out(tmp_path: Path) -> None:
    ledger, made = tmp_path / "l.db", capitals()
    lines = tmp_path / "results.jsonl"
    lines.write_text("".join(json.dumps(each) + "\n" for each in made["results"]["results"]), encoding="utf-8")
    text = refused(ledger, "import", "results", lines)
    assert "JSON Lines and YAML of promptfoo are not read" in text
    assert "promptfoo export eval ID -o results.json" in text
    yaml = tmp_path / "results.yaml"
    yaml.write_text("evalId: eval-1\nresults:\n  version: 3\n", encoding="utf-8")
    assert "JSON Lines and YAML" in refused(ledger, "import", "results", yaml)
    made["results"]["version"] = 2
    assert "the version of its results is 2; version 3 is read" in refused(
        ledger, "import", "results", written(tmp_path, made)
    )
    made["results"] = {"version": 3, "results": []}
    assert "it has no results" in refused(ledger, "import", "results", written(tmp_path, made))
    assert not ledger.exists()


def test_a_wrong_value_is_named_with_its_place(tmp_path: Path) -> None:
    made = capitals()
    made["results"]["results"][3]["score"] = "high"
    text = refused(tmp_path / "l.db", "import", "results", written(tmp_path, made))
    assert "it is not results of promptfoo, version 3" in text
    assert "$.results.results[3].score" in text
    assert "Nothing of it was written" in text
