"""The evidence stream: material kept beside the log, and its erasure.

The bytes are never in an event: they stand in the evidence store, named by their SHA-256 digest, and can be erased
without a position, a digest or a figure of the log changing.
"""

from events.payload import Count, Digest, Label, Payload, Text


class EvidenceStored(Payload, frozen=True, kw_only=True):
    """Bytes were kept, for good or until they are erased."""

    digest: Digest
    """SHA-256 of the bytes; names the stream `evidence/DIGEST`. Source: the ledger, computed."""
    size_bytes: Count
    """How many bytes they are, uncompressed. Source: the ledger, counted."""
    media_type: Label | None = None
    """What kind of material it is, as in `text/plain`. Source: whoever first put it."""
    note: Text | None = None
    """What it is, in words. Source: whoever first put it."""


class EvidenceErased(Payload, frozen=True, kw_only=True):
    """The bytes were removed for good, and cannot come back: this is the last event of the stream."""

    digest: Digest
    """SHA-256 of the bytes that were. Source: whoever erased them."""
    reason: Text | None = None
    """Why, in words. Source: whoever erased them."""
