"""Any file is imported completely, or refused with a message and without a write."""

import csv
import io
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from api.cli.output import show_progress
from api.importers.cstp import CstpImport
from api.importers.decisions import DecisionImport, DecisionImportOptions
from api.importers.runs.importer import RunImportResult, import_runs, read_runs
from api.service.evaluation.scenario_recorder import record_scenarios
from instruments.evals.suite.loader import load
from tests.fuzz.in_process import InProcess
from tests.fuzz.mutated import bodies, documents, noise
from tests.instruments.evals.suites import DESCRIPTION, INVESTIGATION, scenario
from tests.support.cstp_installation import (
    WHOLE,
    decision,
    reviewed,
    write_store,
)
from tests.support.run_reports import report

ROWS = [
    {
        "agent": "ann", "decision": "Use the pool", "confidence": 0.8, "outcome": "success", "id": "d1",
        "stakes": "high",
        "time": "2026-02-05T10:00:00Z", "review_time": "2026-02-06", "category": "a", "project": "p", "question": "q",
    },
    {"agent": "ben", "decision": "Wait", "confidence": "0.5", "outcome": 0, "time": "2026-02-05"},
    {"agent": "ann", "decision": "=1+1", "confidence": None, "id": "d1"},
]  # fmt: skip


def table(rows: list[Any]) -> bytes:
    """Return rows as CSV. A value that is not a row becomes a cell."""
    named = [row if isinstance(row, dict) else {"decision": row} for row in rows]
    text = io.StringIO()
    writer = csv.writer(text)
    columns = list(dict.fromkeys(name for row in named for name in row))
    writer.writerow(columns)
    writer.writerows([row.get(name) for name in columns] for row in named)
    return text.getvalue().encode()


TABLES = documents([ROWS, ROWS[:1]]).map(lambda said: table(said if isinstance(said, list) else [said]))
LINES = st.lists(bodies(ROWS), max_size=4).map(b"\n".join)
ENCODED = st.tuples(TABLES, st.sampled_from(["utf-16", "utf-8-sig", "cp1252", "utf-16-le"])).map(
    lambda drawn: drawn[0].decode(errors="replace").replace(",", ";").encode(drawn[1], "replace")
)
DECISIONS = (
    st.tuples(st.sampled_from(["csv", "tsv", "txt"]), TABLES | noise(TABLES) | ENCODED | noise(ENCODED))
    | st.tuples(st.just("jsonl"), LINES | noise(LINES))
    | st.tuples(st.just("json"), bodies([ROWS]) | LINES)
)


@given(DECISIONS, st.booleans())
@example(("jsonl", f'{{"agent": "ann", "decision": ["{57 * "x"}\xe9"]}}'.encode()), False)
@example(("jsonl", b'{"agent": ' + 100_000 * b"["), True)
def test_decisions_are_imported_or_refused(in_process: InProcess, file: tuple[str, bytes], skip_bad: bool) -> None:
    path = in_process.folder / f"fuzzed.{file[0]}"
    path.write_bytes(file[1])
    taken = in_process.admits(
        lambda: in_process.run(DecisionImport(path, DecisionImportOptions(skip_bad=skip_bad)).write(in_process.store_))
    )
    if taken is not None:
        assert taken[0].appended == taken[1]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_store(tmp_path_factory.mktemp("store") / "s.db", [WHOLE, decision("a"), reviewed("b", "failure")])


def taken_over(in_process: InProcess, path: Path, body: bytes) -> None:
    path.write_bytes(body)
    taken = in_process.admits(lambda: in_process.run(CstpImport(path).write(in_process.store_)))
    if taken is not None:
        assert taken[0].appended == taken[1]


WRITTEN = documents([WHOLE, decision("aaaa"), reviewed("bbbb", "success", lessons="none")]).map(
    lambda said: yaml.dump(said, Dumper=yaml.CSafeDumper, sort_keys=False).encode("utf-8", "surrogatepass")
)


@given(WRITTEN | noise(WRITTEN) | st.binary(max_size=64))
def test_decision_files_are_taken_over_or_refused(in_process: InProcess, body: bytes) -> None:
    taken_over(in_process, in_process.folder / "2026-02-05-decision-fuzzed.yaml", body)


def test_a_name_in_a_store_that_is_no_utf8_is_reported(in_process: InProcess, store: Path) -> None:
    path = in_process.folder / "named.db"
    body = store.read_bytes().replace(b"tabledecision_bridge", b"table\x80ecision_bridge")
    path.write_bytes(body.replace(b"CREATE TABLE decision_bridge", b"CREATE TABLX decision_bridge"))
    report = in_process.run(CstpImport(path).write(in_process.store_, dry_run=True))
    assert [loss.field for loss in report.losses] == ["file"]
    assert not report.complete


@given(
    st.lists(st.tuples(st.integers(0, 2**20), st.binary(min_size=1, max_size=8)), max_size=12), st.integers(0, 2**20)
)
def test_damaged_stores_are_taken_over_or_refused(
    in_process: InProcess, store: Path, changes: list[tuple[int, bytes]], cut: int
) -> None:
    body = bytearray(store.read_bytes())
    for place, said in changes:
        start = place % len(body)
        body[start : start + len(said)] = said
    taken_over(in_process, in_process.folder / "fuzzed.db", bytes(body[: cut % len(body)] if cut % 5 == 0 else body))


REPORTS = bodies([report("run-1", "a", "b"), report("run-2"), report("run-3", "a", end_time=None)])


@given(st.lists(REPORTS, max_size=3))
def test_runs_are_imported_or_refused(in_process: InProcess, found: list[bytes]) -> None:
    paths = [in_process.folder / f"run-{number}.json" for number in range(len(found))]
    for path, body in zip(paths, found, strict=True):
        path.write_bytes(body)
    taken = RunImportResult()

    def call() -> None:
        with show_progress("importing", "runs") as shown:
            in_process.run(
                import_runs(read_runs(map(os.fspath, paths), "ann"), in_process.store_, taken, shown, len(paths))
            )

    reported = in_process.admits(call)
    assert reported is not None, "a report that is wrong is left out, and the others are taken"
    assert reported[1] == taken.appended
    assert all(fault.detail for fault in taken.faults)


@given(bodies([DESCRIPTION]), bodies([INVESTIGATION]), st.sampled_from(["scenario.json", "scenario.yaml"]))
def test_scenarios_are_recorded_or_refused(in_process: InProcess, described: bytes, found: bytes, name: str) -> None:
    folder = in_process.folder / "suite" / name
    scenario(folder, described, found, name=name)
    taken = in_process.admits(lambda: in_process.run(record_scenarios(in_process.store_, load(folder).scenarios)))
    if taken is not None:
        assert taken[1] in (0, 1, 2)
