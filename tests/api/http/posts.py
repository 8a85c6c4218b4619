"""Short ways to say what tests post, and to read what comes back."""

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import httpx
import msgspec

Json = dict[str, Any]

JSON = {"content-type": "application/json"}
BATCH = {"content-type": "application/cloudevents-batch+json"}
LINES = {"content-type": "application/x-ndjson"}


def fresh() -> str:
    """A decision's id that no other test uses."""
    return uuid4().hex[:16]


def recorded(decision_id: str | None = None, **fields: object) -> Json:
    """A decision, as a client drafts it."""
    data = {"decision": "ship it", "confidence": 0.7, **fields}
    return {"type": "decision.recorded.v1", "data": data | ({"decision_id": decision_id} if decision_id else {})}


def thought(decision_id: str, text: str = "hmm") -> Json:
    """A thought on a decision."""
    return {"type": "decision.thought.v1", "data": {"decision_id": decision_id, "text": text}}


def reviewed(decision_id: str, outcome: str = "success", **fields: object) -> Json:
    """A review of a decision."""
    return {"type": "decision.reviewed.v1", "data": {"decision_id": decision_id, "outcome": outcome, **fields}}


def ndjson(events: Iterable[Json]) -> bytes:
    """Events as lines."""
    return b"".join(msgspec.json.encode(event) + b"\n" for event in events)


def post(client: httpx.Client, body: object) -> Json:
    """Post JSON that is to be written now; the answer."""
    response = client.post("/events", content=msgspec.json.encode(body), headers=JSON)
    assert response.status_code == 201, response.text
    answer: Json = response.json()
    return answer


def head(client: httpx.Client) -> int:
    """The newest position."""
    position: int = client.get("/readyz").json()["head"]
    return position


def get(client: httpx.Client, path: str, **parameters: str | int) -> Json:
    """The JSON at a path."""
    response = client.get(path, params=parameters)
    assert response.status_code == 200, response.text
    answer: Json = response.json()
    return answer
