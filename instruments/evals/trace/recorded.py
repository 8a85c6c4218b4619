"""Read the trace of an attempt: what the agent wrote into its answer or its trace file, with secrets removed.

An answer's `trace` is used if there is one; otherwise the file, if the agent wrote any.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

import msgspec

from instruments.evals.trace.json_steps import parse_steps
from instruments.evals.trace.otlp_spans import decode_requests, parse_requests
from instruments.evals.trace.steps import JSON_TYPE, LINES_TYPE, TRACE_BYTES_MAX, BadTrace, RecordedTrace
from instruments.routers.redaction import Redactor

TRACE_FILE = "TALLYSTICK_TRACE_FILE"
"""The environment variable with the path of the file for an agent's spans."""

_json = msgspec.json.Encoder().encode


class TraceFile(NamedTuple):
    """A path for the spans of one attempt."""

    path: Path

    @classmethod
    @contextmanager
    def make(cls) -> Iterator[Self]:
        """Make a path in a folder of its own, which is removed at the end. Errors: OSError."""
        with TemporaryDirectory(prefix="tallystick-trace-", ignore_cleanup_errors=True) as folder:
            yield cls(Path(folder) / "spans.jsonl")

    def read(self) -> bytes:
        """Return what the agent wrote; nothing if there is no file. Errors: BadTrace."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise BadTrace(f"the trace file cannot be read: {error.strerror}.") from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise BadTrace("the trace file is not a regular file.")
            data = b""
            while len(data) <= TRACE_BYTES_MAX and (part := os.read(descriptor, TRACE_BYTES_MAX + 1 - len(data))):
                data += part
        finally:
            os.close(descriptor)
        if len(data) > TRACE_BYTES_MAX:
            raise BadTrace(f"the trace file has more than {TRACE_BYTES_MAX:,} bytes.")
        return data


def read_trace(answer: dict[str, Any], file: TraceFile | None, secrets: Redactor) -> RecordedTrace | None:
    """Return the trace of an attempt; None if the agent recorded none. One that cannot be read has a `problem`."""
    try:
        inner = answer.get("analysis")
        for source in (answer, inner if isinstance(inner, dict) else {}):
            if source.get("trace") is not None:
                return _of_answer(source["trace"], secrets)
        data = b"" if file is None else file.read()
        return _of_file(data, secrets) if data.strip() else None
    except BadTrace as error:
        return RecordedTrace(problem=secrets.hide(str(error)))


def decode_trace(data: bytes) -> RecordedTrace:
    """Return the steps of a stored trace, of either form. Errors: BadTrace."""
    values = decode_requests(data)
    if len(values) == 1 and isinstance(values[0], list):
        return RecordedTrace(steps=parse_steps(values[0]), data=data)
    spans = parse_requests(values)
    return RecordedTrace(steps=spans.steps, data=data, trace_id=spans.trace_id, span_id=spans.span_id)


def _of_answer(value: object, secrets: Redactor) -> RecordedTrace:
    steps = parse_steps(value)
    return RecordedTrace(steps=steps, data=_json(secrets.hide_within(value)), media_type=JSON_TYPE)


def _of_file(data: bytes, secrets: Redactor) -> RecordedTrace:
    values = decode_requests(data)
    spans = parse_requests(values)
    hidden, text = [secrets.hide_within(value) for value in values], data.decode("utf-8", "replace")
    stored = data
    if hidden != values or secrets.hide(text) != text:  # a repeated key is in the text alone
        stored = b"".join(_json(value) + b"\n" for value in hidden)
    return RecordedTrace(
        steps=spans.steps, data=stored, media_type=LINES_TYPE, trace_id=spans.trace_id, span_id=spans.span_id
    )
