"""import results of lm-evaluation-harness. The files are made by hand after its documentation, as it needs torch."""

import json
from pathlib import Path
from typing import Any

import pytest

from events.errors import InvalidEvent
from tests.api.cli.command import done, refused, tally
from tests.support.results_imports import left_out

DATE = "2026-11-03T10-20-30.123456"
TRIVIA = [("Paris", 1.0, 1.0), ("Rome", 0.0, 0.5), ("Oslo", 1.0, 1.0), ("Bern", 0.0, 0.25)]

Json = dict[str, Any]


def results() -> Json:
    return {
        "results": {
            "trivia": {
                "alias": "trivia",
                "exact_match,strict": 0.5,
                "exact_match_stderr,strict": 0.28,
                "exact_match,loose": 0.75,
                "f1,strict": 0.6875,
                "perplexity,strict": 7.5,
                "edits,strict": 0.5,
            },
            "group": {"alias": "group", "exact_match,strict": 0.5},
        },
        "configs": {"trivia": {"metric_list": [{"metric": "f1", "aggregation": "mean"}, {"metric": "exact_match"}]}},
        "versions": {"trivia": 3.0},
        "higher_is_better": {"trivia": {"exact_match": True, "edits": False}},
        "n-samples": {"trivia": {"original": 4, "effective": 4}},
        "config": {"model": "hf", "model_args": "pretrained=example/small"},
        "git_hash": "abc1234",
        "date": 1793701230.5,
        "lm_eval_version": "0.4.13",
        "model_source": "hf",
        "model_name": "example/small",
        "total_evaluation_time_seconds": "12.5",
    }


def samples() -> list[Json]:
    lines: list[Json] = []
    for number, (answer, exact, f1) in enumerate(TRIVIA):
        line = {
            "doc_id": number,
            "doc": {"question": f"question {number}"},
            "target": TRIVIA[number][0] if exact else "other",
            "arguments": {"gen_args_0": {"arg_0": f"question {number}"}},
            "resps": [[answer]],
            "filtered_resps": [answer],
            "doc_hash": f"d{number}",
            "prompt_hash": f"p{number}",
            "target_hash": f"t{number}",
        }
        strict = {"filter": "strict", "exact_match": exact, "f1": f1, "perplexity": [7.5, 1], "edits": 1 - exact}
        lines += [line | strict, line | {"filter": "loose", "exact_match": 1.0 if number else 0.0}]
    return lines


def written(folder: Path, lines: list[Json] | None = None, **stated: object) -> Path:
    path = folder / f"results_{DATE}.json"
    path.write_text(json.dumps({**results(), **stated}, indent=2))
    if lines is not None:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"samples_trivia_{DATE}.jsonl").write_text(text)
    return path


def imported(ledger: Path, *arguments: str | Path) -> Json:
    answer: Json = json.loads(done(ledger, "import", "results", *arguments, "--json").out)
    return answer


def test_each_metric_and_filter_of_a_task_is_a_run(tmp_path: Path) -> None:
    ledger, path = tmp_path / "l.db", written(tmp_path, samples())
    answer = imported(ledger, path)
    (file,) = answer["files"]
    assert (file["format"], file["imported_from"]) == ("lm-eval", "lm_eval 0.4.13")
    runs = {run["scorer_id"]: run for run in file["runs"]}
    found = {name: (run["scored"], run["passed"], run["mean"], run["agrees"]) for name, run in runs.items()}
    assert found == {
        "exact_match,strict": (4, 2, 50, True),
        "exact_match,loose": (4, 3, 75, True),
        "f1,strict": (4, 2, 68.75, True),
    }
    kept = {each["what"]: each["count"] for each in file["not_kept"]}
    assert kept["figures of tasks or groups without a file of samples"] == 1
    assert kept["figures of metrics that samples do not state as a number"] == 1
    assert kept["values of trivia: edits,strict, of which the lower is better"] == 4
    assert kept["prompts, of which the digest is kept"] == 8
    show = json.loads(done(ledger, "eval", "show", runs["exact_match,strict"]["run_id"], "--json").out)
    assert (show["suite"], show["agent"], show["started_at"][:19]) == ("trivia", "example/small", "2026-11-03T10:20:30")
    assert (show["meta"]["exact_match"], show["meta"]["task_version"]) == ("0.5", "3.0")
    assert [result["scenario_id"] for result in show["results"]] == [f"trivia.{number}" for number in range(4)]


def test_a_second_import_adds_nothing_and_changed_samples_are_a_conflict(tmp_path: Path) -> None:
    ledger, lines = tmp_path / "l.db", samples()
    imported(ledger, written(tmp_path, lines))
    assert imported(ledger, written(tmp_path, lines))["there"] == 3
    lines[0]["exact_match"] = 0.0
    ended = tally(ledger, "import", "results", written(tmp_path, lines))
    assert ended.code == 1
    assert "samples_digest is " in ended.err


def test_figures_without_samples_are_refused(tmp_path: Path) -> None:
    said = refused(tmp_path / "l.db", "import", "results", written(tmp_path))
    assert "Run lm-eval with --log_samples" in said
    assert not (tmp_path / "l.db").exists()


def test_the_samples_alone_lead_to_the_results(tmp_path: Path) -> None:
    written(tmp_path, samples())
    said = refused(tmp_path / "l.db", "import", "results", tmp_path / f"samples_trivia_{DATE}.jsonl")
    assert "Name the file of results beside it" in said


SECONDS = "total_evaluation_time_seconds"


@pytest.mark.parametrize(
    ("stated", "member"),
    [
        ({"date": 1e300}, "date"),
        ({"date": -1e11}, "date"),
        ({SECONDS: "1e12"}, SECONDS),
        ({"date": 253402300799.0}, SECONDS),
    ],
)
def test_times_outside_of_the_calendar_are_refused(tmp_path: Path, stated: Json, member: str) -> None:
    message = f"{member} gives a date that is not within the years 1 to 9999"
    with pytest.raises(InvalidEvent, match=message) as fault:
        left_out(written(tmp_path, samples(), **stated))
    assert fault.value.advice == "Correct the value."


@pytest.mark.parametrize(
    ("stated", "what", "count"),
    [
        ({"date": None}, "times of the evaluation, whose date is missing or not a number", 1),
        ({"date": float("nan")}, "times of the evaluation, whose date is missing or not a number", 1),
        ({"date": 10**400}, "times of the evaluation, whose date is missing or not a number", 1),
        ({SECONDS: "-5"}, f"durations ({SECONDS}) that are not a number from 0", 1),
        ({SECONDS: "nan"}, f"durations ({SECONDS}) that are not a number from 0", 1),
        ({SECONDS: "soon"}, f"durations ({SECONDS}) that are not a number from 0", 1),
        (
            {"n-samples": {"trivia": {"original": 9, "effective": 9}}},
            "samples of trivia that n-samples counts and the file of samples lacks",
            5,
        ),
    ],
)
def test_what_is_missing_or_no_event_can_state_is_counted(tmp_path: Path, stated: Json, what: str, count: int) -> None:
    assert left_out(written(tmp_path, samples(), **stated))[what] == count


@pytest.mark.parametrize(
    "counts", [None, [], {"trivia": 4}, {"trivia": {"effective": "4"}}, {"trivia": {"effective": 3}}]
)
def test_counts_of_samples_that_lack_nothing(tmp_path: Path, counts: object) -> None:
    assert not [what for what in left_out(written(tmp_path, samples(), **{"n-samples": counts})) if "n-samples" in what]


@pytest.mark.parametrize(("line", "message"), [("{", "line 9 cannot be read"), ("{}", "line 9 has no doc_id")])
def test_a_wrong_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = written(tmp_path, samples())
    with (tmp_path / f"samples_trivia_{DATE}.jsonl").open("a") as file:
        file.write(line)
    assert message in refused(tmp_path / "l.db", "import", "results", path)
