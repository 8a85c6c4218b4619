"""eval run --retries and --retry-errors: errors are tried again, and both stay in the log; killed or not."""

import json
import random
import signal
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import Value, done, refused, tally
from tests.api.cli.evaluating import (
    Json,
    agent,
    asked,
    evaluate,
    evaluating,
    events,
    of_type,
    scores,
    suite,
    wait_for_asked,
)
from tests.support.server import served
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow

SEED = 20261126
NAMES = tuple(f"case-{number:02}" for number in range(14))
"""With two attempts at each, 28 attempts."""

FAILING = """
with open(folder / "times", "a") as times:
    times.write(f"{case} {time.time()}\\n")
fails = json.loads((folder / "fails").read_text()) if (folder / "fails").exists() else {}
if number <= fails.get(case, 0):
    print(json.dumps({"error": {"kind": fails.get("kind", "rate_limit"), **fails.get("error", {})}}))
    sys.exit(75)
answer(given['evidence']['log'], usage={"cost_usd": 0.25})
"""
"""Fails as often at a case as its notes say, and records when it was asked."""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def line(notes: Path) -> str:
    return agent(notes, FAILING)


def fail(notes: Path, times: dict[str, int], kind: str = "rate_limit", **stated: object) -> None:
    """Let the agent fail so often at each case."""
    (notes / "fails").write_text(json.dumps({**times, "kind": kind, "error": stated}))


def times_of(notes: Path, case: str) -> list[float]:
    """When the agent was asked about a case."""
    lines = (line.split() for line in (notes / "times").read_text().splitlines())
    return [float(at) for name, at in lines if name == case]


def tries(ledger: Path, run: str | None = None) -> list[tuple[str, int, int]]:
    """The scenario, the attempt and the retry of each score, in order."""
    return [(one["scenario_id"], one["attempt"], one.get("retry", 0)) for one in scores(ledger, run)]


def check_exactly_once(ledger: Path, run: str) -> None:
    """Each attempt and retry is recorded once; retries are numbered without gaps, and follow errors; ids are unique."""
    found = tries(ledger, run)
    assert len(found) == len(set(found))
    states: dict[tuple[str, int], list[tuple[int, str]]] = {}
    for one in scores(ledger, run):
        states.setdefault((one["scenario_id"], one["attempt"]), []).append((one.get("retry", 0), one["state"]))
    for attempt, seen in states.items():
        assert [retry for retry, _ in seen] == list(range(len(seen))), attempt
        assert {state for _, state in seen[:-1]} <= {"error"}, attempt
    ids = [event["id"] for event in events(ledger, run)]
    assert len(ids) == len(set(ids))


def shown(ledger: Path, run: str) -> Json:
    view: Json = msgspec.json.decode(done(ledger, "eval", "show", run, "--json").out)
    return view


def test_a_run_with_20_of_28_transient_errors_finishes_by_retry_errors(
    ledger: Path, tmp_path: Path, notes: Path, line: str
) -> None:
    fixtures = suite(tmp_path / "kube", NAMES)
    fail(notes, dict.fromkeys(NAMES[:10], 2), "unavailable")
    ended = evaluate(ledger, fixtures, "--agent", line, "--run", "one", "--attempts", 2, "--jobs", 4)
    assert ended.code == 2, ended.err
    assert "20 errors" in ended.text
    before = events(ledger, "one")
    assert before[-1]["type"] == "eval.finished.v1"
    ended = evaluate(ledger, fixtures, "--agent", line, "--retry-errors", "one", "--jobs", 4)
    assert ended.code == 0, ended.err
    assert "14 scenarios: 28 passed, 0 failed" in ended.text
    assert "20 errors were retried; the last try of an attempt counts." in ended.text
    after = events(ledger, "one")
    assert after[: len(before)] == before
    reopened, *retries, finished = after[len(before) :]
    assert (reopened["type"], reopened["data"]["reason"]) == ("eval.reopened.v1", "retry of errors")
    assert finished["type"] == "eval.finished.v1"
    assert sorted((one["data"]["scenario_id"], one["data"]["attempt"]) for one in retries) == sorted(
        (name, attempt) for name in NAMES[:10] for attempt in (1, 2)
    )
    assert {(one["data"]["state"], one["data"]["retry"]) for one in retries} == {("scored", 1)}
    check_exactly_once(ledger, "one")
    assert len(asked(notes)) == 48
    view = shown(ledger, "one")
    assert (view["passed"], view["errors"], view["ended"], view["retried_errors"]) == (28, 0, True, 20)
    assert "20 errors were retried" in done(ledger, "eval", "show", "one").text
    assert done(ledger, "verify").code == 0
    assert done(ledger, "replay", "--check").code == 0


def test_nothing_to_retry_writes_nothing(ledger: Path, tmp_path: Path, notes: Path, line: str) -> None:
    fixtures = suite(tmp_path / "kube", NAMES[:2])
    fail(notes, {NAMES[0]: 1})
    assert evaluate(ledger, fixtures, "--agent", line, "--run", "one").code == 2
    before = events(ledger)
    ended = evaluate(ledger, fixtures, "--agent", line, "--retry-errors", "one", "--only", "timeout,crash")
    assert (ended.code, ended.out) == (0, b"")
    assert "Run one has no error of the kind timeout or crash to retry; nothing was written." in ended.err
    assert events(ledger) == before
    ended = evaluate(ledger, fixtures, "--agent", line, "--retry-errors", "one", "--only", "rate_limit")
    assert (ended.code, len(scores(ledger))) == (0, 3)
    assert of_type(events(ledger), "reopened")[0]["reason"] == "retry of errors: rate_limit"
    ended = evaluate(ledger, fixtures, "--agent", line, "--retry-errors", "one", "--json")
    assert (ended.code, msgspec.json.decode(ended.out)["passed"]) == (0, 2)
    assert "Run one has no error to retry" in ended.err


def test_what_is_refused(ledger: Path, tmp_path: Path, notes: Path, line: str) -> None:
    fixtures = suite(tmp_path / "kube", NAMES[:2])
    fail(notes, {NAMES[0]: 9})
    assert evaluate(ledger, fixtures, "--agent", line, "--run", "one").code == 2
    before = events(ledger)
    run = ("eval", "run", fixtures, "--agent", line)
    again = (*run, "--retry-errors", "one")
    assert "There is no evaluation two" in refused(ledger, *run, "--retry-errors", "two")
    assert "--retry-errors: cannot be together" in refused(ledger, *again, "--resume", "one")
    assert "--run: is fixed" in refused(ledger, *again, "--run", "three")
    assert "--only: selects errors" in refused(ledger, *run, "--only", "timeout")
    assert "'weather' is not a kind" in refused(ledger, *again, "--only", "timeout,weather")
    assert "--agent-version" in refused(ledger, *again, "--agent-version", "7")
    assert "run one scores the answers" in refused(ledger, "eval", "run", fixtures, "--retry-errors", "one")
    for option, value in {"--rate-limit": "often", "--max-cost": "0", "--meta": "retries=3"}.items():
        assert option in refused(ledger, *run, option, value)
    assert "second limit" in refused(ledger, *run, "--rate-limit", "1/s", "--rate-limit", "2/s")
    assert "no agent is asked" in refused(ledger, "eval", "run", fixtures, "--max-cost", 1)
    assert "none is asked" in refused(ledger, "eval", "run", fixtures, "--rate-limit", "1/s")
    assert "--retries: retries an agent" in refused(ledger, "eval", "run", fixtures, "--retries", 3)
    described = json.loads((fixtures / NAMES[1] / "scenario.json").read_text())
    (fixtures / NAMES[1] / "scenario.json").write_text(json.dumps({**described, "scoring": {"pass_threshold": 80}}))
    assert f"run one scored {NAMES[1]}, which changed since then." in refused(ledger, *again)
    assert events(ledger) == before


def test_transient_errors_are_retried_within_the_run(ledger: Path, tmp_path: Path, notes: Path, line: str) -> None:
    fixtures = suite(tmp_path / "kube", NAMES[:4])
    fail(notes, {NAMES[0]: 1, NAMES[1]: 2, NAMES[2]: 9}, "unavailable")
    ended = evaluate(ledger, fixtures, "--agent", line, "--run", "one", "--retries", 2, "--jobs", 4)
    assert ended.code == 2
    assert Counter(name for name, *_ in tries(ledger)) == {NAMES[0]: 2, NAMES[1]: 3, NAMES[2]: 3, NAMES[3]: 1}
    check_exactly_once(ledger, "one")
    assert of_type(events(ledger), "started")[0]["meta"] == {"retries": "2"}
    assert f"{NAMES[2]} #1, retry 2: unavailable:" in ended.err
    first, second, third = times_of(notes, NAMES[2])
    assert second - first >= 0.5
    assert third - second >= 1.0
    fail(notes, {})
    assert evaluate(ledger, fixtures, "--agent", line, "--retry-errors", "one").code == 0
    assert tries(ledger)[-1] == (NAMES[2], 1, 3)


def test_errors_that_are_not_transient_are_not_retried(ledger: Path, tmp_path: Path, notes: Path) -> None:
    line = agent(notes, "sys.exit(3)")
    fixtures = suite(tmp_path / "kube", NAMES[:2])
    assert evaluate(ledger, fixtures, "--agent", line, "--retries", 3).code == 2
    assert len(asked(notes)) == 2


def test_nobody_is_asked_sooner_than_retry_after_says(ledger: Path, tmp_path: Path, notes: Path, line: str) -> None:
    fixtures = suite(tmp_path / "kube", NAMES[:6])
    fail(notes, {NAMES[0]: 1}, retry_after_s=3, endpoint="api.example.com")
    ended = evaluate(ledger, fixtures, "--agent", line, "--run", "one", "--retries", 1, "--jobs", 1)
    assert ended.code == 0, ended.err
    first, second = times_of(notes, NAMES[0])
    assert second - first >= 3.0
    fail(notes, {NAMES[5]: 2}, retry_after_s=2)
    assert evaluate(ledger, fixtures, "--agent", line, "--run", "two", "--jobs", 1, "--attempts", 2).code in (0, 2)
    failed = times_of(notes, NAMES[5])[1]
    assert all(times_of(notes, name)[-1] - failed >= 2.0 for name in NAMES[:5]), "the pause is everybody's"


def test_a_resumed_run_waits_for_a_recorded_retry_after(ledger: Path, tmp_path: Path, notes: Path, line: str) -> None:
    fixtures = suite(tmp_path / "kube", NAMES[:3])
    fail(notes, {NAMES[0]: 1}, retry_after_s=6)
    with evaluating(ledger, fixtures, "--agent", line, "--run", "one", "--retries", 1) as process:
        wait_for_asked(notes, 1, process)
        wait_until(lambda: scores(ledger), process)
        process.kill()
    assert tries(ledger) == [(NAMES[0], 1, 0)]
    assert evaluate(ledger, fixtures, "--agent", line, "--resume", "one").code == 0
    times = [at for name in NAMES[:3] for at in times_of(notes, name)]
    first, second, *_ = sorted(times)
    assert second - first >= 6.0
    check_exactly_once(ledger, "one")
    assert tries(ledger)[-3:] == [(NAMES[0], 1, 1), (NAMES[1], 1, 0), (NAMES[2], 1, 0)]


def test_too_long_a_retry_after_stops_the_run(ledger: Path, tmp_path: Path, notes: Path, line: str) -> None:
    fixtures = suite(tmp_path / "kube", NAMES[:3])
    fail(notes, {NAMES[1]: 1}, retry_after_s=7_200, endpoint="api.example.com")
    ended = evaluate(ledger, fixtures, "--agent", line, "--run", "one", "--retries", 1)
    assert ended.code == 130
    assert "asks to wait 2 h, and a run waits at most 60 min. 2 attempts left." in ended.err
    assert "to continue: --resume one, with the same agent." in ended.err
    assert len(asked(notes)) == 2
    assert of_type(events(ledger), "finished") == []


def test_ctrl_c_ends_a_wait(ledger: Path, tmp_path: Path, notes: Path, line: str) -> None:
    fixtures = suite(tmp_path / "kube", NAMES[:2])
    fail(notes, {NAMES[0]: 1}, retry_after_s=3_000)
    with evaluating(ledger, fixtures, "--agent", line, "--run", "one", "--retries", 5) as process:
        wait_for_asked(notes, 1, process)
        wait_until(lambda: scores(ledger), process)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130
    assert asked(notes) == [NAMES[0]]


@pytest.mark.parametrize("seed", [SEED, SEED + 1, SEED + 2])
def test_kills_at_any_moment_record_each_try_once(
    ledger: Path, tmp_path: Path, notes: Path, line: str, seed: int
) -> None:
    chance = random.Random(seed)
    fixtures = suite(tmp_path / "kube", NAMES)
    fail(notes, dict.fromkeys(NAMES[:10], 2), "unavailable")
    assert evaluate(ledger, fixtures, "--agent", line, "--run", "one", "--attempts", 2, "--jobs", 8).code == 2
    fail(notes, dict.fromkeys(NAMES[:10], 3), "rate_limit")
    option: tuple[Value, ...] = ("--retry-errors", "one")
    for _ in range(8):
        before = len(asked(notes))
        with evaluating(ledger, fixtures, "--agent", line, "--jobs", 3, "--retries", 3, *option) as process:
            wait_for_asked(notes, before + 1, process)
            time.sleep(chance.random() * 1.5)
            process.kill()
        check_exactly_once(ledger, "one")
        if len(of_type(events(ledger, "one"), "finished")) == 2:
            break
        if of_type(events(ledger, "one"), "reopened"):
            option = ("--resume", "one")
    else:
        assert evaluate(ledger, fixtures, "--agent", line, "--jobs", 4, "--retries", 3, *option).code == 0
    check_exactly_once(ledger, "one")
    view = shown(ledger, "one")
    assert (view["passed"], view["errors"], view["ended"]) == (28, 0, True)
    assert len(of_type(events(ledger, "one"), "reopened")) == 1
    assert len(of_type(events(ledger, "one"), "finished")) == 2
    assert {retry for *_, retry in tries(ledger, "one")} >= {0, 1}
    assert done(ledger, "verify").code == 0


def test_the_rate_of_the_agent_is_kept_by_all_jobs(ledger: Path, tmp_path: Path, notes: Path, line: str) -> None:
    fixtures = suite(tmp_path / "kube", NAMES[:5])
    ended = evaluate(ledger, fixtures, "--agent", line, "--jobs", 5, "--rate-limit", "60/m")
    assert ended.code == 0, ended.err
    at = [event["recordedtime"] for event in events(ledger) if event["type"].startswith("eval.scored")]
    assert len(at) == 5
    found = sorted(at for name in NAMES[:5] for at in times_of(notes, name))
    assert found[-1] - found[0] >= 2.0, "the last of five begins 4 s after the first; a slow start may take some of it"


def test_through_a_server(ledger: Path, tmp_path: Path, notes: Path, line: str) -> None:
    fixtures = suite(tmp_path / "kube", NAMES[:4])
    fail(notes, dict.fromkeys(NAMES[:3], 2), "unavailable")
    with served(ledger) as server:
        words = ("--url", server.url, "eval", "run", fixtures, "--no-baselines", "--agent", line, "--jobs", 2)
        assert tally(tmp_path / "none.db", *words, "--run", "one").code == 2
        ended = tally(tmp_path / "none.db", *words, "--retry-errors", "one", "--retries", 2)
        assert ended.code == 0, ended.err
        ended = tally(tmp_path / "none.db", *words, "--retry-errors", "one")
        assert (ended.code, ended.out) == (0, b"")
    check_exactly_once(ledger, "one")
    assert Counter(name for name, *_ in tries(ledger)) == {**dict.fromkeys(NAMES[:3], 3), NAMES[3]: 1}
