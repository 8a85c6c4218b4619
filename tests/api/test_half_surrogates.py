"""Half of a surrogate pair is refused in the same words by every interface, and replaced in what an agent answers."""

from pathlib import Path

import httpx
import pytest

from events.json_check import TEXT_ADVICE, TEXT_RULE, replace_half_surrogates
from instruments.evals.agent import parse_output
from tallystick.errors import InvalidArgument
from tallystick.event_drafts import encode_json
from tests.api.cli.command import refused

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
LINES = {"content-type": "application/x-ndjson"}
EVENT = r'{"type":"decision.recorded.v1","data":{"decision":"cut \ud83d"}}'
GOOD = '{"type":"decision.recorded.v1","data":{"decision":"x"}}'
ARGUMENTS = r'{"decision":"cut \ud83d","confidence":0.9}'
TOOL = (
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"record_decision","arguments":' + ARGUMENTS + "}}"
)
RPC = '{"jsonrpc":"2.0","id":7,"method":"cstp.recordDecision","params":' + ARGUMENTS + "}"

pytestmark = pytest.mark.trial("P7")


@pytest.mark.parametrize(
    ("path", "body", "headers", "field", "index"),
    [
        ("/events", EVENT, JSON, "data.decision", None),
        ("/events", r'{"data":{"trace":[{"a\udc00":1}]}}', JSON, r"data.trace[0].a\udc00", None),
        ("/events", f"[{GOOD},{EVENT}]", JSON, "data.decision", 1),
        ("/events", f"{GOOD}\n{EVENT}\n", LINES, "data.decision", 1),
        ("/decisions", r'{"data":{"decision":"\uD83D\uD83D"}}', JSON, "data.decision", None),
        ("/guardrails/check", r'{"action":{"description":"\ud800"}}', JSON, "action.description", None),
    ],
)  # fmt: skip
def test_http_refuses_it(
    empty_client: httpx.Client, path: str, body: str, headers: dict[str, str], field: str, index: int | None
) -> None:
    answer = empty_client.post(path, content=body, headers=headers)
    problem = answer.json()
    assert (answer.status_code, problem["field"], problem.get("index")) == (400, field, index)
    assert problem["detail"].endswith(f"{field}: {TEXT_RULE}.")
    assert problem["advice"] == f"{TEXT_ADVICE} Nothing was written."
    assert empty_client.get("/status").json()["head"]["position"] == 0


@pytest.mark.parametrize(("path", "body"), [("/mcp", TOOL), ("/cstp", RPC)])
def test_mcp_and_cstp_refuse_it(empty_client: httpx.Client, path: str, body: str) -> None:
    answer = empty_client.post(path, content=body, headers=JSON).json()
    assert (answer["id"], answer["error"]["code"]) == (7, -32602)
    assert f"decision: {TEXT_RULE}" in answer["error"]["message"]
    assert TEXT_ADVICE in answer["error"]["data"]["advice"]


def test_otlp_refuses_it_in_its_form(empty_client: httpx.Client) -> None:
    answer = empty_client.post("/v1/traces", content=r'{"resourceSpans":"\ud800"}', headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert answer.json()["message"].startswith(f"resourceSpans: {TEXT_RULE}. {TEXT_ADVICE}")


def test_mcp_answers_what_has_no_id(empty_client: httpx.Client) -> None:
    for body in (r'["\ud83d"]', r'{"id":"\ud83d"}', r'"\ud83d"'):
        answer = empty_client.post("/mcp", content=body, headers=JSON).json()
        assert answer["id"] is None
        assert TEXT_RULE in answer["error"]["message"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (None, EVENT),
        ("d.jsonl", r'{"agent":"a","decision":"cut \ud83d"}'),
        ("d.jsonl", '{"agent":"a","decision":"x"}\n' + r'{"agent":"a","decision":"cut \ud83d"}'),
        ("d.json", r'[{"agent":"a","decision":"x"},{"agent":"a","decision":"cut \ud83d"}]'),
    ],
)
def test_a_command_refuses_it(tmp_path: Path, name: str | None, content: str) -> None:
    if name is None:
        said = refused(tmp_path / "t.db", "append", "-", given=content.encode())
    else:
        (tmp_path / name).write_text(content)
        said = refused(tmp_path / "t.db", "import", "decisions", tmp_path / name)
    assert f"decision: {TEXT_RULE}." in said
    assert TEXT_ADVICE in said


def test_the_client_refuses_it() -> None:
    with pytest.raises(InvalidArgument) as error:
        encode_json([{"data": {"decision": "cut \ud83d"}}])
    assert str(error.value).startswith(f"[0].data.decision: {TEXT_RULE}. {TEXT_ADVICE} Nothing was sent.")


def test_an_answer_of_an_agent_has_u_fffd_instead() -> None:
    answer = parse_output(r'{"rca":{"root_cause":"alpha"},"note":"cut \ud83d, \ud83d\ude00, \\ud83d, \uDC00"}')
    assert answer.value["note"] == "cut \ufffd, \U0001f600, \\ud83d, \ufffd"


@pytest.mark.parametrize("text", [r"\ud83d\ude00", r"\\ud83d", r"\"\u0041", r"\\\\ud83d"])
def test_nothing_else_is_replaced(text: str) -> None:
    assert replace_half_surrogates(text) == text
