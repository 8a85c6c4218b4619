"""import decisions again: outcomes become reviews, questions follow, and everything else that changed is a conflict."""

import time
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from events.registry import VOCABULARY
from tests.api.cli.command import Value, done, refused, tally
from tests.support.server import serving

POLL_S = 0.02
HEADER = "agent,decision,confidence,outcome,time,category\n"


def found(out: bytes) -> dict[str, Any]:
    return msgspec.json.decode(out, type=dict[str, Any])


def import_file(ledger: Path, file: Path, *options: Value) -> dict[str, Any]:
    return found(done(ledger, "import", "decisions", file, *options, "--json").out)


def events(ledger: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in done(ledger, "log", "--json").out.splitlines()]


def outcomes(ledger: Path) -> list[str]:
    return [event["data"]["outcome"] for event in events(ledger) if event["type"] == "decision.reviewed.v1"]


def decisions(ledger: Path) -> list[dict[str, Any]]:
    return [event for event in events(ledger) if event["type"] == "decision.recorded.v1"]


def newest_outcomes(ledger: Path) -> list[str | None]:
    """Return the newest outcome of each decision of the view, newest decision first."""
    listed = found(done(ledger, "decisions", "--json").out)["decisions"]
    return [row["review"]["outcome"] if "review" in row else None for row in listed]


@pytest.mark.trial("A1")
def test_an_outcome_that_is_filled_in_or_changed_is_a_review_of_the_same_decision(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text(f"{HEADER}a,one,0.9,,2026-01-05,c\na,two,0.8,success,,c\na,two,0.8,,,c\n")
    assert import_file(ledger, file)["appended"] == 4
    file.write_text(f"{HEADER}a,one,0.9,success,2026-01-05,c\na,two,0.8,failure,,c\na,two,0.8,,,c\n")
    answer = import_file(ledger, file)
    assert (answer["appended"], answer["new_reviews"], answer["new_decisions"], answer["unchanged"]) == (2, 2, 0, 1)
    assert len(decisions(ledger)) == 3
    assert outcomes(ledger) == ["success", "success", "failure"]
    assert newest_outcomes(ledger) == [None, "failure", "success"]
    assert import_file(ledger, file)["appended"] == 0


@pytest.mark.slow
@pytest.mark.trial("A1")
def test_an_outcome_that_comes_back_is_a_third_review(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    wanted = ["success", "failure", "success"]
    for outcome in wanted:
        file.write_text(f"agent,decision,outcome,question\na,one,{outcome},q-{outcome}\n")
        for _ in range(2):
            import_file(ledger, file)
    assert outcomes(ledger) == wanted
    asked = [event["data"]["question"] for event in events(ledger) if event["type"] == "decision.asked.v1"]
    assert asked == [f"q-{outcome}" for outcome in wanted]
    assert len(decisions(ledger)) == 1


@pytest.mark.trial("A1")
def test_an_empty_cell_states_nothing(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text(f"{HEADER}a,one,0.9,success,2026-01-05,c\n")
    import_file(ledger, file)
    file.write_text(f"{HEADER}a,one,,,2026-01-05,\n")
    answer = import_file(ledger, file)
    assert (answer["unchanged"], answer["conflicting"], answer["appended"]) == (1, 0, 0)


@pytest.mark.slow
@pytest.mark.trial("A1")
def test_other_changes_are_conflicts_that_name_row_field_and_both_values(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    header = "agent,decision,confidence,category,stakes,project,feature,time,id,outcome\n"
    file.write_text(f"{header}a,one,0.9,c,low,p,f,2026-01-05,,\na,two,,,,,,,,\nb,three,0.5,,,,,2026-01-05,x,\n")
    import_file(ledger, file)
    before = events(ledger)
    changed = (
        f"{header}a,one,0.8,d,high,q,g,2026-01-05,,success\na,two,0.7,,,,,,,success\n"
        "a,three,0.5,,,,,2026-01-06,x,success\na,new,,,,,,,,success\n"
    )
    file.write_text(changed)
    said = refused(ledger, "import", "decisions", file, code=1)
    one = decisions(ledger)[0]["data"]["decision_id"]
    assert said.startswith(f"error: 3 rows of {file} contradict the ledger; nothing was written.\n")
    for field, now, then in (
        ("confidence", "0.8", "0.9"), ("category", "d", "c"), ("stakes", "high", "low"), ("project", "q", "p"),
        ("feature", "g", "f"),
    ):  # fmt: skip
        assert f"  line 2: {field} is '{now}', but decision {one} of the ledger has '{then}'\n" in said
    assert "  line 3: confidence is '0.7', but decision " in said
    assert " of the ledger has none (a confidence that is stated later is not a forecast)\n" in said
    assert "  line 4: agent is 'a', but decision x of the ledger has 'b'\n" in said
    assert "  line 4: time is '2026-01-06 00:00:00', but decision x of the ledger has '2026-01-05 00:00:00'\n" in said
    assert "--skip-conflicts" in said
    ended = tally(ledger, "import", "decisions", file, "--json")
    assert ended.code == 1
    answer = found(ended.out)
    assert (answer["refused"], answer["conflicting"], answer["appended"]) == (True, 3, 0)
    assert answer["conflicts"][0] == {
        "line": 2, "decision_id": one, "field": "confidence", "ledger": "0.9", "file": "0.8",
    }  # fmt: skip
    assert events(ledger) == before
    skipped = done(ledger, "import", "decisions", file, "--skip-conflicts")
    assert "3 rows of" in skipped.err
    assert "the ledger's values were kept" in skipped.err
    assert [event["data"]["confidence"] for event in decisions(ledger) if "confidence" in event["data"]] == [0.9, 0.5]
    assert outcomes(ledger) == ["success"] * 3, "but not of line 4, whose id is of another agent's decision"
    assert [event["data"]["decision"] for event in decisions(ledger)] == ["one", "two", "three", "new"]
    again = import_file(ledger, file, "--skip-conflicts")
    assert (again["appended"], again["conflicting"]) == (0, 3)


@pytest.mark.trial("A1")
def test_a_value_that_was_amended_in_the_ledger_is_no_conflict(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text("agent,decision,confidence,id\na,one,0.9,x\n")
    import_file(ledger, file)
    amended = {"type": "decision.amended.v1", "data": {"decision_id": "x", "confidence": 0.7, "decision": "One"}}
    done(ledger, "append", "--agent", "a", given=msgspec.json.encode(amended))
    assert import_file(ledger, file)["unchanged"] == 1
    file.write_text("agent,decision,confidence,id\na,One,0.7,x\n")
    assert import_file(ledger, file)["unchanged"] == 1
    file.write_text("agent,decision,confidence,id\na,One,0.8,x\n")
    assert "but decision x of the ledger has '0.7'" in refused(ledger, "import", "decisions", file, code=1)


@pytest.mark.trial("A1")
def test_the_same_file_does_not_undo_a_later_review_by_others(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text("agent,decision,outcome,id\na,one,success,x\n")
    import_file(ledger, file)
    done(ledger, "review", "x", "--outcome", "failure", "--agent", "owner")
    said = done(ledger, "import", "decisions", file)
    assert "0 events appended, 2 there already" in said.text
    assert (
        "Warning: outcomes that were imported before and that other reviews replaced, which were kept: 1 row"
        in said.err
    )
    assert outcomes(ledger) == ["success", "failure"]
    file.write_text("agent,decision,outcome,id\na,one,partial,x\n")
    import_file(ledger, file)
    assert outcomes(ledger) == ["success", "failure", "partial"]


@pytest.mark.trial("A1")
def test_a_review_time_that_changes_is_a_review(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    for day in (5, 6, 6):
        file.write_text(f"agent,decision,outcome,review_time\na,one,success,2026-02-0{day}\n")
        import_file(ledger, file)
    times = [event["time"][:10] for event in events(ledger) if event["type"] == "decision.reviewed.v1"]
    assert times == ["2026-02-05", "2026-02-06"]


@pytest.mark.trial("A1")
def test_a_dry_run_lists_what_would_be_written_and_writes_nothing(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text("agent,decision,outcome,question\na,one,,\na,two,success,q\n")
    said = done(ledger, "import", "decisions", file, "--dry-run")
    assert not ledger.exists()
    assert "4 events would be appended, 0 there already" in said.text
    assert "Compared: 2 new decisions, 1 new review, 1 new question.\n" in said.text
    import_file(ledger, file)
    file.write_text("agent,decision,outcome,question\na,one,partial,q1\na,two,success,q\na,three,,\n")
    said = done(ledger, "import", "decisions", file, "--dry-run")
    assert "Compared: 1 new decision, 1 new review, 1 new question, 1 unchanged.\n" in said.text
    assert ": partial\n" in said.text
    answer = import_file(ledger, file, "--dry-run")
    assert [(change["line"], change["change"], change["value"]) for change in answer["changes"]] == [
        (2, "question", "q1"), (2, "review", "partial"), (4, "decision", "three"),
    ]  # fmt: skip
    assert (answer["dry_run"], answer["appended"], len(events(ledger))) == (True, 0, 4)
    assert import_file(ledger, file)["appended"] == 3
    file.write_text("agent,decision,category\na,one,c\n")
    ended = tally(ledger, "import", "decisions", file, "--dry-run")
    assert ended.code == 1
    assert "Compared: 1 in conflict.\n" in ended.text
    assert "category is 'c'" in ended.err


@pytest.mark.slow
@pytest.mark.trial("A1")
def test_over_http_rows_are_compared_in_the_same_way(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    rows = [f"a,decision {number},0.9,{{}},2026-01-05,c\n" for number in range(250)]
    with serving(ledger) as url:
        file.write_text(HEADER + "".join(rows).replace("{}", ""))
        assert import_file(ledger, file, "--url", url)["appended"] == 250
        file.write_text(HEADER + "".join(rows).replace("{}", "success"))
        answer = import_file(ledger, file, "--url", url)
        assert (answer["appended"], answer["new_reviews"], answer["first"], answer["last"]) == (250, 250, 1, 500)
        assert import_file(ledger, file, "--url", url)["appended"] == 0
        assert import_file(ledger, file, "--dry-run")["unchanged"] == 250
        token = done(ledger, "token", "add", "a", "--scope", "append").text.strip()
        while httpx.get(f"{url}/events").status_code != 401:
            time.sleep(POLL_S)
        said = refused(ledger, "import", "decisions", file, "--url", url, "--token", token)
        assert "read" in said
        token = done(ledger, "token", "add", "a").text.strip()
        assert import_file(ledger, file, "--url", url, "--token", token)["unchanged"] == 250
        file.write_text(f"{HEADER}a,decision 7,0.8,,2026-01-05,c\n")
        said = refused(ledger, "import", "decisions", file, "--url", url, "--token", token, code=1)
        assert "line 2: confidence" in said


@pytest.mark.slow
@pytest.mark.trial("A1")
def test_an_unused_column_that_looks_like_a_field_is_asked_about(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    for column, field in (
        ("result", "outcome"), ("Status", "outcome"), ("correct", "outcome"), ("prob", "confidence"),
        ("Probability", "confidence"), ("date", "time"), ("timestamp", "time"), ("confidnce", "confidence"),
        ("Outcomes", "outcome"), ("reviewed_at", "review_time"),
    ):  # fmt: skip
        file.write_text(f"agent,decision,{column}\na,one,\n")
        said = refused(ledger, "import", "decisions", file)
        assert f"the column '{column}' looks like {field}, and is not used." in said
        assert f"--map {field}={column}" in said
        assert f"--ignore {column}" in said
        assert done(ledger, "import", "decisions", file, "--ignore", column, "--dry-run").err.startswith("Columns not")
        done(ledger, "import", "decisions", file, "--map", f"{field}={column}", "--dry-run")
    assert not ledger.exists()
    file.write_text("agent,decision,outcome,result,spare\na,one,success,fine,\n")
    assert import_file(ledger, file)["unused_columns"] == ["result", "spare"]
    file.write_text("agent,text,score\na,one,0.5\n")
    assert "--map decision=text" in refused(ledger, "import", "decisions", file)
    said = refused(ledger, "import", "decisions", file, "--map", "decision=text")
    assert "looks like confidence or outcome" in said
    assert "does not exist" in refused(ledger, "import", "decisions", file, "--ignore", "nothing")


def test_a_column_named_model_is_the_model_and_not_the_agent(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text("Model,decision,who\nbig-1,one,scout\n")
    said = refused(ledger, "import", "decisions", file)
    assert "no column for agent" in said
    assert "--map agent=who" in said
    assert "agent=Model" not in said
    file.write_text("Model,decision\nbig-1,one\n")
    assert "agent=Model" not in refused(ledger, "import", "decisions", file)
    done(ledger, "import", "decisions", file, "--map", "agent=Model")
    file.write_text("agent,Model,decision\nscout,big-1,two\nscout,,three\n")
    assert import_file(ledger, file).get("unused_columns", []) == []
    lines = done(ledger, "log", "--json").out.splitlines()
    events = [event for event in map(msgspec.json.decode, lines) if event["type"].startswith("decision.recorded")]
    stated = {event["data"]["decision"]: (event["source"], event["data"].get("model")) for event in events}
    assert stated == {
        "one": ("/agents/big-1", None), "two": ("/agents/scout", "big-1"), "three": ("/agents/scout", None),
    }  # fmt: skip


def record_otherwise(ledger: Path, *rows: tuple[str, float, str | None]) -> list[str]:
    """Append rows (decision, confidence, outcome) of agent a under ids that no import gives; return these."""
    names, lines = [], []
    for number, (decision, confidence, outcome) in enumerate(rows):
        data = {"decision_id": f"other-{number}", "decision": decision, "confidence": confidence}
        lines.append({"type": "decision.recorded.v1", "source": "/agents/a", "data": data})
        if outcome is not None:
            review = {"decision_id": f"other-{number}", "outcome": outcome}
            lines.append({"type": "decision.reviewed.v1", "source": "/agents/a", "data": review})
        names.append(f"other-{number}")
    done(ledger, "append", given=b"\n".join(map(msgspec.json.encode, lines)))
    return names


@pytest.mark.slow
@pytest.mark.trial("A1")
def test_decisions_under_other_ids_are_matched(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    one, two, three = record_otherwise(ledger, ("one", 0.9, None), ("two", 0.8, "success"), ("three", 0.7, None))
    file.write_text("agent,decision,confidence,outcome\na,one,0.9,failure\na,two,0.8,success\na,four,0.6,\n")
    answer = import_file(ledger, file, "--match")
    assert (answer["matched"], answer["new_decisions"], answer["new_reviews"], answer["unchanged"]) == (2, 1, 1, 1)
    assert [event["data"]["decision_id"] for event in decisions(ledger)][:3] == [one, two, three]
    assert len(decisions(ledger)) == 4
    assert events(ledger)[-2]["data"] == {"decision_id": one, "outcome": "failure"}
    assert import_file(ledger, file, "--match")["appended"] == 0
    file.write_text("agent,decision,confidence\na,one,0.5\n")
    assert f"but decision {one} of the ledger has '0.9'" in refused(
        ledger, "import", "decisions", file, "--match", code=1
    )


@pytest.mark.trial("A1")
def test_a_decision_that_the_ledger_has_twice_is_ambiguous(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    empty, filled = record_otherwise(ledger, ("one", 0.9, None), ("one", 0.9, "success"))
    file.write_text("agent,decision,confidence,outcome\na,one,0.9,failure\na,five,0.9,\n")
    said = refused(ledger, "import", "decisions", file, "--match", code=1)
    assert "line 2: decision is 'one': 2 decisions of the ledger have this agent, decision and time: " in said
    assert f"{empty}, {filled}" in said
    answer = import_file(ledger, file, "--match", "--skip-conflicts")
    assert (answer["new_decisions"], answer["appended"], answer["conflicting"]) == (1, 1, 1)
    if "decision.retracted.v1" in VOCABULARY.event_types:
        retract = {"type": "decision.retracted.v1", "data": {"decision_id": empty, "reason": "counted twice"}}
        done(ledger, "append", "--agent", "a", given=msgspec.json.encode(retract))
        file.write_text("agent,decision,confidence,outcome\na,one,0.9,failure\n")
        answer = import_file(ledger, file, "--match")
        assert (answer["new_reviews"], answer["matched"], answer["appended"]) == (1, 1, 1)
        assert outcomes(ledger)[-1] == "failure"


@pytest.mark.trial("A1")
def test_decisions_that_were_recorded_otherwise_are_matched_by_content(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    lines = [
        {"type": "decision.recorded.v1", "data": {"decision_id": name, "decision": text}, **more}
        for name, text, more in (
            ("x", "one", {}), ("y", "one", {"time": "2026-01-05T00:00:00Z"}), ("z", "two", {}), ("w", "two", {}),
        )
    ]  # fmt: skip
    done(ledger, "append", "--agent", "a", given=b"\n".join(map(msgspec.json.encode, lines)))
    file.write_text(
        "agent,decision,time,outcome\na,one,2026-01-05,success\na,one,,failure\n"
        "a,two,,partial\na,two,,success\na,two,,failure\n"
    )
    answer = import_file(ledger, file, "--match")
    assert (answer["matched"], answer["new_decisions"], answer["new_reviews"]) == (4, 1, 5)
    reviews = [event["data"] for event in events(ledger) if event["type"] == "decision.reviewed.v1"]
    assert [(data["decision_id"], data["outcome"]) for data in reviews][:4] == [
        ("y", "success"), ("x", "failure"), ("z", "partial"), ("w", "success"),
    ]  # fmt: skip
    assert import_file(ledger, file, "--match")["appended"] == 0


@pytest.mark.skipif("decision.retracted.v1" not in VOCABULARY.event_types, reason="decisions cannot be retracted yet")
@pytest.mark.trial("A1")
def test_a_retracted_decision_is_skipped_with_a_count(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text("agent,decision,id,outcome\na,one,x,\n")
    import_file(ledger, file)
    retract = {"type": "decision.retracted.v1", "data": {"decision_id": "x", "reason": "counted twice"}}
    done(ledger, "append", "--agent", "a", given=msgspec.json.encode(retract))
    file.write_text("agent,decision,id,outcome\na,one,x,success\n")
    for options in ((), ("--match",)):
        answer = import_file(ledger, file, *options)
        assert (answer["retracted"], answer["appended"], answer["conflicting"]) == (1, 0, 0)
