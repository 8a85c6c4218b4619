"""Short ways to think before a decision, to decide, and to see what was thought."""

from typing import Any

import msgspec

from tests.api.cstp.client import Caller


def think(cstp: Caller, text: str, **params: object) -> str:
    """Record a thought before a decision; its id."""
    answer = cstp.result("recordThought", {"text": text, **params})
    assert answer["mode"] == "pre-decision"
    thought_id: str = answer["thought_id"]
    return thought_id


def decide(cstp: Caller, **params: object) -> dict[str, Any]:
    return cstp.result("recordDecision", {"decision": "Use the queue", **params})


def steps(cstp: Caller, decision_id: str) -> list[dict[str, Any]]:
    deliberation: dict[str, Any] = cstp.decision(decision_id).get("deliberation", {})
    found: list[dict[str, Any]] = deliberation.get("steps", [])
    return found


def texts(cstp: Caller, answer: dict[str, Any]) -> list[str]:
    return [step["thought"] for step in steps(cstp, answer["id"])]


def stream(cstp: Caller, subject: str) -> list[dict[str, Any]]:
    """The events of a stream, the oldest first."""
    response = cstp.http.get("/events", params={"subject": subject}, headers={"accept": "application/x-ndjson"})
    assert response.status_code == 200, response.text
    return [msgspec.json.decode(line) for line in response.content.splitlines()]
