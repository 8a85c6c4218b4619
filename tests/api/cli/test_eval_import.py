"""`eval import`: labelled cases become fixtures and scenarios, all or none, once."""

import json
from pathlib import Path

import pytest

from instruments.evals.suite.loader import load
from tests.api.cli.command import done, refused
from tests.instruments.evals.labels import (
    CASES,
    ITBENCH,
    LABEL,
    LABELS,
    METADATA,
    RCA,
    TRUTH,
    Json,
    lines,
    trace,
)
from tests.support.server import serving

real = pytest.mark.skipif(not RCA.is_dir(), reason="the labelled cases are not beside this checkout")


TWO_CAUSES: Json = {"truths": 2, "ambiguous": 3, "answerable": 2, "ceiling": 2 / 3}
"""What an import reports of three cases with one input, two of which have the same cause."""


def brought(ledger: Path, *arguments: str | Path) -> Json:
    """What an import says that it did, without how long it took."""
    found: Json = json.loads(done(ledger, "eval", "import", *arguments, "--json").out)
    assert found.pop("elapsed_ms") >= 0
    return found


def reported(ledger: Path) -> list[tuple[str, Json]]:
    """Every event of a scenario: its type and what it says."""
    listed = done(ledger, "log", "--json").out.splitlines()
    return [(one["type"], one["data"]) for one in map(json.loads, listed) if one["type"].startswith("eval.")]


def three(folder: Path, **changes: str) -> Path:
    """A file with three labels, the last of which is changed."""
    file = folder / "labels.jsonl"
    file.write_bytes(lines(LABEL, LABEL | {"id": "b"}, LABEL | {"id": "c"} | changes))
    return file


def counts(cases: int, **others: int) -> Json:
    none = dict.fromkeys(("written", "replaced", "there", "captured", "revised", "knew", "ambiguous"), 0)
    alike = {"inputs": 1, "truths": 1, "answerable": cases, "ceiling": 1.0, "golden_evidence": 0}
    return {"format": "opsbench", "cases": cases} | none | alike | others


def test_an_import_writes_fixtures_and_records_them_once(tmp_path: Path) -> None:
    ledger, suite, file = tmp_path / "t.db", tmp_path / "suites" / "shop", three(tmp_path)
    assert brought(ledger, "opsbench", file, "--output", suite) == counts(3, written=3, captured=3)
    assert brought(ledger, "opsbench", file, "--output", suite) == counts(3, there=3, knew=3)
    assert sorted(path.name for path in suite.iterdir()) == ["b", "c", "shop-startup-7"]
    assert [scenario.id for scenario in load(suite).scenarios] == ["b", "c", "shop-startup-7"]
    said = dict(reported(ledger))
    assert len(reported(ledger)) == 3
    one = said["eval.scenario_captured.v1"]
    assert (one["source"], one["family"], one["failure_type"]) == ("opsbench", "startup", "missing_config_map")
    assert "fingerprint" not in one
    evidence = done(ledger, "evidence", "get", one["investigation_digest"]).out
    assert evidence == (suite / one["scenario_id"] / "investigation.json").read_bytes()


def test_what_an_import_says_to_people(tmp_path: Path) -> None:
    said = done(tmp_path / "t.db", "eval", "import", "opsbench", three(tmp_path), "--output", tmp_path / "s").text
    assert f"3 cases in {tmp_path / 's'}: 3 written, 0 replaced, 0 there already." in said
    assert "3 scenarios captured, 0 revised, 0 unchanged;" in said
    assert "cases/s." in said


def test_cases_with_equal_inputs_and_different_causes_are_counted(tmp_path: Path) -> None:
    file = three(tmp_path, root_cause="full_disk")
    ended = done(tmp_path / "t.db", "eval", "import", "opsbench", file, "--output", tmp_path / "s")
    expected = "3 cases have 1 distinct input for 2 distinct causes: at most 2 (66.7%) can be answered right from the"
    assert f"{expected} input alone.\n" in ended.text
    assert "warning: 3 cases have the same input as a case with another cause. Compare scores with" in ended.err
    known = brought(tmp_path / "t.db", "opsbench", file, "--output", tmp_path / "s")
    assert known == counts(3, there=3, knew=3) | TWO_CAUSES
    file.write_bytes(lines(LABEL, LABEL | {"id": "b", "query": "Pages are slow."}))
    ended = done(tmp_path / "t.db", "eval", "import", "opsbench", file, "--output", tmp_path / "two")
    assert "distinct" not in ended.text
    assert "warning" not in ended.err


def test_evidence_that_golden_paths_selected_is_warned_about(tmp_path: Path) -> None:
    folder = tmp_path / "cases" / "one"
    folder.mkdir(parents=True)
    (folder / "metadata.json").write_bytes(lines(METADATA))
    (folder / "path1.json").write_bytes(trace(("GetPods", "cart waits")))
    words = ("eval", "import", "case", folder, "--output", tmp_path / "s")
    ended = done(tmp_path / "t.db", *words, "--json")
    assert json.loads(ended.out)["golden_evidence"] == 1
    assert "warning: the evidence of 1 case is what golden paths looked at, as tool_cache.json is missing." in ended.err
    (folder / "tool_cache.json").write_bytes(lines({'GetPods:{"namespace":"shop"}': "cart waits", "GetNodes:{}": "n7"}))
    ended = done(tmp_path / "t.db", *words, "--json", "--force")
    assert (json.loads(ended.out)["golden_evidence"], json.loads(ended.out)["revised"]) == (0, 1)
    assert "warning" not in ended.err
    given = json.loads((tmp_path / "s" / "one" / "investigation.json").read_bytes())
    assert sorted(given["evidence"]["observations"]) == ["cart waits", "n7"]


def test_fixtures_that_are_there_are_recorded_in_another_ledger(tmp_path: Path) -> None:
    suite, file = tmp_path / "s", three(tmp_path)
    brought(tmp_path / "a.db", "opsbench", file, "--output", suite)
    assert brought(tmp_path / "b.db", "opsbench", file, "--output", suite) == counts(3, there=3, captured=3)


def test_a_case_that_changed_is_replaced_on_purpose_alone(tmp_path: Path) -> None:
    ledger, suite = tmp_path / "t.db", tmp_path / "s"
    brought(ledger, "opsbench", three(tmp_path), "--output", suite)
    changed = three(tmp_path, root_cause="wrong_config_map")
    before = (suite / "c" / "scenario.yaml").read_bytes()
    said = refused(ledger, "eval", "import", "opsbench", changed, "--output", suite)
    assert "a fixture that differs from the imported case: c." in said
    assert (suite / "c" / "scenario.yaml").read_bytes() == before
    assert len(reported(ledger)) == 3
    forced = brought(ledger, "opsbench", changed, "--output", suite, "--force")
    assert forced == counts(3, replaced=1, there=2, revised=1, knew=2) | TWO_CAUSES
    assert reported(ledger)[-1][0] == "eval.scenario_revised.v1"
    assert b"wrong_config_map" in (suite / "c" / "scenario.yaml").read_bytes()


def test_a_fixture_that_was_edited_is_never_overwritten_unasked(tmp_path: Path) -> None:
    ledger, suite, file = tmp_path / "t.db", tmp_path / "s", three(tmp_path)
    brought(ledger, "opsbench", file, "--output", suite)
    for name, edited in (("b", "README.md"), ("c", "scenario.yml")):
        (suite / name / edited).write_text("Ours.\n")
    said = refused(ledger, "eval", "import", "opsbench", file, "--output", suite)
    assert "2 fixtures that differ from the imported case: b, c" in said
    assert (suite / "b" / "README.md").read_text() == "Ours.\n"


def test_every_faulty_line_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    ledger, suite, file = tmp_path / "t.db", tmp_path / "s", tmp_path / "labels.jsonl"
    wrong = [LABEL | {"id": "b", "root_cause": "?"}, LABEL | {"id": "c", "query": 3}, LABEL | {"id": "SHOP startup 7"}]
    file.write_bytes(lines(LABEL, *wrong) + b"{\n")
    said = refused(ledger, "eval", "import", "opsbench", file, "--output", suite)
    for expected in (
        "4 faults",
        f"{file}, line 2: root_cause has no word: '?'. Name the cause in words",
        f"{file}, line 3: query is not what it should be: expected `string`, got `number`. Correct the value.",
        f"{file}, line 4: id 'SHOP startup 7' makes the folder SHOP-startup-7, as 'shop/startup/7' of {file}, line 1 ",
        f"{file}, line 5 is not JSON",
        "Nothing was written.",
    ):
        assert expected in said
    assert not suite.exists()
    assert not ledger.exists()


def test_what_the_loader_refuses_is_named_where_it_was_read(tmp_path: Path) -> None:
    deep: object = "x"
    for _ in range(198):
        deep = [deep]
    (tmp_path / "metadata.json").write_bytes(lines(METADATA))
    (tmp_path / "path1.json").write_bytes(
        b'{"diagnostic_trace": [{"tool_name": "a", "output": ' + lines({"a": deep}) + b"}]}"
    )
    said = refused(tmp_path / "t.db", "eval", "import", "case", tmp_path, "--output", tmp_path / "s")
    assert str(tmp_path) in said
    assert "deep" in said
    assert not (tmp_path / "s").exists()


def test_folders_of_cases_and_ground_truths(tmp_path: Path) -> None:
    ledger, suite = tmp_path / "t.db", tmp_path / "s"
    for name in ("one", "two"):
        (tmp_path / "cases" / name).mkdir(parents=True)
        (tmp_path / "cases" / name / "metadata.json").write_bytes(lines(METADATA))
        (tmp_path / "cases" / name / "path1.json").write_bytes(trace(("GetPods", "cart waits")))
    (tmp_path / "flags").mkdir()
    (tmp_path / "flags" / "groundtruth_v1.yaml").write_text(json.dumps(TRUTH))
    assert brought(ledger, "case", tmp_path / "cases", "--output", suite, "--name", "shop")["captured"] == 2
    assert brought(ledger, "itbench", tmp_path / "flags", "--output", suite)["captured"] == 1
    assert [scenario.id for scenario in load(suite).scenarios] == ["flags", "shop-one", "shop-two"]


def test_an_import_goes_through_a_server(tmp_path: Path) -> None:
    file = three(tmp_path)
    with serving(tmp_path / "t.db") as url:
        for there in (False, True):
            found = brought(tmp_path / "none.db", "opsbench", file, "--output", tmp_path / "s", "--url", url)
            assert found == (counts(3, there=3, knew=3) if there else counts(3, written=3, captured=3))
    assert not (tmp_path / "none.db").exists()
    assert len(reported(tmp_path / "t.db")) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tables", "x"), "'tables' is not one of the choices. Choose one of opsbench, case, itbench."),
        (("opsbench", "gone.jsonl"), "gone.jsonl cannot be read: No such file or directory"),
        (("case", "gone"), "gone cannot be read: No such file or directory"),
        (("itbench", "."), "holds no case. Name a folder with groundtruth_v1.yaml"),
    ],
)
def test_what_cannot_be_imported_is_reported(tmp_path: Path, arguments: tuple[str, str], said: str) -> None:
    kind, path = arguments
    reported = refused(tmp_path / "t.db", "eval", "import", kind, tmp_path / path, "--output", tmp_path / "s")
    assert said in reported.replace("\n", " ")


@pytest.mark.parametrize("output", ["file", "file/s"])
def test_a_file_where_the_suite_belongs(tmp_path: Path, output: str) -> None:
    (tmp_path / "file").write_text("mine")
    reported = refused(tmp_path / "t.db", "eval", "import", "opsbench", tmp_path, "--output", tmp_path / output)
    assert f"--output: {tmp_path / output} cannot be written: {tmp_path / 'file'}: Not a directory." in reported
    assert not (tmp_path / "t.db").exists()


@pytest.mark.slow
@real
def test_the_real_cases_are_imported_and_load(tmp_path: Path) -> None:
    ledger, suite = tmp_path / "t.db", tmp_path / "s"
    for kind, path, many in (("opsbench", LABELS, 328), ("case", CASES, 2), ("itbench", ITBENCH, 1)):
        name = ("--name", kind)
        assert brought(ledger, kind, path, "--output", suite, *name)["captured"] == many
        assert brought(ledger, kind, path, "--output", suite, *name)["knew"] == many
    assert len(load(suite).scenarios) == 331
    assert len(reported(ledger)) == 331
