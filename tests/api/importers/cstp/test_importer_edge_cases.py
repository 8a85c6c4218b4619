"""import cstp over damaged and unusual stores: it reports each oddity and imports the rest."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cli.test_import import events
from tests.api.importers.cstp.test_importer import shown, taken
from tests.support.cstp_installation import (
    WHOLE,
    decision,
    open_store,
    put,
    reviewed,
    write_file,
    write_store,
)
from tests.support.paths import ROOT

Reported = tuple[str, str, str, str]


def losses(report: dict[str, Any]) -> list[Reported]:
    """Name of the file, field, value, and what was left out."""
    reported = ((Path(one["file"]).name, one["field"], one["value"], one["left_out"]) for one in report["losses"])
    return sorted(reported)


def text_of(report: dict[str, Any], field: str) -> str:
    allowed: str = next(one["allowed"] for one in report["losses"] if one["field"] == field)
    return allowed


@pytest.mark.slow
def test_a_field_that_does_not_fit_is_left_out_and_the_decision_kept(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    for number, confidence in enumerate((5.0, "high", float("nan"), -0.1, True, [0.5], "0.25", 1, 0)):
        write_file(folder, decision(f"c{number}", confidence=confidence))
    odd = decision(
        "odd",
        stakes="huge", mental_state="sleepy", category="c" * 257, tags=["ok", "t" * 300, 7], pr="12", line=-1,
        recorded_by="not a name", review_by="soon", pre_decision={"query_run": "maybe", "similar_found": 2.0},
        reasons=[
            {"type": "analysis", "text": "kept", "strength": 1.5}, {"type": "gut", "text": "lost"}, "text",
            {"type": "analysis", "text": ""},
        ],
        trace=[{"step": "one", "thought": "kept"}], bridge={"structure": "s", "purpose": "p", "colour": "red"},
        project={"name": "x"}, context=["a"], related_to=[{"id": "x"}], preserve="maybe", file="", pattern=42,
    )  # fmt: skip
    write_file(folder, odd)
    report = taken(ledger, folder, code=1)
    assert report["decisions"] == report["recorded"] == 10
    assert [entry for entry in losses(report) if entry[1] == "confidence"] == [
        ("2026-02-05-decision-c0.yaml", "confidence", "5.0", "confidence"),
        ("2026-02-05-decision-c1.yaml", "confidence", "high", "confidence"),
        ("2026-02-05-decision-c2.yaml", "confidence", ".nan", "confidence"),
        ("2026-02-05-decision-c3.yaml", "confidence", "-0.1", "confidence"),
        ("2026-02-05-decision-c4.yaml", "confidence", "true", "confidence"),
        ("2026-02-05-decision-c5.yaml", "confidence", '["0.5"]', "confidence"),
    ]
    assert text_of(report, "confidence") == "between 0.0 and 1.0"
    recorded = (event for event in events(ledger) if event["type"] == "decision.recorded.v1")
    stated = {event["subject"][9:]: event["data"].get("confidence") for event in recorded}
    assert stated == dict.fromkeys(("c0", "c1", "c2", "c3", "c4", "c5")) | {"c6": 0.25, "c7": 1, "c8": 0, "odd": 0.7}
    assert [(field, value, left) for file, field, value, left in losses(report) if "odd" in file] == [
        ("bridge.colour", "red", "bridge.colour"),
        ("category", "c" * 77 + "...", "category"), ("context", '["a"]', "context"), ("line", "-1", "line"),
        ("mental_state", "sleepy", "mental_state"), ("pre_decision.query_run", "maybe", "pre_decision.query_run"),
        ("preserve", "maybe", "preserve"), ("project", '{"name":"x"}', "project"),
        ("reasons[0].strength", "1.5", "reasons[0].strength"), ("reasons[1].type", "gut", "reasons[1]"),
        ("reasons[2]", "text", "reasons[2]"), ("reasons[3].text", "", "reasons[3]"),
        ("recorded_by", "not a name", "recorded_by"), ("review_by", "soon", "review_by"), ("stakes", "huge", "stakes"),
        ("tags[1]", "t" * 77 + "...", "tags[1]"), ("trace[0].step", "one", "trace[0].step"),
    ]  # fmt: skip
    assert report["no_place"] == {"bridge.colour": 1}
    assert (report["links"], report["linked"]) == (1, 1)
    assert shown(ledger, "odd")["decision"] == {
        "decision_id": "odd", "decision": "Do odd", "confidence": 0.7, "tags": ["ok", "7"], "pr": 12, "pattern": "42",
        "pre_decision": {"similar_found": 2}, "reasons": [{"type": "analysis", "text": "kept"}],
        "trace": [{"thought": "kept"}], "bridge": {"structure": "s", "function": "p"},
    }  # fmt: skip
    assert taken(ledger, folder, code=1)["unchanged"] == 10
    said = tally(ledger, "import", "cstp", folder).err
    assert "odd.yaml: stakes is 'huge'; allowed: one of {critical, high, low, medium}\n" in said
    assert "reasons[1].type is 'gut'; allowed: one of {analogy, analysis, " in said
    assert "; left out: reasons[1]\n" in said
    assert "Fields that no event has, and their number: bridge.colour (1)." in said
    assert "and 3 more; --json prints all" in said


def test_a_review_that_is_none_is_left_out(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    write_file(folder, reviewed("aaaa", "glorious", lessons="gone with it"))
    write_file(folder, decision("bbbb", status="reviewed"))
    write_file(folder, decision("cccc", outcome="success"))
    write_file(folder, reviewed("dddd", "Success", reviewed_at="then", affected_kpis={"a": 1, "b": "up"}, status=None))
    attributed = {"auto_attributed": True, "attribution_reason": "PR #1 stable for 14 days"}
    write_file(folder, reviewed("eeee", "success", **attributed))
    report = taken(ledger, folder, code=1)
    assert (report["recorded"], report["reviewed"]) == (5, 2)
    assert losses(report) == [
        ("2026-02-05-decision-aaaa.yaml", "outcome", "glorious", "review"),
        ("2026-02-05-decision-bbbb.yaml", "outcome", "", "review"),
        ("2026-02-05-decision-cccc.yaml", "outcome", "success", "review"),
        ("2026-02-05-decision-dddd.yaml", "affected_kpis.b", "up", "affected_kpis.b"),
        ("2026-02-05-decision-dddd.yaml", "reviewed_at", "then", "reviewed_at"),
        ("2026-02-05-decision-eeee.yaml", "auto_attributed", "true", "auto_attributed"),
    ]
    assert shown(ledger, "dddd")["review"]["affected_kpis"] == {"a": 1}
    assert shown(ledger, "eeee")["review"]["notes"] == "PR #1 stable for 14 days"
    assert report["no_place"] == {"auto_attributed": 1}
    assert taken(ledger, folder, code=1)["unchanged"] == 5


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)

FILES: tuple[tuple[str, bytes, str], ...] = (
    ("bomb", BOMB.encode(), "has more than 100,000 values"),
    ("broken", b"decision: [a\nid: x: y", "not YAML"),
    ("bytes", b"decision: caf\xe9\n", "not UTF-8: line 1 has the byte 0xe9"),
    ("control", b"decision: \x00\n", "not YAML: control characters are not allowed"),
    ("deep", b"decision: " + b"[" * 50_000, "not YAML"),
    ("empty", b"", ""),
    ("list", b"- decision\n", '["decision"]'),
    ("loop", b"decision: &a [*a]\n", "cannot be read: line 1: the alias *a names nothing before it"),
    ("remark", b"# gone\n", ""),
    ("two", b"decision: a\n---\ndecision: b\n", "holds 2 documents"),
)


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_left_out_and_the_others_taken(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    for name, content, _ in FILES:
        write_file(folder, content, f"2026-02-05-decision-{name}.yaml")
    write_file(folder, b"x" * (17 << 20), "2026-02-05-decision-long.yaml")
    (folder / "2026-02-05-decision-link.yaml").symlink_to("nowhere")
    (folder / "2026-02-05-decision-folder.yaml").mkdir()
    os.mkfifo(folder / "2026-02-05-decision-pipe.yaml")
    write_file(folder, decision("good"))
    write_file(folder, "guardrails: []\n", "rules.yaml")
    write_file(folder, decision("tmpfile"), "2026/02/tmpab12.yaml")
    report = taken(ledger, folder, code=1)
    assert (report["decisions"], report["recorded"]) == (1, 1)
    reported = {file[20:-5]: (value, left) for file, field, value, left in losses(report) if field == "file"}
    for name, _, value in FILES:
        assert reported[name][0].startswith(value)
    assert reported["link"][0] == "No such file or directory"
    assert reported["pipe"][0] == "not a regular file, but a folder, a pipe or a device"
    assert reported["long"][0] == "has 17,825,792 bytes, more than 16,777,216"
    assert {left for _, left in reported.values()} == {"file"}
    assert len(reported) == len(FILES) + 3
    assert [Path(path).name for path in report["passed_over"]] == ["tmpab12.yaml", "rules.yaml"]


def test_tags_and_aliases_of_honest_files(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    name = "2026-02-05-decision-aaaa.yaml"
    write_file(
        folder,
        "decision: do\ntags: &t [a, 'null', ~]\nkpi_indicators: *t\ncontext: !!python/object/apply:os.system [exit]\n"
        "pattern: !!str 5\ncommit: 0123456\nfeature: no\nconfidence: 0.5\nconfidence: 0.6\n? [odd]\n: key\n",
        name,
    )
    report = taken(ledger, folder, code=1)
    assert events(ledger)[0]["data"] == {
        "decision_id": "aaaa", "decision": "do", "confidence": 0.6, "tags": ["a", "null"], "pattern": "5",
        "kpi_indicators": ["a", "null"], "feature": "no", "commit": "0123456",
    }  # fmt: skip
    assert losses(report) == [
        (name, '["odd"]', "key", '["odd"]'),
        (name, "confidence", "occurs twice", "the first value"),
        (name, "context", '["tag:yaml.org,2002:python/object/apply:os.system"]', "context"),
        (name, "kpi_indicators[2]", "", "kpi_indicators[2]"),
        (name, "tags[2]", "", "tags[2]"),
    ]
    assert text_of(report, "context") == "a plain value without a tag"
    assert report["no_place"] == {'["odd"]': 1}


@pytest.mark.slow
def test_values_that_nest_without_end_are_reported(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    deep = "[" * 5_000 + "]" * 5_000
    write_file(
        folder, f"decision: do\nstatus: {deep}\nid: {deep}\ntags: {deep}\n? {deep}\n: 1\n", "x-decision-aaaa.yaml"
    )
    report = taken(ledger, folder, code=1)
    assert losses(report) == [
        ("x-decision-aaaa.yaml", "a list", "1", "a list"),
        *(("x-decision-aaaa.yaml", field, "a list", field) for field in ("id", "status", "tags[0]")),
    ]
    assert report["no_place"] == {"a list": 1}
    assert report["recorded"] == report["without_time"] == 1


def test_ids_come_from_names_and_must_be_stream_ids(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    write_file(folder, decision("inner"), "2026-02-05-decision-outer.yaml")
    for bad in ("a b", "x" * 65, ""):
        write_file(folder, decision("other"), f"2026-02-05-decision-{bad}.yaml")
    one = write_file(tmp_path, decision("0000aaaa"), "single.yml")
    store = write_store(tmp_path / "ids.db", [decision("no/slash"), decision("fine"), decision("ok", decision="")])
    report = taken(ledger, folder, code=1)
    assert losses(report) == [
        ("2026-02-05-decision-.yaml", "id", "", "decision"),
        ("2026-02-05-decision-a b.yaml", "id", "a b", "decision"),
        ("2026-02-05-decision-outer.yaml", "id", "inner", "id"),
        (f"2026-02-05-decision-{'x' * 65}.yaml", "id", "x" * 65, "decision"),
    ]
    assert taken(ledger, one)["recorded"] == 1
    assert losses(taken(ledger, store, code=1)) == [
        ("ids.db", "decision", "", "decision"), ("ids.db", "id", "no/slash", "decision"),
    ]  # fmt: skip
    assert [event["subject"][9:] for event in events(ledger)] == ["outer", "0000aaaa", "fine"]


def test_two_files_of_one_id(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    write_file(folder / "a", decision("copied"))
    write_file(folder / "b", decision("copied"))
    write_file(folder / "a", decision("collides", decision="The first", date="2026-01-01"))
    write_file(folder / "b", decision("collides", decision="Another one", date="2026-03-01"))
    report = taken(ledger, folder, code=1)
    assert (report["decisions"], report["recorded"]) == (2, 2)
    assert losses(report) == [("2026-03-01-decision-collides.yaml", "id", "collides", "decision")]
    assert shown(ledger, "collides")["decision"]["decision"] == "The first"


@pytest.mark.slow
def test_what_a_line_cannot_hold_is_amended_or_left_out(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    write_file(folder, decision("long", context="c" * 40_000, pattern="p" * 50_000, tags=["kept"]))
    write_file(folder, decision("trace", trace=[{"thought": "t" * 70_000}], feature="kept"))
    write_file(folder, decision("text", decision="d" * 70_000))
    write_file(folder, reviewed("review", "success", lessons="l" * 70_000, review_notes="kept"))
    write_file(folder, decision("many", tags=[f"t{n}" for n in range(300)]))
    report = taken(ledger, folder, code=1)
    assert [(field, left) for _, field, _, left in losses(report)] == [
        ("tags", "tags[256:]"), ("lessons", "lessons"), ("decision", "decision"), ("trace", "trace"),
    ]  # fmt: skip
    found = shown(ledger, "long")
    assert (len(found["decision"]["context"]), len(found["decision"]["pattern"])) == (40_000, 50_000)
    assert [entry["type"] for entry in found["history"]] == ["decision.recorded.v1", "decision.amended.v1"]
    assert shown(ledger, "trace")["decision"]["feature"] == "kept"
    assert shown(ledger, "review")["review"]["notes"] == "kept"
    assert len(shown(ledger, "many")["decision"]["tags"]) == 256
    assert (report["recorded"], report["amended"], report["reviewed"]) == (4, 1, 1)
    again = taken(ledger, folder, code=1)
    assert (again["unchanged"], again["recorded"] + again["reviewed"] + again["amended"]) == (4, 0)


def test_a_live_store_is_read_with_its_log_and_left_as_it_is(tmp_path: Path) -> None:
    ledger, path = tmp_path / "t.db", tmp_path / "store" / "decisions.db"
    connection = open_store(path)
    put(connection, WHOLE)
    connection.commit()
    put(connection, decision("uncommitted"))
    before = {file.name: file.stat().st_size for file in path.parent.iterdir()}
    assert before["decisions.db-wal"] > 0
    assert taken(ledger, path)["recorded"] == 1
    assert {file.name: file.stat().st_size for file in path.parent.iterdir()} == before
    connection.commit()
    connection.close()
    assert [file.name for file in path.parent.iterdir()] == ["decisions.db"]
    assert taken(ledger, path.parent)["recorded"] == 1
    assert [file.name for file in path.parent.iterdir()] == ["decisions.db"]


@contextmanager
def held(path: Path) -> Iterator[None]:
    """A store that another process has to itself."""
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA locking_mode=EXCLUSIVE');"
        "c.execute('BEGIN IMMEDIATE'); print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            process.communicate()


@pytest.mark.slow
def test_stores_that_cannot_be_read(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "installation"
    write_file(folder, decision("good"))
    whole = write_store(folder / "torn.db", [decision(f"{n:04x}", context="c" * 2000) for n in range(200)])
    content = bytearray(whole.read_bytes())
    content[8192:] = b"\x5a" * (len(content) - 8192)
    whole.write_bytes(content)
    (folder / "text.db").write_text("no database")
    (folder / "empty.sqlite").touch()
    (folder / "dangling.sqlite3").symlink_to("nowhere")
    sqlite3.connect(folder / "other.db").execute("CREATE TABLE things (id)").connection.close()
    write_store(folder / "locked.db", [decision("locked")])
    with held(folder / "locked.db"):
        report = taken(ledger, folder, code=1)
    found = losses(report)
    assert {file: left for file, _, _, left in found} == {
        "torn.db": "the rest of the file", "text.db": "file", "empty.sqlite": "file", "dangling.sqlite3": "file",
        "locked.db": "the rest of the file",
    }  # fmt: skip
    assert next(value for file, _, value, _ in found if file == "locked.db") == "database is locked"
    assert [Path(path).name for path in report["passed_over"]] == ["other.db"]
    assert shown(ledger, "good")["agent"] == "scout"
    assert taken(ledger, folder / "locked.db")["recorded"] == 1


def test_a_torn_table_beside_the_decisions_costs_none_of_them(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    path = write_store(tmp_path / "decisions.db", [decision("aaaa", tags=["t"], reasons=[{"text": "r"}])])
    connection = sqlite3.connect(path)
    ((page,),) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'decision_tags'").fetchall()
    ((size_bytes,),) = connection.execute("PRAGMA page_size").fetchall()
    connection.close()
    content = bytearray(path.read_bytes())
    content[(page - 1) * size_bytes : page * size_bytes] = b"\x5a" * size_bytes
    path.write_bytes(content)
    report = taken(ledger, path, code=1)
    assert [(loss["field"], loss["left_out"]) for loss in report["losses"]] == [
        ("decision_tags", "the rest of decision_tags"), ("reasons[0].type", "reasons[0]"),
    ]  # fmt: skip
    assert report["recorded"] == 1


def test_a_store_of_an_older_version(tmp_path: Path) -> None:
    ledger, path = tmp_path / "t.db", tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE decisions (id TEXT, decision TEXT, confidence REAL, created_at TEXT, mood TEXT)")
    connection.execute("INSERT INTO decisions VALUES ('aaaa', 'do', 0.5, '2026-02-05', 'good')")
    connection.execute("INSERT INTO decisions VALUES ('bbbb', CAST(x'636166e9' AS TEXT), 'high', NULL, NULL)")
    connection.execute("INSERT INTO decisions VALUES (NULL, 'who', 0.5, NULL, NULL)")
    connection.execute("INSERT INTO decisions VALUES ('cccc', 'dont', 'high', NULL, NULL)")
    connection.execute("CREATE TABLE decision_bridge (decision_id TEXT, structure TEXT, tolerance TEXT)")
    connection.execute("INSERT INTO decision_bridge VALUES ('aaaa', 's', 'not json')")
    connection.execute("CREATE TABLE graph_edges (a, b)")
    connection.commit()
    connection.close()
    report = taken(ledger, path, code=1)
    assert losses(report) == [
        ("old.db", "bridge.tolerance", "not json", "bridge.tolerance"),
        ("old.db", "confidence", "high", "confidence"),
        ("old.db", "confidence", "high", "decision"), ("old.db", "decision", "caf\\udce9", "decision"),
        ("old.db", "id", "", "decision"), ("old.db", "mood", "good", "mood"),
    ]  # fmt: skip
    assert report["no_place"] == {"mood": 1}
    assert report["passed_over"] == [f"{path}: table graph_edges"]
    assert report["without_time"] == 1
    assert [event["data"] for event in events(ledger)] == [
        {"decision_id": "aaaa", "decision": "do", "confidence": 0.5, "bridge": {"structure": "s"}},
        {"decision_id": "cccc", "decision": "dont"},
    ]


def test_folders_that_are_links_are_followed_once(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    write_file(tmp_path / "elsewhere", decision("aaaa"))
    folder.mkdir()
    (folder / "2026").symlink_to(tmp_path / "elsewhere" / "2026")
    (folder / "again").symlink_to(folder)
    report = taken(ledger, folder)
    assert (report["yaml_files"], report["recorded"]) == (1, 1)


def test_a_path_with_nothing_of_cstp(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    assert "cannot be read: No such file" in refused(ledger, "import", "cstp", tmp_path / "missing")
    (tmp_path / "notes.yaml").write_text("a: 1\n")
    said = refused(ledger, "import", "cstp", tmp_path)
    assert "has neither a file *-decision-ID.yaml nor a .db file" in said
    assert not ledger.exists()
    assert taken(ledger, tmp_path / "notes.yaml", code=1)["recorded"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("whole", [300])
def test_a_cstp_import_that_was_cut_off_is_completed(tmp_path: Path, whole: int) -> None:
    ledger, half, folder = tmp_path / "t.db", tmp_path / "half", tmp_path / "decisions"
    for number in range(whole):
        said = reviewed(f"{number:08x}", "success")
        write_file(folder, said)
        if number % 3:
            write_file(half, said if number % 2 else decision(f"{number:08x}"))
    taken(ledger, half)
    report = taken(ledger, folder)
    assert report["unchanged"] == whole // 3
    other = tmp_path / "other.db"
    done(other, "import", "cstp", folder)
    counted = [done(one, "calibration", "--json").out.partition(b'"as_of"')[0] for one in (ledger, other)]
    assert counted[0] == counted[1]
