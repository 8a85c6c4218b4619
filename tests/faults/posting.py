"""What clients of a ledger under faults post, over one connection each."""

import http.client
import random
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import msgspec

from events.envelope import Draft
from events.registry import VOCABULARY

TIMEOUT_S = 120


class Answer(NamedTuple):
    """Status, headers by lower-case name, and body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401 - whatever was answered
        return msgspec.json.decode(self.body)


class Poster:
    """One connection to a server; ConnectionError and http.client.HTTPException where it ends."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}
        address = urlsplit(url)
        assert address.hostname is not None
        self._http = http.client.HTTPConnection(address.hostname, address.port, timeout=TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.close()

    def ask(self, method: str, path: str, body: bytes | None = None, media: str = "application/json") -> Answer:
        """One request and its answer."""
        self._http.request(method, path, body, self._headers | ({} if body is None else {"content-type": media}))
        response = self._http.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())

    def post(self, *lines: bytes) -> Answer:
        """Append events: one as it is, several as a batch."""
        media = "application/json" if len(lines) == 1 else "application/x-ndjson"
        return self.ask("POST", "/events", b"\n".join(lines), media)


def event(name: str, text: str = "Keep the queue bounded") -> bytes:
    """A decision as a client posts it, with its own stream and id."""
    data = {"decision_id": name, "decision": text, "confidence": 0.8}
    return msgspec.json.encode({"type": "decision.recorded.v1", "id": name, "data": data})


def draft(name: str, text: str = "Keep the queue bounded") -> Draft:
    """The same, as it comes to the log."""
    made = VOCABULARY.draft(event(name, text))
    return msgspec.structs.replace(made, source="/agents/tester")


def text_of(name: str) -> str:
    """The text of an event, which follows from its name: so a retry is the same."""
    return some_text(random.Random(name))


def some_text(rng: random.Random) -> str:
    """A text of a seeded length: most are short, some fill a page."""
    return "x" * (rng.randint(1, 200) if rng.random() < 0.95 else rng.randint(1_000, 9_000))
