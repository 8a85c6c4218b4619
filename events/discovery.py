"""The discovery stream: one run of asking a router who answers, from its start to its end.

Field names follow the wire format of run reports. Times of an imported report stand as its text had them, beside the
event's own `time`; texts over the line limit stand in the evidence store, and their digest here.
"""

from typing import Annotated, Literal

import msgspec

from events.limits import ITEMS_MAX
from events.model import ModelIdentity
from events.payload import Count, Digest, Label, Payload, StreamId, Text

TimeText = Annotated[str, msgspec.Meta(max_length=64)]
Meta = Annotated[dict[str, str], msgspec.Meta(max_length=ITEMS_MAX)]
AttemptOutcome = Literal["accepted", "repeat", "wrapper", "refused", "empty", "unparsable", "timeout", "failed"]
Ending = Literal[
    "repeat", "wrapper", "refused", "empty", "unparsable", "timeout", "failed",
    "max_iterations", "max_attempts", "max_time", "requested",
]  # fmt: skip


class DiscoveryStarted(Payload, frozen=True, kw_only=True):
    """A run begins: what it asks, of whom, and when it will stop."""

    run_id: StreamId | None = None
    """Names the stream `discovery/RUN`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    probe_id: Label | None = None
    """The probe each prompt carries. Source: who runs it."""
    probe_version: Label | None = None
    """Its version. Source: the probe."""
    prompt_version: Label | None = None
    """Version of the words that ask who answers and say who must not. Source: the prompts."""
    max_iterations: Count | None = None
    """Different models after which the run ends. Source: who runs it."""
    max_attempts: Count | None = None
    """Attempts of any outcome after which the run ends. Source: who runs it."""
    terminate_on_repeat: bool | None = None
    """Whether a model that comes back ends the run. Source: who runs it."""
    keep_going: bool | None = None
    """Whether the run goes on after answers that would end it, up to its limits. Source: who runs it."""
    sensitive: bool | None = None
    """Whether what is answered is kept as evidence alone, so that it can be erased. Source: who runs it."""
    router: Label | None = None
    """Who is asked, without any secret. Source: who runs it."""
    requested_model: Label | None = None
    """The model name the router is asked for, `auto` for one. Source: who runs it."""
    start_time: TimeText | None = None
    """When it began, as an imported report writes it. Source: the report."""


class DiscoveryAttempted(Payload, frozen=True, kw_only=True):
    """One prompt and what came back, whatever that was."""

    run_id: StreamId
    """The run it belongs to. Source: the run."""
    attempt: Count
    """Its number within the run, 1-based. Source: the run."""
    outcome: AttemptOutcome
    """`accepted` a model not seen before in this run, `repeat` one seen; `wrapper` a host's own name; `refused` began
    with EXCLUDED; `empty`; `unparsable` without identity or answer; `timeout`, `failed` no answer. Source: the run."""
    iteration: Count | None = None
    """Of an accepted answer, its number among these, 0-based. Source: the run."""
    claimed: ModelIdentity | None = None
    """Who the answer says it is from. Source: the answer."""
    reported_model: Label | None = None
    """Which model the endpoint says it used. Source: the endpoint."""
    exclusion_prompt: str | None = None
    """The part of the prompt that says whom it must not be; empty where nobody was excluded. Source: the run."""
    response: str | None = None
    """The whole answer. Source: the router."""
    response_digest: Digest | None = None
    """Of the whole answer; where that does not stand here, it is this evidence. Source: measured."""
    output: str | None = None
    """The part of the answer that is scored; absent where it is the whole. Source: the parser."""
    output_digest: Digest | None = None
    """Of the part that is scored. Source: measured."""
    elapsed_ns: Count | None = None
    """From prompt to answer, nanoseconds. Source: measured."""
    tokens_used: Count | None = None
    """Tokens of prompt and answer. Source: the endpoint."""
    detail: str | None = None
    """What was wrong, in words. Source: the parser or the router."""
    timestamp: TimeText | None = None
    """When, as an imported report writes it. Source: the report."""


class DiscoverySignalled(Payload, frozen=True, kw_only=True):
    """Something the people watching should know of a run."""

    run_id: StreamId
    """The run it belongs to. Source: the client."""
    event: Label
    """What happened: `ORANGE` for an answer that ended a run. Source: the client, or the run."""
    agent: Label | None = None
    """Who says so. Source: the client."""
    case_id: Label | None = None
    """The case it is about. Source: the client."""
    step: Label | None = None
    """The step it is about. Source: the client."""
    meta: Meta | None = None
    """Anything else, text by name. Source: the client."""
    ts: TimeText | None = None
    """When, as the client wrote it. Source: the client."""


class DiscoveryFinished(Payload, frozen=True, kw_only=True):
    """A run ended. What it found stays."""

    run_id: StreamId
    """The run that ended. Source: the run."""
    reason: Text
    """Why, in words: `termination_reason` of the report. Source: the run."""
    ending: Ending | None = None
    """Why, in one word; absent where a report gives only its words. Source: the run."""
    end_time: TimeText | None = None
    """When, as an imported report writes it. Source: the report."""
    unique_models: Annotated[tuple[ModelIdentity, ...], msgspec.Meta(max_length=ITEMS_MAX)] | None = None
    """The models found, where a report states others than its results. Source: the report."""
