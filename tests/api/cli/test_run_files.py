"""import runs: it names the field and the remedy for each file that is not a report, and imports the others."""

from pathlib import Path

import msgspec

from tests.api.cli.command import done, refused, tally
from tests.support.run_reports import report, result, written


def wrong(**changes: object) -> bytes:
    return msgspec.json.encode({**report("wrong", "m"), **changes})


def wrong_result(**changes: object) -> bytes:
    return wrong(results=[{**result(0, "m"), **changes}])


def wrong_probe(**changes: object) -> bytes:
    return wrong_result(probe={**result(0, "m")["probe"], **changes})


WRONG: tuple[tuple[bytes, str], ...] = (
    (b"", "It is empty."),
    (b"not JSON", "Not well-formed JSON: "),
    (b"\xff\xfe", "Not well-formed JSON: "),
    (b"[1]", "it is not a run report: expected `object`, got `array`."),
    (b"[" * 100_000, "it is not a run report: "),
    (b'{"text": "a file of something else"}', "text is not a field here."),
    (b"{}", "start_time is required and missing."),
    (wrong().replace(b'"total_score":1', b'"total_score":NaN'), "Not well-formed JSON: "),
    (wrong().replace(b'"total_score":1', b'"total_score":1e999'), "results[0].probe.score"),
    (wrong().replace(b"func", b"\\ud800"), "results[0].probe.raw_output: must be Unicode text"),
    (wrong(surprise=1), "surprise is not a field here."),
    (wrong_result(surprise=1), "results[0].surprise is not a field here."),
    (wrong_probe(surprise=1), "results[0].probe.surprise is not a field here."),
    (wrong(config={"max_iteration": 3}), "config.max_iteration is not a field here."),
    (wrong(config={"max_iterations": "15"}), "config.max_iterations: expected `integer | null`, got `string`."),
    (wrong(config=None), "config: expected `object`, got `null`."),
    (wrong(results={}), "results: expected `array | null`, got `object`."),
    (wrong(run_id="../../x"), "run_id: "),
    (wrong(run_id=""), "run_id: "),
    (wrong(run_id="a\n"), "run_id: "),
    (wrong(run_id="x" * 65), "run_id: "),
    (wrong(start_time="yesterday"), "start_time: 'yesterday' is not an RFC 3339 time."),
    (wrong(start_time="2026-02-21"), "start_time: "),
    (wrong(start_time="2026-02-21T25:00:00Z"), "start_time: "),
    (wrong(start_time="2026-02-21T16:35:23"), "start_time: "),
    (wrong(start_time="0001-01-01T00:00:00+02:00"), "start_time: "),
    (wrong(end_time=None), "end_time: is missing, and the other is there."),
    (wrong(termination_reason=None), "termination_reason: is missing, and the other is there."),
    (wrong(termination_reason=""), "termination_reason: is empty."),
    (wrong(end_time=None, termination_reason=None, unique_models=[]), "unique_models: differ from the results."),
    (wrong(results=[result(0, "m"), result(0, "n")]), "results[1].iteration: 0 is the iteration of results[0], too."),
    (wrong_result(timestamp="2026-02-30T00:00:00Z"), "results[0].timestamp: "),
    (wrong_result(iteration=-1), "results[0].iteration: expected `integer` >= 0."),
    (wrong_result(model={"provider": "P"}), "results[0].model.model_name is required and missing."),
    (wrong_probe(score={"renames": 1.5}), "results[0].probe.score.renames: 1.5 is not a count."),
    (wrong_probe(score={"renames": True}), "results[0].probe.score"),
    (wrong_probe(score={"total_score": 1.01}), "results[0].probe.score.total_score: 1.01 is not a number from 0 to 1."),
    (wrong_probe(dimension_scores={"speed": 2}), "results[0].probe.dimension_scores"),
    (wrong_probe(raw_output=None), "results[0].probe.raw_output: is required and missing."),
    (wrong_probe(probe_id=None), "results[0].probe.probe_id: is required and missing."),
    (wrong_probe(elapsed_ns=-1), "results[0].probe.elapsed_ns: expected `integer` >= 0."),
    (wrong_result(exclusion_prompt="x" * 70_000), "results[0]: "),
    (wrong(termination_reason="x" * 70_000), "end_time: "),
)


def test_each_wrong_file_is_reported_and_the_others_are_imported(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    files = []
    for number, (body, _) in enumerate(WRONG):
        files.append(tmp_path / f"wrong-{number}.json")
        files[-1].write_bytes(body)
    alone = tally(ledger, "import", "runs", *files)
    assert alone.code == 2
    assert not ledger.exists()
    right = written(tmp_path, report("one", "m"), report("two", "m"))
    missing = tmp_path / "missing.json"
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(100_000_000)
    said = tally(ledger, "import", "runs", right[0], *files, missing, tmp_path, huge, right[1])
    assert said.code == 1
    assert said.text.startswith(
        f"{len(WRONG) + 5} files: 2 runs written (2 results), 0 there already, {len(WRONG) + 3}"
    )
    assert "Traceback" not in said.err
    for path, (_, why) in zip(files, WRONG, strict=True):
        assert f"error: {path}: {why}" in said.err, why
    assert f"error: {missing}: It cannot be read: No such file or directory." in said.err
    assert f"error: {tmp_path}: It cannot be read: Is a directory." in said.err
    assert f"error: {huge}: It is larger than 16 MiB." in said.err
    assert len(done(ledger, "log", "--json").out.splitlines()) == 8


def test_a_run_that_comes_twice_is_there_and_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    files = written(tmp_path, report("r", "m"))
    assert "--agent: 'a b' cannot be an agent's name." in refused(ledger, "import", "runs", *files, "--agent", "a b")
    assert "--agent: " in refused(ledger, "run", "save", "--report-file", files[0], "--agent", "")
    assert not ledger.exists()
    said = done(ledger, "import", "runs", *files, *files).text
    assert said.startswith("2 files: 1 run written (1 result), 1 there already, 0 left out.\n")
