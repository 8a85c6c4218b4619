"""Post events with the CloudEvents SDK for Python, in the form of its versions 1 and 2.

`python tests/sdks/cloudevents_cases URL` prints one JSON line for each case: its name, the attributes added to the
required ones, the status of the answer, the answer, and the stored event. It runs in an environment of its own.
"""

import json
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import httpx
from cloudevents.core.bindings.http import HTTPMessage, from_http_event, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent as CloudEvent2
from cloudevents.v1.conversion import to_binary, to_structured
from cloudevents.v1.http import CloudEvent as CloudEvent1
from cloudevents.v1.http import from_http

BATCH = "application/cloudevents-batch+json"
SCHEMA = "https://example.com/decision.json"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

Message = tuple[dict[str, str], bytes]


class Sdk(NamedTuple):
    """The functions of one version of the SDK: make an event, write it in both modes, read it."""

    make: Callable[[dict[str, Any], Any], Any]
    structured: Callable[[Any], Message]
    binary: Callable[[Any], Message]
    read: Callable[[dict[str, str], bytes], Any]


def message_of(written: HTTPMessage) -> Message:
    return written.headers, written.body


def with_bytes(written: tuple[Any, Any]) -> Message:
    headers, body = written
    return {name: str(value) for name, value in headers.items()}, body.encode() if isinstance(body, str) else bytes(
        body
    )


SDKS = {
    "Python 1.x": Sdk(
        CloudEvent1,
        lambda event: with_bytes(to_structured(event)),
        lambda event: with_bytes(to_binary(event)),
        from_http,
    ),
    "Python 2.x": Sdk(
        CloudEvent2,
        lambda event: message_of(to_structured_event(event)),
        lambda event: message_of(to_binary_event(event)),
        lambda headers, body: from_http_event(HTTPMessage(headers, body)),
    ),
}

ADDED: dict[str, dict[str, str]] = {
    "structured": {},
    "binary": {},
    "structured, dataschema": {"dataschema": SCHEMA},
    "structured, traceparent and tracestate": {"traceparent": TRACE, "tracestate": "vendor=1"},
    "binary, partitionkey and sequence": {"partitionkey": "team-e", "sequence": "0007"},
    "structured, application/json; charset=utf-8": {"datacontenttype": "application/json; charset=utf-8"},
    "binary, application/json; charset=utf-8": {"datacontenttype": "application/json; charset=utf-8"},
    "binary, application/vnd.decision+json": {"datacontenttype": "application/vnd.decision+json"},
    "structured, data_base64": {"datacontenttype": "application/json"},
    "structured, text/plain": {"datacontenttype": "text/plain"},
}
"""The attributes of each case beside the required ones."""


class Cases:
    """The cases with one version of the SDK."""

    def __init__(self, http: httpx.Client, name: str) -> None:
        self._http = http
        self._name = name
        self._sdk = SDKS[name]

    def run(self) -> None:
        for case, added in ADDED.items():
            self._post(case, self._write(case, self._event(case, added)), added)
        structured = self._write("structured", self._event("batch", {}))[1]
        self._post("batch", ({"content-type": BATCH}, b"[" + structured + b"]"))
        for mode in ("structured", "binary"):
            case = f"{mode}, an event that was read"
            position = self._send(self._write(mode, self._event(case, {}))).json()["position"]
            read = self._http.get(f"/events/{position}")
            event = self._sdk.read({"content-type": read.headers["content-type"]}, read.content)
            self._post(case, self._write(mode, event))

    def _event(self, case: str, added: dict[str, str]) -> Any:  # noqa: ANN401 # of either version
        data: Any = {"decision": case, "confidence": 0.8}
        if "data_base64" in case:
            data = json.dumps(data).encode()
        elif "text/plain" in case:
            data = case
        attributes = {"id": f"{self._name} {case}", "source": "/agents/scout", "type": "decision.recorded.v1"}
        return self._sdk.make({**attributes, **added}, data)

    def _write(self, case: str, event: Any) -> Message:  # noqa: ANN401
        return self._sdk.binary(event) if case.startswith("binary") else self._sdk.structured(event)

    def _send(self, message: Message) -> httpx.Response:
        headers, body = message
        return self._http.post("/events", headers=headers, content=body)

    def _post(self, case: str, message: Message, added: Mapping[str, object] = MappingProxyType({})) -> None:
        response = self._send(message)
        answer = response.json()
        position = answer.get("position", answer.get("first"))
        stored = self._http.get(f"/events/{position}").json() if position else None
        status, name = response.status_code, f"{self._name}: {case}"
        print(json.dumps({"case": name, "added": dict(added), "status": status, "answer": answer, "stored": stored}))


if __name__ == "__main__":
    with httpx.Client(base_url=sys.argv[1], timeout=None) as client:
        for version in SDKS:
            Cases(client, version).run()
