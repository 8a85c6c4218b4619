"""OpenTelemetry spans in the file that TALLYSTICK_TRACE_FILE names."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from instruments.evals.agent import AgentOutput
from instruments.evals.trace.recorded import decode_trace
from instruments.evals.trace.steps import TRACE_BYTES_MAX, RecordedTrace
from tests.instruments.evals.asking import ANSWER, ask, python

pytestmark = pytest.mark.slow

TRACE_ID = "5b8efff798038103d269b633813fc60c"
START_NS = 1_793_527_200_000_000_000


def span(number: int, operation: str | None = "execute_tool", *, at_ms: int = 0, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A span as OTLP writes it in JSON."""
    attributes: dict[str, Any] = {} if operation is None else {"gen_ai.operation.name": operation}
    attributes |= more.pop("attributes", {})
    pairs = [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in attributes.items()
    ]
    start_ns = START_NS + at_ms * 1_000_000
    return {
        "traceId": TRACE_ID,
        "spanId": f"{number:016x}",
        "parentSpanId": f"{1:016x}",
        "name": operation or "work",
        "startTimeUnixNano": str(start_ns),
        "endTimeUnixNano": str(start_ns + 250_000_000),
        "attributes": pairs,
        **more,
    }


def tool(number: int, name: str, arguments: str = "{}", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    given = {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": arguments, **more.pop("attributes", {})}
    return span(number, attributes=given, **more)


def request(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def exporting(folder: Path, text: str | bytes, after: str = "") -> AgentOutput:
    """The reply of an agent that writes this into its trace file."""
    (folder / "spans").write_bytes(text.encode() if isinstance(text, str) else text)
    code = f"""
        import os, shutil
        shutil.copyfile({str(folder / "spans")!r}, os.environ["TALLYSTICK_TRACE_FILE"])
        open({str(folder / "where")!r}, "w").write(os.environ["TALLYSTICK_TRACE_FILE"])
        print({json.dumps(ANSWER)!r})
        {after}
        """
    reply = ask(python(folder, code))
    where = Path((folder / "where").read_text())
    assert not where.parent.exists(), "the file is removed"
    return reply


def trace_of(folder: Path, *requests: object) -> RecordedTrace:
    reply = exporting(folder, "\n".join(map(json.dumps, requests)))
    assert reply.failure is None
    assert reply.trace is not None
    return reply.trace


def test_spans_become_steps_in_the_order_of_their_starts(tmp_path: Path) -> None:
    root = span(1, "invoke_agent", parentSpanId="")
    usage = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 900, "gen_ai.usage.output_tokens": 41}
    late = tool(3, "logs", '{"pod": "web-1"}', at_ms=500, status={"code": 2, "message": "no such pod"})
    early = tool(4, "kubectl_get", at_ms=100, attributes={"gen_ai.tool.call.result": "3 pods"})
    model = span(2, "chat", attributes={**usage, "gen_ai.response.model": "m-2026"})
    trace = trace_of(tmp_path, request(root, late), request(early, span(9, None), model))
    assert [(step.kind, step.name or step.model, step.ok) for step in trace.steps] == [
        ("model", "m-2026", True),
        ("tool", "kubectl_get", True),
        ("tool", "logs", False),
    ]
    assert trace.steps[0].input_tokens == 900
    assert trace.steps[0].started_at == "2026-11-01T10:00:00.000Z"
    assert (trace.steps[1].output, trace.steps[1].elapsed_ms) == ("3 pods", 250.0)
    assert (trace.steps[2].arguments, trace.steps[2].error) == ({"pod": "web-1"}, "no such pod")
    assert (trace.trace_id, trace.span_id) == (TRACE_ID, f"{1:016x}")
    assert decode_trace(trace.data).steps == trace.steps


def test_parallel_spans_keep_the_order_of_the_file(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, request(tool(2, "b"), tool(3, "a"), tool(4, "c", at_ms=-1)))
    assert [step.name for step in trace.steps] == ["c", "b", "a"]


def test_one_call_that_two_libraries_or_batches_recorded_is_one_step(tmp_path: Path) -> None:
    outer, inner = tool(2, "search"), tool(3, "search", parentSpanId=f"{2:016x}")
    other = tool(4, "fetch", parentSpanId=f"{2:016x}")
    trace = trace_of(tmp_path, request(outer, inner, other), request(outer))
    assert [step.name for step in trace.steps] == ["search", "fetch"]


@pytest.mark.parametrize("id_", ["", None, "0" * 16])
def test_spans_without_an_id_are_calls_of_their_own(tmp_path: Path, id_: str | None) -> None:
    calls = [tool(2, name, spanId=id_, parentSpanId=id_) for name in ("ls", "ls", "rm")]
    assert [step.name for step in trace_of(tmp_path, request(*calls)).steps] == ["ls", "ls", "rm"]


def test_one_request_over_several_lines_is_read(tmp_path: Path) -> None:
    reply = exporting(tmp_path, json.dumps(request(tool(2, "search")), indent=2))
    assert reply.trace is not None
    assert len(reply.trace.steps) == 1


def test_attributes_of_every_kind_are_read(tmp_path: Path) -> None:
    one = tool(2, "search")
    given = {"kvlistValue": {"values": [{"key": "tail", "value": {"intValue": 5}}, {"key": "x", "value": {}}]}}
    found = {"arrayValue": {"values": [{"boolValue": True}, {"doubleValue": 0.5}]}}
    one["attributes"][2] = {"key": "gen_ai.tool.call.arguments", "value": given}
    one["attributes"].append({"key": "gen_ai.tool.call.result", "value": found})
    (step,) = trace_of(tmp_path, request(one)).steps
    assert step.arguments == {"tail": 5, "x": None}
    assert step.output == [True, 0.5]


def test_a_file_without_steps_is_a_trace_and_no_file_is_none(tmp_path: Path) -> None:
    assert trace_of(tmp_path, {"resourceSpans": []}).steps == ()
    assert exporting(tmp_path, "\n").trace is None
    assert ask(python(tmp_path, "print('{}')")).trace is None


def test_an_attempt_that_fails_keeps_its_trace(tmp_path: Path) -> None:
    reply = exporting(tmp_path, json.dumps(request(tool(2, "search"))), after="raise SystemExit(3)")
    assert reply.failure == "crash"
    assert reply.trace is not None
    assert len(reply.trace.tool_calls) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{not json", "line 1 of the trace file is not JSON"),
        (json.dumps(request()) + "\n{", "line 2 of the trace file is not JSON"),
        ("{}", "object 1 of the trace file has no resourceSpans"),
        ("[]", "object 1 of the trace file has no resourceSpans"),
        (json.dumps({"resourceSpans": 3}), "resourceSpans in object 1 of the trace file is not a list"),
        (json.dumps(request(span(2))), "a span execute_tool in object 1 of the trace file has no gen_ai.tool.name"),
        (json.dumps(request(tool(2, "x", startTimeUnixNano="soon"))), "startTimeUnixNano of a span in object 1"),
        (
            json.dumps(request(tool(2, "rm", parentSpanId=f"{2:016x}"))),
            f"span '{2:016x}' (rm) of the trace file is its",
        ),
        (
            json.dumps(request(tool(2, "rm", parentSpanId=f"{3:016x}"), tool(3, "rm", parentSpanId=f"{2:016x}"))),
            f"span '{2:016x}' (rm) of the trace file is its own parent, directly or through others.",
        ),
        (
            json.dumps(request(tool(2, "ls"), tool(2, "rm"))),
            f"span '{2:016x}' (rm) in object 1 of the trace file has the id of another span.",
        ),
        (json.dumps(request(tool(2, "rm", '{"all": 0}'), tool(2, "rm", '{"all": false}'))), "the id of another span."),
        (b"\xff\xfe", "line 1 of the trace file is not JSON"),
        ("[" * 100_000, "nested too deep"),
        (b" " * (TRACE_BYTES_MAX + 1), "the trace file has more than 4,194,304 bytes."),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, text: str | bytes, problem: str) -> None:
    trace = exporting(tmp_path, text).trace
    assert trace is not None
    assert trace.problem is not None
    assert problem in trace.problem
    assert (trace.steps, trace.data) == ((), b"")


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "device"])
def test_what_is_no_file_is_not_followed(tmp_path: Path, kind: str) -> None:
    makes = {"folder": "os.mkdir(path)", "pipe": "os.mkfifo(path)", "link": "os.symlink('/etc/hostname', path)"}
    makes["device"] = "os.symlink('/dev/zero', path)"
    code = f"import os\npath = os.environ['TALLYSTICK_TRACE_FILE']\n{makes[kind]}\nprint('{{}}')"
    trace = ask(python(tmp_path, code)).trace
    assert trace is not None
    assert trace.problem is not None


def test_secrets_are_removed_from_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", 'ses"ame-42')
    trace = trace_of(tmp_path, request(tool(2, "search", json.dumps({"key": 'ses"ame-42'}))))
    assert b"ame-42" not in trace.data
    assert len(decode_trace(trace.data).tool_calls) == 1


def test_the_answer_wins_over_the_file(tmp_path: Path) -> None:
    code = f"""
        import json, os
        open(os.environ["TALLYSTICK_TRACE_FILE"], "w").write({json.dumps(request(tool(2, "of_file")))!r})
        print(json.dumps({{"analysis": {{}}, "trace": [{{"kind": "tool", "name": "of_answer"}}]}}))
        """
    trace = ask(python(tmp_path, code)).trace
    assert trace is not None
    assert [step.name for step in trace.steps] == ["of_answer"]
    assert "TALLYSTICK_TRACE_FILE" not in os.environ
