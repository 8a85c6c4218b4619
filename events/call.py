"""The stream of calls: one call of an agent to a model or a tool, as a span or the file of a session tells it.

The fields are attributes of the GenAI semantic conventions of OpenTelemetry, named in each docstring. Files of sessions
have neither traces nor costs, but how a call ended.
"""

from typing import Literal

from events.evaluation import CostUSD
from events.payload import Count, Label, Payload, SpanId, StreamId, TraceId

CallVerdict = Literal["ok", "failed", "denied", "interrupted"]
"""How a call of a tool ended. `ok` does not say that a person allowed it: no file has that."""

DeniedBy = Literal["person", "rule", "hook", "program", "model", "unknown"]
"""Who denied a call. `program`: without a person, as where nobody was there to ask."""

VerdictBasis = Literal["recorded", "inferred"]
"""Whether the file says who denied a call, or it follows from a text."""


ModelSwitch = Literal["announced", "explained", "unexplained"]
"""What a file says about an answer by another model than the one before: `announced` by a person or the program,
`explained` by what was done (a plan was approved, the program was replaced by another version), or nothing."""


class CallRecordedV1(Payload, frozen=True, kw_only=True):
    """One call of an agent to a model or a tool, as a span tells it."""

    call_id: StreamId
    """Names the stream `call/ID`: trace and span, joined by `-`. Source: the exporter."""
    trace_id: TraceId
    """The trace. Source: the exporter."""
    span_id: SpanId
    """The span. Source: the exporter."""
    parent_span_id: SpanId | None = None
    """The span that contains it. Source: the exporter."""
    operation: Label
    """Kind of call, such as `chat` or `execute_tool`. Source: `gen_ai.operation.name`."""
    provider: Label | None = None
    """The provider of the model. Source: `gen_ai.provider.name`."""
    agent: Label | None = None
    """The agent that called. Source: `gen_ai.agent.name`, or the resource's `service.name`."""
    agent_version: Label | None = None
    """Its version. Source: `gen_ai.agent.version`, or the resource's `service.version`."""
    model: Label | None = None
    """The model that was requested. Source: `gen_ai.request.model`."""
    reported_model: Label | None = None
    """The model that answered. Source: `gen_ai.response.model`."""
    tool: Label | None = None
    """The tool that was called. Source: `gen_ai.tool.name`."""
    response_id: Label | None = None
    """The id of the response. Source: `gen_ai.response.id`."""
    conversation_id: Label | None = None
    """The conversation. Source: `gen_ai.conversation.id`."""
    input_tokens: Count | None = None
    """Tokens of the prompt. Source: `gen_ai.usage.input_tokens`."""
    output_tokens: Count | None = None
    """Tokens of the reply. Source: `gen_ai.usage.output_tokens`."""
    cost_usd: CostUSD | None = None
    """Cost of the call, US dollars. Source: the exporter, as `tallystick.cost_usd`."""
    elapsed_ns: Count | None = None
    """Duration of the span, nanoseconds. Source: the exporter."""
    error: Label | None = None
    """Kind of failure; absent where the call succeeded. Source: `error.type`."""


class CallRecorded(CallRecordedV1, frozen=True, kw_only=True):
    """One call of an agent to a model or a tool, as a span or the file of a session tells it.

    A file of a session has no trace: `call_id` is then the short name of the program and the provider's id,
    `conversation_id` the id of the session's stream, and `input_tokens` has those from the cache, too.
    """

    trace_id: TraceId | None = None  # type: ignore[assignment]
    """The trace. Source: the exporter."""
    span_id: SpanId | None = None  # type: ignore[assignment]
    """The span. Source: the exporter."""
    cache_read_tokens: Count | None = None
    """Tokens of the prompt that were read from the cache. Source: the file of a session."""
    cache_write_tokens: Count | None = None
    """Tokens of the prompt that were written to the cache. Source: the file of a session."""
    switch: ModelSwitch | None = None
    """Whether another model answered than before, and why. Source: the file of a session."""
    verdict: CallVerdict | None = None
    """How a call of a tool ended; absent where that is not known. Source: the file of a session."""
    denied_by: DeniedBy | None = None
    """Who denied or interrupted it. Source: the file of a session."""
    basis: VerdictBasis | None = None
    """Whether that is recorded or inferred. Source: the importer."""

    def fits_older_version(self) -> bool:
        """Return whether the older version can state it: it always has a trace."""
        return self.trace_id is not None and self.span_id is not None
