"""import cstp: everything two stores say, once, and again for what is new."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cli.test_import import events
from tests.api.cstp.client import Caller
from tests.support.cstp_installation import (
    WHOLE,
    decision,
    reviewed,
    write_file,
    write_store,
)
from tests.support.server import serving


def taken(ledger: Path, path: Path, *options: str | Path, code: int = 0) -> dict[str, Any]:
    """Run an import that must exit with a code. Return its report."""
    ended = tally(ledger, "import", "cstp", path, "--json", *options)
    assert ended.code == code, (ended.err, ended.text)
    return msgspec.json.decode(ended.out, type=dict[str, Any])


def shown(ledger: Path, decision_id: str) -> dict[str, Any]:
    return msgspec.json.decode(done(ledger, "decision", decision_id, "--json").out, type=dict[str, Any])


RECORDED = {
    name: value
    for name, value in WHOLE.items()
    if name not in {"id", "summary", "status", "date", "recorded_by", "reviewed_at", "reviewed_by", "outcome",
                    "actual_result", "lessons", "review_notes", "affected_kpis"}
} | {"decision_id": WHOLE["id"], "review_by": "2026-02-12T00:00:00Z"}  # fmt: skip
"""What the event says of WHOLE."""

REVIEWED = {
    "decision_id": WHOLE["id"], "outcome": "success", "actual_result": "p99 halved", "lessons": "Idle time first",
    "notes": "Watch the limit", "affected_kpis": {"p99": -0.5},
}  # fmt: skip


def test_a_file_is_kept_whole(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    write_file(folder, WHOLE)
    report = taken(ledger, folder)
    assert report["complete"]
    assert (report["yaml_files"], report["decisions"], report["reviews"], report["appended"]) == (1, 1, 1, 2)
    assert report["losses"] == report["contradictions"] == []
    assert report["no_place"] == {}
    recorded, review = events(ledger)
    assert recorded["data"] == RECORDED
    assert (recorded["source"], recorded["time"]) == ("/agents/scout", "2026-02-05T10:00:00.123456Z")
    assert recorded["subject"] == "decision/3f2a9c1e"
    assert review["data"] == REVIEWED
    assert (review["source"], review["time"]) == ("/agents/warden", "2026-02-10T12:00:00.500000Z")


def test_the_store_alone_is_kept_as_far_as_it_goes(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    report = taken(ledger, write_store(tmp_path / "decisions.db", [WHOLE]))
    assert (report["sqlite_stores"], report["decisions"], report["appended"], report["without_reviewer"]) == (
        1,
        1,
        2,
        1,
    )
    recorded, review = events(ledger)
    kept = {
        "decision_id", "decision", "confidence", "category", "stakes", "context", "reasons", "tags", "pattern",
        "bridge", "project", "feature", "pr",
    }  # fmt: skip
    deliberation = {name: value for name, value in WHOLE["deliberation"].items() if name != "convergence_point"}
    expected = {name: value for name, value in RECORDED.items() if name in kept} | {"deliberation": deliberation}
    assert recorded["data"] | {"tags": sorted(recorded["data"]["tags"])} == expected | {"tags": ["gateway", "pool"]}
    assert recorded["time"] == "2026-02-05T10:00:00.123456Z"
    assert review["data"] == {name: value for name, value in REVIEWED.items() if name != "affected_kpis"}
    assert (review["source"], review["time"]) == ("/agents/anonymous", "2026-02-10T12:00:00.500000Z")


def test_both_stores_give_one_decision_and_again_nothing(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "installation"
    write_file(folder / "decisions", WHOLE)
    write_file(folder / "decisions", decision("0000aaaa"))
    write_store(folder / "data" / "decisions.db", [WHOLE, decision("0000bbbb")])
    report = taken(ledger, folder)
    assert (report["decisions"], report["in_both"], report["recorded"], report["reviewed"]) == (3, 1, 3, 1)
    assert report["contradictions"] == []
    assert next(event["data"] for event in events(ledger) if event["subject"] == "decision/3f2a9c1e") == RECORDED
    before = done(ledger, "log", "--json").out
    again = taken(ledger, folder)
    assert (again["unchanged"], again["appended"], again["recorded"]) == (3, 0, 0)
    assert again["complete"]
    assert done(ledger, "log", "--json").out == before
    said = done(ledger, "import", "cstp", folder)
    assert "2 decision files, 1 SQLite store: 3 decisions (1 in both, 3 with a confidence), 1 reviewed." in said.text
    assert "0 events appended, 3 decisions there already" in said.text


def test_files_first_and_the_store_later_adds_what_is_new(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    write_file(folder, WHOLE)
    write_file(folder, decision("0000aaaa"))
    taken(ledger, folder)
    late = reviewed("0000aaaa", "failure", reviewed_at="2026-03-01T00:00:00+00:00", lessons="Not so")
    twin = WHOLE | {"reviewed_at": "2026-02-10T12:00:00.512345+00:00", "lessons": None}
    store = write_store(tmp_path / "decisions.db", [twin, late, decision("0000bbbb")])
    report = taken(ledger, store)
    assert (report["unchanged"], report["recorded"], report["reviewed"], report["amended"]) == (1, 1, 1, 0)
    assert report["complete"]
    assert [entry["type"] for entry in shown(ledger, "3f2a9c1e")["history"]] == [
        "decision.recorded.v1", "decision.reviewed.v1",
    ]  # fmt: skip
    assert shown(ledger, "0000aaaa")["review"]["lessons"] == "Not so"
    assert taken(ledger, store)["appended"] == taken(ledger, folder)["appended"] == 0


def test_the_store_first_and_files_later_says_what_comes_too_late(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    taken(ledger, write_store(tmp_path / "decisions.db", [WHOLE]))
    write_file(folder, WHOLE)
    report = taken(ledger, folder, code=1)
    assert (report["recorded"], report["reviewed"], report["amended"]) == (0, 1, 0)
    assert {loss["field"] for loss in report["losses"]} == {
        "kpi_indicators", "mental_state", "review_by", "pre_decision", "trace", "file", "line", "commit",
        "deliberation.convergence_point",
    }  # fmt: skip
    assert "together" in report["losses"][0]["allowed"]
    state = shown(ledger, "3f2a9c1e")
    assert state["review"]["reviewed_by"] == "warden"
    assert state["review"]["affected_kpis"] == {"p99": -0.5}
    assert taken(ledger, folder, code=1)["appended"] == 0


def test_an_installation_that_lives_on_is_followed(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    said = decision("0000aaaa", deliberation={"inputs": [], "steps": [{"step": 1, "thought": "one"}]}, confidence=0.6)
    write_file(folder, said)
    taken(ledger, folder)
    said |= {"confidence": 0.8, "tags": ["new"], "decision": "Do it well"}
    said["deliberation"]["steps"].append({"step": 2, "thought": "two", "timestamp": "2026-02-06T00:00:00+00:00"})
    write_file(folder, said)
    report = taken(ledger, folder)
    assert (report["amended"], report["thoughts"], report["appended"]) == (1, 1, 2)
    state = shown(ledger, "0000aaaa")
    assert state["thoughts"] == ["two"]
    found = state["decision"]
    assert (found["confidence"], found["tags"], found["decision"]) == (0.8, ["new"], "Do it well")
    said |= {"status": "reviewed", "outcome": "success", "reviewed_at": "2026-03-01T00:00:00+00:00"}
    write_file(folder, said)
    assert taken(ledger, folder)["appended"] == 1
    said |= {"outcome": "failure", "reviewed_at": "2026-04-01T00:00:00+00:00"}
    write_file(folder, said)
    assert taken(ledger, folder)["appended"] == 1
    assert shown(ledger, "0000aaaa")["review"]["outcome"] == "failure"
    assert taken(ledger, folder)["unchanged"] == 1


def test_what_the_ledger_learned_since_stays(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    write_file(folder, decision("0000aaaa", confidence=0.6), changed="2026-02-05T10:00:00+00:00")
    taken(ledger, folder)
    lines = [
        {"type": "decision.amended.v1", "data": {"decision_id": "0000aaaa", "confidence": 0.9}},
        {"type": "decision.reviewed.v1", "data": {"decision_id": "0000aaaa", "outcome": "failure"}},
    ]
    done(ledger, "append", "-", given=b"\n".join(map(msgspec.json.encode, lines)))
    assert taken(ledger, folder)["unchanged"] == 1
    write_file(folder, reviewed("0000aaaa", "success", confidence=0.6), changed="2026-02-10T12:00:00+00:00")
    report = taken(ledger, folder, code=1)
    assert report["appended"] == 0
    (said,) = report["contradictions"]
    assert (said["field"], said["taken"], said["taken_from"], said["other"]) == (
        "outcome", "failure", "the ledger", "success",
    )  # fmt: skip
    assert shown(ledger, "0000aaaa")["decision"]["confidence"] == 0.9


@pytest.mark.slow
def test_contradictions_are_reported_and_the_later_counts(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "installation"
    for name, changed in (("old", "2026-02-06T00:00:00+00:00"), ("new", "2026-03-06T00:00:00+00:00")):
        write_file(folder, decision(f"{name}aaaa", confidence=0.6, pattern="files"), changed=changed)
    outcomes = reviewed("cccccccc", "success", reviewed_at="2026-02-10T00:00:00+00:00", lessons="kept")
    write_file(folder, outcomes, changed="2026-03-01T00:00:00+00:00")
    write_store(
        folder / "decisions.db",
        [
            *(decision(f"{name}aaaa", confidence=0.9, pattern="store") for name in ("old", "new")),
            outcomes | {"outcome": "failure", "reviewed_at": "2026-02-20T00:00:00+00:00", "lessons": None},
        ],
        updated_at="2026-02-20T00:00:00+00:00",
    )
    report = taken(ledger, folder, code=1)
    reported = {(one["decision_id"], one["field"]): (one["taken"], one["other"]) for one in report["contradictions"]}
    assert reported == {
        ("oldaaaa", "confidence"): ("0.9", "0.6"), ("oldaaaa", "pattern"): ("store", "files"),
        ("newaaaa", "confidence"): ("0.6", "0.9"), ("newaaaa", "pattern"): ("files", "store"),
        ("cccccccc", "outcome"): ("failure", "success"),
    }  # fmt: skip
    assert shown(ledger, "oldaaaa")["decision"]["confidence"] == 0.9
    assert shown(ledger, "newaaaa")["decision"]["confidence"] == 0.6
    state = shown(ledger, "cccccccc")
    assert state["review"]["outcome"] == "failure"
    assert [entry["data"].get("outcome") for entry in state["history"]] == [None, "success", "failure"]
    again = taken(ledger, folder, code=1)
    assert (again["appended"], again["unchanged"]) == (0, 3)
    err = tally(ledger, "import", "cstp", folder).err
    assert "5 contradictions; the later change counts:" in err
    assert "decisions.db says '0.9'" in err


def test_times_that_the_stores_report_apart(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "installation"
    again = reviewed("0000aaaa", "success")
    undated = reviewed("0000bbbb", "failure", reviewed_at=None)
    write_file(folder, again)
    write_file(folder, undated)
    store = [
        again | {"created_at": "2026-04-01T00:00:00+00:00", "reviewed_at": "2026-03-10T12:00:00+00:00"},
        undated | {"outcome": "success"},
    ]
    write_store(folder / "decisions.db", store)
    report = taken(ledger, folder, code=1)
    assert report["doubtful"] == {"created_at apart from date": 1}
    assert [(one["field"], one["taken"], one["other"]) for one in report["contradictions"]] == [
        ("reviewed_at", "2026-03-10T12:00:00Z", "2026-02-10T12:00:00Z"), ("outcome", "failure", "success"),
    ]  # fmt: skip
    state = shown(ledger, "0000aaaa")
    assert state["recorded_at"] == "2026-02-05T10:00:00Z"
    assert state["review"]["reviewed_at"] == "2026-03-10T12:00:00Z"
    assert [entry["data"].get("outcome") for entry in shown(ledger, "0000bbbb")["history"]] == [
        None, "success", "failure",
    ]  # fmt: skip
    assert taken(ledger, folder, code=1)["appended"] == 0


def test_what_the_store_fills_in_is_not_taken_for_said(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "installation"
    bare = decision("0000aaaa", confidence=None, category=None, stakes=None, recorded_by=None)
    write_file(folder, bare)
    write_store(
        folder / "decisions.db", [bare, decision("0000bbbb", confidence=0.0), decision("0000cccc", confidence=0.5)]
    )
    report = taken(ledger, folder)
    assert events(ledger)[0]["data"] == {"decision_id": "0000aaaa", "decision": "Do 0000aaaa"}
    assert events(ledger)[0]["source"] == "/agents/anonymous"
    assert report["doubtful"] == {"confidence 0 in SQLite alone": 1, "confidence 0.5": 1}
    assert (report["with_confidence"], report["without_agent"]) == (2, 1)
    assert taken(ledger, folder)["unchanged"] == 3
    assert taken(ledger, folder / "decisions.db")["appended"] == 0


@pytest.mark.slow
def test_times_of_every_kind(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    for decision_id, date, text in (
        ("aaaa", "2026-02-05", "2026-02-05T00:00:00.000000Z"),
        ("bbbb", "2026-02-05T10:00:00", "2026-02-05T10:00:00.000000Z"),
        ("cccc", "2026-02-05T10:00:00+02:00", "2026-02-05T08:00:00.000000Z"),
        ("dddd", "2026-02-05 10:00:00.5", "2026-02-05T10:00:00.500000Z"),
    ):
        path = f"2026-02-05-decision-{decision_id}.yaml"
        write_file(folder, f"decision: do\ncategory: c\ndate: {date}\nreviewed_at:\n", path)
        taken(ledger, folder / path)
        assert events(ledger)[-1]["time"] == text
    write_file(folder, "decision: do\n", "2026-03-07-decision-eeee.yaml")
    assert taken(ledger, folder)["without_time"] == 0
    assert events(ledger)[-1]["time"] == "2026-03-07T00:00:00.000000Z"


def test_an_id_that_the_ledger_has_for_another_decision_is_left_out(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    other = {"decision_id": "0000aaaa", "decision": "Another"}
    draft = {"type": "decision.recorded.v1", "source": "/agents/other", "data": other}
    done(ledger, "append", "-", given=msgspec.json.encode(draft))
    write_file(folder, reviewed("0000aaaa", "success"))
    write_file(folder, decision("0000bbbb"))
    report = taken(ledger, folder, code=1)
    assert (report["appended"], report["unchanged"]) == (1, 0)
    (loss,) = report["losses"]
    assert (loss["field"], loss["value"], loss["left_out"]) == ("id", "0000aaaa", "decision")
    assert shown(ledger, "0000aaaa")["agent"] == "other"


def test_dry_run_tells_and_writes_nothing(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    write_file(folder, WHOLE)
    report = taken(ledger, folder, "--dry-run")
    assert (report["dry_run"], report["recorded"], report["reviewed"], report["appended"]) == (True, 1, 1, 0)
    assert not ledger.exists()
    taken(ledger, folder)
    write_file(folder, decision("0000aaaa"))
    before = done(ledger, "log", "--json").out
    assert (
        "1 event would be appended (1 recorded), 1 decision there already"
        in done(ledger, "import", "cstp", folder, "--dry-run").text
    )
    assert done(ledger, "log", "--json").out == before


@pytest.mark.slow
def test_through_a_server_its_own_protocol_agrees_with_the_stores(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "installation"
    outcomes = ["success"] * 2 + ["failure"] * 3
    cases = [reviewed(f"{n:08x}", outcome, confidence=0.9, project="p") for n, outcome in enumerate(outcomes)]
    for case in (*cases, WHOLE):
        write_file(folder, case)
    write_store(folder / "decisions.db", [*cases, WHOLE])
    with serving(ledger) as url, Caller(url) as caller:
        assert taken(ledger, folder, "--url", url, "--dry-run")["recorded"] == 6
        assert taken(ledger, folder, "--url", url)["appended"] == 12
        assert taken(ledger, folder, "--url", url)["unchanged"] == 6
        overall = caller.calibration("p")["overall"]
        assert (overall["brierScore"], overall["accuracy"], overall["calibrationGap"]) == (0.49, 0.4, -0.5)
        found = caller.decision("3f2a9c1e")
    same = (
        "decision", "confidence", "category", "stakes", "status", "context", "project", "feature", "pr", "pattern",
        "outcome", "actual_result", "lessons", "review_notes", "tags", "reasons", "bridge", "deliberation", "trace",
        "recorded_by", "reviewed_by", "affected_kpis", "kpi_indicators", "mental_state", "pre_decision", "file", "line",
        "commit",
    )  # fmt: skip
    assert {name: found[name] for name in same} == {name: WHOLE[name] for name in same}
    assert (found["created_at"], found["reviewed_at"]) == (WHOLE["date"], WHOLE["reviewed_at"])


@pytest.mark.slow
def test_many_decisions_of_long_names_through_a_server(tmp_path: Path) -> None:
    ledger, store = tmp_path / "t.db", tmp_path / "decisions.db"
    write_store(store, [reviewed(f"{n:064d}", "success") for n in range(1100)])
    with serving(ledger) as url:
        assert taken(ledger, store, "--url", url)["appended"] == 2200
        assert taken(ledger, store, "--url", url)["unchanged"] == 1100


def test_a_token_needs_to_read_and_to_import(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    write_file(folder, WHOLE)
    made = [
        done(ledger, "token", "add", "mover", *options, "--json").out
        for options in ((), ("--scope", "append", "--scope", "read", "--scope", "import"))
    ]
    tokens = [msgspec.json.decode(out)["token"] for out in made]
    with serving(ledger) as url:
        said = refused(ledger, "import", "cstp", folder, "--url", url, "--token", tokens[0])
        assert "cannot append as" in said
        assert taken(ledger, folder, "--url", url, "--token", tokens[1])["appended"] == 2


def test_a_decision_that_the_ledger_retracted_is_left_as_it_is(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "decisions"
    write_file(folder, decision("aaaa"))
    taken(ledger, folder)
    done(ledger, "retract", "aaaa", "--reason", "twice")
    write_file(folder, reviewed("aaaa", "success"))
    report = taken(ledger, folder, code=1)
    (loss,) = report["losses"]
    assert (loss["decision_id"], loss["left_out"]) == ("aaaa", "decision")
    assert loss["allowed"] == "a decision that is not retracted: the ledger has retracted this one"
    assert len(events(ledger)) == 2


def test_what_does_not_fit_is_reported_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Not in that of a set, which is another one at each import."""
    fields = ("stakes", "mental_state", "category", "pr", "line", "review_by", "project", "context")
    odd = decision("odd") | {field: {"odd": 1} for field in fields}
    write_file(tmp_path / "decisions", odd)
    losses = taken(tmp_path / "t.db", tmp_path / "decisions", code=1)["losses"]
    assert [loss["field"] for loss in losses] == [name for name in odd if name in fields]
