"""Follows events as server-sent events, without I/O of its own: parses bytes, and continues after interruptions."""

from collections.abc import Iterator, Mapping

import msgspec

from tallystick.backoff import Backoff
from tallystick.errors import UnexpectedAnswer
from tallystick.fields import EventFilter
from tallystick.operations import event_query, query_text
from tallystick.request_flow import (
    Failure,
    Request,
    Response,
    wait_after,
)
from tallystick.results import Event

MEDIA_TYPE = "text/event-stream"
ENDED = "the server ended the stream"

MESSAGE_BYTES_MAX = 1024 * 1024
"""One message of a stream; an event has at most 65,535 bytes."""

_event = msgspec.json.Decoder(Event).decode


class MessageParser:
    """Parses a stream of server-sent events (WHATWG HTML, 9.2). Only the data of each message is kept."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data of every message that these bytes complete. Errors: UnexpectedAnswer, for one without end."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for raw_line in lines:
            line = raw_line.removesuffix(b"\r")
            if not line:
                if self._data:
                    yield b"\n".join(self._data)
                self._data = []
                continue
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
        if len(self._rest) + sum(map(len, self._data)) > MESSAGE_BYTES_MAX:
            raise UnexpectedAnswer(
                f"The stream contains a message of more than {MESSAGE_BYTES_MAX:,} bytes.", "Check the address."
            )


class EventStream:
    """The requests of one `follow`, a new one after each interruption, and the events that they return."""

    def __init__(self, selection: EventFilter, retry_s: float) -> None:
        self._after = selection.get("after") or 0
        self._query = query_text({**event_query(selection), "after": self._after})
        self._retry_s = retry_s
        self.wait_s = 0.0
        """How long to wait before the next request, seconds."""
        self._parser = MessageParser()
        self._outage: Backoff | None = None
        self._received_bytes = False

    def request(self) -> Request:
        """Return the request for the events after the last one received."""
        self._parser = MessageParser()
        self._received_bytes = False
        # an outage goes on over requests that bring no event, so that its time is used up
        self._outage = self._outage or Backoff(self._retry_s)
        headers = {"accept": MEDIA_TYPE, "cache-control": "no-store", "last-event-id": str(self._after)}
        return Request(method="GET", path="/events", query=self._query, headers=headers)

    def accepts(self, status: int, headers: Mapping[str, str]) -> bool:
        """Return whether an answer is a stream; the caller reads any other answer whole. Errors: UnexpectedAnswer."""
        if status != 200:
            return False
        content_type = headers.get("content-type", "nothing")
        if not content_type.startswith(MEDIA_TYPE):
            raise UnexpectedAnswer(
                f"The server answered with {content_type}, not with {MEDIA_TYPE}.",
                "Check the address, and whether a proxy changes the answer.",
                status=status,
            )
        return True

    def receive(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that these bytes complete. Errors: UnexpectedAnswer."""
        if self._received_bytes:  # the first bytes alone do not show that the outage is over
            self._outage = None
        self._received_bytes = True
        for data in self._parser.feed(chunk):
            try:
                event = _event(data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise UnexpectedAnswer(
                    f"The stream contains a message that is not an event: {error}.", "Check the address."
                ) from None
            if event.position > self._after:
                self._after, self._outage = event.position, None
                yield event

    def interrupted(self, outcome: Response | Failure) -> None:
        """Note what ended a request, and set `wait_s`. Errors: those of `wait_after`, if a retry cannot help."""
        self._outage = self._outage or Backoff(self._retry_s)
        self.wait_s = wait_after(outcome, self._outage)
