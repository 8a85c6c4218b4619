"""Recorded traces and the network namespace, from `eval run` to `eval show --trace`, in real processes."""

import time
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from instruments.sandbox.network_guard import NetworkUnavailable, check_network
from tests.api.cli.command import done, refused, tally
from tests.api.cli.evaluating import Json, agent, evaluate, events, scores, suite
from tests.api.pages.page_requests import read_page
from tests.support.server import served

WEIGHTS = {
    "root_cause_weight": 0.5,
    "fix_accuracy_weight": 0,
    "hypothesis_quality_weight": 0,
    "next_steps_weight": 0,
    "tools_weight": 0.5,
}
TOOLS = {
    "required": ["kubectl_get", {"name": "logs", "arguments": {"tail": 5}}],
    "order": ["kubectl_get", "logs"],
    "forbidden": ["*delete*"],
}
STEPS: list[Json] = [
    {"kind": "model", "model": "m-1", "input_tokens": 900, "output_tokens": 41, "elapsed_ms": 1200},
    {"kind": "tool", "name": "logs", "arguments": {"tail": 5, "password": "sesame-42"}, "ok": True},
    {"kind": "tool", "name": "kubectl_get", "arguments": {"namespace": "x" * 300}, "ok": False, "error": "forbidden"},
]
ANSWERS = "answer(given['evidence']['log'], trace={steps!r})"


def tracing(folder: Path, steps: object = STEPS) -> str:
    """The command line of an agent that records these steps."""
    return agent(folder, ANSWERS.format(steps=steps))


@pytest.fixture
def scenarios(tmp_path: Path) -> Path:
    """A suite of one scenario that expects tools."""
    expected = {"root_cause": {"patterns": ["cause of"], "match_type": "substring"}, "tools": TOOLS}
    return suite(tmp_path / "kube", ["one"], expected_outcomes=expected, scoring=WEIGHTS)


def component(score: Json, name: str) -> Json:
    (found,) = [part for part in score["components"] if part["name"] == name]
    return dict(found)


@pytest.mark.slow
def test_a_trace_is_scored_and_kept(ledger: Path, scenarios: Path, tmp_path: Path) -> None:
    line = tracing(tmp_path / "notes")
    ended = evaluate(ledger, scenarios, "--agent", line, "--run", "one", SHOP_PASSWORD="sesame-42")
    assert ended.code == 0, ended.err
    (score,) = scores(ledger, "one")
    assert (score["total_score"], score["steps"], score["tool_calls"]) == (75.0, 3, 2)
    assert (score["input_tokens"], score["output_tokens"]) == (900, 41)
    tools = component(score, "tools")
    assert (tools["score"], tools["weight"], tools["passed"]) == (50.0, 0.5, False)
    assert [(finding["expectation"], finding["matched"], finding.get("where")) for finding in tools["findings"]] == [
        ("tools.required[0]", True, "step 3"),
        ("tools.required[1]", True, "step 2"),
        ("tools.forbidden[0]", False, None),
        ("tools.order[0]", True, "step 3"),
        ("tools.order[1]", False, None),
    ]
    assert score["scorer_version"] == "3 tools-1"
    kept = done(ledger, "evidence", "get", score["trace_digest"]).out
    assert b"sesame" not in kept
    assert b"sesame" not in msgspec.json.encode(score)
    stored = msgspec.json.decode(kept)
    assert stored[0] == STEPS[0]
    assert stored[1]["arguments"] == {"tail": 5, "password": "[redacted]"}


@pytest.mark.slow
def test_the_steps_are_shown(ledger: Path, scenarios: Path, tmp_path: Path) -> None:
    evaluate(ledger, scenarios, "--agent", tracing(tmp_path / "notes"), "--run", "one-run")
    shown = done(ledger, "eval", "show", "one", "--trace", "one").text
    lines = shown.splitlines()
    assert lines[0] == "one, attempt 1, run one-run: 3 steps, 2 tool calls"
    assert lines[1].split() == ["step", "kind", "name", "arguments", "ok", "in", "out", "time"]
    assert lines[2].split() == ["1", "model", "m-1", "900", "41", "1.2", "s"]
    assert 'forbidden: {"namespace":"xxx' in lines[4]
    assert "…" in lines[4]
    answer = msgspec.json.decode(done(ledger, "eval", "show", "one-run", "--trace", "one/1", "--json").out)
    assert [step["kind"] for step in answer["steps"]] == ["model", "tool", "tool"]
    assert answer["steps"][2]["error"] == "forbidden"
    assert answer["trace_digest"] == scores(ledger, "one-run")[0]["trace_digest"]
    with served(ledger) as server:
        remote = done(ledger, "eval", "show", "one", "--trace", "one/1", "--json", "--url", server.url).out
        with httpx.Client(base_url=server.url, timeout=60) as client:
            address = "/ui/evaluations/one-run/scenarios/one"
            while "data-unfinished-page" in client.get(address).text:
                time.sleep(0.05)
            page = read_page(client, address)
    assert msgspec.json.decode(remote)["steps"] == answer["steps"]
    assert "Steps of the agent: 3" in page.text
    assert "forbidden: {" in page.text


@pytest.mark.slow
def test_what_has_no_trace_says_so(ledger: Path, scenarios: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "plain")
    ended = evaluate(ledger, scenarios, "--agent", line, "--run", "bare")
    assert ended.code == 2
    (score,) = scores(ledger, "bare")
    assert (score["state"], score["failure"]) == ("error", "component")
    assert "recorded no trace" in score["detail"]
    assert "TALLYSTICK_TRACE_FILE" in ended.text
    broken = evaluate(ledger, scenarios, "--agent", tracing(tmp_path / "broken", [{"kind": "tool"}]), "--run", "broken")
    assert broken.code == 2
    assert "trace[0].name is missing" in scores(ledger, "broken")[0]["detail"]
    said = [
        refused(ledger, "eval", "show", "bare", "--trace", name, code=code)
        for name, code in (("one", 1), ("one/2", 1), ("two", 1), ("one/x", 2), ("one/0", 2))
    ]
    assert "No trace was recorded in attempt 1 at one in bare." in said[0]
    assert "one has no attempt 2 in bare." in said[1]
    assert "two is not in bare." in said[2]
    assert "--trace: 'one/x' is not SCENARIO/ATTEMPT." in said[3]
    both = refused(ledger, "eval", "show", "bare", "--trace", "one", "--analyses")
    assert "--trace: shows the steps of one attempt and nothing else." in both


@pytest.mark.slow
def test_an_erased_trace_is_gone(ledger: Path, scenarios: Path, tmp_path: Path) -> None:
    evaluate(ledger, scenarios, "--agent", tracing(tmp_path / "notes"), "--run", "one")
    (score,) = scores(ledger, "one")
    done(ledger, "evidence", "erase", score["trace_digest"], "--reason", "personal data", "--yes")
    said = refused(ledger, "eval", "show", "one", "--trace", "one", code=1)
    assert "erased" in said


@pytest.mark.slow
def test_baselines_call_no_tools(ledger: Path, scenarios: Path, tmp_path: Path) -> None:
    tally(ledger, "eval", "run", scenarios, "--agent", tracing(tmp_path / "notes"))
    baselines = [score for score in scores(ledger) if not score["agent"].startswith("command:")]
    assert [component(score, "tools")["score"] for score in baselines] == [0.0, 0.0]


def test_a_captured_trace_is_scored(ledger: Path, tmp_path: Path) -> None:
    expected: Any = {"root_cause": {"patterns": ["oom"], "match_type": "substring"}, "tools": {"required": ["logs"]}}
    captured: Json = {"rca": {"root_cause": "oom"}, "trace": STEPS[1:2]}
    fixtures = suite(tmp_path / "kube", ["one"], expected_outcomes=expected, scoring=WEIGHTS, captured=captured)
    assert evaluate(ledger, fixtures, "--run", "one").code == 0
    (score,) = scores(ledger, "one")
    assert (score["total_score"], score["tool_calls"]) == (100.0, 1)


@pytest.mark.slow
def test_an_agent_without_a_trace_has_the_events_of_before(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    assert evaluate(ledger, fixtures, "--agent", agent(tmp_path / "notes"), "--run", "one").code == 0
    recorded = [event for event in events(ledger, "one") if event["type"].startswith("eval.scored.")]
    assert not {event["type"] for event in recorded} - {"eval.scored.v1", "eval.scored.v2"}
    assert not {"steps", "tool_calls", "trace_digest"} & {key for event in recorded for key in event["data"]}


def _has_namespaces() -> bool:
    try:
        check_network()
    except NetworkUnavailable:
        return False
    return True


CALLS_OUT = """
import socket
try:
    socket.create_connection(("203.0.113.1", 443), 1)
except OSError:
    pass
answer(given['evidence']['log'])
"""


@pytest.mark.slow
@pytest.mark.skipif(not _has_namespaces(), reason="the kernel allows no network namespace here")
def test_an_agent_that_calls_out_is_an_error(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    ended = evaluate(
        ledger, fixtures, "--agent", agent(tmp_path / "out", CALLS_OUT), "--network", "none", "--run", "out"
    )
    assert ended.code == 2
    found = scores(ledger, "out")
    assert [(score["state"], score["failure"]) for score in found] == [("error", "network")] * 3
    assert "called 203.0.113.1:443 (tcp) in a replay with --network none" in found[0]["detail"]
    assert "203.0.113.1:443" in ended.text
    quiet = agent(tmp_path / "quiet")
    assert evaluate(ledger, fixtures, "--agent", quiet, "--network", "none", "--run", "quiet").code == 0
    (started,) = [event["data"] for event in events(ledger, "quiet") if event["type"].startswith("eval.started.")]
    assert started["meta"] == {"replay_network": "none"}


@pytest.mark.slow
@pytest.mark.skipif(not _has_namespaces(), reason="the kernel allows no network namespace here")
def test_a_resumed_run_keeps_its_network(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "notes")
    evaluate(ledger, fixtures, "--agent", line, "--run", "before")
    version = scores(ledger, "before")[0]["scorer_version"]
    name = line.split()[0].rpartition("/")[2]
    start = {
        "run_id": "left", "suite": "kube", "agent": f"command:{name}", "answers": "command", "scenarios": 3,
        "attempts": 1, "meta": {"replay_network": "none"}, "scorer_id": "rca", "scorer_version": version,
    }  # fmt: skip
    done(ledger, "append", given=msgspec.json.encode({"type": "eval.started.v1", "data": start}))
    said = refused(ledger, "eval", "run", fixtures, "--agent", line, "--resume", "left")
    assert "network: run left began with 'none', not with 'allow'" in said
    assert evaluate(ledger, fixtures, "--agent", line, "--resume", "left", "--network", "none").code == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--network", "none"], "--network: is an option of an agent, and none is asked."),
        (["--agent", "cat", "--network", "internet"], "--network: 'internet' is not one of the choices."),
        (["--agent", "cat", "--meta", "replay_network=none"], "replay_network is set by --network itself."),
    ],
)
def test_mistakes_write_nothing(ledger: Path, fixtures: Path, arguments: list[str], problem: str) -> None:
    assert problem in refused(ledger, "eval", "run", fixtures, *arguments)
    assert not ledger.exists()
