"""Decode requests of OTLP/JSON: camelCase names, ids in hex, 64-bit numbers as text or as numbers.

Unknown fields are ignored, as the specification demands. `read_logs` and `read_spans` read messages of protobuf, too,
whose fields have the same names; `ValueOf` is what differs.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from api.service.otlp.telemetry_records import (
    Attributes,
    AttributeValue,
    TelemetryRecord,
    TelemetrySpan,
    too_many_values,
)
from events.decode_error_messages import DECODE_ERRORS
from events.errors import MalformedInput
from events.json_check import half_surrogate_error
from events.limits import OTLP_RECORDS_MAX, OTLP_VALUES_MAX

_ERROR_STATUS = 2
_JsonNumber = int | float | str
ValueOf = Callable[[Any], AttributeValue | None]
"""Returns the value of an attribute; None for a list, a map, bytes or no value."""

_Message = TypeVar("_Message", bound=msgspec.Struct)
_whole = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_hex = re.compile(r"[0-9a-fA-F]*", re.ASCII)
_floats = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class _Value(msgspec.Struct, rename="camel", gc=False):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: _JsonNumber | None = None
    double_value: _JsonNumber | None = None


class _KeyValue(msgspec.Struct, gc=False):
    key: str = ""
    value: _Value | None = None


class _Resource(msgspec.Struct):
    attributes: list[_KeyValue] | None = None


class _LogRecord(msgspec.Struct, rename="camel"):
    time_unix_nano: _JsonNumber | None = None
    observed_time_unix_nano: _JsonNumber | None = None
    event_name: str | None = None
    attributes: list[_KeyValue] | None = None
    trace_id: str | None = None
    span_id: str | None = None


class _ScopeLogs(msgspec.Struct, rename="camel"):
    log_records: list[_LogRecord] | None = None


class _ResourceLogs(msgspec.Struct, rename="camel"):
    resource: _Resource | None = None
    scope_logs: list[_ScopeLogs] | None = None


class _LogsRequest(msgspec.Struct, rename="camel"):
    resource_logs: list[_ResourceLogs] | None = None


class _Status(msgspec.Struct):
    code: _JsonNumber | None = None


class _Span(msgspec.Struct, rename="camel"):
    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    start_time_unix_nano: _JsonNumber | None = None
    end_time_unix_nano: _JsonNumber | None = None
    attributes: list[_KeyValue] | None = None
    status: _Status | None = None


class _ScopeSpans(msgspec.Struct):
    spans: list[_Span] | None = None


class _ResourceSpans(msgspec.Struct, rename="camel"):
    resource: _Resource | None = None
    scope_spans: list[_ScopeSpans] | None = None


class _TracesRequest(msgspec.Struct, rename="camel"):
    resource_spans: list[_ResourceSpans] | None = None


def decode_json_logs(body: bytes) -> list[TelemetryRecord]:
    """Return the log records of a request. Errors: MalformedInput, BodyTooLarge."""
    return read_logs(_decode(body, _LogsRequest), _value)


def decode_json_spans(body: bytes) -> list[TelemetrySpan]:
    """Return the spans of a request. Errors: MalformedInput, BodyTooLarge."""
    return read_spans(_decode(body, _TracesRequest), _value)


def read_logs(request: Any, value_of: ValueOf) -> list[TelemetryRecord]:  # noqa: ANN401 - a message of either encoding
    """Return the log records of a decoded request. Errors: MalformedInput, BodyTooLarge."""
    return _limited(
        TelemetryRecord(
            event_name=record.event_name or "",
            attributes=_attributes(record, value_of),
            resource=resource,
            trace_id=_id(record.trace_id),
            span_id=_id(record.span_id),
            time_ns=_whole_number(record.time_unix_nano) or _whole_number(record.observed_time_unix_nano),
        )
        for group in request.resource_logs or ()
        for resource in [_attributes(group.resource, value_of)]
        for scope in group.scope_logs or ()
        for record in scope.log_records or ()
    )


def read_spans(request: Any, value_of: ValueOf) -> list[TelemetrySpan]:  # noqa: ANN401 - a message of either encoding
    """Return the spans of a decoded request. Errors: MalformedInput, BodyTooLarge."""
    return _limited(
        TelemetrySpan(
            attributes=_attributes(span, value_of),
            resource=resource,
            trace_id=_id(span.trace_id),
            span_id=_id(span.span_id),
            parent_span_id=_id(span.parent_span_id),
            start_ns=_whole_number(span.start_time_unix_nano),
            end_ns=_whole_number(span.end_time_unix_nano),
            failed=span.status is not None and _whole_number(span.status.code) == _ERROR_STATUS,
        )
        for group in request.resource_spans or ()
        for resource in [_attributes(group.resource, value_of)]
        for scope in group.scope_spans or ()
        for span in scope.spans or ()
    )


def _decode(body: bytes, shape: type[_Message]) -> _Message:
    if body.count(b"{") > OTLP_VALUES_MAX:  # each object has a brace, and braces in texts are few
        raise too_many_values()
    try:
        return msgspec.json.decode(body, type=shape)
    except DECODE_ERRORS as error:
        raise half_surrogate_error(body) or _malformed(str(error)) from None


def _malformed(detail: str) -> MalformedInput:
    return MalformedInput(f"The body is not a request of OTLP/JSON: {detail}.")


_Record = TypeVar("_Record", TelemetryRecord, TelemetrySpan)


def _limited(records: Iterable[_Record]) -> list[_Record]:
    """Return the records of a request. Errors: BodyTooLarge."""
    made: list[_Record] = []
    for record in records:
        if len(made) == OTLP_RECORDS_MAX:
            raise too_many_values()
        made.append(record)
    return made


def _attributes(owner: Any, value_of: ValueOf) -> Attributes:  # noqa: ANN401 - as above
    values = {pair.key: value_of(pair.value) for pair in (owner.attributes or () if owner is not None else ())}
    return {key: value for key, value in values.items() if value is not None}


def _value(value: _Value | None) -> AttributeValue | None:
    if value is None:
        return None
    if value.string_value is not None:
        return value.string_value
    if value.bool_value is not None:
        return value.bool_value
    if value.int_value is not None:
        return _whole_number(value.int_value)
    if value.double_value is not None:
        return _float(value.double_value)
    return None


def _whole_number(value: _JsonNumber | None) -> int:
    """Return a 64-bit number, which may be written as text; 0 for none. Errors: MalformedInput."""
    if value is None or isinstance(value, int):
        return value or 0
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _whole.fullmatch(value):
        return int(value)
    raise _malformed(f"{value!r} is not a whole number")


def _float(value: _JsonNumber) -> float:
    if not isinstance(value, str):
        return float(value)
    if value in _floats:
        return _floats[value]
    try:
        return float(value)
    except ValueError:
        raise _malformed(f"{value!r} is not a number") from None


def _id(stated: str | bytes | None) -> str:
    """Return an id in lower-case hex; empty without one, or if it is zero. Errors: MalformedInput."""
    text = stated.hex() if isinstance(stated, bytes) else stated or ""
    if not text.strip("0"):
        return ""
    if _hex.fullmatch(text) is None:
        raise _malformed(f"the id {text[:40]!r} is not hex digits")
    return text.lower()
