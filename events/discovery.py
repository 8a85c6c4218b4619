"""The discovery stream: one run of the discovery of the models behind a router, from its start to its end.

Field names follow the wire format of run reports. An imported report's times are kept as text, beside the event's own
`time`. Texts over the line limit are in the evidence store, and the event has their digest.
"""

from typing import Annotated, Literal

import msgspec

from events.limits import ITEMS_MAX
from events.model import ModelIdentity
from events.payload import Count, Digest, Label, Meta, Payload, PayloadPart, StreamId, Text, TimeText

AttemptOutcome = Literal["accepted", "repeat", "wrapper", "refused", "empty", "unparsable", "timeout", "failed"]
Ending = Literal[
    "repeat", "wrapper", "refused", "empty", "unparsable", "timeout", "failed",
    "max_iterations", "max_attempts", "max_time", "requested",
]  # fmt: skip


class BatteryProbe(PayloadPart, frozen=True, kw_only=True):
    """One probe of a battery."""

    probe_id: Label
    """The probe. Source: the runner."""
    probe_version: Label | None = None
    """Its version. Source: the probe."""


class DiscoveryStartedV1(Payload, frozen=True, kw_only=True):
    """The start of a run: its probe, its router, and its limits. Version 2 can also state a battery of probes."""

    run_id: StreamId | None = None
    """Names the stream `discovery/RUN`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    probe_id: Label | None = None
    """The probe in each prompt. Source: the runner."""
    probe_version: Label | None = None
    """Its version. Source: the probe."""
    prompt_version: Label | None = None
    """Version of the prompt text that asks the model for its identity and excludes models. Source: the prompts."""
    max_iterations: Count | None = None
    """Number of different models after which the run ends. Source: the runner."""
    max_attempts: Count | None = None
    """Number of attempts, of any outcome, after which the run ends. Source: the runner."""
    terminate_on_repeat: bool | None = None
    """Whether the run ends when a model repeats. Source: the runner."""
    keep_going: bool | None = None
    """Whether the run continues, up to its limits, after answers that would end it. Source: the runner."""
    sensitive: bool | None = None
    """Whether answers are stored only as evidence, so that they can be erased. Source: the runner."""
    router: Label | None = None
    """The router, without secrets. Source: the runner."""
    requested_model: Label | None = None
    """Model name in the request to the router, such as `auto`. Source: the runner."""
    start_time: TimeText | None = None
    """Start time, as an imported report writes it. Source: the report."""


class DiscoveryStarted(DiscoveryStartedV1, frozen=True, kw_only=True):
    """The start of a run: its probes, its router, and its limits."""

    battery: Annotated[tuple[BatteryProbe, ...], msgspec.Meta(max_length=ITEMS_MAX)] | None = None
    """All probes in each prompt, where there are several; `probe_id` is the first. Source: the runner."""


class DiscoveryAttempted(Payload, frozen=True, kw_only=True):
    """One prompt and its result, of any outcome."""

    run_id: StreamId
    """The run it belongs to. Source: the run."""
    attempt: Count
    """Its number within the run, 1-based. Source: the run."""
    outcome: AttemptOutcome
    """`accepted`: a model that is new in this run; `repeat`: one seen before; `wrapper`: a host's own name; `refused`:
    the answer began with EXCLUDED; `empty`; `unparsable`: without identity or answer; `timeout` and `failed`: no
    answer. Source: the run."""
    iteration: Count | None = None
    """Number of an accepted answer among the accepted ones, 0-based. Source: the run."""
    claimed: ModelIdentity | None = None
    """The identity that the answer claims. Source: the answer."""
    reported_model: Label | None = None
    """The model that the endpoint reports. Source: the endpoint."""
    exclusion_prompt: str | None = None
    """The part of the prompt that excludes models; empty where none was excluded. Source: the run."""
    response: str | None = None
    """The whole text of the answer. Source: the router."""
    response_digest: Digest | None = None
    """Digest of the whole answer; where `response` is absent, the answer is this evidence. Source: measured."""
    output: str | None = None
    """The part of the answer that is scored; absent where that is the whole answer. Source: the parser."""
    output_digest: Digest | None = None
    """Digest of the part that is scored. Source: measured."""
    elapsed_ns: Count | None = None
    """Time from prompt to answer, nanoseconds. Source: measured."""
    tokens_used: Count | None = None
    """Tokens of prompt and answer. Source: the endpoint."""
    detail: str | None = None
    """What was wrong, in words. Source: the parser or the router."""
    timestamp: TimeText | None = None
    """Time of the attempt, as an imported report writes it. Source: the report."""


class DiscoverySignalled(Payload, frozen=True, kw_only=True):
    """A signal to the people who watch a run."""

    run_id: StreamId
    """The run it belongs to. Source: the client."""
    event: Label
    """What happened: `ORANGE` for an attempt that a person should look at. Source: the client, or the run."""
    agent: Label | None = None
    """The agent that sent the signal. Source: the client."""
    case_id: Label | None = None
    """The case it is about. Source: the client."""
    step: Label | None = None
    """The step it is about. Source: the client."""
    meta: Meta | None = None
    """Anything else, text by name. Source: the client."""
    ts: TimeText | None = None
    """Time of the signal, as the client wrote it. Source: the client."""


class DiscoverySignalledLate(DiscoverySignalled, frozen=True, kw_only=True):
    """A signal about a run that had ended, whose own stream is closed, or without a run."""


class DiscoveryFinished(Payload, frozen=True, kw_only=True):
    """The end of a run. Its results remain."""

    run_id: StreamId
    """The run that ended. Source: the run."""
    reason: Text
    """Why the run ended, in words: `termination_reason` of the report. Source: the run."""
    ending: Ending | None = None
    """Why the run ended, as a code; absent where a report gives only words. Source: the run."""
    end_time: TimeText | None = None
    """End time, as an imported report writes it. Source: the report."""
    unique_models: Annotated[tuple[ModelIdentity, ...], msgspec.Meta(max_length=ITEMS_MAX)] | None = None
    """The models found, where a report lists others than its results show. Source: the report."""
