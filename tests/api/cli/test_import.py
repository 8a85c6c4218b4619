"""import decisions: what a row may say, ids that make a second import add nothing, a kill in the middle."""

import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.api.cli.command import (
    command,
    done,
    environment,
    refused,
)
from tests.support.paths import ROOT, SHARED

CALIBRATION = SHARED / "calibration"

POLL_S = 0.005

TABLE = """agent,category,decision,confidence,outcome,id,time,review_time,stakes,project,feature,spare
a,c,same,0.5,success,,2026-01-02,,low,p,f,x
a,c,same,0.50,1,,2026-01-02,,LOW,p,f,y
b,,"two
lines",,,,,,,,,
b,,of,1.0,0.5,named,2026-01-02T10:00:00+02:00,2026-01-03,,,,
b,,yet open,0,,,,,,,,
"""


def found(out: bytes) -> dict[str, Any]:
    return msgspec.json.decode(out, type=dict[str, Any])


def events(ledger: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in done(ledger, "log", "--json").out.splitlines()]


def test_rows_become_decisions_and_reviews(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text(TABLE, encoding="utf-8-sig")
    answer = found(done(ledger, "import", "decisions", file, "--json").out)
    names = ("agent", "category", "decision", "confidence", "outcome", "id", "time", "review_time", "stakes", "project")
    assert answer | {"elapsed_ms": 0} == {
        "file": str(file), "rows": 5, "decisions": 5, "reviews": 3, "with_confidence": 4, "skipped": 0,
        "bad_rows": [], "unused_columns": ["spare"], "appended": 8, "duplicates": 0, "first": 1, "last": 8,
        "elapsed_ms": 0,
        "format": {"kind": "csv", "encoding": "utf-8-sig", "encoding_guessed": False, "delimiter": ",",
                   "separator_line": False},
        "columns": {name: name for name in (*names, "feature")}, "new_decisions": 5, "new_reviews": 3,
        "new_questions": 0, "unchanged": 0, "matched": 0, "retracted": 0, "conflicting": 0, "conflicts": [],
        "warnings": [], "dry_run": False, "refused": False, "stopped": False, "kept": 5, "changes": [],
    }  # fmt: skip
    log = events(ledger)
    assert [event["data"].get("decision", event["data"].get("outcome")) for event in log] == [
        "same", "success", "same", "success", "two\nlines", "of", "partial", "yet open",
    ]  # fmt: skip
    assert log[0]["data"] == {
        "decision_id": log[0]["subject"].removeprefix("decision/"), "decision": "same", "confidence": 0.5,
        "category": "c", "stakes": "low", "project": "p", "feature": "f",
    }  # fmt: skip
    assert log[0]["subject"] != log[2]["subject"]
    assert len(log[0]["data"]["decision_id"]) == 16
    assert "confidence" not in log[4]["data"]
    assert (log[5]["subject"], log[5]["source"]) == ("decision/named", "/agents/b")
    assert log[5]["time"].startswith("2026-01-02T08:00:00")
    assert log[6]["time"].startswith("2026-01-03T00:00:00")
    assert log[7]["data"]["confidence"] == 0


def test_the_same_rows_again_add_nothing_in_any_order_and_format(tmp_path: Path) -> None:
    ledger, table = tmp_path / "t.db", tmp_path / "table.csv"
    table.write_text(TABLE)
    done(ledger, "import", "decisions", table)
    said = done(ledger, "import", "decisions", table)
    assert "0 events appended, 8 there already" in said.text
    assert "Compared: 5 unchanged.\n" in said.text
    assert said.err == "Columns not used: spare.\n"
    lines = tmp_path / "table.jsonl"
    rows = [
        {"agent": "b", "decision": "yet open", "confidence": 0, "outcome": None},
        {"who": 1, "agent": "b", "decision": "of", "confidence": 1, "outcome": 0.5, "id": "named",
         "time": "2026-01-02T08:00:00Z", "review_time": "2026-01-03T00:00:00Z"},
        {"agent": "b", "decision": "two\nlines", "confidence": ""},
    ]  # fmt: skip
    lines.write_bytes(b"\n\n".join(map(msgspec.json.encode, rows)))
    answer = found(done(ledger, "import", "decisions", lines, "--json").out)
    assert (answer["rows"], answer["appended"], answer["duplicates"]) == (3, 0, 4)


def test_an_outcome_may_come_later_for_a_row_with_an_id(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text("agent,decision,id,outcome\na,do,x,\n")
    done(ledger, "import", "decisions", file)
    for outcome in ("failure", "success"):
        file.write_text(f"agent,decision,id,outcome\na,do,x,{outcome}\n")
        assert "1 event appended, 1 there already" in done(ledger, "import", "decisions", file).text
    assert msgspec.json.decode(done(ledger, "decision", "x", "--json").out)["review"]["outcome"] == "success"
    file.write_text("agent,decision,id,outcome\na,do otherwise,x,\n")
    said = refused(ledger, "import", "decisions", file, code=1)
    assert said.startswith(f"error: 1 row of {file} contradicts the ledger; nothing was written.\n")
    assert "line 2: decision is 'do otherwise', but decision x of the ledger has 'do'\n" in said


def test_the_question_may_come_with_the_decision_or_later(tmp_path: Path) -> None:
    ledger, other, file = tmp_path / "t.db", tmp_path / "other.db", tmp_path / "table.csv"
    file.write_text("agent,decision,id,outcome,asked\na,do,x,1,q1\na,do,,0,q2\na,do,,0,\nb,do,,,q1\n")
    assert "7 events appended" in done(ledger, "import", "decisions", file).text
    mapped = ("--map", "question=asked")
    assert "3 events appended, 7 there already" in done(ledger, "import", "decisions", file, *mapped).text
    assert "0 events appended, 10 there already" in done(ledger, "import", "decisions", file, *mapped).text
    assert "10 events appended, 0 there already" in done(other, "import", "decisions", file, *mapped).text
    for one in (ledger, other):
        asked = [event for event in events(one) if event["type"] == "decision.asked.v1"]
        assert [event["data"]["question"] for event in asked] == ["q1", "q2", "q1"]
        assert asked[0]["data"]["decision_id"] == "x"
        assert msgspec.json.decode(done(one, "decision", "x", "--json").out)["question"] == "q1"
    types = [event["type"].split(".")[1] for event in events(other)]
    assert types[:3] == ["recorded", "asked", "reviewed"]


def test_another_question_for_the_same_id(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text("agent,decision,id,question\na,do,x,q1\n")
    done(ledger, "import", "decisions", file)
    file.write_text("agent,decision,id,question\na,do,x,q2\n")
    assert "1 event appended, 1 there already" in done(ledger, "import", "decisions", file).text
    assert msgspec.json.decode(done(ledger, "decision", "x", "--json").out)["question"] == "q2"
    file.write_text("agent,decision,id,question\na,do,x,q1\na,do,x,q2\n")
    assert "id for one decision" in refused(ledger, "import", "decisions", file)
    file.write_text(f"agent,decision,question\na,do,{'q' * 2000}\n")
    assert "line 2: question is" in refused(ledger, "import", "decisions", file)


BAD = """agent,decision,confidence,outcome,time,stakes,id
a,ok,0.5,success,2026-01-02,low,
a,ok,high,,,,
a,ok,1.5,,,,
,ok,0.5,,,,
a b,ok,0.5,,,,
a,,0.5,,,,
a,ok,0.5,maybe,,,
a,ok,0.5,,soon,,
a,ok,0.5,,,huge,
a,ok,0.5,,,,no/slash
a,ok,0.5
a,one,,,,,twice
a,other,,,,,twice
a,ok,nan,,,,
"""


def test_bad_rows_refuse_the_file_before_anything_is_written(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "bad.csv"
    file.write_text(BAD)
    said = refused(ledger, "import", "decisions", file).splitlines()
    assert said[0] == f"error: 12 rows of {file} cannot be imported."
    assert said[1] == "  line 3: confidence is 'high'; allowed: a number from 0 to 1, or empty"
    assert said[2] == "  line 4: confidence is '1.5'; allowed: a number from 0 to 1, or empty"
    assert said[3].startswith("  line 5: agent is missing; allowed: 1..64 letters")
    assert said[4].startswith("  line 6: agent is 'a b'; allowed: ")
    assert said[5].startswith("  line 7: decision is missing; allowed: ")
    assert said[6] == (
        "  line 8: outcome is 'maybe'; allowed: success, partial, failure, abandoned, 1, 0.5, 0 "
        "(--outcome-map maybe=success maps a word), or empty"
    )
    assert said[7].startswith("  line 9: time is 'soon'; allowed: a date")
    assert said[8] == "  line 10: stakes is 'huge'; allowed: low, medium, high, critical, or empty"
    assert said[9].startswith("  line 11: id is 'no/slash'; allowed: ")
    assert said[10] == "  line 12: line is '3 cells'; allowed: 7 cells, as in the header"
    assert said[11].startswith("  line 14: id is 'twice'; allowed: an id for one decision: line 13 has it")
    assert said[12].startswith("  line 15: confidence is 'nan'")
    assert "--skip-bad" in said[13]
    assert not ledger.exists()


def test_bad_rows_can_be_left_out(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "bad.csv"
    file.write_text(BAD + "a,ok,7,,,,\n" * 20)
    answer = found(done(ledger, "import", "decisions", file, "--skip-bad", "--json").out)
    assert (answer["rows"], answer["decisions"], answer["skipped"], answer["appended"]) == (34, 2, 32, 3)
    assert len(answer["bad_rows"]) == 20
    assert answer["bad_rows"][0] == {
        "line": 3, "field": "confidence", "value": "high", "allowed": "a number from 0 to 1, or empty",
    }  # fmt: skip
    assert "  and 12 more\n" in done(ledger, "import", "decisions", file, "--skip-bad").err


def test_bad_json_rows(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "bad.jsonl"
    file.write_bytes(
        b'{"agent":"a","decision":["x"]}\nnope\n[1]\n{"agent":"a","decision":"x","outcome":true}\n'
        b'{"agent":"a","decision":"\\ud800"}\n{"agent":"a","decision":"' + b"x" * 70_000 + b'"}\n'
    )
    said = refused(ledger, "import", "decisions", file)
    for line in range(1, 7):
        assert f"  line {line}: " in said


def test_columns_are_mapped_and_missing_ones_named(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text("who,agent,question,confidence\nm,g,7,0.5\n")
    said = refused(ledger, "import", "decisions", file)
    assert f"no column for decision. The columns of {file} are: who, agent, question, confidence." in said
    assert "--map decision=COLUMN" in said
    for mapping in ("decision", "decision=", "wrong=question", "decision=nothing"):
        assert "--map: " in refused(ledger, "import", "decisions", file, "--map", mapping)
    twice = ("--map", "decision=question", "--map", "decision=who")
    assert "mapped twice" in refused(ledger, "import", "decisions", file, *twice)
    done(ledger, "import", "decisions", file, "--map", "decision=question", "--map", "agent=who")
    (event,) = events(ledger)
    assert (event["source"], event["data"]["decision"]) == ("/agents/m", "7")


@pytest.mark.trial("P5")
@pytest.mark.parametrize("rows", ["R,,,\n,,,\n", "R , ,,\n", "R\n,\n", ",,,\nR"])
def test_empty_rows_of_a_table_are_skipped(tmp_path: Path, rows: str) -> None:
    (tmp_path / "d.csv").write_text("decision,agent,confidence,outcome\n" + rows.replace("R", "A,s,0.9,success\n"))
    said = done(tmp_path / "t.db", "import", "decisions", tmp_path / "d.csv").text
    assert said.startswith("1 row: 1 decision (1 with a confidence), 1 review.")


@pytest.mark.trial("P6")
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"decision": oops, "agent":"s"}\n', "line 1: one JSON object is expected (JSON is malformed"),
        (b"{'decision':'A','agent':'s'}\n", "line 1: one JSON object is expected (JSON is malformed"),
        (b'{"decision":"cut \\ud83d","agent":"s"}\n', "line 1: one JSON object is expected (decision: must be"),
        (b"\n\n[1,2]\n", "line 3: one JSON object is expected (Expected `object`, got `array`)"),
        (b"", "is empty."),
    ],
)
def test_a_file_of_which_no_line_can_be_read_says_why(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "d.jsonl").write_bytes(content)
    assert why in refused(tmp_path / "t.db", "import", "decisions", tmp_path / "d.jsonl")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    assert "cannot be read" in refused(ledger, "import", "decisions", tmp_path / "missing.csv")
    for name, content, why in (
        ("table.xlsx", b"", "neither .csv nor .jsonl"),
        ("empty.csv", b"", "are: none."),
        ("damaged.csv", b"agent,decision\na,caf\xc3\xa9\na,caf\xe9\n", "is damaged: line 3 is not UTF-8"),
        ("twice.csv", b"agent,agent,decision\n", "has the column 'agent' twice"),
    ):
        (tmp_path / name).write_bytes(content)
        assert why in refused(ledger, "import", "decisions", tmp_path / name)


@pytest.mark.slow
def test_an_import_that_was_killed_is_completed_by_another(tmp_path: Path) -> None:
    ledger, file, whole = tmp_path / "t.db", tmp_path / "table.csv", 20_000
    file.write_text("agent,decision,outcome\n" + "".join(f"a,{n % 5000},{n % 2}\n" for n in range(whole)))
    killed = subprocess.Popen(
        command(ledger, "import", "decisions", file), cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL
    )
    wal = ledger.with_name(f"{ledger.name}-wal")
    try:
        while killed.poll() is None and not (wal.exists() and wal.stat().st_size > 1_000_000):
            time.sleep(POLL_S)
    finally:
        killed.kill()
        killed.wait()
    answer = found(done(ledger, "import", "decisions", file, "--json").out)
    assert answer["appended"] + answer["duplicates"] == 2 * whole
    assert answer["last"] == 2 * whole
    other = tmp_path / "other.db"
    done(other, "import", "decisions", file)
    counted = [done(one, "calibration", "--json").out.partition(b'"as_of"')[0] for one in (ledger, other)]
    assert counted[0] == counted[1]


@pytest.mark.slow
@pytest.mark.skipif(not CALIBRATION.is_dir(), reason="the shared data is not here")
def test_a_real_file_gives_the_known_answers(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "import", "decisions", CALIBRATION / "llm_confidence.csv", "--map", "decision=question_id")
    known = msgspec.json.decode((CALIBRATION / "known_answers.json").read_bytes())["real_llm"]["per_agent"]
    for agent, expected in known.items():
        answer = msgspec.json.decode(done(ledger, "calibration", "--agent", agent, "--json").out)["overall"]
        assert answer["reviewed"] == expected["n"]
        assert answer["accuracy"] == pytest.approx(expected["mean_outcome"], abs=1e-12)
        assert answer["gap"] == pytest.approx(expected["gap"], abs=1e-12)
        assert answer["brier_score"] == pytest.approx(expected["brier"], abs=1e-12)
