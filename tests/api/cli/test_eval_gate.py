"""Did the last change make it worse? Suites, agents and the command, as in a pipeline: run, change, run, gate."""

import json
import shutil
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from tests.api.cli.command import (
    Ended,
    Value,
    done,
    refused,
    tally,
)
from tests.api.cli.evaluating import (
    PASSES,
    agent,
    evaluate,
    events,
    of_type,
    scenario,
    scores,
    suite,
)
from tests.support.server import served

SILENT_ON_PULLS = "answer('the node was down' if case == 'image-pull' else given['evidence']['log'])"


def run(ledger: Path, fixtures: Path, version: str, code: str = PASSES, *options: Value) -> Ended:
    """Evaluate a version of an agent; the run has its name."""
    line = agent(ledger.with_name(f"agent-{version}"), code)
    words = ("--agent", line, "--agent-name", "triage", "--agent-version", version, "--run", f"run-{version}", *options)
    return evaluate(ledger, fixtures, *words)


def gate(ledger: Path, *options: Value, baseline: str = "latest", strict: bool = False) -> Ended:
    return tally(ledger, "eval", "gate", "--baseline", baseline, *options, *(["--strict"] if strict else []))


@pytest.mark.slow
def test_one_scenario_got_worse(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    assert run(ledger, fixtures, "1").code == 0
    assert run(ledger, fixtures, "2", SILENT_ON_PULLS).code == 1
    reports = {"--junit": tmp_path / "r.xml", "--html": tmp_path / "r.html", "--markdown": tmp_path / "r.md"}
    ended = gate(ledger, "--strict", *(word for pair in reports.items() for word in pair))
    assert ended.code == 1
    assert ended.text.startswith(
        "Regressed: image-pull (hush-image-pull): 100.0 before, 0.0 now; 1 of 1 attempt passed, now 0\n"
        "  used to match: cause of image-pull (substring, root_cause.patterns[0]) in rca.root_cause: "
        "cause of image-pull\n"
    )
    assert ended.text.endswith("\nWorse: 1 regression, where none is allowed.\n")
    assert ended.err == "Baseline: run-1, the latest before run-2, by the same agent.\n"
    comment = reports["--markdown"].read_text(encoding="utf-8")
    assert comment.index("`image-pull`") < comment.index("All scenarios")
    assert "`cause of image-pull` (substring, `root_cause.patterns[0]`) matched in `rca.root_cause`" in comment
    page = reports["--html"].read_text(encoding="utf-8")
    assert "the <mark>cause of crash-loop</mark>" in page
    assert "<dt>rca.root_cause</dt><dd><bdi>the node was down</bdi></dd>" in page
    failures = fromstring(reports["--junit"].read_text(encoding="utf-8")).findall(".//failure/..")
    assert [case.attrib["name"] for case in failures] == ["image-pull"]


@pytest.mark.slow
def test_it_got_better_or_stayed(ledger: Path, fixtures: Path) -> None:
    run(ledger, fixtures, "1", SILENT_ON_PULLS)
    run(ledger, fixtures, "2")
    run(ledger, fixtures, "3")
    ended = gate(ledger, "--run", "run-2")
    assert ended.code == 0
    assert "Improved:\n  image-pull: 0.0 before, 100.0 now\n" in ended.text
    assert ended.text.endswith("\nPassed: 3 scenarios compared, none worse.\n")
    assert gate(ledger).code == 0
    assert gate(ledger, "--run", "run-1", baseline="run-3", strict=True).code == 1


@pytest.mark.slow
def test_a_changed_fixture_is_not_comparable(ledger: Path, fixtures: Path) -> None:
    run(ledger, fixtures, "1")
    investigation = fixtures / "image-pull" / "investigation.json"
    given = json.loads(investigation.read_text())
    investigation.write_text(json.dumps({**given, "evidence": {**given["evidence"], "more": "of it"}}))
    expected = fixtures / "crash-loop" / "scenario.json"
    said = json.loads(expected.read_text())
    said["expected_outcomes"]["root_cause"]["patterns"] = ["another cause"]
    expected.write_text(json.dumps(said))
    run(ledger, fixtures, "2", SILENT_ON_PULLS)
    ended = gate(ledger)
    assert ended.code == 0
    assert ended.text.startswith(
        "Not comparable:\n  crash-loop: expectations changed\n  image-pull: fixture changed\n\nBaseline run-1: "
    )
    assert ended.text.endswith("\nPassed: 1 scenario compared, none worse.\n")


@pytest.mark.slow
def test_a_missing_scenario_is_a_regression(ledger: Path, fixtures: Path) -> None:
    run(ledger, fixtures, "1")
    shutil.rmtree(fixtures / "image-pull")
    scenario(fixtures, "liveness")
    run(ledger, fixtures, "2")
    ended = gate(ledger)
    assert ended.code == 1
    assert "Missing:\n  image-pull: not scored, 100.0 before\n" in ended.text
    assert "New:\n  liveness: 100.0\n" in ended.text
    assert gate(ledger, "--max-regressions", 1).code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "failure", "options"),
    [
        ("print('last words', file=sys.stderr); sys.exit(3)", "crash", ()),
        ("print('last words', file=sys.stderr, flush=True); time.sleep(600)", "timeout", ("--timeout", "6")),
        ("print('last words'); print('{')", "unreadable", ()),
    ],
    ids=["crashes", "hangs", "babbles"],
)
def test_errors_of_an_agent(ledger: Path, fixtures: Path, wrong: str, failure: str, options: tuple[Value, ...]) -> None:
    run(ledger, fixtures, "0", SILENT_ON_PULLS)
    run(ledger, fixtures, "1")
    broken = f"if case == 'image-pull':\n    {wrong}\n{PASSES}"
    assert run(ledger, fixtures, "2", broken, *options).code == 2
    ended = gate(ledger, baseline="run-0")
    assert ended.code == 2
    assert ended.text.startswith(f"Error: image-pull, attempt 1: {failure}: ")
    assert "  | last words\n" in ended.text
    assert ended.text.endswith("\nUnusable: 1 error, where none is allowed.\n")
    assert gate(ledger, "--max-errors", 1, baseline="run-0").code == 0
    assert gate(ledger, baseline="run-1", strict=True).code == 1


@pytest.mark.slow
def test_flaky_attempts_count_once_and_only_where_fewer_pass(ledger: Path, fixtures: Path) -> None:
    flaky = "answer('nothing' if case == 'image-pull' and number == {} else given['evidence']['log'])"
    run(ledger, fixtures, "1", flaky.format(1), "--attempts", 3)
    run(ledger, fixtures, "2", flaky.format(3), "--attempts", 3)
    moved = gate(ledger)
    assert moved.code == 0
    assert "1 passed only before, 1 only now" in moved.text
    run(ledger, fixtures, "3", SILENT_ON_PULLS, "--attempts", 3)
    lost = gate(ledger, strict=True)
    assert lost.code == 1
    assert "2 of 3 attempts passed, now 0\n" in lost.text
    assert lost.text.endswith("\nWorse: 1 regression, where none is allowed.\n")


@pytest.mark.slow
def test_nothing_to_judge(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    empty = evaluate(ledger, tmp_path / "nothing")
    assert empty.code == 2
    assert "nothing contains no scenario" in empty.err
    assert run(ledger, fixtures, "1").code == 0
    assert "No evaluation of kube that began before run-1" in refused(ledger, "eval", "gate", "--baseline", "latest")
    assert "Nothing newer than the baseline run-1" in refused(ledger, "eval", "gate", "--baseline", "run-1")
    run(ledger, suite(tmp_path / "others", ["dns"]), "2")
    ended = gate(ledger, "--run", "run-2", "--max-regressions", 3, baseline="run-1")
    assert ended.code == 2
    assert ended.text.endswith("\nUnusable: no scenario is comparable with the baseline.\n")


@pytest.mark.slow
def test_the_same_selection_is_compared(ledger: Path, fixtures: Path) -> None:
    run(ledger, fixtures, "1", PASSES, "-k", "image")
    run(ledger, fixtures, "2")
    run(ledger, fixtures, "3", SILENT_ON_PULLS, "-k", "image")
    ended = gate(ledger)
    assert ended.err.startswith("Baseline: run-1, the latest before run-3")
    assert "scenarios matching image" in ended.text
    assert ended.code == 2


@pytest.mark.slow
def test_beside_a_server(ledger: Path, fixtures: Path) -> None:
    with served(ledger) as server:
        run(ledger, fixtures, "1", PASSES, "--url", server.url)
        run(ledger, fixtures, "2", SILENT_ON_PULLS, "--url", server.url)
        assert gate(ledger, strict=True).code == 1
        tested = gate(ledger, "--alpha", 0.5, "--drop", 0.5, "--drop-in", 1)
        assert tested.code == 1
        assert "a drop of the pass rate by 0.5 in 1 scenario" in tested.text


SOMETIMES = "answer(given['evidence']['log'] if number {} else 'nothing', **{{'n': number}})"
MANY = [f"case-{letter}" for letter in "abcdef"]


@pytest.mark.slow
def test_a_sequential_run_ends_early_and_the_gate_uses_the_level_of_its_look(ledger: Path, tmp_path: Path) -> None:
    fixtures = suite(tmp_path / "many", MANY)
    several = ("--attempts", 8, "--jobs", 2)
    run(ledger, fixtures, "1", SOMETIMES.format("!= 3"), *several)
    options = (*several, "--sequential", "run-1")
    worse = run(ledger, fixtures, "2", SOMETIMES.format("< 0"), *options)
    assert worse.code == 1
    (started,) = of_type(events(ledger, "run-2"), "started")
    assert started["meta"] == {"sequential": "2,4,8", "sequential_baseline": "run-1"}
    (ended,) = of_type(events(ledger, "run-2"), "finished")
    assert ended["reason"] == ("worse than run-1 after 2 of 8 attempts at each scenario: p < 0.001, level 0.0075")
    assert len(scores(ledger, "run-2")) == 2 * len(MANY)
    judged = gate(ledger, "--run", "run-2", baseline="run-1")
    assert judged.code == 1
    assert "level 0.0075 for this look, of alpha 0.05" in judged.text
    assert "Flaky under the baseline's version: case-a (7 of 8 passed), case-b" in judged.text
    run(ledger, fixtures, "3", SOMETIMES.format("> 0"), *options)
    (ended,) = of_type(events(ledger, "run-3"), "finished")
    assert ended["reason"].startswith("no sign of a loss since run-1 after 4 of 8 attempts at each scenario: p = ")
    assert "pass^4 100%, pass@4 100%" in done(ledger, "eval", "show", "run-3").text


def test_a_sequential_run_needs_its_baseline(ledger: Path, fixtures: Path) -> None:
    assert "There is no evaluation nothing" in refused(
        ledger, "eval", "run", fixtures, "--agent", agent(ledger.with_name("a")), "--sequential", "nothing"
    )
    assert not ledger.exists() or not events(ledger)
