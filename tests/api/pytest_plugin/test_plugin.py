"""Scenarios as tests of a real pytest: its own means select, distribute and report them."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tallystick._pytest_plugin.messages import (
    Call,
    Cancel,
    Load,
    decode_call,
    encode,
)
from tests.api.cli.command import ENDS_S, done, environment, tally
from tests.instruments.evals.suites import (
    DESCRIPTION,
    INVESTIGATION,
    expecting,
    scenario,
)
from tests.support.paths import ROOT
from tests.support.server import POLL_S, serving

OUT_OF_MEMORY = {"patterns": ["OOMKilled"], "match_type": "substring", "none_of": ["image"]}

AGENT = """\
import json, os, sys
asked = json.load(sys.stdin)
assert os.environ["TALLYSTICK_REPLAY"] == "1" and asked["analysis"] == {}
if asked["target"]["pod"] == "crash":
    print("no model answers", file=sys.stderr)
    sys.exit(3)
print(json.dumps({"rca": {"root_cause": "ImagePullBackOff"}, "decision": {"label": str(asked["test_config"])}}))
"""

ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Without the plugins that happen to be installed, each session starts in a third of the time."""


def pytest_with(*arguments: str | Path) -> list[str]:
    """The command. The plugin is named, for an environment may be older than its entry point; see ALONE."""
    named = [
        "-p",
        "no:cacheprovider",
        "-p",
        "tallystick.pytest_plugin",
        *(["-p", "xdist"] if "-n" in arguments else []),
    ]
    return [sys.executable, "-m", "pytest", *named, *map(str, arguments)]


def pytest_in(folder: Path, *arguments: str | Path, code: int = 0, **variables: str) -> str:
    """Run pytest in a folder; what it prints."""
    ended = subprocess.run(
        pytest_with(*arguments),
        cwd=folder,
        env=environment(PYTHONPATH=str(ROOT), **ALONE, **variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=ENDS_S,
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def suite(folder: Path) -> Path:
    """Two scenarios of which one passes, and one without an answer."""
    scenario(folder / "fixtures" / "image" / "llm")
    scenario(folder / "fixtures" / "image" / "no-llm", expecting(root_cause=OUT_OF_MEMORY))
    scenario(folder / "fixtures" / "build", DESCRIPTION | {"family": "brewing"}, unanswered("build-1"))
    return folder


def unanswered(pod: str) -> dict[str, Any]:
    """An investigation without an answer."""
    return {name: value for name, value in INVESTIGATION.items() if name != "analysis"} | {"target": {"pod": pod}}


def agent(folder: Path) -> str:
    """The command of an agent that crashes where it is asked of one pod."""
    (folder / "agent.py").write_text(AGENT)
    return f"{sys.executable} {folder / 'agent.py'}"


HANGING = """\
import os, pathlib, time
pathlib.Path('pids.new').write_text(f'{os.getppid()} {os.getpid()}')
os.rename('pids.new', 'pids')
time.sleep(3600)
"""


@contextmanager
def hanging(folder: Path, *arguments: str) -> Iterator[tuple["subprocess.Popen[str]", int, int]]:
    """A session whose agent never answers, once it is asked; with the ids of its worker and its agent."""
    (folder / "hang.py").write_text(HANGING)
    asked = ["--tallystick-fixtures", "fixtures", "--tallystick-agent", f"{sys.executable} hang.py", *arguments]
    session = subprocess.Popen(
        pytest_with(*asked), cwd=folder, env=environment(PYTHONPATH=str(ROOT), **ALONE),
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with session:
        while not (folder / "pids").exists():
            assert session.poll() is None
            time.sleep(POLL_S)
        worker, agent = map(int, (folder / "pids").read_text().split())
        yield session, worker, agent


def ended(process: int) -> bool:
    """Whether a process has ended, also if its parent has not asked how."""
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat")
        return status.parent.parent.is_dir() and status.read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


def evaluations(ledger: Path) -> list[dict[str, Any]]:
    """The runs of agents in a ledger, each whole; beside them there are the two baselines."""
    listed = json.loads(done(ledger, "eval", "list", "--json").out)["evaluations"]
    assert sorted(one["baseline"] for one in listed if "baseline" in one) == ["empty", "most_frequent"]
    runs = [one["run_id"] for one in listed if "baseline" not in one]
    return [json.loads(done(ledger, "eval", "show", run_id, "--json").out) for run_id in runs]


def cases(path: Path) -> dict[str, ET.Element]:
    """The test cases of a JUnit file, by name."""
    return {str(case.get("name")): case for case in ET.parse(path).iter("testcase")}


@pytest.mark.slow
def test_scenarios_are_tests(tmp_path: Path) -> None:
    said = pytest_in(suite(tmp_path), "--tallystick-fixtures", "fixtures", "-v", "--junitxml", "out.xml", code=1)
    assert "tallystick: 3 scenarios of fixtures, answered by the captured analyses" in said
    assert "fixtures/image/llm/scenario.json::image/llm PASSED" in said
    assert "fixtures/image/no-llm/scenario.json::image/no-llm FAILED" in said
    assert "fixtures/build/scenario.json::build SKIPPED" in said
    assert "1 failed, 1 passed, 1 skipped" in said
    assert "0.0 points, 70.0 needed\nroot cause: 0.0, mark 70.0, weight 1.00, not passed\n" in said
    assert "- not found: OOMKilled (substring, root_cause.patterns[0])\n" in said
    assert "- forbidden, but found: image (substring, root_cause.none_of[0]) in rca.root_cause: Image" in said
    assert "Traceback" not in said
    assert "attempts.py" not in said
    assert not list(tmp_path.glob("*.db"))
    found = cases(tmp_path / "out.xml")
    properties = {each.get("name"): each.get("value") for each in found["image/llm"].iter("property")}
    assert properties == {
        "scenario": "image.llm",
        "state": "scored",
        "total_score": "100.0",
        "pass_threshold": "70.0",
        "root_cause": "100.0",
    }
    (failure,) = found["image/no-llm"].iter("failure")
    assert (failure.text or "").startswith("0.0 points, 70.0 needed\nroot cause: 0.0")
    (skipped,) = found["build"].iter("skipped")
    assert skipped.get("message") == "no analysis was captured with it, and no agent was asked"


@pytest.mark.slow
def test_scenarios_are_selected_as_tests_are(tmp_path: Path) -> None:
    asked = ("--tallystick-fixtures", "fixtures", "-q", "-rA")
    suite(tmp_path)
    assert "1 passed, 2 deselected" in pytest_in(tmp_path, *asked, "-k", "llm and not no-llm")
    assert "1 skipped, 2 deselected" in pytest_in(tmp_path, *asked, "-k", "brewing", code=5)
    assert "3 deselected" in pytest_in(tmp_path, *asked, "-k", "nothing", code=5)
    assert "1 failed in" in pytest_in(tmp_path, *asked, "fixtures/image/no-llm/scenario.json::image/no-llm", code=1)
    assert "1 failed, 1 passed in" in pytest_in(tmp_path, *asked, "fixtures/image", code=1)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text("def test_one(): pass")
    assert "1 failed, 2 passed, 1 skipped" in pytest_in(tmp_path, *asked, "tests", code=1)
    assert "1 failed, 1 passed, 1 skipped" in pytest_in(tmp_path, *asked, code=1)
    listed = pytest_in(tmp_path, *asked, "--collect-only", "--tallystick-ledger", "l.db", "--tallystick-attempts", "2")
    assert "fixtures/image/llm/scenario.json::image/llm[2]" in listed
    assert not (tmp_path / "l.db").exists()


@pytest.mark.slow
def test_a_session_in_which_nobody_was_asked_is_no_success(tmp_path: Path) -> None:
    scenario(tmp_path / "fixtures" / "build", None, unanswered("build-1"))
    said = pytest_in(tmp_path, "--tallystick-fixtures", "fixtures", code=5)
    assert "tallystick: nothing was scored: there is neither an agent nor a captured analysis." in said


@pytest.mark.slow
def test_an_agent_is_asked_and_its_errors_are_reported(tmp_path: Path) -> None:
    suite(tmp_path)
    scenario(tmp_path / "fixtures" / "crash", None, unanswered("crash"))
    said = pytest_in(
        tmp_path, "--tallystick-fixtures", "fixtures", "--tallystick-agent", agent(tmp_path), "--tallystick-ledger",
        "l.db", "--tallystick-agent-version", "1.4", "--tallystick-enable-llm", "yes", "--tallystick-name", "nightly",
        "--tallystick-model", "big-1", "--junitxml", "out.xml", "-v", code=1,
    )  # fmt: skip
    assert "1 failed, 2 passed, 1 error" in said
    assert "crash: python" in said
    assert "no model answers" in said
    assert "Traceback" not in said
    assert "4 scores recorded" in said
    (error,) = cases(tmp_path / "out.xml")["crash"].iter("error")
    assert "no model answers" in (error.text or "")
    (run,) = evaluations(tmp_path / "l.db")
    meta = {"enable_llm": "true", "claimed_model": "big-1"}
    assert (run["suite"], run["agent_version"], run["meta"]) == ("nightly", "1.4", meta)
    assert (run["scored"], run["passed"], run["errors"], run["ended"]) == (3, 2, 1, True)
    rows = {result["scenario_id"]: result["rows"][0] for result in run["results"]}
    assert (rows["crash"]["failure"], rows["crash"]["model"]) == ("crash", "big-1")
    assert rows["crash"]["said"] == "no model answers"
    assert rows["image.llm"]["components"][0]["findings"][0]["where"] == "rca.root_cause"


@pytest.mark.slow
def test_workers_answer_and_the_controller_writes_one_run(tmp_path: Path) -> None:
    asked = ("--tallystick-fixtures", "fixtures", "--tallystick-attempts", "2", "--tallystick-ledger", "l.db")
    said = pytest_in(suite(tmp_path), *asked, "-n", "2", "-k", "llm", "--junitxml", "out.xml", code=1)
    assert "2 failed, 2 passed" in said
    assert "4 scores recorded" in said
    assert sorted(cases(tmp_path / "out.xml")) == ["image/llm[1]", "image/llm[2]", "image/no-llm[1]", "image/no-llm[2]"]
    (run,) = evaluations(tmp_path / "l.db")
    assert (run["planned"], run["scored"], run["passed"], run["selection"], run["ended"]) == (4, 4, 2, "llm", True)
    assert {result["scenario_id"]: result["verdict"] for result in run["results"]} == {
        "image.llm": "stable",
        "image.no-llm": "failing",
    }


RERUNS = """\
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    for left in (2, 1, 0):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failed = left and [report for report in reports if report.failed]
        for report in failed or ():
            report.outcome = "rerun"
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        if not failed:
            break
    return True
"""
"""A conftest.py that runs a failed test up to two times more, with the calls of pytest-rerunfailures."""

WRONG_TWICE = """\
import json, pathlib, sys
sys.stdin.read()
calls = pathlib.Path(sys.argv[1])
calls.write_text(calls.read_text() + "x" if calls.exists() else "x")
times = len(calls.read_text())
if times == 1:
    sys.exit("no model answers")
print(json.dumps({"rca": {"root_cause": "ImagePullBackOff" if times == 3 else "disk"}}))
"""
"""An agent that crashes, answers wrongly, and answers correctly."""


@pytest.mark.slow
@pytest.mark.trial("P17")
@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_each_run_of_a_test_that_is_run_again_is_an_attempt(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    scenario(tmp_path / "fixtures" / "image")
    (tmp_path / "conftest.py").write_text(RERUNS)
    (tmp_path / "agent.py").write_text(WRONG_TWICE)
    asked = ["--tallystick-agent", f"{sys.executable} {tmp_path / 'agent.py'} {tmp_path / 'calls'}"]
    recorded = ["--tallystick-ledger", "run.db", *arguments]
    out = pytest_in(tmp_path, "-q", "--tallystick-fixtures", "fixtures", *asked, *recorded)
    assert "1 passed" in out
    assert "3 scores recorded" in out
    assert "has not ended" not in out
    (run,) = evaluations(tmp_path / "run.db")
    (result,) = run["results"]
    assert (result["verdict"], result["attempts"], result["passed"], result["errors"]) == ("flaky", 3, 1, 1)
    assert [row["attempt"] for row in result["rows"]] == [1, 2, 3]


@pytest.mark.slow
def test_a_run_is_written_through_a_server(tmp_path: Path) -> None:
    suite(tmp_path)
    with serving(tmp_path / "served.db") as url:
        said = pytest_in(tmp_path, "--tallystick-fixtures", "fixtures", "--tallystick-url", url, code=1)
        assert "3 scores recorded" in said
        blocked = pytest_in(tmp_path, "--tallystick-fixtures", "fixtures", "--tallystick-ledger", "served.db", code=4)
        assert "is being written by process" in blocked
        assert "collected" not in blocked
    (run,) = evaluations(tmp_path / "served.db")
    assert (run["scored"], run["skipped"]) == (2, 1)


@pytest.mark.slow
def test_a_run_that_was_stopped_is_gone_on_with(tmp_path: Path) -> None:
    scenario(tmp_path / "fixtures" / "a", expecting(root_cause=OUT_OF_MEMORY))
    scenario(tmp_path / "fixtures" / "b")
    said = pytest_in(tmp_path, "--tallystick-fixtures", "fixtures", "--tallystick-ledger", "l.db", "-x", code=1)
    run_id = said.split("tallystick eval run --resume ")[1].split()[0]
    (run,) = evaluations(tmp_path / "l.db")
    assert (run["run_id"], run["scored"], run["ended"]) == (run_id, 1, False)
    tally(tmp_path / "l.db", "eval", "run", tmp_path / "fixtures", "--resume", run_id)
    (run,) = evaluations(tmp_path / "l.db")
    assert (run["run_id"], run["scored"], run["ended"]) == (run_id, 2, True)


@pytest.mark.slow
def test_an_interrupted_session_ends_its_agent_and_keeps_its_run(tmp_path: Path) -> None:
    with hanging(suite(tmp_path), "--tallystick-ledger", "l.db") as (session, worker, agent):
        session.send_signal(signal.SIGINT)
        said, _ = session.communicate()
        assert session.returncode == 2
        assert "It has not ended: tallystick eval run --resume" in said
        assert ended(worker)
        assert ended(agent)
    (run,) = evaluations(tmp_path / "l.db")
    assert (run["planned"], run["scored"], run["ended"]) == (3, 0, False)


@pytest.mark.slow
def test_broken_scenarios_are_all_reported_before_anything_is_asked(tmp_path: Path) -> None:
    suite(tmp_path)
    scenario(tmp_path / "fixtures" / "one", expecting(root_cause={"patterns": [""], "match_type": "regexp"}))
    scenario(tmp_path / "fixtures" / "two", None, b"[]")
    said = pytest_in(tmp_path, "--tallystick-fixtures", "fixtures", "--tallystick-ledger", "l.db", code=4)
    assert "ERROR: 3 faults in the scenarios:\n" in said
    assert "  fixtures/one/scenario.json: expected_outcomes.root_cause.match_type 'regexp' is unknown." in said
    assert "  fixtures/one/scenario.json: expected_outcomes.root_cause.patterns[0] is empty." in said
    assert "  fixtures/two/investigation.json is not a JSON object." in said
    assert "Traceback" not in said
    assert not (tmp_path / "l.db").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--tallystick-fixtures", "empty"],
            "ERROR: empty contains no scenario. Name a folder with NAME/scenario.yaml",
        ),
        (["--tallystick-fixtures", "nowhere"], "nowhere cannot be read: No such file or directory."),
        (["--tallystick-ledger", "l.db"], "--tallystick-ledger is for scenarios: name their folder with"),
        (
            ["--tallystick-fixtures", "fixtures", "--tallystick-ledger", "a", "--tallystick-url", "b"],
            "name one of them",
        ),
        (["--tallystick-fixtures", "fixtures", "--tallystick-attempts", "0"], "--tallystick-attempts: give a number"),
        (
            ["--tallystick-fixtures", "fixtures", "--tallystick-timeout", "nan"],
            "--tallystick-timeout: nan is not a time.",
        ),
        (["--tallystick-fixtures", "fixtures", "--tallystick-agent", "'"], "--tallystick-agent: "),
        (["--tallystick-fixtures", "fixtures", "--tallystick-agent", "no-such-program"], "--tallystick-agent: "),
        (["--tallystick-fixtures", "fixtures", "--tallystick-agent-name", ""], "--tallystick-agent-name: is empty"),
        (
            ["--tallystick-fixtures", "fixtures", "--tallystick-enable-llm", "no"],
            "-enable-llm: is an option of an agent, and none is asked. Give its command with --tallystick-agent",
        ),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(tmp_path: Path, arguments: list[str], said: str) -> None:
    scenario(tmp_path / "fixtures" / "one")
    (tmp_path / "empty").mkdir()
    assert said in pytest_in(tmp_path, *arguments, code=4)


@pytest.mark.slow
def test_the_environment_is_the_session_s_own(tmp_path: Path) -> None:
    scenario(tmp_path / "fixtures" / "one", None, unanswered("one"))
    (tmp_path / "conftest.py").write_text(
        "import os, pytest\n"
        "@pytest.hookimpl(trylast=True)\n"
        "def pytest_configure(config): os.environ['LATE'] = '\\udcff'\n"
    )
    (tmp_path / "agent.py").write_text(
        "import os, sys\n"
        "assert os.environb[b'LATE'] == b'\\xff'\n"
        "print(os.environ['PYTEST_CURRENT_TEST'], os.getcwd(), file=sys.stderr)\n"
        "sys.exit(1)\n"
    )
    asked = ("--tallystick-fixtures", "fixtures", "--tallystick-agent", f"{sys.executable} agent.py")
    said = pytest_in(tmp_path, *asked, code=1)
    assert f"fixtures/one/scenario.json::one (setup) {tmp_path}\n" in said


@pytest.mark.slow
def test_a_session_that_is_killed_ends_its_worker_and_its_agent(tmp_path: Path) -> None:
    asked = ("--tallystick-ledger", "l.db", "-p", "no:terminal")
    with hanging(suite(tmp_path), *asked) as (session, worker, agent):
        session.kill()
        session.wait()
        for process in (worker, agent):
            while not ended(process):
                time.sleep(POLL_S)
    (run,) = evaluations(tmp_path / "l.db")
    assert (run["planned"], run["scored"], run["ended"]) == (3, 0, False)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_an_error_of_the_tests(tmp_path: Path) -> None:
    with hanging(suite(tmp_path), "--tallystick-attempts", "2") as (session, worker, agent):
        os.kill(worker, signal.SIGKILL)
        os.kill(agent, signal.SIGKILL)
        said, _ = session.communicate()
    assert session.returncode == 1
    assert "Tallystick's worker process ended with code -9." in said
    assert "6 errors" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_session_that_asks_for_nothing_is_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "test_ours.py").write_text(
        "import sys\n"
        "def test_ours():\n"
        "    assert 'tallystick.pytest_plugin' in sys.modules\n"
        "    assert not {'tallystick._pytest_plugin', 'msgspec', 'httpx', 'regex', 'numpy'} & set(sys.modules)\n"
    )
    assert "1 passed" in pytest_in(tmp_path)


@pytest.mark.slow
def test_a_project_has_its_own_packages_beside_ours(tmp_path: Path) -> None:
    suite(tmp_path)
    for name in ("api", "events", "ledger", "tests", "yaml"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("ours = 1")
    (tmp_path / "tests" / "test_ours.py").write_text(
        "import sys, api, events, ledger, yaml\n"
        "def test_ours():\n"
        "    assert api.ours == events.ours == ledger.ours == yaml.ours == 1\n"
        "    assert not {'instruments', 'projections', 'regex', 'numpy', 'typer'} & set(sys.modules)\n"
    )
    asked = ("--tallystick-fixtures", "fixtures", "--tallystick-ledger", "l.db", "tests")
    assert "1 failed, 2 passed, 1 skipped" in pytest_in(tmp_path, *asked, code=1)
    (run,) = evaluations(tmp_path / "l.db")
    assert (run["scored"], run["skipped"], run["ended"]) == (2, 1, True)


def test_a_message_that_was_cut_off_spoils_no_other() -> None:
    call = Call(2, Load(fixtures="/f\udcff", folder="/", timeout_s=float("inf")), {"NAME": "\udcff"})
    lines = (encode(Cancel(1))[:9] + encode(call)).splitlines()
    assert [decode_call(line) for line in lines] == [None, None, call]


def test_the_plugin_is_an_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named = project["project"]["entry-points"]["pytest11"]
    assert named == {"tallystick": "tallystick.pytest_plugin"}
    assert hasattr(import_module(named["tallystick"]), "pytest_addoption")
