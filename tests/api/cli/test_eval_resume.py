"""eval run, interrupted: by kill -9, by a signal, by its server; and gone on with from what the log holds."""

import json
import os
import random
import signal
import time
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import (
    Value,
    done,
    refused,
    tally,
)
from tests.api.cli.evaluating import (
    Json,
    agent,
    asked,
    evaluate,
    evaluating,
    events,
    of_type,
    places,
    scenario,
    scores,
    suite,
    wait_for_asked,
)
from tests.support.server import served
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow

SEED = 20261121
NAMES = ("crash-loop", "image-pull", "liveness", "out-of-memory", "throttling")
ALL = [(name, 1) for name in NAMES]


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    return suite(tmp_path / "kube", NAMES)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def line(notes: Path) -> str:
    return agent(notes)


def hold(notes: Path, name: str) -> None:
    """Let the agent not answer a case until it is released."""
    (notes / f"hold-{name}").touch()


def release(notes: Path, name: str) -> None:
    (notes / f"hold-{name}").unlink()


def seen(ledger: Path) -> list[Json]:
    """What was scored, without what differs from run to run."""
    return [
        {name: value for name, value in one.items() if name not in {"run_id", "elapsed_ns"}} for one in scores(ledger)
    ]


@pytest.mark.parametrize("number", [1, 2, 4, 5])
def test_a_run_that_is_killed_goes_on_as_if_it_had_not_been(
    tmp_path: Path, ledger: Path, fixtures: Path, notes: Path, line: str, number: int
) -> None:
    undisturbed = tmp_path / "undisturbed.db"
    assert evaluate(undisturbed, fixtures, "--agent", agent(tmp_path / "other"), "--run", "monday").code == 0
    name = NAMES[number - 1]
    hold(notes, name)
    with evaluating(ledger, fixtures, "--agent", line, "--run", "monday") as process:
        wait_for_asked(notes, number, process)
        process.kill()
    assert places(ledger) == ALL[: number - 1]
    release(notes, name)
    assert evaluate(ledger, fixtures, "--agent", line, "--resume", "monday").code == 0
    assert asked(notes) == [*NAMES[:number], *NAMES[number - 1 :]]
    assert seen(ledger) == seen(undisturbed)
    assert [event["id"] for event in events(ledger, "monday")[:-1]] == [
        event["id"] for event in events(undisturbed, "monday")[:-1]
    ]
    assert len(of_type(events(ledger), "finished")) == 1


def test_kills_at_any_moment_lose_nothing_and_repeat_nothing(ledger: Path, fixtures: Path, notes: Path) -> None:
    rng = random.Random(SEED)
    line = agent(notes, "time.sleep(0.05)\nanswer(given['evidence']['log'])")
    settings: tuple[Value, ...] = ("--run", "often", "--attempts", 3)
    for _ in range(6):
        before = len(asked(notes))
        with evaluating(ledger, fixtures, "--agent", line, "--jobs", 3, *settings) as process:
            wait_for_asked(notes, before + 1, process)
            time.sleep(rng.random() * 0.3)
            process.kill()
        scored = places(ledger)
        assert len(scored) == len(set(scored))
        settings = ("--resume", "often")
        if of_type(events(ledger), "finished"):
            break
    else:
        assert evaluate(ledger, fixtures, "--agent", line, *settings).code == 0
    assert places(ledger) == sorted((name, attempt) for name in NAMES for attempt in (1, 2, 3))
    assert len(of_type(events(ledger), "finished")) == 1


def test_kills_while_captured_answers_are_scored(ledger: Path, tmp_path: Path) -> None:
    rng = random.Random(SEED)
    names = [f"case-{number:03}" for number in range(300)]
    fixtures = suite(tmp_path / "many", names, captured={"rca": {"root_cause": "the cause of case-007"}})
    settings: tuple[Value, ...] = ("--run", "killed", "--baselines")
    for _ in range(5):
        with evaluating(ledger, fixtures, *settings) as process:
            while process.poll() is None and not ledger.exists():
                time.sleep(0.01)
            time.sleep(rng.random() * 1.5)
            process.kill()
        if of_type(events(ledger, "killed"), "started"):
            settings = ("--resume", "killed", "--baselines")
        if of_type(events(ledger, "killed"), "finished"):
            break
    else:
        assert tally(ledger, "eval", "run", fixtures, *settings[:-1]).code == 1
    found = events(ledger)
    for run in {one["run_id"] for one in of_type(found, "started")}:
        assert places(ledger, run) == [(name, 1) for name in names]
        assert len([one for one in of_type(found, "finished") if one["run_id"] == run]) == 1
    assert len(of_type(found, "scenario_captured")) == len(names)


under_nohup = pytest.mark.skipif(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, reason="hangups are ignored here")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), pytest.param(signal.SIGHUP, 129, marks=under_nohup)],
)
def test_a_signal_ends_it_cleanly(ledger: Path, fixtures: Path, notes: Path, number: signal.Signals, code: int) -> None:
    line = agent(notes, "(folder / f'pid-{case}').write_text(str(os.getpid()))\n"
                        "if case == 'liveness' and number == 1: time.sleep(999)\n"
                        "answer(given['evidence']['log'])")  # fmt: skip
    with evaluating(ledger, fixtures, "--agent", line, "--run", "stopped") as process:
        wait_for_asked(notes, 3, process)
        wait_until(lambda: (notes / "pid-liveness").exists() and (notes / "pid-liveness").read_text(), process)
        process.send_signal(number)
        out, err = (stream.decode() for stream in process.communicate())
    assert process.returncode == code
    assert "Traceback" not in err
    assert "--resume stopped, with the same agent" in err
    assert "2 scenarios: 2 passed, 0 failed, 3 not scored yet." in out
    assert places(ledger) == ALL[:2]
    assert of_type(events(ledger), "finished") == []
    assert not Path(f"/proc/{(notes / 'pid-liveness').read_text()}").exists()
    assert evaluate(ledger, fixtures, "--agent", line, "--resume", "stopped").code == 0
    assert places(ledger) == ALL


def test_what_others_at_once_have_answered_is_kept_when_it_is_stopped(
    ledger: Path, fixtures: Path, notes: Path
) -> None:
    line = agent(notes)
    hold(notes, "crash-loop")
    with evaluating(ledger, fixtures, "--agent", line, "--run", "stopped", "--jobs", 2) as process:
        wait_for_asked(notes, len(NAMES), process)
        wait_until(lambda: len(places(ledger)) >= len(NAMES) - 1, process)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130
    assert places(ledger) == ALL[1:]
    release(notes, "crash-loop")
    assert evaluate(ledger, fixtures, "--agent", line, "--resume", "stopped").code == 0
    assert asked(notes).count("crash-loop") == 2
    assert len(asked(notes)) == len(NAMES) + 1


def interrupted(ledger: Path, fixtures: Path, notes: Path, line: str, *settings: Value) -> None:
    """Leave a run `left` that has scored the first two scenarios."""
    hold(notes, "liveness")
    with evaluating(ledger, fixtures, "--agent", line, "--run", "left", *settings) as process:
        wait_for_asked(notes, 3, process)
        process.kill()
    release(notes, "liveness")


def test_a_resumed_run_keeps_to_what_it_began_with(ledger: Path, fixtures: Path, notes: Path, line: str) -> None:
    settings = ("-k", "not throttling", "--attempts", 2, "--name", "mine", "--agent-name", "me", "--agent-version", "2",
                "--meta", "commit=3f", "--enable-llm")  # fmt: skip
    interrupted(ledger, fixtures, notes, line, *settings)
    before = events(ledger)
    other = {
        "-k": "image", "--attempts": "3", "--name": "yours", "--agent-name": "you", "--agent-version": "3",
        "--meta": "commit=4a", "--run": "another",
    }  # fmt: skip
    for option, value in other.items():
        said = refused(ledger, "eval", "run", fixtures, "--agent", line, "--resume", "left", option, value)
        assert option in said
    assert "--no-enable-llm" not in refused(ledger, "eval", "run", fixtures, "--agent", line, "--resume", "left",
                                            "--no-enable-llm")  # fmt: skip
    said = refused(ledger, "eval", "run", fixtures, "--resume", "left")
    assert "run left scores the answers of me." in said
    assert events(ledger) == before
    assert evaluate(ledger, fixtures, "--agent", line, "--resume", "left", *settings[:4]).code == 0
    found = events(ledger, "left")
    assert places(ledger, "left") == sorted((name, attempt) for name in NAMES[:4] for attempt in (1, 2))
    assert {(one["agent"], one["agent_version"]) for one in of_type(found, "scored")} == {("me", "2")}


def test_a_run_of_another_program_is_not_gone_on_with(ledger: Path, fixtures: Path, notes: Path, line: str) -> None:
    interrupted(ledger, fixtures, notes, line)
    said = refused(ledger, "eval", "run", fixtures, "--agent", "true", "--resume", "left")
    assert "--agent: run left asks command:python" in said
    assert "not command:true." in said


def test_a_suite_whose_scored_scenario_changed_is_refused(ledger: Path, fixtures: Path, notes: Path, line: str) -> None:
    interrupted(ledger, fixtures, notes, line)
    described = json.loads((fixtures / "image-pull" / "scenario.json").read_text())
    described["scoring"] = {"pass_threshold": 80}
    (fixtures / "image-pull" / "scenario.json").write_text(json.dumps(described))
    before = scores(ledger)
    said = refused(ledger, "eval", "run", fixtures, "--agent", line, "--resume", "left")
    assert "have changed since run left began, image-pull since they were scored." in said
    assert scores(ledger) == before
    assert not of_type(events(ledger), "scenario_revised")


def test_so_is_one_with_another_scenario_that_changed(ledger: Path, fixtures: Path, notes: Path, line: str) -> None:
    interrupted(ledger, fixtures, notes, line)
    (fixtures / "throttling" / "investigation.json").write_text('{"evidence": {"case": "throttling", "log": "?"}}')
    said = refused(ledger, "eval", "run", fixtures, "--agent", line, "--resume", "left")
    assert "have changed since run left began, none of those that were scored." in said
    assert "--suite-of left" in said
    done(ledger, "eval", "run", "--suite-of", "left", "--no-baselines", "--agent", line, "--resume", "left")
    assert places(ledger) == ALL


def test_other_scenarios_are_another_run(ledger: Path, fixtures: Path, notes: Path, line: str, tmp_path: Path) -> None:
    interrupted(ledger, fixtures, notes, line)
    resume = ("eval", "run", fixtures, "--agent", line, "--resume", "left")
    scenario(fixtures, "unknown-yet")
    assert "run left began with 5 scenarios, and there are 6 now" in refused(ledger, *resume)
    (fixtures / "image-pull").rename(tmp_path / "image-pull")
    assert "run left scored image-pull, which is not there now" in refused(ledger, *resume)
    assert places(ledger) == ALL[:2]


def test_only_a_run_that_is_there_and_goes_on_can_be_resumed(ledger: Path, fixtures: Path, line: str) -> None:
    resume = ("eval", "run", fixtures, "--agent", line, "--resume")
    assert "There is no evaluation no-such." in refused(ledger, *resume, "no-such")
    assert "There is no evaluation a b." in refused(ledger, *resume, "a b")
    assert evaluate(ledger, fixtures, "--agent", line, "--run", "over").code == 0
    before = events(ledger)
    assert "Evaluation over has ended." in refused(ledger, *resume, "over")
    assert events(ledger) == before


def test_two_that_go_on_at_once_score_each_attempt_once(
    ledger: Path, fixtures: Path, notes: Path, tmp_path: Path
) -> None:
    line = agent(notes, "time.sleep(0.02)\nanswer(given['evidence']['log'])")
    hold(notes, "crash-loop")
    with served(ledger) as server:
        reach = ("--agent", line, "--url", server.url, "--jobs", 2)
        unused = tmp_path / "unused.db"
        with evaluating(unused, fixtures, "--run", "both", "--attempts", 8, *reach) as process:
            wait_for_asked(notes, 1, process)
            process.kill()
        release(notes, "crash-loop")
        resume = ("--resume", "both", *reach)
        with evaluating(unused, fixtures, *resume) as one, evaluating(unused, fixtures, *resume) as other:
            said = [process.communicate()[1].decode() for process in (one, other)]
        assert (one.returncode, other.returncode) == (0, 0), said
        wanted = sorted((name, attempt) for name in NAMES for attempt in range(1, 9))
        assert places(ledger, "both") == wanted
    assert len(of_type(events(ledger, "both"), "finished")) == 1


def test_an_answer_outlives_a_server_that_starts_again(
    ledger: Path, fixtures: Path, notes: Path, tmp_path: Path
) -> None:
    line = agent(notes)
    hold(notes, "image-pull")
    with served(ledger) as server:
        port = server.url.rpartition(":")[2]
        with evaluating(tmp_path / "unused.db", fixtures, "--agent", line, "--url", server.url) as process:
            wait_for_asked(notes, 2, process)
            server.stop()
            os.sync()
            (notes / "go-image-pull").touch()
            with served(ledger, "--port", port):
                said = process.communicate()[1].decode()
    assert process.returncode == 0, said
    assert places(ledger) == ALL
    assert sorted(asked(notes)) == list(NAMES)


def test_a_server_that_is_gone_for_good_is_reported_with_how_to_go_on(
    ledger: Path, fixtures: Path, notes: Path, tmp_path: Path
) -> None:
    line = agent(notes)
    hold(notes, "image-pull")
    with served(ledger) as server:
        words = ("--agent", line, "--run", "lonely", "--url", server.url)
        with evaluating(tmp_path / "unused.db", fixtures, *words) as process:
            wait_for_asked(notes, 2, process)
            server.stop()
            (notes / "go-image-pull").touch()
            said = process.communicate()[1].decode()
    assert process.returncode == 2
    assert "Traceback" not in said
    assert "--resume lonely continues" in said
    assert evaluate(ledger, fixtures, "--agent", line, "--resume", "lonely").code == 0
    assert places(ledger) == ALL


def test_baselines_that_were_interrupted_are_completed(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    run = ("eval", "run", fixtures, "--agent", "true")
    assert tally(whole, *run).code == 1
    (empty,) = [one["run_id"] for one in of_type(events(whole), "started") if one.get("baseline") == "empty"]
    left = events(whole, empty)[:-3]
    drafts = b"\n".join(msgspec.json.encode({name: one[name] for name in ("type", "id", "data")}) for one in left)
    done(ledger, "append", "-", given=drafts)
    assert len(places(ledger, empty)) == len(NAMES) - 2
    assert tally(ledger, *run).code == 1
    assert places(ledger, empty) == ALL
    assert len(of_type(events(ledger, empty), "finished")) == 1


def test_the_ledger_is_held_while_it_runs(ledger: Path, fixtures: Path, notes: Path, line: str) -> None:
    hold(notes, "crash-loop")
    with evaluating(ledger, fixtures, "--agent", line, "--run", "holding") as process:
        wait_for_asked(notes, 1, process)
        assert "is being written by process" in refused(ledger, "eval", "run", fixtures, "--resume", "holding")
