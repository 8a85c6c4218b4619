"""Log records and spans of OTLP as the rest of Tallystick reads them, whichever encoding they arrived in."""

from collections.abc import Mapping
from typing import NamedTuple

from api.errors import BodyTooLarge
from events.limits import OTLP_RECORDS_MAX, OTLP_VALUES_MAX

AttributeValue = str | bool | int | float
Attributes = Mapping[str, AttributeValue]
"""Attributes by key. Lists, maps and bytes are left out: no attribute that Tallystick reads has them."""


class TelemetryRecord(NamedTuple):
    """A log record: its event name, its attributes and those of its resource, its span, and its time.

    The ids are lower-case hex digits, empty without one. `time_ns` is in nanoseconds since 1970 UTC; 0 means unknown.
    """

    event_name: str
    attributes: Attributes
    resource: Attributes
    trace_id: str
    span_id: str
    time_ns: int


class TelemetrySpan(NamedTuple):
    """A span: its attributes and those of its resource, its ids, and its times, in nanoseconds since 1970 UTC."""

    attributes: Attributes
    resource: Attributes
    trace_id: str
    span_id: str
    parent_span_id: str
    start_ns: int
    end_ns: int
    failed: bool


def too_many_values() -> BodyTooLarge:
    """Return the error for a request with more objects than one may have."""
    return BodyTooLarge(
        f"The request has over {OTLP_RECORDS_MAX:,} records or {OTLP_VALUES_MAX:,} attributes and other parts.",
        "Send smaller batches: OTEL_BLRP_MAX_EXPORT_BATCH_SIZE, OTEL_BSP_MAX_EXPORT_BATCH_SIZE.",
    )


def text_of(attributes: Attributes, *names: str) -> str | None:
    """Return the first attribute of some names that is a text with a character other than white space."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None


def number_of(attributes: Attributes, *names: str) -> float | None:
    """Return the first attribute of some names that is a number."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
    return None


def count_of(attributes: Attributes, *names: str) -> int | None:
    """Return the first attribute of some names that is a whole number."""
    value = number_of(attributes, *names)
    return int(value) if value is not None and float(value).is_integer() else None
