"""Any request of OTLP is taken or refused without an internal error, and again it adds nothing."""

from importlib import import_module
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.api.otlp.json_bodies import LABEL, NAME, VALUE, log_record, logs, span, traces
from tests.fuzz.in_process import InProcess
from tests.fuzz.mutated import bodies, noise

SCORE = {NAME: "Relevance", VALUE: 0.5, LABEL: "pass", "gen_ai.usage.input_tokens": 5, "tallystick.attempt": 2}
CALL = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5, "gen_ai.response.model": "small"}
LOGS: list[dict[str, Any]] = [
    logs(log_record(SCORE), log_record({**SCORE, "tallystick.scenario_id": "dns", "tallystick.run_id": "r"})),
    logs(
        log_record({NAME: "Relevance", "error.type": "timeout", "gen_ai.response.id": "a b", "tallystick.suite": "s"})
    ),
]
TRACES: list[dict[str, Any]] = [traces([span(1, CALL), span(2, {**CALL, "error.type": "timeout"})])]
JSON, PROTOBUF = b"application/json", b"application/x-protobuf"


def protobuf(message: type[Any], documents: list[dict[str, Any]]) -> st.SearchStrategy[bytes]:
    """Requests in protobuf, damaged in their bytes. Ids, which its JSON has in base64, are left out."""
    parse = import_module("google.protobuf.json_format").ParseDict
    texts = [msgspec.json.encode(one).decode() for one in documents]
    plain = [msgspec.json.decode(text.replace("traceId", "x").replace("spanId", "y")) for text in texts]
    whole = [parse(one, message(), ignore_unknown_fields=True).SerializeToString() for one in plain]
    return noise(st.sampled_from(whole)) | st.binary(max_size=64)


def check(in_process: InProcess, path: str, body: bytes, media: bytes) -> None:
    """Post a request twice."""
    answer = in_process.post(path, body, [(b"content-type", media)])
    assert answer.status in (200, 400, 413), (answer.status, answer.body)
    assert answer.status == 200 or answer.moved == 0
    again = in_process.post(path, body, [(b"content-type", media)])
    assert (again.status, again.moved) == (answer.status, 0)


@given(bodies(LOGS))
def test_log_records_in_json(in_process: InProcess, body: bytes) -> None:
    check(in_process, "/v1/logs", body, JSON)


@given(bodies(TRACES))
def test_spans_in_json(in_process: InProcess, body: bytes) -> None:
    check(in_process, "/v1/traces", body, JSON)


@given(protobuf(ExportLogsServiceRequest, LOGS))
def test_log_records_in_protobuf(in_process: InProcess, body: bytes) -> None:
    check(in_process, "/v1/logs", body, PROTOBUF)


@given(protobuf(ExportTraceServiceRequest, TRACES))
def test_spans_in_protobuf(in_process: InProcess, body: bytes) -> None:
    check(in_process, "/v1/traces", body, PROTOBUF)
