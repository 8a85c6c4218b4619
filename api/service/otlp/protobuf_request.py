"""Decode requests of OTLP in protobuf, with the message classes of `opentelemetry-proto` (the extra `otlp`).

Before that, a walk over the nested messages counts them: two bytes can be a message that takes a hundred in memory.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from api.errors import ExtraMissing
from api.service.otlp.json_request import read_logs, read_spans
from api.service.otlp.telemetry_records import AttributeValue, TelemetryRecord, TelemetrySpan, too_many_values
from events.errors import MalformedInput
from events.limits import OTLP_RECORDS_MAX, OTLP_VALUES_MAX

MESSAGES = "opentelemetry.proto.collector.{0}.v1.{0}_service_pb2"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_Nesting = Mapping[str, Mapping[int, str]]
"""The fields of each message that are messages, by number."""

_COMMON: _Nesting = {
    "request": {1: "group"},
    "group": {1: "resource", 2: "scope"},
    "resource": {1: "pair"},
    "scope": {2: "record"},
    "pair": {2: "value"},
    "value": {5: "array", 6: "pairs"},
    "array": {1: "value"},
    "pairs": {1: "pair"},
}
_NESTING: Mapping[str, _Nesting] = {
    "logs": {**_COMMON, "record": {5: "value", 6: "pair"}},
    "trace": {**_COMMON, "record": {9: "pair", 11: "event", 13: "link"}, "event": {3: "pair"}, "link": {4: "pair"}},
}


def decode_protobuf_logs(body: bytes) -> list[TelemetryRecord]:
    """Return the log records of a request. Errors: ExtraMissing, MalformedInput, BodyTooLarge."""
    return read_logs(_decode(body, "logs", "ExportLogsServiceRequest"), _value)


def decode_protobuf_spans(body: bytes) -> list[TelemetrySpan]:
    """Return the spans of a request. Errors: ExtraMissing, MalformedInput, BodyTooLarge."""
    return read_spans(_decode(body, "trace", "ExportTraceServiceRequest"), _value)


def load_messages(signal: str) -> Any:  # noqa: ANN401 - classes of an optional package
    """Import the message classes of a signal, `logs` or `trace`. Errors: ExtraMissing."""
    try:
        return import_module(MESSAGES.format(signal))
    except ModuleNotFoundError:
        raise ExtraMissing(
            "OTLP in protobuf needs a package that is not installed.",
            "Install it: pip install 'tallystick[otlp]'. Or send application/json.",
            written=False,
        ) from None


def _decode(body: bytes, signal: str, name: str) -> Any:  # noqa: ANN401 - classes of an optional package
    messages = load_messages(signal)
    _check_size(body, _NESTING[signal])
    try:
        return getattr(messages, name).FromString(body)
    except Exception as error:  # noqa: BLE001 - protobuf's implementations raise different classes
        raise MalformedInput(f"The body is not a {name}: {error}.") from None


def _value(value: Any) -> AttributeValue | None:  # noqa: ANN401 - a message of an optional package
    kind = value.WhichOneof("value")
    if kind not in ("string_value", "bool_value", "int_value", "double_value"):
        return None
    known: AttributeValue = getattr(value, kind)
    return known


def _check_size(body: bytes, nesting: _Nesting) -> None:
    """Refuse a request with more messages than one may have. Errors: BodyTooLarge; MalformedInput."""
    records = values = 0
    pending = [(0, len(body), "request")]
    while pending:
        at, end, message = pending.pop()
        fields = nesting.get(message, {})
        while at < end:
            key, at = _varint(body, at, end)
            wire = key & 7
            if wire == _VARINT:
                _, at = _varint(body, at, end)
            elif wire == _BYTES:
                size, at = _varint(body, at, end)
                if size > end - at:
                    raise _cut()
                if (nested := fields.get(key >> 3)) is not None:
                    pending.append((at, at + size, nested))
                    values += 1
                    records += nested == "record"
                at += size
            elif wire in (_FIXED64, _FIXED32):
                at += 8 if wire == _FIXED64 else 4
            else:
                raise _cut()
            if records > OTLP_RECORDS_MAX or values > OTLP_VALUES_MAX:
                raise too_many_values()


def _varint(body: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the number at a place, and the place after it. Errors: MalformedInput."""
    number = shift = 0
    while at < end and shift < 70:
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
    raise _cut()


def _cut() -> MalformedInput:
    return MalformedInput("The body is not a protobuf message: it is cut, or of another format.")
