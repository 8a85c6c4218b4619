"""Evidence of CSTP: what another system observed, and the attestation that it belongs to a decision.

The payload of an observation is evidence beside the log, named by its digest, so that it can be erased.
"""

from typing import Annotated

import msgspec

from events.decision import Stakes
from events.limits import ITEMS_MAX
from events.payload import Count, Digest, Label, Payload, StreamId, StreamName, TimeText


class ObservationRecorded(Payload, frozen=True, kw_only=True):
    """Another system observed something, such as a merged pull request."""

    observation_id: StreamId | None = None
    """Names the stream `observation/ID`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    event_type: Label
    """What was observed, in the words of that system: `pr_merged`. Source: the client."""
    source: Label
    """The system that observed it. Source: the client's claim."""
    ts: TimeText | None = None
    """When it was observed, as the system wrote it. Source: the client."""
    payload_digest: Digest
    """SHA-256 of the payload, which is stored as evidence. Source: the ledger, computed."""
    payload_bytes: Count
    """Size of the payload, bytes. Source: the ledger, counted."""


class AttestationRecorded(Payload, frozen=True, kw_only=True):
    """A caller attests that observations are evidence of a decision."""

    attestation_id: StreamId | None = None
    """Names the stream `attestation/ID`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    decision_id: StreamName
    """The decision. Source: the client."""
    observations: Annotated[tuple[StreamName, ...], msgspec.Meta(min_length=1, max_length=ITEMS_MAX)]
    """The ids of the observations. Source: the client."""
    stakes: Stakes | None = None
    """How much depends on the decision. Source: the client's claim."""
    has_outcome: bool | None = None
    """Whether the outcome of the decision is known. Source: the client's claim."""
