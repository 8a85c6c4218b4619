"""Calls in spans: a span of the GenAI conventions as the call of an agent to a model or a tool."""

from datetime import datetime
from typing import NamedTuple

from api.service.otlp import attribute_names as names
from api.service.otlp.received_scores import TIME_MAX_NS, RejectedRecord, check_payload
from api.service.otlp.telemetry_records import TelemetrySpan, count_of, number_of, text_of
from events.call import CallRecorded
from events.payload import COUNT_MAX
from ledger.clock import moment_of


class ReceivedCall(NamedTuple):
    """A call, its event's id, and when it ended."""

    call: CallRecorded
    event_id: str
    time: datetime


def read_call(span: TelemetrySpan) -> ReceivedCall:
    """Return the call that a span describes. Errors: RejectedRecord."""
    attributes, resource = span.attributes, span.resource
    operation = text_of(attributes, names.OPERATION)
    if operation is None:
        raise RejectedRecord(f"not a GenAI span: no {names.OPERATION}")
    if not span.trace_id or not span.span_id:
        raise RejectedRecord("no trace id or span id")
    if not 0 < span.start_ns <= span.end_ns < TIME_MAX_NS:
        raise RejectedRecord("no start, or no end after it")
    elapsed_ns = span.end_ns - span.start_ns
    call = CallRecorded(
        call_id=f"{span.trace_id}-{span.span_id}",
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id or None,
        operation=operation,
        provider=text_of(attributes, *names.PROVIDER),
        agent=text_of(attributes, names.AGENT) or text_of(resource, names.SERVICE),
        agent_version=text_of(attributes, names.AGENT_VERSION) or text_of(resource, names.SERVICE_VERSION),
        model=text_of(attributes, names.REQUEST_MODEL),
        reported_model=text_of(attributes, names.RESPONSE_MODEL),
        tool=text_of(attributes, names.TOOL),
        response_id=text_of(attributes, names.RESPONSE_ID),
        conversation_id=text_of(attributes, names.CONVERSATION),
        input_tokens=count_of(attributes, *names.INPUT_TOKENS),
        output_tokens=count_of(attributes, *names.OUTPUT_TOKENS),
        cost_usd=number_of(attributes, names.COST_USD),
        elapsed_ns=elapsed_ns if elapsed_ns <= COUNT_MAX else None,
        error=text_of(attributes, names.ERROR_TYPE) or (names.OTHER_ERROR if span.failed else None),
    )
    return ReceivedCall(check_payload(call), f"call:{call.call_id}", moment_of(span.end_ns // 1000))
