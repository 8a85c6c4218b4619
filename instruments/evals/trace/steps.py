"""The steps of a recorded trace, whichever form they were recorded in."""

from typing import Any

import msgspec

from events.payload import COUNT_MAX

TRACE_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of a trace, as an answer may have."""

STEPS_MAX = 10_000
"""Steps of a trace."""

TOOL = "tool"
"""The kind of a step that calls a tool."""

MODEL = "model"
"""The kind of a step that asks a language model."""

JSON_TYPE = "application/json"
LINES_TYPE = "application/x-ndjson"


class AgentStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step. A field is None where the trace does not state it."""

    kind: str
    """`tool`, `model`, `thought`, or another word of the agent."""
    name: str | None = None
    """The tool; each step of the kind `tool` has it."""
    arguments: Any = None
    """The arguments of a tool: an object, or a text that is none."""
    output: Any = None
    ok: bool | None = None
    error: str | None = None
    started_at: str | None = None
    elapsed_ms: float | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class RecordedTrace(msgspec.Struct, frozen=True, kw_only=True):
    """The steps of one attempt in order, and the bytes to keep as evidence."""

    steps: tuple[AgentStep, ...] = ()
    data: bytes = b""
    """The trace as it is stored, without secrets; empty if nothing is to be stored."""
    media_type: str = JSON_TYPE
    trace_id: str | None = None
    """The OpenTelemetry trace, if all spans are of the same one."""
    span_id: str | None = None
    """Its span without a parent, if there is exactly one."""
    problem: str | None = None
    """Why the trace cannot be read, in words; it then has no steps."""

    @property
    def tool_calls(self) -> tuple[tuple[int, AgentStep], ...]:
        """The calls of tools, each with the number of its step, from 1."""
        return tuple((number, step) for number, step in enumerate(self.steps, 1) if step.kind == TOOL)

    def tokens(self, field: str) -> int | None:
        """Return the sum of `input_tokens` or `output_tokens` over the steps that state it; None if none does."""
        counts = [count for step in self.steps if (count := getattr(step, field)) is not None]
        return min(sum(counts), COUNT_MAX) if counts else None


class BadTrace(ValueError):
    """A trace that cannot be read; the text says what is wrong and where."""


def parse_arguments(value: object) -> object:
    """Return arguments that are JSON in a text as the value that the text holds; others as they are."""
    if not isinstance(value, str):
        return value
    try:
        parsed: object = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value
    return parsed if isinstance(parsed, dict | list) else value
