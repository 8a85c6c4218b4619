"""The manifest of an export. It is not signed; the checkpoint in the export proves the events."""

from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import structs

FORMAT = "tallystick-export/1"

MANIFEST = "manifest.json"
CHECKPOINT = "checkpoint"
EARLIER = "checkpoint.earlier"
WITNESSED = "checkpoint.witnessed"
LEAVES = "leaves"
PROOFS = "proofs.ndjson"
EVIDENCE = "evidence"
README = "README.md"

MANIFEST_BYTES_MAX = 16 << 20
"""Far more than a manifest with all types and very many absent pieces of evidence needs."""

MANIFEST_ITEMS_MAX = 200_000
"""Items in all lists and objects of a manifest together: each takes many times its bytes once it is decoded."""

Format = Literal["ndjson", "csv", "parquet"]
FORMATS: tuple[Format, ...] = ("ndjson", "csv", "parquet")


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """The filters of the export. An export without filters has every event."""

    since: str | None = None
    """Event time at or after this, as the ledger writes times."""
    until: str | None = None
    """Event time at or before this."""
    types: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    agent: str | None = None


class FileSum(msgspec.Struct, frozen=True):
    """A file of the export: its size, and its SHA-256 in hex."""

    bytes: int
    sha256: str


class InclusionLine(msgspec.Struct, forbid_unknown_fields=True):
    """A line of `proofs.ndjson`: the proof that the event at a position is under the checkpoint."""

    position: int
    hashes: list[bytes]


class ConsistencyProof(msgspec.Struct, frozen=True):
    """The size and root of an earlier checkpoint, and the proof that the checkpoint continues it (RFC 6962, 2.1.2)."""

    size: int
    root: bytes
    hashes: tuple[bytes, ...]


class EvidenceSum(msgspec.Struct, frozen=True):
    """The evidence in the export: files, bytes, and the digests of evidence that could not be read."""

    files: int
    bytes: int
    absent: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest, written last. Hashes of type `bytes` are written in base64."""

    format: str
    created: str
    origin: str
    """The name of the log, from its checkpoint."""
    verifier: str
    """The key that signed the checkpoint, as the exporter states it. Compare it with the key from another source."""
    size: int
    """Events under the checkpoint."""
    root: bytes
    filters: Filters
    complete: bool
    """Whether no filter was given: positions 1..size, each once."""
    events: int
    """Events in the export."""
    first: int | None
    last: int | None
    types: dict[str, int]
    """Events by type."""
    consistency: ConsistencyProof | None
    witnessed: ConsistencyProof | msgspec.UnsetType = msgspec.UNSET
    """In a filtered export with a cosigned checkpoint: the proof that the checkpoint continues it."""
    evidence: EvidenceSum | None
    files: dict[str, FileSum]
    """Every file except the manifest, and the evidence files, whose names are their digests."""
    digest: str = ""
    """SHA-256 of the manifest's bytes with an empty digest. It proves nothing, but shows accidental changes."""


_decode = msgspec.json.Decoder(Manifest).decode


def decode_manifest(raw: bytes) -> Manifest:
    """Read a manifest. Errors: those of DECODE_ERRORS, also for one over the limits."""
    if len(raw) > MANIFEST_BYTES_MAX:
        raise msgspec.ValidationError(f"it has more than {MANIFEST_BYTES_MAX:,} bytes")
    if raw.count(b",") > MANIFEST_ITEMS_MAX:
        raise msgspec.ValidationError(f"it lists more than {MANIFEST_ITEMS_MAX:,} items")
    return _decode(raw)


def encode_manifest(manifest: Manifest) -> bytes:
    """Encode a manifest, indented for people, with its digest."""
    blank = _indented(structs.replace(manifest, digest=""))
    return _indented(structs.replace(manifest, digest=sha256(blank).hexdigest()))


def _indented(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def events_name(format_: Format, *, gzipped: bool) -> str:
    """Return the name of the events file."""
    return f"events.{format_}.gz" if gzipped else f"events.{format_}"
