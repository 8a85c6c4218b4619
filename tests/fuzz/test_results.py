"""Any file of results of another tool is imported completely, or refused with a message and without a write."""

from hypothesis import example, given
from hypothesis import strategies as st

from api.cli.output import show_progress
from api.importers.results.importer import ResultsOptions, import_results, read_files
from api.importers.results.report import ResultsImport
from tests.fuzz.in_process import InProcess
from tests.fuzz.mutated import bodies
from tests.support import deepeval_runs, inspect_logs, promptfoo_results

PROMPTFOO = bodies([promptfoo_results.capitals()])
DEEPEVAL = bodies([deepeval_runs.capitals(), {"testRunData": deepeval_runs.capitals()}])
INSPECT = bodies([inspect_logs.capitals()])


def imported(in_process: InProcess, body: bytes, format_: str | None) -> ResultsImport:
    path = in_process.folder / "fuzzed.json"
    path.write_bytes(body)
    result = ResultsImport()
    files = read_files([str(path)], ResultsOptions(format=format_))
    before = in_process.head
    in_process.run(import_results(files, in_process.store_, result, show_progress))
    assert in_process.head - before == result.appended
    assert all(fault.detail for fault in result.faults)
    assert bool(result.files) != any(fault.run_id is None for fault in result.faults)
    return result


def twice(in_process: InProcess, body: bytes, format_: str | None) -> None:
    """A second import adds nothing, and says of each run what the first said, or that it is there."""
    first = imported(in_process, body, format_)
    again = imported(in_process, body, format_)
    assert again.appended == 0
    assert again.conflicts == first.conflicts
    assert [fault.detail for fault in again.faults] == [fault.detail for fault in first.faults]


@given(PROMPTFOO, st.sampled_from([None, None, "promptfoo"]))
@example(b'{"evalId": "a", "results": {"version": 3, "results": ' + 5_000 * b"[", None)
def test_results_of_promptfoo_are_imported_or_refused(in_process: InProcess, body: bytes, format_: str | None) -> None:
    twice(in_process, body, format_)


@given(DEEPEVAL, st.sampled_from([None, None, "deepeval"]))
@example(b'{"testCases": [{"name": "a", "metricsData": [{"name": "m", "score": NaN}]}], "metricsScores": []}', None)
def test_runs_of_deepeval_are_imported_or_refused(in_process: InProcess, body: bytes, format_: str | None) -> None:
    twice(in_process, body, format_)


@given(INSPECT, st.sampled_from([None, None, "inspect"]))
def test_logs_of_inspect_are_imported_or_refused(in_process: InProcess, body: bytes, format_: str | None) -> None:
    twice(in_process, body, format_)
