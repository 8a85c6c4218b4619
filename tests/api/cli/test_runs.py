"""import runs, run save, show and list: real reports and wrong ones, twice, by two agents, killed in the middle."""

from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from instruments.probes import find_probe
from tests.api.cli.command import done, refused, tally
from tests.api.http.discovery_agent import REFUSED, Asker, model
from tests.support.run_reports import (
    REAL,
    Json,
    report,
    written,
)
from tests.support.scored_text import score_text
from tests.support.server import serving

POLL_S = 0.005


def answer(out: bytes) -> dict[str, Any]:
    return msgspec.json.decode(out, type=dict[str, Any])


def shown(ledger: Path, run_id: str, *arguments: str) -> dict[str, Any]:
    return answer(done(ledger, "run", "show", run_id, "--json", *arguments).out)


def log(ledger: Path) -> list[dict[str, Any]]:
    return [answer(line) for line in done(ledger, "log", "--json").out.splitlines()]


def head(ledger: Path) -> int:
    return len(log(ledger))


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="the shared data is not here")
def test_real_reports_come_back_field_for_field_whoever_brings_them(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    first = answer(done(ledger, "import", "runs", *REAL, "--json").out)
    assert (first["files"], first["runs"], first["there"], first["faults"]) == (len(REAL), len(REAL), 0, [])
    code = [(row["run_id"], row["attempt"], row["stated"]) for row in first["unborne"]]
    assert len(code) == 13
    assert ("mc-1771684523895", 1, 1) in code
    assert all("rescored" in row["why"] and row["scorer"].startswith("refactor-go@") for row in first["unborne"])
    for agent in ("anonymous", "bo"):
        again = answer(done(ledger, "import", "runs", *REAL, "--agent", agent, "--json").out)
        assert (again["runs"], again["there"], again["appended"], again["faults"]) == (0, len(REAL), 0, [])
    assert head(ledger) == first["appended"]
    with serving(ledger) as url:
        for path in REAL:
            wanted = msgspec.json.decode(path.read_bytes())
            assert httpx.get(f"{url}/runs/{wanted['run_id']}").json() == wanted
    for path in REAL[1:3]:
        wanted = msgspec.json.decode(path.read_bytes())
        assert shown(ledger, wanted["run_id"]) == wanted
    listed = answer(done(ledger, "run", "list", "--json").out)
    assert listed["total"] == len(REAL)
    assert [run["start_time"] for run in listed["runs"]] == sorted(
        (run["start_time"] for run in listed["runs"]), reverse=True
    )


def test_a_report_is_events_with_its_own_times(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    (file,) = written(tmp_path, report("r-1", "m-1", "m-2"))
    said = done(ledger, "import", "runs", file, "--agent", "ada")
    assert said.text.startswith("1 file: 1 run written (2 results), 0 there already, 0 left out.\n6 events appended; ")
    events = log(ledger)
    assert [(event["type"].split(".")[1], event["id"], event["time"]) for event in events] == [
        ("started", "run:r-1:started", "2026-02-21T14:35:23.895071Z"),
        ("attempted", "run:r-1:attempt:1", "2026-02-21T14:36:08.945237Z"),
        ("scored", "run:r-1:score:1", "2026-02-21T14:36:08.945237Z"),
        ("attempted", "run:r-1:attempt:2", "2026-02-21T14:36:09.945237Z"),
        ("scored", "run:r-1:score:2", "2026-02-21T14:36:09.945237Z"),
        ("finished", "run:r-1:finished", "2026-02-21T14:39:14.782359Z"),
    ]
    assert {event["source"] for event in events} == {"/agents/ada"}
    assert (events[2]["data"]["scorer_id"], events[2]["data"]["model_name"]) == ("reported", "m-1")
    assert "unique_models" not in events[-1]["data"]


def test_a_run_that_says_something_else_is_a_contradiction_and_the_rest_is_imported(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    (first,) = written(tmp_path, report("r", "m-1", "m-2"))
    done(ledger, "import", "runs", first)
    changes = (
        report("r", "m-1"),
        report("r", "m-1", "m-3"),
        report("r", "m-1", "m-2", "m-3"),
        report("r", "m-1", "m-2", termination_reason="other"),
        report("r", "m-1", "m-2", start_time="2026-01-01T00:00:00Z"),
        report("r", "m-1", "m-2", unique_models=[]),
    )
    files = []
    for number, changed in enumerate(changes):
        (tmp_path / str(number)).mkdir()
        files += [*written(tmp_path / str(number), changed), *written(tmp_path, report(f"new-{number}", "m"))]
    said = tally(ledger, "import", "runs", *files)
    assert said.code == 1
    assert said.text.startswith("12 files: 6 runs written (6 results), 0 there already, 6 left out.\n")
    for path in files[::2]:
        assert f"error: {path}: run_id: the ledger has another run r." in said.err
    said_saved = refused(ledger, "run", "save", "--report-file", files[0], code=1)
    assert "the ledger has another run r." in said_saved
    assert shown(ledger, "r") == report("r", "m-1", "m-2")


def test_null_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "r.json"
    bare = {**report("r"), "results": None, "unique_models": None}
    file.write_bytes(b"\xef\xbb\xbf" + msgspec.json.encode(bare))
    done(ledger, "import", "runs", file)
    assert shown(ledger, "r") == report("r")


def test_stated_scores_that_nothing_bears_out_are_kept_and_reported(tmp_path: Path) -> None:
    ledger, output = tmp_path / "t.db", "func sum(values []int) int {\n\treturn 0 // nothing\n}\n"
    probe = find_probe("refactor-go")
    assert probe is not None
    honest = score_text(probe.scorers[-1], output)
    assert honest.counts is not None
    right = {**honest.counts, "total_score": honest.total}
    scores: list[tuple[str, Json | None]] = [
        (output, right),
        (output, {**right, "total_score": (honest.total or 0) + 0.004}),
        (output, {**right, "total_score": 1}),
        ("plain prose that says func", right),
        (output, {"total_score": honest.total}),
        (output, None),
        ("", {}),
    ]
    one = report("r", *(f"m-{number}" for number in range(len(scores) + 1)))
    for found, (text, score) in zip(one["results"], scores, strict=False):
        found["probe"] |= {"raw_output": text, "score": score}
        if score is None:
            del found["probe"]["score"]
    one["results"][-1]["probe"]["probe_id"] = "unknown-here"
    files = written(tmp_path, one)
    reported = answer(done(ledger, "import", "runs", *files, "--json").out)["unborne"]
    assert [(row["attempt"], row["why"]) for row in reported] == [(3, ["counts", "rescored"]), (4, ["invalid"])]
    assert reported[0] | {"by_counts": None, "by_scorer": None} == {
        "file": str(files[0]), "run_id": "r", "attempt": 3, "model_name": "m-2", "probe_id": "refactor-v1",
        "scorer": "refactor-go@1", "stated": 1, "by_counts": None, "by_scorer": None,
        "why": ["counts", "rescored"],
    }  # fmt: skip
    assert reported[0]["by_counts"] == pytest.approx(honest.total) == reported[0]["by_scorer"]
    person = done(ledger, "import", "runs", *files).text
    assert "2 stated scores not supported by the output (by more than 0.005), kept as stated:\n" in person
    assert "the output is invalid" in person
    assert "borne" not in done(ledger, "import", "runs", *files, "--no-rescore").text
    assert answer(done(ledger, "run", "save", "--report-file", files[0], "--json").out)["unborne"] == reported
    assert shown(ledger, "r") == one


def test_save_reads_a_pipe_and_names_what_has_no_name(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    nameless = report("r", "m")
    del nameless["run_id"]
    body = msgspec.json.encode(nameless)
    first = answer(done(ledger, "run", "save", "--report-file", "-", "--json", given=body).out)
    again = answer(done(ledger, "run", "save", "--report-file", "-", "--json", given=body).out)
    assert (first["saved"], first["appended"], first["results"], len(first["unborne"])) == (True, 4, 1, 1)
    assert again == first | {"saved": False, "appended": 0, "first": None, "last": None}
    assert shown(ledger, first["run_id"]) == {**nameless, "run_id": first["run_id"]}
    said = done(ledger, "run", "save", "--report-file", "-", given=msgspec.json.encode(report("named", "m", "n")))
    assert said.text.startswith("Run named saved, 2 results.\n2 stated scores not supported by the output")
    said_of_brace = refused(ledger, "run", "save", "--report-file", "-", given=b"{")
    assert said_of_brace.startswith("error: standard input: Not well-formed JSON")
    assert refused(ledger, "run", "save", "--report-file", tmp_path).startswith(f"error: {tmp_path}: It cannot be read")


def test_a_run_that_goes_on_is_imported_as_one(tmp_path: Path) -> None:
    ledger, going = tmp_path / "t.db", report("r", "m")
    del going["end_time"], going["termination_reason"]
    written(tmp_path, going)
    done(ledger, "import", "runs", tmp_path / "r.json")
    assert shown(ledger, "r") == going
    assert answer(done(ledger, "run", "list", "--json").out)["runs"][0]["end_time"] is None
    written(tmp_path, report("r", "m", "n"))
    done(ledger, "import", "runs", tmp_path / "r.json")
    assert shown(ledger, "r") == report("r", "m", "n")


def test_runs_are_listed_shown_and_dated(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    older = report("older", "m", start_time="2026-01-01T00:00:00Z", config={"probe_id": "other"})
    done(ledger, "import", "runs", *written(tmp_path, report("newer", "m-1", "m-2")), "--agent", "ada")
    position = head(ledger)
    done(ledger, "import", "runs", *written(tmp_path, older), "--agent", "bo")

    def listed(*arguments: str) -> list[str]:
        return [run["run_id"] for run in answer(done(ledger, "run", "list", "--json", *arguments).out)["runs"]]

    assert listed() == ["newer", "older"]
    assert listed("--agent", "bo", "--probe", "other", "--until", "2026-01-31") == ["older"]
    assert listed("--since", "2026-02-01", "--limit", "1", "--as-of", str(position)) == ["newer"]
    assert listed("--agent", "bo", "--probe", "refactor-v1", "--offset", "0", "--window", "all") == []
    said = done(ledger, "run", "list")
    assert [word for word in said.text.splitlines()[1].split() if word] == [
        "newer", "2026-02-21", "14:35:23", "ada", "-", "refactor-v1", "2", "2", "report_requested",
    ]  # fmt: skip
    assert said.err == "2 of 2 runs.\n"
    person = done(ledger, "run", "show", "new", "--attempts").text
    for wanted in ("newer", "ada", "report_requested", "m-1", "1.000", "2 accepted", "reported 1.000"):
        assert wanted in person
    detail = shown(ledger, "newer", "--attempts")
    assert [attempt["outcome"] for attempt in detail["attempts"]] == ["accepted", "accepted"]
    assert [score["scorer_id"] for attempt in detail["attempts"] for score in attempt["scores"]] == ["reported"] * 2
    assert detail["signals"] == []
    assert set(detail) - set(shown(ledger, "newer")) == {"attempts", "signals"}
    golden = done(ledger, "run", "show", "new", "--golden").out
    assert golden.decode() == report("newer", "m-1", "m-2")["results"][0]["probe"]["raw_output"]
    assert "--golden: prints nothing else." in refused(ledger, "run", "show", "new", "--golden", "--attempts")
    assert "Run not found: nothing" in refused(ledger, "run", "show", "nothing", code=1)
    assert "Run not found: older" in refused(ledger, "run", "show", "older", "--as-of", str(position), code=1)
    assert "--limit: " in refused(ledger, "run", "list", "--limit", "0")


@pytest.mark.slow
def test_a_server_is_written_through_and_says_the_same(tmp_path: Path) -> None:
    ledger, beside = tmp_path / "t.db", tmp_path / "beside.db"
    files = written(tmp_path, report("one", "m"), report("two", "m", "n"))
    done(beside, "import", "runs", *files)
    with serving(ledger) as url:
        first = answer(done(beside, "import", "runs", *files, "--url", url, "--json").out)
        again = answer(done(beside, "import", "runs", *files, "--url", url, "--json").out)
        assert (first["runs"], again["runs"], again["there"]) == (2, 0, 2)
        changed = written(tmp_path, report("one", "other"))
        assert tally(beside, "import", "runs", *changed, "--url", url).code == 1
        for run_id in ("one", "two"):
            assert shown(ledger, run_id) == shown(beside, run_id)


@pytest.mark.slow
@pytest.mark.parametrize("through", ["file", "server"])
def test_an_output_that_no_line_holds_is_evidence_and_can_be_erased(tmp_path: Path, through: str) -> None:
    ledger, large = tmp_path / "t.db", "x" * 200_000
    one = report("r", "m-1", "m-2")
    one["results"][1]["probe"]["raw_output"] = large
    digest = sha256(large.encode()).hexdigest()
    files = written(tmp_path, one, report("small", "m"))
    with serving(ledger) if through == "server" else nullcontext() as url:
        there = () if url is None else ("--url", url)
        first = answer(done(ledger, "import", "runs", *files, *there, "--json", "--agent", "ada").out)
        assert (first["runs"], first["faults"]) == (2, [])
        (line,) = [one for one in log(ledger) if one["id"] == "run:r:attempt:2"]
        assert (line["data"]["output_digest"], "output" in line["data"]) == (digest, False)
        assert shown(ledger, "r") == one
        done(ledger, "evidence", "erase", digest, "--reason", "private", "--yes", *there)
        again = answer(done(ledger, "import", "runs", *files, *there, "--json").out)
        assert (again["there"], again["appended"]) == (2, 0)
        other = written(tmp_path, {**one, "run_id": "other"}, report("new", "m"))
        said = tally(ledger, "import", "runs", *other, *there)
        assert said.code == 1
        assert said.text.startswith("2 files: 1 run written (1 result), 0 there already, 1 left out.")
        assert f"error: {other[0]}: " in said.err
        assert "erased" in said.err
    after = shown(ledger, "r", "--attempts")
    probe = after["results"][1]["probe"]
    assert (probe["output_digest"], probe["erased"], "raw_output" in probe) == (digest, True, False)
    assert probe["score"] == one["results"][1]["probe"]["score"]
    assert [attempt.get("erased") for attempt in after["attempts"]] == [None, True]
    assert after["attempts"][1]["output_digest"] == digest
    assert after["results"][0] == one["results"][0]
    assert "erased" in done(ledger, "run", "show", "r", "--attempts").text


@pytest.mark.slow
def test_a_run_that_was_driven_here_is_known_again_and_can_be_taken_elsewhere(tmp_path: Path) -> None:
    ledger, elsewhere, file = tmp_path / "t.db", tmp_path / "elsewhere.db", tmp_path / "live.json"
    long = "def sum(values):\n" + "    return 0  # a comment that is long\n" * 2_500
    with serving(ledger) as url, httpx.Client(base_url=url) as client:
        asker = Asker(client)
        run_id = asker.begin(probe_id="refactor-python", keep_going=True)["run_id"]
        for name, code in (
            ("m-1", "def sum(values):\n    return 0\n"),
            ("m-2", long),
            ("m-1", "def f(): ...\n"),
        ):
            asker.respond(run_id, model(name, f"```python\n{code}```", elapsed_ns=5, tokens_used=7))
        asker.respond(run_id, REFUSED)
        going = asker.get(f"/runs/{run_id}")
        asker.ask("POST", f"/discovery/{run_id}/finish", {"reason": "enough"})
        wanted = asker.get(f"/runs/{run_id}")
        detail = asker.get(f"/runs/{run_id}", include="attempts")
        file.write_bytes(msgspec.json.encode(wanted))
        again = answer(done(ledger, "import", "runs", file, "--url", url, "--json").out)
        assert (again["there"], again["runs"], again["faults"]) == (1, 0, [])
        file.write_bytes(msgspec.json.encode({**wanted, "termination_reason": "other"}))
        assert tally(ledger, "import", "runs", file, "--url", url).code == 1
    assert {**going, "end_time": wanted["end_time"], "termination_reason": "enough"} == wanted
    assert [result["model"]["model_name"] for result in wanted["results"]] == ["m-1", "m-2"]
    probe = wanted["results"][1]["probe"]
    assert (probe["raw_output"], probe["elapsed_ns"], probe["tokens_used"]) == (long, 5, 7)
    assert {"total_score", "comments_added"} < set(wanted["results"][0]["probe"]["score"])
    assert [one["outcome"] for one in detail["attempts"]] == ["accepted", "accepted", "repeat", "refused"]
    assert [one.get("response") is None for one in detail["attempts"]] == [False, True, False, False]
    file.write_bytes(msgspec.json.encode(wanted))
    done(elsewhere, "import", "runs", file)
    assert shown(elsewhere, run_id) == wanted
    assert shown(ledger, run_id) == wanted
