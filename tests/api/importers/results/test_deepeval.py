"""import results: test runs of DeepEval, twice, in both of its files, with repeats, conversations and failures."""

import json
from math import nan
from pathlib import Path

import pytest

from tests.api.cli.command import done, refused, tally
from tests.support.deepeval_runs import Json, capitals, case, metric, run, talk, written
from tests.support.results_imports import imported, left_out, not_kept, scores_of, shown


def runs_of(answer: Json) -> Json:
    return {run["scorer_id"]: run for run in answer["files"][0]["runs"]}


def test_each_metric_is_a_run_with_the_figures_of_deepeval(tmp_path: Path) -> None:
    ledger, made = tmp_path / "l.db", capitals()
    runs = runs_of(imported(ledger, written(tmp_path, made)))
    for stated in made["metricsScores"]:
        ours = runs[stated["metric"]]
        assert ours["passed"] == stated["passes"]
        assert ours["scored"] - ours["passed"] == stated["fails"]
        assert ours["errors"] == stated["errors"]
        assert ours["mean_scored"] == pytest.approx(100 * sum(stated["scores"]) / len(stated["scores"]))
        assert ours["agrees"] is True
    show = shown(ledger, runs["Words"]["run_id"])
    assert (show["suite"], show["agent"], show["scorer_version"]) == ("deepeval", "tiny-1", "gpt-x")
    assert show["meta"]["evaluation_cost_usd"] == "0.006"
    assert show["meta"]["identifier"] == "nightly"
    assert show["meta"]["hyperparameter.temperature"] == "0.5"
    assert show["meta"]["mean"] == "50"


def test_what_a_score_keeps(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    runs = runs_of(imported(ledger, written(tmp_path, capitals())))
    paris, rome, oslo = scores_of(ledger, runs["Words"]["run_id"])
    assert (paris["scenario_id"], paris["attempt"], paris["model"]) == ("deepeval.paris", 1, "tiny-1")
    assert (paris["total_score"], paris["pass_threshold"], paris["passed"]) == (75, 50, True)
    assert (paris["input_tokens"], paris["output_tokens"], paris["cost_usd"]) == (20, 10, 0.003)
    assert paris["elapsed_ns"] == 1_250_000_000
    assert json.loads(paris["analysis"]) == {"answer": "answer of paris"}
    (component,) = paris["components"]
    assert (component["name"], component["score"], component["mark"]) == ("Words", 75, 50)
    assert component["findings"][0]["pattern"] == "target of paris"
    assert component["findings"][0]["note"] == "0.75 of 1"
    assert (rome["total_score"], rome["passed"]) == (25, False)
    assert (oslo["state"], oslo["failure"], oslo["detail"]) == ("error", "judge", "ValueError: boom")


def test_what_is_not_kept_is_named_and_counted(tmp_path: Path) -> None:
    made = run(
        [
            case("a", [metric("M", 1.0, verboseLogs="long", inputTokenCount=5, outputTokenCount=2)], trace={"uuid": 1}),
            case("b", [metric("M", 1.0, flaky=True)], retrievalContext=["x", "y"], metadata={"k": 1}, comments="c"),
            case("c", []),
        ],
        [talk("t", [metric("M", 1.0)])],
        traceMetricsScores={"agent": {}},
    )
    assert not_kept(imported(tmp_path / "l.db", written(tmp_path, made))) == {
        "test cases without the result of a metric": 1,
        "scores of the spans of traces": 1,
        "inputs, of which the digest is kept": 4,
        "retrieved contexts": 2,
        "metadata of test cases": 1,
        "comments of test cases": 1,
        "traces": 1,
        "durations of the whole test run": 1,
        "durations of test cases with their metrics": 4,
        "tokens of models that evaluated metrics": 7,
        "detailed logs of metrics": 1,
        "marks of metrics as flaky": 1,
        "messages of conversations beside the last answer": 1,
    }


@pytest.mark.parametrize("latest_first", [False, True])
def test_a_second_import_adds_nothing_also_from_the_other_file(tmp_path: Path, latest_first: bool) -> None:
    ledger, made = tmp_path / "l.db", capitals()
    files = [
        written(tmp_path, made),
        written(tmp_path, {"testRunData": made, "testRunLink": None}, ".latest_test_run.json"),
    ]
    first, second = reversed(files) if latest_first else files
    assert imported(ledger, first)["runs"] == 2
    for again in (first, second):
        answer = imported(ledger, again)
        assert (answer["runs"], answer["there"], answer["appended"]) == (0, 2, 0)


def test_a_changed_file_is_another_test_run(tmp_path: Path) -> None:
    """DeepEval gives a test run no id: other content is another run, not a conflict."""
    ledger, made = tmp_path / "l.db", capitals()
    imported(ledger, written(tmp_path, made))
    made["testCases"][0]["metricsData"][0]["score"] = 0.5
    assert imported(ledger, written(tmp_path, made))["runs"] == 2


def test_repeats_are_attempts(tmp_path: Path) -> None:
    def tried(name: str, score: float, question: str = "where?") -> Json:
        return case(name, [metric("M", score)], question=question, expectedOutput="here")

    made = run(
        [
            tried("test_city[Oslo-1-2]", 1.0), tried("test_city[Oslo-2-2]", 0.0),  # of --repeat 2
            tried("test_all[1-2]", 1.0), tried("test_all[2-2]", 1.0),
            tried("test_pair[1-2]", 1.0, "other"), tried("test_pair[2-2]", 1.0, "another"),  # parameters of the test
            tried("same", 1.0), tried("same", 0.5),  # two attempts
            tried("twice", 1.0, "first"), tried("twice", 1.0, "second"),  # two scenarios
        ]
    )  # fmt: skip
    ledger = tmp_path / "l.db"
    scored = scores_of(ledger, runs_of(imported(ledger, written(tmp_path, made)))["M"]["run_id"])
    tries: dict[str, int] = {}
    for each in scored:
        tries[each["scenario_id"]] = max(tries.get(each["scenario_id"], 0), each["attempt"])
    assert sorted(tries.values()) == [1, 1, 1, 1, 2, 2, 2]
    assert tries["deepeval.test_all"] == 2
    assert tries["deepeval.same"] == 2
    assert sum(name.startswith("deepeval.twice") for name in tries) == 2


def test_a_metric_that_passes_below_its_threshold_states_no_threshold(tmp_path: Path) -> None:
    bias = [metric("Bias", 0.1, success=True), metric("Bias", 0.9, success=False)]
    made = run([case(name, [each]) for name, each in zip("ab", bias, strict=True)])
    answer = imported(tmp_path / "l.db", written(tmp_path, made))
    scores = scores_of(tmp_path / "l.db", runs_of(answer)["Bias"]["run_id"])
    assert [(score["total_score"], score["passed"]) for score in scores] == [(10, True), (90, False)]
    assert not any("pass_threshold" in score for score in scores)
    assert not_kept(answer)["thresholds that are the highest score that passes; whether a case passed is kept"] == 2


def test_one_metric_of_two_models_is_two_runs(tmp_path: Path) -> None:
    made = run([case("a", [metric("M", 1.0, evaluationModel="x")]), case("b", [metric("M", 0.5, evaluationModel="y")])])
    runs = imported(tmp_path / "l.db", written(tmp_path, made))["files"][0]["runs"]
    assert [(each["scored"], "stated_mean" in each) for each in runs] == [(1, False), (1, False)]
    versions = [shown(tmp_path / "l.db", each["run_id"])["scorer_version"] for each in runs]
    assert versions == ["x", "y"]


@pytest.mark.parametrize(("score", "says"), [(7.5, "the score 7.5 is not in 0..1"), (nan, "the metric gave no score")])
def test_a_score_that_is_no_points_is_skipped(tmp_path: Path, score: float, says: str) -> None:
    made = run([case("a", [metric("M", 1.0)]), case("b", [metric("M", score)])])
    answer = imported(tmp_path / "l.db", written(tmp_path, made))
    run_id = runs_of(answer)["M"]["run_id"]
    assert (runs_of(answer)["M"]["scored"], runs_of(answer)["M"]["skipped"]) == (1, 1)
    assert scores_of(tmp_path / "l.db", run_id)[1]["detail"] == says


def test_a_metric_that_does_not_state_whether_it_passed_is_skipped_and_counted(tmp_path: Path) -> None:
    made = run([case("a", [metric("M", 1.0)]), case("b", [metric("M", 0.75, success=None)])])
    answer = imported(tmp_path / "l.db", written(tmp_path, made))
    assert not_kept(answer)["scores of metrics that do not state whether they passed"] == 1
    score = scores_of(tmp_path / "l.db", runs_of(answer)["M"]["run_id"])[1]
    assert (score["state"], score["detail"]) == ("skipped", "the metric does not state whether it passed")


@pytest.mark.parametrize(
    ("stated", "what"),
    [
        ({"completionTime": -1}, "times of answers (completionTime) that are not within 0 to 9,007,199 seconds"),
        ({"completionTime": 1e300}, "times of answers (completionTime) that are not within 0 to 9,007,199 seconds"),
        ({"completionTime": 10**400}, "times of answers (completionTime) that are not within 0 to 9,007,199 seconds"),
        ({"completionTime": "long"}, "times of answers (completionTime) that are not within 0 to 9,007,199 seconds"),
        ({"inputTokenCount": -3}, "counts of tokens that are not whole numbers within 0 to 9,007,199,254,740,991"),
        ({"outputTokenCount": 1.5}, "counts of tokens that are not whole numbers within 0 to 9,007,199,254,740,991"),
        ({"runDuration": -5}, "durations of test cases with their metrics"),
    ],
)
def test_what_no_event_can_state_is_counted_once_for_each_test_case(tmp_path: Path, stated: Json, what: str) -> None:
    made = run([case("a", [metric("M", 1.0), metric("N", 1.0)], **stated)])
    assert left_out(written(tmp_path, made))[what] == 1


def test_a_conversation_is_kept_with_its_last_answer(tmp_path: Path) -> None:
    made = run([], [talk("chat", [metric("Polite", 1.0)])], testFile="test_chat.py")
    ledger = tmp_path / "l.db"
    run_id = runs_of(imported(ledger, written(tmp_path, made)))["Polite"]["run_id"]
    (score,) = scores_of(ledger, run_id)
    assert score["scenario_id"].startswith("test_chat.py.") or score["scenario_id"].endswith(".chat")
    assert json.loads(score["analysis"]) == {"answer": "no"}
    assert shown(ledger, run_id)["suite"] == "test_chat.py"


def test_bad_files_are_refused_with_the_way_out(tmp_path: Path) -> None:
    ledger, made = tmp_path / "l.db", capitals()
    made["testCases"][1]["metricsData"] = {"name": "M"}
    text = refused(ledger, "import", "results", written(tmp_path, made))
    assert "it is not a test run of DeepEval: Expected `array | null`, got `object`" in text
    assert "$.testCases[1].metricsData" in text
    text = refused(ledger, "import", "results", written(tmp_path, run([case("a", [])])))
    assert "none of its test cases has the result of a metric" in text
    assert "DEEPEVAL_RESULTS_FOLDER" in text
    other = written(tmp_path, {"test_cases_lookup_map": {}}, ".deepeval-cache.json")
    text = refused(ledger, "import", "results", other)
    assert "promptfoo, DeepEval" in text
    text = refused(ledger, "import", "results", other, "--format", "deepeval")
    assert "`testCases` and `metricsScores` were expected" in text
    assert not ledger.exists()


def test_other_files_are_imported_beside_a_bad_one(tmp_path: Path) -> None:
    bad = written(tmp_path, {"testRunData": 5}, "bad.json")
    ended = tally(tmp_path / "l.db", "import", "results", bad, written(tmp_path, capitals()))
    assert ended.code == 1
    assert "bad.json: it is not a test run of DeepEval" in ended.err
    assert b"2 runs with 6 scores imported" in ended.out
    assert done(tmp_path / "l.db", "eval", "list").out.count(b"deepeval-") == 2
