"""Requests of OTLP/JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]

NOON_NS = 1_795_000_000 * 10**9
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
RESOURCE = {"service.name": "shop", "service.version": "2"}
NAME, VALUE, LABEL = (f"gen_ai.evaluation.{part}" for part in ("name", "score.value", "score.label"))


def pairs(attributes: Mapping[str, Any]) -> list[Json]:
    """Attributes as OTLP/JSON writes them: whole numbers as text."""
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: object) -> Json:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case _:
            return {"stringValue": value}


def log_record(attributes: Mapping[str, Any], **changed: str | int) -> Json:
    """A record of the event of scores."""
    return {
        "timeUnixNano": str(NOON_NS),
        "eventName": "gen_ai.evaluation.result",
        "traceId": TRACE,
        "spanId": SPAN,
        "attributes": pairs(attributes),
        **changed,
    }


def logs(*records: Json, resource: Mapping[str, Any] = RESOURCE) -> Json:
    """A request with log records."""
    return {"resourceLogs": [{"resource": {"attributes": pairs(resource)}, "scopeLogs": [{"logRecords": records}]}]}


def span(number: int, attributes: Mapping[str, Any], **changed: str | int) -> Json:
    """A span of 2 ms."""
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": "chat",
        "startTimeUnixNano": str(NOON_NS),
        "endTimeUnixNano": str(NOON_NS + 2_000_000),
        "attributes": pairs(attributes),
        **changed,
    }


def traces(spans: Sequence[Json], resource: Mapping[str, Any] = RESOURCE) -> Json:
    """A request with spans."""
    return {"resourceSpans": [{"resource": {"attributes": pairs(resource)}, "scopeSpans": [{"spans": spans}]}]}
