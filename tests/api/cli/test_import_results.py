"""import results: logs of Inspect AI, twice, in two file formats, through a server, damaged and contradictory."""

import json
from math import nan
from pathlib import Path
from typing import Any

import pytest

from tests.api.cli.command import done, refused, tally
from tests.support.inspect_logs import Json, as_eval, as_json, capitals, log, sample, score
from tests.support.results_imports import imported, left_out, not_kept, shown
from tests.support.server import served


def runs_of(answer: Json) -> dict[str, Any]:
    (file,) = answer["files"]
    return {run["scorer_id"]: run for run in file["runs"]}


def stored(ledger: Path, run_id: str) -> list[Any]:
    lines = done(ledger, "log", "--subject", f"evaluation/{run_id}", "--json").out.splitlines()
    return [json.loads(line) for line in lines]


def test_each_scorer_is_a_run_and_each_epoch_an_attempt(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    answer = imported(ledger, as_json(tmp_path, capitals()))
    runs = runs_of(answer)
    assert {name: (run["scored"], run["passed"], run["errors"], run["skipped"]) for name, run in runs.items()} == {
        "match": (5, 2, 1, 0),
        "length": (5, 1, 1, 0),
    }
    assert all(run["agrees"] and run["outcome"] == "new" and run["scenarios"] == 3 for run in runs.values())
    assert runs["match"]["mean_scored"] == pytest.approx(100 * 1.25 / 3, abs=1e-9)
    assert runs["length"]["mean"] == pytest.approx(100 * (0.5 + 0.25 + 0.5) / 3, abs=1e-9)
    assert (answer["runs"], answer["scores"], answer["appended"]) == (
        2,
        12,
        17,
    )  # with one piece of evidence: ids of samples
    show = shown(ledger, runs["match"]["run_id"])
    assert (show["suite"], show["agent"], show["mean_scored"]) == ("capitals", "mockllm/model", pytest.approx(125 / 3))
    assert show["meta"]["accuracy"] == str(1.25 / 3)
    assert [result["scenario_id"] for result in show["results"]][:2] == ["capitals.1", "capitals.3"]


def test_what_a_score_keeps(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    run_id = runs_of(imported(ledger, as_json(tmp_path, capitals())))["match"]["run_id"]
    started, first, *others, finished = stored(ledger, run_id)
    assert started["data"]["imported_from"] == "inspect_ai 0.3.285"
    assert (started["time"], finished["time"]) == ("2026-11-01T10:00:00.000000Z", "2026-11-01T10:00:10.000000Z")
    assert finished["data"]["elapsed_ns"] == 10_000_000_000
    data = first["data"]
    kept = {name: data[name] for name in ("attempt", "state", "total_score", "passed", "pass_threshold")}
    assert kept == {"attempt": 1, "state": "scored", "total_score": 100, "passed": True, "pass_threshold": 100}
    assert (data["input_tokens"], data["output_tokens"], data["elapsed_ns"]) == (12, 5, 1_250_000_000)
    assert (data["model"], data["reported_model"]) == ("mockllm/model", "model-2026")
    assert json.loads(data["analysis"]) == {"answer": "answer 1 of epoch 1"}
    (finding,) = data["components"][0]["findings"]
    assert (finding["pattern"], finding["note"], finding["matched"]) == ("target 1", "as expected", True)
    error = next(each["data"] for each in others if each["data"]["state"] == "error")
    assert (error["detail"], error["attempt"]) == ("the model is away", 2)
    ids = json.loads(done(ledger, "evidence", "get", started["data"]["meta"]["sample_ids"]).out)
    assert ids == {error["scenario_id"]: "b c"}


def test_what_is_not_kept_is_named_and_counted(tmp_path: Path) -> None:
    found = not_kept(imported(tmp_path / "l.db", as_json(tmp_path, capitals())))
    assert found["messages of conversations"] == 12
    assert found["events of transcripts"] == 12
    assert found["tracebacks of errors"] == 1
    assert found["inputs, of which the digest is kept"] == 6
    assert found["reductions of epochs (a mean over epochs is computed)"] == 2
    text = done(tmp_path / "l.db", "import", "results", tmp_path / "log.json").text
    assert "Not kept:\n  messages of conversations: 12\n" in text


USAGE = {"model_usage": {"m": {"input_tokens": 9, "output_tokens": 5, "input_tokens_cache_read": -3}}}


@pytest.mark.parametrize(
    ("stated", "what"),
    [
        ({"working_time": -1}, "working times of samples that are not within 0 to 9,007,199 seconds"),
        ({"working_time": 1e300}, "working times of samples that are not within 0 to 9,007,199 seconds"),
        (
            {"working_time": None, "total_time": -1},
            "total times of samples that are not within 0 to 9,007,199 seconds",
        ),
        ({"completed_at": "x"}, "times of samples that are not a date or an RFC 3339 time"),
        (USAGE, "counts of tokens that are not whole numbers within 0 to 9,007,199,254,740,991"),
    ],
)
def test_what_no_event_can_state_is_counted(tmp_path: Path, stated: Json, what: str) -> None:
    made = log([sample(1, 1, {"a": score("C"), "b": score("I")}, **stated)], scorers=["a", "b"])
    assert left_out(as_json(tmp_path, made))[what] == 1


def test_an_end_before_the_begin_is_left_out_and_counted(tmp_path: Path) -> None:
    stats = {"started_at": "2026-11-01T10:00:10Z", "completed_at": "2026-11-01T10:00:00Z"}
    answer = imported(tmp_path / "l.db", as_json(tmp_path, capitals() | {"stats": stats}))
    assert not_kept(answer)["ends of the evaluation that are before its begin"] == 1
    assert "elapsed_ns" not in stored(tmp_path / "l.db", runs_of(answer)["match"]["run_id"])[-1]["data"]


@pytest.mark.parametrize("first", ["json", "eval"])
def test_a_second_import_adds_nothing_also_from_the_other_file_format(tmp_path: Path, first: str) -> None:
    files = {"json": as_json(tmp_path, capitals()), "eval": as_eval(tmp_path, capitals())}
    ledger, second = tmp_path / "l.db", "eval" if first == "json" else "json"
    once = imported(ledger, files[first])
    for again in (files[first], files[second]):
        answer = imported(ledger, again)
        assert (answer["runs"], answer["there"], answer["appended"]) == (0, 2, 0)
        assert not_kept(answer) == not_kept(once)
        assert {run["outcome"] for run in runs_of(answer).values()} == {"there"}
    assert "2 there already; 0 events appended" in done(ledger, "import", "results", files[second]).text


def test_through_a_server(tmp_path: Path) -> None:
    path = as_eval(tmp_path, capitals())
    with served(tmp_path / "l.db") as server:
        url = ("--url", server.url)
        assert imported(tmp_path / "none.db", path, *url)["appended"] == 16  # the server records evidence by itself
        assert imported(tmp_path / "none.db", path, *url)["there"] == 2
    assert not (tmp_path / "none.db").exists()


def test_names_of_suite_and_agent_can_be_given(tmp_path: Path) -> None:
    ledger, path = tmp_path / "l.db", as_json(tmp_path, capitals())
    runs = runs_of(imported(ledger, path, "--suite", "cities", "--agent", "guide"))
    show = shown(ledger, runs["match"]["run_id"])
    assert (show["suite"], show["agent"]) == ("cities", "guide")
    assert show["results"][0]["scenario_id"].startswith("cities.")
    assert "suite" in refused(ledger, "import", "results", path, "--suite", "x" * 257)


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    path = as_json(tmp_path, capitals())
    answer = imported(tmp_path / "l.db", path, "--dry-run")
    assert (answer["dry_run"], answer["runs"], answer["scores"]) == (True, 2, 12)
    assert "would be imported" in done(tmp_path / "l.db", "import", "results", path, "--dry-run").text
    assert not (tmp_path / "l.db").exists()


def test_other_content_of_the_same_run_is_refused_and_named(tmp_path: Path) -> None:
    ledger, made = tmp_path / "l.db", capitals()
    imported(ledger, as_json(tmp_path, made))
    before = done(ledger, "log", "--json").out
    made["samples"][0]["scores"]["match"]["value"] = "I"
    ended = tally(ledger, "import", "results", as_json(tmp_path, made))
    assert ended.code == 1
    assert (
        "scenario capitals.1, attempt 1 is 100.0 there and 0.0 in the file. Nothing of the run was written."
        in ended.err
    )
    assert "in conflict" in ended.text
    assert "there already" in ended.text
    assert done(ledger, "log", "--json").out == before


def test_a_score_that_the_file_lacks_is_counted(tmp_path: Path) -> None:
    ledger, made = tmp_path / "l.db", capitals()
    imported(ledger, as_json(tmp_path, made))
    for left, message in ((5, "it has 1 score that the file lacks"), (4, "it has 2 scores that the file lacks")):
        fewer = {**made, "samples": made["samples"][:left]}
        assert message in tally(ledger, "import", "results", as_json(tmp_path, fewer)).err


def test_a_log_that_is_still_written_is_continued(tmp_path: Path) -> None:
    ledger, made = tmp_path / "l.db", capitals()
    beginning = {**made, "status": "started", "samples": made["samples"][:3]}
    run_id = runs_of(imported(ledger, as_eval(tmp_path, beginning)))["match"]["run_id"]
    assert not shown(ledger, run_id)["ended"]
    answer = imported(ledger, as_eval(tmp_path, made))
    assert {run["outcome"] for run in runs_of(answer).values()} == {"continued"}
    assert (answer["scores"], answer["appended"]) == (6, 8)
    assert shown(ledger, run_id)["ended"]
    assert imported(ledger, as_json(tmp_path, made))["there"] == 2


def test_dicts_are_scorers_of_their_own_and_lists_and_other_scales_are_named(tmp_path: Path) -> None:
    values: list[Any] = [
        {"parts": {"tone": 0.5, "words": 7}, "list": [1, 0], "points": 7, "text": "good"},
        {"parts": {"tone": 1, "words": 9}, "list": [1, 1], "points": 1, "text": "C"},
        {"parts": {"tone": nan, "words": 9}, "list": [1, 1], "points": 0, "text": "no"},
    ]
    samples = [sample(i, 1, {name: score(v) for name, v in each.items()}) for i, each in enumerate(values)]
    answer = imported(tmp_path / "l.db", as_json(tmp_path, log(samples)))
    runs = runs_of(answer)
    assert {name: (run["scored"], run["skipped"], run["mean_scored"]) for name, run in runs.items()} == {
        "parts.tone": (2, 1, 75),
        "text": (2, 1, 50),
    }
    found = not_kept(answer)
    assert found["values of list that are lists"] == 3
    assert found["values of points, which are not all in 0..1 and have no known scale"] == 3
    assert found["values of parts.words, which are not all in 0..1 and have no known scale"] == 3
    assert found["values of text that are texts without a number"] == 1
    details = {each["data"].get("detail") for each in stored(tmp_path / "l.db", runs["text"]["run_id"])}
    assert "the value 'good' has no number" in details


def test_an_evaluation_that_failed_keeps_its_errors(tmp_path: Path) -> None:
    samples = [sample(i, 1, {}, error=f"no answer {i}") for i in range(3)]
    made = log(samples, scorers=["inspect_ai/match"], status="error", results=None)
    made["error"] = {"message": "too many errors", "traceback": "...", "traceback_ansi": "..."}
    ledger = tmp_path / "l.db"
    run = runs_of(imported(ledger, as_json(tmp_path, made)))["match"]
    assert (run["errors"], run["scored"]) == (3, 0)
    assert shown(ledger, run["run_id"])["reason"] == "error: too many errors"


def test_long_answers_become_evidence(tmp_path: Path) -> None:
    ledger, made = tmp_path / "l.db", capitals()
    text = "long " * 20_000
    made["samples"][0]["output"]["choices"][0]["message"]["content"] = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": text},
    ]
    answer = imported(ledger, as_json(tmp_path, made))
    assert not_kept(answer)["parts of answers that are not text"] == 1
    first = stored(ledger, runs_of(answer)["match"]["run_id"])[1]["data"]
    assert json.loads(done(ledger, "evidence", "get", first["analysis_digest"]).out) == {"answer": text}


@pytest.mark.slow
def test_an_interrupted_import_is_continued(tmp_path: Path) -> None:
    """The ledger has the first 1,500 of 3,002 events, as if the import was killed after its first batches."""
    ledger = tmp_path / "l.db"
    samples = [sample(number, 1, {"match": score("C" if number % 3 else "I")}) for number in range(3000)]
    path = as_eval(tmp_path, log(samples, scorers=["match"], means={"match": 2 / 3}))
    whole = imported(tmp_path / "other.db", path)
    run_id = runs_of(whole)["match"]["run_id"]
    names = ("type", "id", "time", "data")
    part = [{name: each[name] for name in names} for each in stored(tmp_path / "other.db", run_id)][:1500]
    done(ledger, "append", given="\n".join(map(json.dumps, part)).encode())
    answer = imported(ledger, path)
    assert runs_of(answer)["match"]["outcome"] == "continued"
    assert answer["scores"] == 3001 - len(part)
    assert shown(ledger, run_id)["mean"] == pytest.approx(200 / 3)


BAD = {
    "empty": (b"", "it is empty."),
    "cut": (b'{"status": "success", "eval": {"ta', "it is not JSON: Input data was truncated."),
    "list": (b"[1", "it is not JSON: Input data was truncated."),
    "half": (b'{"eval": {}, "status": "x", "samples": [{"id": "\\ud83d"}]}', "samples[0].id: must be Unicode text"),
    "no id": (b'{"results": {"version": 3}, "config": {}}', "it lacks `evalId` of promptfoo."),
    "no spec": (b'{"status": "success", "samples": []}', "it lacks `eval` of Inspect AI."),
    "text": (b"hello", "none of the known formats"),
    "other": (b'{"a": 1}', "none of the known formats"),
    "zip": (b"PK\x03\x04 and so on", "it is not a complete ZIP file"),
    "wrong": (b'{"status": "success", "eval": {"task": 1}}', "Expected `str`, got `int` - at `$.eval.task`"),
    "version": (b'{"status": "success", "version": 1, "eval": {"task": "t"}}', "it is a log of version 1"),
    "none": (b'{"status": "started", "eval": {"task": "t"}}', "the log has no samples"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_wrong_is_named_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    content, message = BAD[name]
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    said = refused(tmp_path / "l.db", "import", "results", path)
    assert message in said
    assert str(path) in said
    assert not (tmp_path / "l.db").exists()


@pytest.mark.parametrize("named", ["inspect", "lm-eval", "promptfoo", "deepeval"])
def test_json_that_is_cut_off_says_so_in_every_format(tmp_path: Path, named: str) -> None:
    path = tmp_path / "cut.json"
    path.write_bytes(b'{"results": {')
    said = refused(tmp_path / "l.db", "import", "results", path, "--format", named)
    assert "it is not JSON: Input data was truncated." in said


def test_wrong_files_beside_a_right_one(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    ended = tally(
        tmp_path / "l.db", "import", "results", bad, tmp_path / "none", as_json(tmp_path, capitals()), tmp_path
    )
    assert ended.code == 1
    assert "2 runs with 12 scores imported" in ended.text
    assert "none cannot be read: No such file or directory." in ended.err
    assert f"{tmp_path} cannot be read: Is a directory." in ended.err
    assert "unknown" in refused(tmp_path / "l.db", "import", "results", bad, "--format", "unknown")


def test_scores_that_cannot_be_points_leave_no_run(tmp_path: Path) -> None:
    path = as_json(tmp_path, log([sample(1, 1, {"points": score(70)})]))
    said = refused(tmp_path / "l.db", "import", "results", path)
    assert "none of its samples has a score that can be points: values of points" in said
    twice = as_json(tmp_path, log([sample(1, 1, {"m": score("C")}), sample("1", 1, {"m": score("I")})]))
    assert "sample '1', attempt 1: it is there twice" in refused(tmp_path / "l.db", "import", "results", twice)


def test_an_archive_with_a_damaged_or_an_enormous_sample_is_refused(tmp_path: Path) -> None:
    path = as_eval(tmp_path, capitals())
    data = bytearray(path.read_bytes())
    data[data.index(b"samples/3_epoch_2.json") + 60] ^= 255
    path.write_bytes(data)
    assert "samples/3_epoch_2.json is damaged" in refused(tmp_path / "l.db", "import", "results", path)
    whole = as_eval(tmp_path, capitals()).read_bytes()
    at = whole.rindex(b"PK\x01\x02") + 24  # the size of the last entry, as the central directory states it
    for size, message in ((1 << 31, "at most 536,870,912 are read"), (10, "its size or checksum is wrong")):
        path.write_bytes(whole[:at] + size.to_bytes(4, "little") + whole[at + 4 :])
        assert message in refused(tmp_path / "l.db", "import", "results", path)
    assert not (tmp_path / "l.db").exists()


def test_help_has_an_example() -> None:
    text = done(Path("none.db"), "import", "results", "--help").text
    assert "tallystick import results logs/*.eval" in text
