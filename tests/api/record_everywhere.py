"""Each interface through which an agent records a decision: what is stored of some fields, or how they are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tallystick import Client, TallystickError
from tests.api.cli.command import tally
from tests.api.mcp.tool_calls import call, mcp_address

Fields = dict[str, Any]
Result = Fields | str
"""The stored payload without its id, or the words of the refusal."""

AGENT = "scout"

OWN = ("id", "subject", "time", "recordedtime", "sequence", "position", "expectedversion")
"""Attributes that differ from one event to the next."""


def over_events(client: httpx.Client, folder: Path, fields: Fields) -> Result:
    event = {"type": "decision.recorded.v1", "source": f"/agents/{AGENT}", "data": fields}
    answer = client.post("/events", json=event)
    return stored(client) if answer.status_code == 201 else _said(answer)


def over_decisions(client: httpx.Client, folder: Path, fields: Fields) -> Result:
    answer = client.post("/decisions", json={"data": fields, "source": f"/agents/{AGENT}"})
    return stored(client) if answer.status_code == 201 else _said(answer)


def over_cstp(client: httpx.Client, folder: Path, fields: Fields) -> Result:
    params = {**fields, "agentId": AGENT}
    body = {"jsonrpc": "2.0", "id": 1, "method": "cstp.recordDecision", "params": params}
    answer = client.post("/cstp", json=body).json()
    return stored(client) if "result" in answer else str(answer["error"]["message"])


def over_mcp(client: httpx.Client, folder: Path, fields: Fields) -> Result:
    answer = call(mcp_address(client), "record_decision", **fields, agent_id=AGENT)
    return str(answer["content"][0]["text"]) if answer.get("isError") else stored(client)


def by_client(client: httpx.Client, folder: Path, fields: Fields) -> Result:
    with Client(str(client.base_url).rstrip("/"), agent=AGENT) as agent:
        try:
            agent.record(**fields)
        except TallystickError as error:
            return str(error)
    return stored(client)


def by_append(client: httpx.Client, folder: Path, fields: Fields) -> Result:
    event = {"type": "decision.recorded.v1", "source": f"/agents/{AGENT}", "data": fields}
    return _command(client, folder, msgspec.json.encode(event), "append", "-")


def by_record(client: httpx.Client, folder: Path, fields: Fields) -> Result:
    options = dict(fields)
    words: list[str] = ["record", str(options.pop("decision")), "--agent", AGENT]
    for name, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{name.rstrip('s') if name == 'tags' else name.replace('_', '-')}", str(one)]
    return _command(client, folder, b"", *words)


def by_import(client: httpx.Client, folder: Path, fields: Fields) -> Result:
    file = folder / "decisions.jsonl"
    file.write_bytes(msgspec.json.encode({"agent": AGENT, "id": "1", **fields}) + b"\n")
    return _command(client, folder, b"", "import", "decisions", str(file))


INTERFACES: dict[str, Callable[[httpx.Client, Path, Fields], Result]] = {
    "events": over_events,
    "decisions": over_decisions,
    "cstp": over_cstp,
    "mcp": over_mcp,
    "client": by_client,
    "append": by_append,
    "record": by_record,
    "import": by_import,
}


def stored(client: httpx.Client) -> Fields:
    """The payload of the only decision, without its id."""
    data: Fields = stored_line(client)["data"]
    return data


def stored_line(client: httpx.Client) -> Fields:
    """The line of the only decision, without what differs from ledger to ledger: ids, times and positions."""
    lines = client.get("/events", headers={"accept": "application/x-ndjson"}).content.splitlines()
    (event,) = [each for line in lines if (each := msgspec.json.decode(line))["type"].startswith("decision.recorded")]
    event["data"].pop("decision_id", None)
    return {name: value for name, value in event.items() if name not in OWN}


def _command(client: httpx.Client, folder: Path, given: bytes, *words: str) -> Result:
    ended = tally(folder / "unused.db", *words, "--url", str(client.base_url).rstrip("/"), given=given)
    return stored(client) if ended.code == 0 else ended.err


def _said(answer: httpx.Response) -> str:
    problem = answer.json()
    return f"{problem.get('field', '')}: {problem['detail']}"
