"""The stream of calls: one call of an agent to a model or a tool, as an OpenTelemetry span tells it.

The fields are attributes of the GenAI semantic conventions of OpenTelemetry, named in each docstring.
"""

from events.evaluation import CostUSD
from events.payload import Count, Label, Payload, SpanId, StreamId, TraceId


class CallRecorded(Payload, frozen=True, kw_only=True):
    """One call of an agent to a model or a tool."""

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
