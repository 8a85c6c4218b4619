"""What other systems observed, what was read of them as a whole, and the attestation that it belongs to a decision.

The payload of an observation is evidence beside the log, named by its digest, so that it can be erased. What was
observed of a subject, such as a change in git, has facts instead. That something did not happen follows from a scan.
"""

from typing import Annotated

import msgspec

from events.decision import Stakes
from events.limits import ITEMS_MAX
from events.payload import Count, Digest, Facts, Label, Payload, StreamId, StreamName, TimeText


class ObservationRecordedV1(Payload, frozen=True, kw_only=True):
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


class ObservationRecorded(ObservationRecordedV1, frozen=True, kw_only=True):
    """Another system observed something, such as a merged pull request, or a change that was taken back."""

    payload_digest: Digest | None = None  # type: ignore[assignment]
    """SHA-256 of the payload, which is stored as evidence. Source: the ledger, computed."""
    payload_bytes: Count | None = None  # type: ignore[assignment]
    """Size of the payload, bytes. Source: the ledger, counted."""
    subject: Label | None = None
    """What was observed: `git:REPOSITORY:COMMIT`. Source: the observer."""
    occurred: TimeText | None = None
    """When it happened, RFC 3339 UTC. Source: the observer."""
    facts: Facts | None = None
    """What was observed of the subject, by name. Source: the observer."""

    def fits_older_version(self) -> bool:
        """Return whether the older version can state it: it always has a payload."""
        return self.payload_digest is not None and self.payload_bytes is not None


class ObservationScanned(Payload, frozen=True, kw_only=True):
    """A source was read as a whole up to a time: what was not observed until then did not happen."""

    scan_id: StreamId
    """Names the stream `scan/ID`. Source: the observer."""
    source: Label
    """The system that was read: `git`. Source: the observer."""
    scope: Label
    """What of it: the id of a repository's main line. Source: the observer."""
    through: TimeText
    """The time up to which it is known, RFC 3339 UTC. Source: the observer."""
    head: Label
    """The newest thing that was read, such as a commit. Source: the observer."""
    reader: Count
    """The version of what read it. Source: the observer."""
    subjects: Count
    """How many subjects it has now. Source: the observer, counted."""
    gone: Count = 0
    """How many subjects of earlier scans it no longer has: history was rewritten. Source: the observer, counted."""


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
