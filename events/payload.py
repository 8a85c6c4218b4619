"""Base classes and field types of payloads: frozen, keyword-only, unknown fields refused, absent fields not stored."""

from typing import Annotated

import msgspec

from events.limits import ITEMS_MAX, LABEL_CHARS_MAX, STREAM_ID_CHARS_MAX

STREAM_ID_PATTERN = r"^(\.{0,2}[A-Za-z0-9_-]|\.{3})[A-Za-z0-9._-]*$"
"""Shape of a new stream's id: not `.` or `..`, which clients remove from an address. The schema states it;
`vocabulary.EventType.stream_id` enforces it once, at the append."""

STREAM_ID_SHAPE = f"1..{STREAM_ID_CHARS_MAX} of letters, digits, '.', '_' and '-', other than '.' and '..'"

STORED_ID_PATTERN = r"^[A-Za-z0-9._-]+$"
"""Shape of the ids of stored streams, by which they are found: earlier versions took `.` and `..`."""

StreamId = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=STREAM_ID_CHARS_MAX,
        description=f"Names the stream: {STREAM_ID_SHAPE}.",
        extra_json_schema={"pattern": STREAM_ID_PATTERN},
    ),
]
StreamName = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=STREAM_ID_CHARS_MAX,
        pattern=STORED_ID_PATTERN,
        description="Names another stream: 1..64 of letters, digits, '.', '_' and '-'.",
    ),
]
DIGEST_PATTERN = r"^[0-9a-f]{64}$"
"""Shape of a SHA-256 digest."""

Digest = Annotated[
    str,
    msgspec.Meta(
        pattern=DIGEST_PATTERN, description="SHA-256 of the bytes (a text as UTF-8), 64 lower-case hex digits."
    ),
]
TRACE_ID_PATTERN = r"^[0-9a-f]{32}$"
SPAN_ID_PATTERN = r"^[0-9a-f]{16}$"

TraceId = Annotated[
    str, msgspec.Meta(pattern=TRACE_ID_PATTERN, description="An OpenTelemetry trace id: 32 lower-case hex digits.")
]
SpanId = Annotated[
    str, msgspec.Meta(pattern=SPAN_ID_PATTERN, description="An OpenTelemetry span id: 16 lower-case hex digits.")
]
Confidence = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Text = Annotated[str, msgspec.Meta(min_length=1)]
Label = Annotated[str, msgspec.Meta(min_length=1, max_length=LABEL_CHARS_MAX)]
COUNT_MAX = 2**53 - 1
"""The largest integer that every JSON reader represents exactly."""

Count = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)]
Labels = Annotated[tuple[Label, ...], msgspec.Meta(max_length=ITEMS_MAX)]
Texts = Annotated[tuple[str, ...], msgspec.Meta(max_length=ITEMS_MAX)]
Meta = Annotated[dict[str, str], msgspec.Meta(max_length=ITEMS_MAX)]
Facts = Annotated[dict[str, str | Count | Labels], msgspec.Meta(max_length=32)]
"""Values by name: texts, counts, or lists of labels."""

TimeText = Annotated[str, msgspec.Meta(max_length=64)]
"""A time as another program wrote it."""


class PayloadPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A part of a payload. `null` and absent mean the same: the value is unknown, and is not stored."""


class Payload(PayloadPart, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The `data` of one event type. Published shapes never change; a new shape is a new version."""
