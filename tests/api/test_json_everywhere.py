"""Every interface that takes JSON refuses a key twice and deep nesting, by name, and writes nothing."""

from pathlib import Path

import httpx
import pytest

from tests.api.cli.command import done, tally

DEEP = '{"a":' * 70 + "1" + "}" * 70
EVENT = '{"type":"decision.recorded.v2","data":{"decision":"x","confidence":0.9,"confidence":0.1}}'
DEEP_CHECK = '{"action":{"description":"x","context":' + DEEP + "}}"
LINES = {"content-type": "application/x-ndjson"}
JSON = {"content-type": "application/json"}
PARAMS = '{"decision":"x","confidence":0.9,"confidence":0.1}'
RPC = '{"jsonrpc":"2.0","id":1,"method":"cstp.recordDecision","params":' + PARAMS + "}"
TOOL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"record_decision","arguments":' + PARAMS + "}}"
DEEP_RPC = '{"jsonrpc":"2.0","id":1,"method":"cstp.checkGuardrails","params":' + DEEP_CHECK + "}"


@pytest.mark.trial("P4")
@pytest.mark.trial("N18")
@pytest.mark.parametrize(
    ("path", "body", "headers", "said"),
    [
        ("/events", EVENT, JSON, "The key 'confidence' is twice in one object."),
        ("/events", f"[{EVENT}]", JSON, "The key 'confidence' is twice in one object."),
        ("/events", f"{EVENT}\n", LINES, "The key 'confidence' is twice in one object."),
        ("/decisions", '{"data":{"decision":"x","decision":"y"}}', JSON, "The key 'decision' is twice in one object."),
        ("/guardrails/check", DEEP_CHECK, JSON, "The JSON nests more than 64 deep."),
        ("/cstp", RPC, JSON, "Invalid JSON: The key 'confidence' is twice in one object."),
        ("/cstp", DEEP_RPC, JSON, "Invalid JSON: The JSON nests more than 64 deep."),
        ("/mcp", TOOL, JSON, "The key 'confidence' is twice in one object."),
    ],
)
def test_a_server_refuses_it(
    empty_client: httpx.Client, path: str, body: str, headers: dict[str, str], said: str
) -> None:
    answer = empty_client.post(path, content=body, headers=headers)
    answered = answer.json()
    assert said in (answered["detail"] if "detail" in answered else answered["error"]["message"])
    assert empty_client.get("/status").json()["head"]["position"] == 0


@pytest.mark.trial("P4")
@pytest.mark.parametrize(
    ("words", "name", "content"),
    [
        (("append", "-"), None, EVENT),
        (("import", "decisions"), "d.jsonl", '{"agent":"a","decision":"x","confidence":0.9,"confidence":0.1}'),
        (("import", "decisions"), "d.json", '[{"agent":"a","decision":"x","confidence":0.9,"confidence":0.1}]'),
    ],
)
def test_a_command_refuses_it(tmp_path: Path, words: tuple[str, ...], name: str | None, content: str) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "record", "first", "--agent", "a")
    given = content.encode()
    if name is not None:
        (tmp_path / name).write_bytes(given)
    ended = tally(ledger, *words, *([tmp_path / name] if name is not None else []), given=given)
    assert ended.code != 0
    assert "The key 'confidence' is twice in one object." in ended.err
    assert done(ledger, "status", "--json").text.count('"position":1') >= 1
