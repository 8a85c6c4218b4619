"""A trace of OpenTelemetry spans: OTLP as JSON, one ExportTraceServiceRequest, or one on each line.

Spans with `gen_ai.operation.name` become steps: `execute_tool` a tool call, `chat` and the other operations of a model
a model step. Other spans are ignored. The order is that of the start times, then that of the file. A span whose parent
is a step of the same kind and name is the same call, recorded by two libraries, and so is an identical span with an id
that occurred before. A step with the id of another one, or below itself, makes the trace unreadable: it could hide a
call. Source: the OTLP specification (ids are hex, 64-bit numbers may be texts), and the GenAI semantic conventions.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from events.limits import LABEL_CHARS_MAX
from instruments.evals.trace.steps import MODEL, STEPS_MAX, TOOL, AgentStep, BadTrace, parse_arguments
from instruments.stored_text import count_of

_KINDS = {
    "execute_tool": TOOL,
    "chat": MODEL,
    "text_completion": MODEL,
    "generate_content": MODEL,
    "embeddings": MODEL,
}
"""The operations that become steps. Source: `gen_ai.operation.name` of the semantic conventions."""

_FAILED = (2, "STATUS_CODE_ERROR")
_NS_PER_MS = 1_000_000
_ID_CHARS_MAX = 40
"""Characters of an id that a reason quotes."""

_Key = tuple[str, str | int]
"""The trace and the id of a span; the number of the span in the file if it has no id."""

_trace_id = re.compile(r"[0-9a-f]{32}")
_span_id = re.compile(r"[0-9a-f]{16}")


class _GenAISpan(msgspec.Struct, frozen=True, kw_only=True):
    """A span that is a step."""

    start_ns: int
    trace_id: str
    span_id: str
    parent_id: str
    step: AgentStep


class SpanTrace(msgspec.Struct, frozen=True, kw_only=True):
    """The steps of a file of spans, and the trace and its root if there is one of each."""

    steps: tuple[AgentStep, ...]
    trace_id: str | None
    span_id: str | None


def decode_requests(data: bytes) -> list[Any]:
    """Return the JSON values of a file: one value, or one on each line. Errors: BadTrace."""
    try:
        return [msgspec.json.decode(data)]
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    except RecursionError:
        raise BadTrace("the trace file is nested too deep.") from None
    values = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            values.append(msgspec.json.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadTrace(f"line {number} of the trace file is not JSON: {error}.") from None
    return values


def parse_requests(values: list[Any]) -> SpanTrace:
    """Return the steps of decoded requests, in order. Errors: BadTrace."""
    spans = [(f"object {number}", span) for number, value in enumerate(values, 1) for span in _spans(value, number)]
    roots = {(str(span.get("traceId")), str(span.get("spanId"))) for _, span in spans if not span.get("parentSpanId")}
    trace_ids = {str(span.get("traceId", "")).lower() for _, span in spans}
    found: dict[_Key, _GenAISpan] = {}
    for number, (place, span) in enumerate(spans):
        parsed = _parse(span, place)
        if parsed is not None:
            earlier = found.setdefault((parsed.trace_id, parsed.span_id or number), parsed)
            if earlier is not parsed and repr(earlier) != repr(parsed):  # 1 and True are equal, but not the same
                raise BadTrace(f"{_named(parsed)} in {place} of the trace file has the id of another span.")
    if len(found) > STEPS_MAX:
        raise BadTrace(f"the trace file has {len(found):,} steps; at most {STEPS_MAX:,} are allowed.")
    _check_parents(found)
    ordered = sorted(found.values(), key=lambda span: span.start_ns)
    steps = tuple(span.step for span in ordered if not _repeats(span, found.get((span.trace_id, span.parent_id))))
    trace_id = next(iter(trace_ids)) if len(trace_ids) == 1 else ""
    span_id = next(iter(roots))[1].lower() if len(roots) == 1 else ""
    has_trace = _trace_id.fullmatch(trace_id) is not None
    return SpanTrace(
        steps=steps,
        trace_id=trace_id if has_trace else None,
        span_id=span_id if has_trace and _span_id.fullmatch(span_id) else None,
    )


def _check_parents(found: Mapping[_Key, _GenAISpan]) -> None:
    """Refuse spans that are below themselves. Errors: BadTrace."""
    checked: set[_Key] = set()
    for start in found:
        key, path = start, set[_Key]()
        while key not in checked and (span := found.get(key)) is not None:
            if key in path:
                raise BadTrace(f"{_named(span)} of the trace file is its own parent, directly or through others.")
            path.add(key)
            key = (span.trace_id, span.parent_id)
        checked |= path


def _named(span: _GenAISpan) -> str:
    """Return a span in words, for a reason."""
    return f"span {span.span_id[:_ID_CHARS_MAX]!r} ({span.step.name or span.step.kind})"


def _repeats(span: _GenAISpan, parent: _GenAISpan | None) -> bool:
    return parent is not None and (parent.step.kind, parent.step.name) == (span.step.kind, span.step.name)


def _spans(request: object, number: int) -> Iterator[dict[str, Any]]:
    """Yield the spans of a request. Errors: BadTrace."""
    place = f"object {number} of the trace file"
    if not isinstance(request, dict) or "resourceSpans" not in request:
        raise BadTrace(f"{place} has no resourceSpans: write OTLP as JSON, an ExportTraceServiceRequest.")
    for resource in _objects(request, "resourceSpans", place):
        for scope in _objects(resource, "scopeSpans", place):
            yield from _objects(scope, "spans", place)


def _objects(value: dict[str, Any], key: str, place: str) -> list[dict[str, Any]]:
    items = value.get(key)
    if items is None:
        return []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadTrace(f"{key} in {place} is not a list of objects.")
    return items


def _parse(span: dict[str, Any], place: str) -> _GenAISpan | None:
    """Return a span that is a step; None for others. Errors: BadTrace."""
    attributes = _attributes(span, place)
    kind = _KINDS.get(str(attributes.get("gen_ai.operation.name")))
    if kind is None:
        return None
    name = _label(attributes.get("gen_ai.tool.name"))
    if kind == TOOL and name is None:
        raise BadTrace(f"a span execute_tool in {place} of the trace file has no gen_ai.tool.name.")
    start_ns, end_ns = (_nanoseconds(span, key, place) for key in ("startTimeUnixNano", "endTimeUnixNano"))
    status = span.get("status")
    failed = isinstance(status, dict) and status.get("code") in _FAILED
    error = attributes.get("error.type") or ((status or {}).get("message") or "error" if failed else None)
    return _GenAISpan(
        start_ns=start_ns,
        trace_id=_id(span, "traceId"),
        span_id=_id(span, "spanId"),
        parent_id=_id(span, "parentSpanId"),
        step=AgentStep(
            kind=kind,
            name=name if kind == TOOL else None,
            arguments=parse_arguments(attributes.get("gen_ai.tool.call.arguments")) if kind == TOOL else None,
            output=parse_arguments(attributes.get("gen_ai.tool.call.result")) if kind == TOOL else None,
            ok=error is None,
            error=None if error is None else str(error),
            started_at=_time_text(start_ns),
            elapsed_ms=(end_ns - start_ns) / _NS_PER_MS if end_ns >= start_ns > 0 else None,
            model=_label(attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")),
            input_tokens=count_of(_whole_number(attributes.get("gen_ai.usage.input_tokens"))),
            output_tokens=count_of(_whole_number(attributes.get("gen_ai.usage.output_tokens"))),
        ),
    )


def _id(span: dict[str, Any], key: str) -> str:
    """Return an id in lower case; empty without one, or if it is zero."""
    text = str(span.get(key) or "").lower()
    return text if text.strip("0") else ""


def _attributes(span: dict[str, Any], place: str) -> dict[str, Any]:
    pairs = _objects(span, "attributes", place)
    return {str(pair.get("key")): _value(pair.get("value")) for pair in pairs}


def _value(value: object) -> Any:  # noqa: ANN401 - JSON
    """Return an attribute's value; None for one of an unknown kind."""
    if not isinstance(value, dict):
        return None
    for key, inner in value.items():
        if key == "intValue":
            return _whole_number(inner)
        if key in ("stringValue", "boolValue", "doubleValue"):
            return inner
        if key == "arrayValue" and isinstance(inner, dict):
            return [_value(item) for item in inner.get("values") or ()]
        if key == "kvlistValue" and isinstance(inner, dict):
            pairs = [pair for pair in inner.get("values") or () if isinstance(pair, dict)]
            return {str(pair.get("key")): _value(pair.get("value")) for pair in pairs}
    return None


def _nanoseconds(span: dict[str, Any], key: str, place: str) -> int:
    """Return a time of a span; 0 if it is absent. Errors: BadTrace."""
    if span.get(key) is None:
        return 0
    number = _whole_number(span[key])
    if number is None:
        raise BadTrace(f"{key} of a span in {place} of the trace file is not a number of nanoseconds.")
    return number


def _whole_number(value: object) -> int | None:
    """Return a 64-bit number, which may be a text."""
    if isinstance(value, str) and len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _label(value: object) -> str | None:
    return value[:LABEL_CHARS_MAX] if isinstance(value, str) and value else None


def _time_text(start_ns: int) -> str | None:
    try:
        time = datetime.fromtimestamp(start_ns // 1_000 / 1e6, UTC) if start_ns > 0 else None
    except (OverflowError, ValueError, OSError):
        return None
    return None if time is None else time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
