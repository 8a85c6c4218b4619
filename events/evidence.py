"""The evidence stream: material stored beside the log, and its erasure.

The bytes are never in an event. They are in the evidence store, named by their SHA-256 digest. Erasing them changes no
position, digest or figure of the log.
"""

from events.payload import Count, Digest, Label, Payload, Text


class EvidenceStored(Payload, frozen=True, kw_only=True):
    """Evidence was stored; it is kept until it is erased."""

    digest: Digest
    """SHA-256 of the bytes; names the stream `evidence/DIGEST`. Source: the ledger, computed."""
    size_bytes: Count
    """Size of the uncompressed evidence, bytes. Source: the ledger, counted."""
    media_type: Label | None = None
    """Media type, such as `text/plain`. Source: the client that stored it first."""
    note: Text | None = None
    """Description in words. Source: the client that stored it first."""


class EvidenceErased(Payload, frozen=True, kw_only=True):
    """Evidence was erased and cannot be stored again: this is the last event of the stream."""

    digest: Digest
    """SHA-256 of the erased bytes. Source: the client that erased them."""
    reason: Text | None = None
    """Why they were erased, in words. Source: the client that erased them."""
