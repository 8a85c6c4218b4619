"""Scores and spans that the exporters of the OpenTelemetry SDK post, each batch when it is flushed."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from opentelemetry._logs import LogRecord
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, set_span_in_context

EVENT = "gen_ai.evaluation.result"
_HOUR_MS = 3_600_000.0


class Telemetry(NamedTuple):
    """A tracer and a logger whose batches go to a server, none before `flush`."""

    tracers: TracerProvider
    loggers: LoggerProvider

    def flush(self) -> None:
        """Send what was made."""
        assert self.tracers.force_flush()
        assert self.loggers.force_flush()

    def call(self, **attributes: str | int) -> Span:
        """A span of a call that has ended."""
        named = {f"gen_ai.{name.replace('__', '.')}": value for name, value in attributes.items()}
        span = self.tracers.get_tracer("test").start_span("chat", attributes=named)
        span.end()
        return span

    def score(self, span: Span | None, time_ns: int, attributes: Mapping[str, Any], event: str = EVENT) -> None:
        """A score of a span, as its event."""
        context = Context() if span is None else set_span_in_context(span, Context())
        record = LogRecord(timestamp=time_ns, event_name=event, attributes=dict(attributes), context=context)
        self.loggers.get_logger("test").emit(record)


@contextmanager
def exporting(
    url: str, resource: Mapping[str, str], *, gzip: bool = False, headers: Mapping[str, str] | None = None
) -> Iterator[Telemetry]:
    """Make providers whose exporters post to a server in protobuf."""
    compression = Compression.Gzip if gzip else Compression.NoCompression
    given = dict(headers or {})
    tracers = TracerProvider(resource=Resource(resource))
    spans = OTLPSpanExporter(f"{url}/v1/traces", headers=given, compression=compression)
    tracers.add_span_processor(BatchSpanProcessor(spans, schedule_delay_millis=_HOUR_MS))
    loggers = LoggerProvider(resource=Resource(resource))
    logs = OTLPLogExporter(f"{url}/v1/logs", headers=given, compression=compression)
    loggers.add_log_record_processor(BatchLogRecordProcessor(logs, schedule_delay_millis=_HOUR_MS))
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    try:
        yield Telemetry(tracers, loggers)
    finally:
        tracers.shutdown()
        loggers.shutdown()
