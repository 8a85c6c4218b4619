"""import decisions: delimiters, encodings, headers, percentages and other words for outcomes, and standard input."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.api.cli.command import Value, done, refused, tally

ROWS = [("a", "one", "0.9", "success"), ("b", "café, naïve", "", ""), ("a", "three", "0.5", "failure")]
HEADER = ("agent", "decision", "confidence", "outcome")


def table(delimiter: str) -> str:
    quoted = [[f'"{cell}"' if delimiter in cell else cell for cell in row] for row in (HEADER, *ROWS)]
    return "".join(f"{delimiter.join(row)}\r\n" for row in quoted)


def import_file(ledger: Path, file: Value, *options: Value, given: bytes = b"") -> dict[str, Any]:
    return msgspec.json.decode(
        done(ledger, "import", "decisions", file, *options, "--json", given=given).out, type=dict[str, Any]
    )


def stored(ledger: Path) -> list[tuple[str, str, str, str]]:
    """Return the decisions of a ledger as rows."""
    rows: dict[str, list[str]] = {}
    for line in done(ledger, "log", "--json").out.splitlines():
        event = msgspec.json.decode(line)
        data = event["data"]
        if "decision" in data:
            confidence = str(data.get("confidence", ""))
            rows[data["decision_id"]] = [event["source"][8:], data["decision"], confidence, ""]
        else:
            rows[data["decision_id"]][3] = data["outcome"]
    return [(row[0], row[1], row[2], row[3]) for row in rows.values()]


@pytest.mark.trial("A4")
@pytest.mark.parametrize(
    ("delimiter", "suffix", "first"),
    [
        (",", "csv", ""), (";", "csv", ""), ("\t", "csv", ""), ("|", "csv", ""), ("\t", "tsv", ""), ("|", "txt", ""),
        (";", "CSV", "sep=;\r\n"), (",", "csv", '"sep=,"\r\n'), ("\t", "txt", "SEP=\t\r\n"), (":", "csv", "sep=:\r\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_delimiter_and_encoding_are_detected_and_named(
    tmp_path: Path, delimiter: str, suffix: str, first: str, encoding: str
) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / f"table.{suffix}"
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    file.write_bytes((mark + first + table(delimiter)).encode(encoding))
    answer = import_file(ledger, file)
    read = answer["format"]
    assert (read["kind"], read["delimiter"], read["separator_line"]) == ("csv", delimiter, first != "")
    assert read["encoding"] == ("utf-16" if encoding == "utf-16-le" else encoding)
    assert read["encoding_guessed"] is (encoding == "cp1252")
    assert stored(ledger) == ROWS
    said = done(ledger, "import", "decisions", file).text
    names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", ":": ":"}
    described = f"Read as CSV with the delimiter {names[delimiter]}, "
    assert (described in said) is not (delimiter == "," and not first and encoding.startswith("utf-8"))
    assert ("Windows-1252 (a guess" in said) is (encoding == "cp1252")


@pytest.mark.trial("A4")
def test_lines_are_counted_from_the_first_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(b"sep=;\r\nagent;decision;outcome\r\na;one;1\r\na;two;maybe\r\n")
    assert "line 4: outcome is 'maybe'" in refused(tmp_path / "t.db", "import", "decisions", file)


@pytest.mark.trial("A4")
def test_the_delimiter_is_that_of_the_known_names(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("agent;decision, in words, as it was said, by the agent;outcome\na;one, two;1\n")
    mapping = ("--map", "decision=decision, in words, as it was said, by the agent")
    answer = import_file(tmp_path / "t.db", file, *mapping)
    assert (answer["format"]["delimiter"], answer["decisions"]) == (";", 1)


@pytest.mark.trial("A4")
def test_latin_1_and_files_that_nothing_reads(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_bytes(b"agent,decision\na,caf\xe9\x81\n")
    assert import_file(ledger, file, "--dry-run")["format"]["encoding"] == "latin-1"
    for body, why in (
        ("agent,decision\n".encode("utf-16-le"), "may be UTF-16 without a byte order mark"),
        (b"\xff\xfea\x00g\x00\x00\xd8a", "is not in its encoding"),
        (b"agent,decision\na,caf\xc3\xa9\na,caf\xe9\n", "is damaged: line 3 is not UTF-8"),
        (b"agent,decision\na,\xe2\x82\xac\na,\xe2\x82", "is damaged: line 3 is not UTF-8"),
    ):
        file.write_bytes(body)
        assert why in refused(ledger, "import", "decisions", file)
    (tmp_path / "table.json").write_text('{"decisions": [\n{}\n]}')
    said = refused(ledger, "import", "decisions", tmp_path / "table.json")
    assert "is neither a JSON array of objects nor one object on each line" in said
    (tmp_path / "table.json").write_text('[{"agent": "a", "decision": "one"}')
    assert "is not a JSON array" in refused(ledger, "import", "decisions", tmp_path / "table.json")
    assert not ledger.exists()


@pytest.mark.trial("A4")
def test_names_of_columns_are_compared_without_case_and_separators(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text("AGENT,Decision,Review-Time,OUTCOME,In Words\na,one,2026-02-05,1,two\n")
    answer = import_file(ledger, file, "--map", "decision=in_words")
    assert answer["columns"] == {
        "agent": "AGENT", "outcome": "OUTCOME", "review_time": "Review-Time", "decision": "In Words",
    }  # fmt: skip
    assert answer["unused_columns"] == ["Decision"]
    assert stored(ledger) == [("a", "two", "", "success")]
    file.write_text("agent,decision,Outcome,OUTCOME\na,one,1,0\n")
    said = refused(ledger, "import", "decisions", file)
    assert "the columns 'Outcome' and 'OUTCOME' both look like outcome" in said
    file.write_text("agent,decision,outcome,OUTCOME\na,three,1,0\n")
    import_file(ledger, file)
    assert stored(ledger)[1] == ("a", "three", "", "success")


@pytest.mark.trial("A4")
def test_percentages_need_an_option(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text("agent,decision,confidence\na,one,85%\na,two,33.3 %\na,three,7\na,four,100\na,five,\n")
    said = refused(ledger, "import", "decisions", file)
    assert "line 2: confidence is '85%'; allowed: a number from 0 to 1 (--percent reads 85% as 0.85), or empty" in said
    semicolons = tmp_path / "semicolons.csv"
    semicolons.write_text("agent;decision;confidence\na;one;0,85\n")
    said = refused(ledger, "import", "decisions", semicolons)
    assert "line 2: confidence is '0,85'; allowed: a number from 0 to 1 with a decimal point, or empty" in said
    import_file(ledger, file, "--percent")
    assert [row[2] for row in stored(ledger)] == ["0.85", "0.333", "0.07", "1.0", ""]
    file.write_text("agent,decision,confidence\na,one,101%\n")
    assert "a number from 0 to 100, with or without %" in refused(ledger, "import", "decisions", file, "--percent")
    file.write_text("agent,decision,confidence\na,six,0.85\n")
    said = done(ledger, "import", "decisions", file, "--percent").err
    assert "Warning: confidences below 1%; --percent reads 0.85 as 0.85%: 1 row, the first on line 2." in said


@pytest.mark.trial("A4")
def test_other_words_for_outcomes_are_mapped(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    words = ("True", "False", "yes", "no", "pass", "fail", "n/a", "success")
    file.write_text("agent,decision,outcome\n" + "".join(f"a,{word} it is,{word}\n" for word in words))
    said = refused(ledger, "import", "decisions", file)
    assert f"7 rows of {file}" in said
    assert "line 2: outcome is 'True'; " in said
    assert "(--outcome-map True=success maps a word)" in said
    assert "(--outcome-map 'n/a'=success maps a word)" in said
    mapped = [
        f"--outcome-map={pair}"
        for pair in ("true=success", "false=0", "YES=1", "no=failure", "pass=success", "fail=Failure", "n/a=")
    ]
    import_file(ledger, file, *mapped)
    expected = ["success", "failure"] * 3 + ["", "success"]
    assert [row[3] for row in stored(ledger)] == expected
    lines = tmp_path / "table.jsonl"
    lines.write_text('{"agent": "a", "decision": "json", "outcome": true}\n')
    import_file(ledger, lines, *mapped)
    assert stored(ledger)[-1] == ("a", "json", "", "success")
    for pair in ("yes", "=success", "yes=maybe"):
        assert "does not map a word to an outcome" in refused(
            ledger, "import", "decisions", file, f"--outcome-map={pair}"
        )
    assert "mapped twice" in refused(ledger, "import", "decisions", file, *mapped, "--outcome-map=No=1")


@pytest.mark.trial("A4")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_json_array_of_objects(tmp_path: Path, encoding: str) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.json"
    rows = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
    file.write_bytes(msgspec.json.format(msgspec.json.encode(rows)).decode().encode(encoding))
    answer = import_file(ledger, file)
    assert answer["format"]["kind"] == "json array"
    assert stored(ledger) == ROWS
    file.write_text('[{"agent": "a", "decision": "one"}, 1, {"agent": "a", "decision": "two", "outcome": "x"}]')
    said = refused(ledger, "import", "decisions", file)
    assert "  object 2: object is '1'; allowed: a JSON object" in said
    assert "  object 3: outcome is 'x'" in said
    file.write_bytes("\n".join(msgspec.json.encode(row).decode() for row in rows).encode(encoding))
    again = import_file(ledger, file)
    assert (again["format"]["kind"], again["appended"], again["unchanged"]) == ("json lines", 0, 3)


@pytest.mark.trial("A4")
def test_standard_input(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    rows = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
    answer = import_file(ledger, "-", given=table(";").encode())
    assert (answer["file"], answer["format"]["delimiter"], answer["appended"]) == ("standard input", ";", 5)
    assert stored(ledger) == ROWS
    for body, kind in (
        (msgspec.json.encode(rows), "json array"),
        (b"\n".join(map(msgspec.json.encode, rows)), "json lines"),
        (table("\t").encode("utf-16"), "csv"),
    ):
        answer = import_file(ledger, "-", given=body)
        assert (answer["format"]["kind"], answer["appended"], answer["unchanged"]) == (kind, 0, 3)
    said = refused(ledger, "import", "decisions", "-", given=b"agent,decision\na b,one\n")
    assert said.startswith("error: 1 row of standard input cannot be imported.\n")
    assert "no column for agent and decision" in refused(ledger, "import", "decisions", "-")


@pytest.mark.trial("A5")
def test_a_file_of_only_bad_rows_is_an_error(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text("agent,decision,confidence\na,one,high\na,two,low\n")
    said = refused(ledger, "import", "decisions", file, "--skip-bad", code=1)
    assert said.startswith(f"error: none of the 2 rows of {file} can be imported.\n  line 2: confidence is 'high'")
    ended = tally(ledger, "import", "decisions", file, "--skip-bad", "--json")
    assert (ended.code, msgspec.json.decode(ended.out)["skipped"]) == (1, 2)
    assert not ledger.exists()
    file.write_text("agent,decision,confidence\n")
    done(ledger, "import", "decisions", file, "--skip-bad")


@pytest.mark.trial("A5")
def test_times_that_may_be_wrong_are_warned_of(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "table.csv"
    file.write_text(
        "agent,decision,time,review_time,outcome\na,one,2026-01-01,2026-01-02,1\na,two,2099-01-01,,\n"
        "a,three,2026-01-01,2099-01-01,1\na,four,2026-01-02,2026-01-01,1\na,five,2026-01-02,2026-01-01,\n"
    )
    said = done(ledger, "import", "decisions", file).err
    assert said == (
        "Warning: times in the future: 2 rows, the first on line 3.\n"
        "Warning: reviews before the time of their decision: 1 row, the first on line 5.\n"
    )
    assert import_file(ledger, file)["warnings"] == [
        {"kind": "time_in_future", "count": 2, "line": 3}, {"kind": "review_before_decision", "count": 1, "line": 5},
    ]  # fmt: skip
