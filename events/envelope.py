"""The envelope of an event: as a client posts it, as the log stores it, and its encoding.

A stored event is one CloudEvents 1.0 JSON object on one line: compact, UTF-8, attributes in a fixed order. The same
bytes are stored, exported and hashed as Merkle leaves; only `encode_line` makes them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import msgspec

from events.extensions import AddedAttributes, ExtensionValue
from events.limits import AGENT_NAME_CHARS_MAX, EVENT_ID_CHARS_MAX, TRACE_CHARS_MAX
from events.payload import Count, Payload

ANONYMOUS = "anonymous"
"""The agent of a caller without a token, in a ledger without tokens."""

Trace = Annotated[str, msgspec.Meta(min_length=1, max_length=TRACE_CHARS_MAX)]
EventId = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=EVENT_ID_CHARS_MAX,
        description="Unique within its source: 1..128 printable characters.",
    ),
]

Source = Annotated[
    str,
    msgspec.Meta(
        description="The agent, as /agents/NAME.",
        extra_json_schema={"pattern": rf"^/agents/[A-Za-z0-9][A-Za-z0-9._:@/+-]{{0,{AGENT_NAME_CHARS_MAX - 1}}}$"},
    ),
]


class Draft(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="type"):
    """An event as a client posts it: `type`, `data`, and any other attribute that the client knows.

    `source` is the client's claim; the interface checks it against the token, or fills it in. `subject` is optional;
    a given one must be the stream that the payload names. `expectedversion` is the number of events that the client
    expects in the stream, 0 for a new one, and is not stored. `added` has all other attributes.
    """

    name: ClassVar[str]
    added: ClassVar[AddedAttributes | None] = None
    by_ledger: ClassVar[bool] = False
    """Whether the ledger itself made it: `EventType.own_draft`."""
    specversion: Literal["1.0"] | None = None
    id: EventId | None = None
    source: Source | None = None
    subject: str | None = None
    time: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    datacontenttype: Literal["application/json"] | None = None
    traceparent: Trace | None = None
    correlationid: Trace | None = None
    causationid: Trace | None = None
    expectedversion: Count | None = None
    data: Payload


class EventFacts(msgspec.Struct, kw_only=True, frozen=True, tag_field="type", gc=False):
    """The attributes of a stored event that a fold needs: source, subject, time, position, correlationid and data.

    Decoding skips the other attributes, which saves an eighth of the time. `time` is text as `timestamp` makes it:
    text order is time order, and a fold that needs numbers converts only the slice it needs.
    """

    name: ClassVar[str]
    payload: ClassVar[type[Payload]]
    """The type of `data`."""
    source: str
    subject: str
    time: str
    position: int
    correlationid: str | None = None
    data: Payload

    @property
    def moment(self) -> datetime:
        """When the event happened."""
        return datetime.fromisoformat(self.time)

    @property
    def agent(self) -> str:
        """The agent's name: `claude` for the source `/agents/claude`."""
        return agent_of(self.source)


class Event(EventFacts, kw_only=True, frozen=True, gc=False):
    """An event as the log holds it, with every attribute. `vocabulary.EventType` makes one subclass for each type."""

    specversion: str
    id: str
    source: str
    subject: str
    time: str
    recordedtime: str
    position: int
    streamversion: int
    traceparent: str | None = None
    correlationid: str | None = None
    causationid: str | None = None


class Line(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, gc=False):
    """The attributes of a stored event in their order on the line."""

    specversion: str
    id: str
    source: str
    type: str
    subject: str
    time: str
    recordedtime: str
    position: int
    streamversion: int
    traceparent: str | None = None
    correlationid: str | None = None
    causationid: str | None = None
    data: Payload | msgspec.Raw


encode_line = msgspec.json.Encoder().encode
"""Encode a `Line` as the bytes that are stored, exported and hashed. They never change."""


def encode_extended_line(line: Line, extensions: Mapping[str, ExtensionValue]) -> bytes:
    """Encode a line with extension attributes, which are between the other attributes and the data."""
    attributes = {name: value for name, value in msgspec.structs.asdict(line).items() if value is not None}
    data = attributes.pop("data")
    return encode_line({**attributes, **extensions, "data": data})


def encode_draft(draft: Draft) -> bytes:
    """Encode a draft as a client posts it."""
    if draft.added is None:
        return encode_line(draft)
    attributes = msgspec.structs.asdict(draft)
    del attributes["added"]
    set_attributes = {name: value for name, value in attributes.items() if value is not None}
    return encode_line({"type": draft.name, **set_attributes, **draft.added.extensions, **draft.added.recorded})


def source_of(agent: str) -> str:
    """Return the source attribute of an agent: `/agents/claude`."""
    return f"/agents/{agent}"


def agent_of(source: str) -> str:
    """Return the agent's name in a source attribute."""
    return source.removeprefix("/agents/")


def timestamp(moment: datetime) -> str:
    """Format a time as RFC 3339 in UTC, always 27 characters, so that text order is time order.

    Example: `2026-11-21T08:30:00.000000Z`.
    """
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


ZEROED_TIME = b"0000-00-00T00:00:00.000000Z"
"""A time as `timestamp` formats it, with zeros for all digits."""

MINUTE_CHARS = 16
"""Length of `2026-11-21T08:30`, which `:00.000000Z` follows."""

_ZEROS = bytes(ord("0") if chr(byte) in "123456789" else byte for byte in range(256))
"""Translation of every digit to a zero: takes a fifth of the time of a regular expression."""


def zeroed(text: str) -> bytes:
    """Return a text with a zero for each digit."""
    return text.encode(errors="replace").translate(_ZEROS)


def is_timestamp(text: str) -> bool:
    """Return whether a text is a time as `timestamp` formats it."""
    return zeroed(text) == ZEROED_TIME and text[17:19] < "60" and _is_minute(text[:MINUTE_CHARS])


@lru_cache(maxsize=100_000)
def _is_minute(text: str) -> bool:
    """Return whether a text is a minute. Many events are in the same one, hence the cache."""
    try:
        datetime.fromisoformat(text + "Z")
    except ValueError:
        return False
    return True
