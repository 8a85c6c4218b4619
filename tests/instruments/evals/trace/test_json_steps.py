"""`trace` in an answer: read strictly where it is known, and kept as it is."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from instruments.evals.trace.recorded import decode_trace
from instruments.evals.trace.steps import STEPS_MAX, AgentStep, RecordedTrace
from tests.instruments.evals.asking import ANSWER, says

pytestmark = pytest.mark.slow

CALL = {"kind": "tool", "name": "kubectl_get", "arguments": {"namespace": "shop"}}


def recorded(folder: Path, trace: object, **more: Any) -> RecordedTrace:  # noqa: ANN401 - JSON
    """The trace of an agent that answers with one."""
    reply = says(folder, msgspec.json.encode({"analysis": ANSWER, "trace": trace, **more}))
    assert reply.failure is None
    assert reply.trace is not None
    return reply.trace


def test_every_field_is_read_and_unknown_ones_are_kept(tmp_path: Path) -> None:
    steps = [
        {"kind": "thought", "output": "Which image?", "mood": "calm"},
        {"kind": "model", "model": "m-1", "input_tokens": 900, "output_tokens": 41, "elapsed_ms": 1200.5},
        {**CALL, "result": "3 pods", "ok": True, "started_at": "2026-11-01T10:00:00Z", "id": 7},
        {**CALL, "arguments": '{"namespace": "shop"}', "error": "forbidden", "model": None},
    ]
    trace = recorded(tmp_path, steps)
    assert trace.steps == (
        AgentStep(kind="thought", output="Which image?"),
        AgentStep(kind="model", model="m-1", input_tokens=900, output_tokens=41, elapsed_ms=1200.5),
        AgentStep(
            kind="tool",
            name="kubectl_get",
            arguments={"namespace": "shop"},
            output="3 pods",
            ok=True,
            started_at="2026-11-01T10:00:00Z",
        ),
        AgentStep(kind="tool", name="kubectl_get", arguments={"namespace": "shop"}, ok=False, error="forbidden"),
    )
    assert [number for number, _ in trace.tool_calls] == [3, 4]
    assert (trace.tokens("input_tokens"), trace.tokens("output_tokens")) == (900, 41)
    assert msgspec.json.decode(trace.data) == steps
    assert decode_trace(trace.data).steps == trace.steps


def test_it_may_be_inside_the_analysis(tmp_path: Path) -> None:
    for answer in ({**ANSWER, "trace": [CALL]}, {"analysis": {**ANSWER, "trace": [CALL]}}):
        reply = says(tmp_path, msgspec.json.encode(answer))
        assert reply.trace is not None
        assert len(reply.trace.tool_calls) == 1


def test_none_is_none_and_an_empty_list_is_a_trace(tmp_path: Path) -> None:
    assert says(tmp_path, msgspec.json.encode(ANSWER)).trace is None
    assert says(tmp_path, msgspec.json.encode({**ANSWER, "trace": None})).trace is None
    assert says(tmp_path, "").trace is None
    empty = recorded(tmp_path, [])
    assert (empty.steps, empty.problem, empty.data) == ((), None, b"[]")
    assert empty.tokens("input_tokens") is None


@pytest.mark.parametrize(
    ("trace", "problem"),
    [
        ({}, "trace is not a list of steps."),
        ("kubectl get", "trace is not a list of steps."),
        ([CALL, 7], "trace[1]: expected `object`, got `number`."),
        ([{"name": "x"}], "trace[0]: object missing required field `kind`."),
        ([{"kind": "tool"}], "trace[0].name is missing: a step of the kind tool names its tool."),
        ([{**CALL, "ok": "yes"}], "trace[0].ok: expected `boolean | null`, got `string`."),
        ([{**CALL, "input_tokens": -1}], "trace[0].input_tokens: expected `integer` >= 0."),
        ([{**CALL, "name": ""}], "trace[0].name: expected `string` of length >= 1."),
        ([CALL] * (STEPS_MAX + 1), "trace has 10,001 steps; at most 10,000 are allowed."),
    ],
)
def test_a_malformed_trace_says_what_and_where(tmp_path: Path, trace: object, problem: str) -> None:
    read = recorded(tmp_path, trace)
    assert (read.steps, read.data) == ((), b"")
    assert read.problem is not None
    assert read.problem == problem, read.problem


def test_secrets_are_removed_from_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "sesame-42")
    call = {**CALL, "arguments": {"header": "Bearer sesame-42", "sesame-42": 1}, "result": "the key is SESAME-42"}
    trace = recorded(tmp_path, [call])
    assert b"sesame" not in trace.data.lower()
    assert trace.data.count(b"[redacted]") == 3
    assert len(decode_trace(trace.data).tool_calls) == 1
