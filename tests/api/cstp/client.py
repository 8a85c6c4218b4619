"""A client of the CSTP interface, like an agent that was written for another server."""

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import httpx
import msgspec

OUTCOMES = {"S": "success", "P": "partial", "F": "failure", "A": "abandoned"}


class Caller:
    """Calls over one connection; every answer is checked for its frame."""

    def __init__(self, server: str | httpx.Client, authorization: str | None = None) -> None:
        """Call a server at an address, or whom a client asks."""
        self.http = httpx.Client(base_url=server, timeout=None) if isinstance(server, str) else server
        if authorization is not None:
            self.http.headers["authorization"] = authorization

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()

    def post(self, body: bytes) -> dict[str, Any]:
        """Post a body and return the answer. Check that its keys have the order of the contract."""
        response = self.http.post("/cstp", content=body, headers={"content-type": "application/json"})
        assert response.status_code == 200, response.text
        reply: dict[str, Any] = response.json()
        assert list(reply) in (["jsonrpc", "id", "result"], ["jsonrpc", "id", "error"])
        assert reply["jsonrpc"] == "2.0"
        return reply

    def ask(self, method: str, params: object, call_id: object = 1) -> dict[str, Any]:
        """The answer to a call, error or not."""
        frame = {"jsonrpc": "2.0", "id": call_id, "method": f"cstp.{method}", "params": params}
        reply = self.post(msgspec.json.encode(frame))
        assert reply["id"] == call_id
        return reply

    def result(self, method: str, params: Mapping[str, object] | None = None) -> dict[str, Any]:
        """The result of a call that must succeed."""
        reply = self.ask(method, params or {})
        assert "result" in reply, reply
        result: dict[str, Any] = reply["result"]
        return result

    def error(self, method: str, params: object) -> tuple[int, str]:
        """Code and message of a call that must fail."""
        reply = self.ask(method, params)
        assert "error" in reply, reply
        return reply["error"]["code"], reply["error"]["message"]

    def record(self, params: Mapping[str, object] | None = None, **more: object) -> str:
        """Record a decision; its id."""
        result = self.result("recordDecision", {"decision": "Use the queue", **(params or {}), **more})
        decision_id: str = result["id"]
        return decision_id

    def judge(self, project: str, cases: Iterable[tuple[float, str]], **more: object) -> list[str]:
        """Record and review decisions of a project: a confidence, and a letter for each outcome at it."""
        made = []
        for confidence, letters in cases:
            for letter in letters:
                decision_id = self.record({"project": project, "confidence": confidence, **more})
                self.result("reviewDecision", {"id": decision_id, "outcome": OUTCOMES[letter]})
                made.append(decision_id)
        return made

    def calibration(self, project: str, **filters: object) -> dict[str, Any]:
        """What getCalibration says of a project."""
        return self.result("getCalibration", {"filters": {"project": project, **filters}})

    def decision(self, decision_id: str) -> dict[str, Any]:
        """What getDecision says of a decision."""
        found: dict[str, Any] = self.result("getDecision", {"id": decision_id})["decision"]
        return found

    def events(self, events: Iterable[Mapping[str, object]]) -> None:
        """Post events as NDJSON, the way other times and other agents come in, a thousand at once."""
        lines = [msgspec.json.encode(event) for event in events]
        for start in range(0, len(lines), 1000):
            body = b"\n".join(lines[start : start + 1000])
            response = self.http.post("/events", content=body, headers={"content-type": "application/x-ndjson"})
            assert response.status_code == 201, response.text


def recorded(decision_id: str, time: str | None = None, source: str | None = None, **data: object) -> dict[str, object]:
    """A decision.recorded event as it is posted, with its time and its agent where they are given."""
    event: dict[str, object] = {
        "type": "decision.recorded.v1",
        "data": {"decision_id": decision_id, "decision": "Use the queue", **data},
    }
    return event | {name: value for name, value in (("time", time), ("source", source)) if value is not None}


def reviewed(decision_id: str, outcome: str, source: str | None = None) -> dict[str, object]:
    """A decision.reviewed event as it is posted."""
    event: dict[str, object] = {
        "type": "decision.reviewed.v1",
        "data": {"decision_id": decision_id, "outcome": outcome},
    }
    return event if source is None else {**event, "source": source}
