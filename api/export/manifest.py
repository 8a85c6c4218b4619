"""manifest.json: what an export says of itself. Nobody signs it; what proves an export is the checkpoint in it."""

from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import structs

FORMAT = "tallystick-export/1"

MANIFEST = "manifest.json"
CHECKPOINT = "checkpoint"
EARLIER = "checkpoint.earlier"
LEAVES = "leaves"
PROOFS = "proofs.ndjson"
EVIDENCE = "evidence"
README = "README.md"

Format = Literal["ndjson", "csv", "parquet"]
FORMATS: tuple[Format, ...] = ("ndjson", "csv", "parquet")


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which events were asked for. All empty: every event."""

    since: str | None = None
    """Happened then or later, as the ledger writes times."""
    until: str | None = None
    """Happened then or earlier."""
    types: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    agent: str | None = None


class FileSum(msgspec.Struct, frozen=True):
    """A file of the export as it stands: its size, and its SHA-256 in hex."""

    bytes: int
    sha256: str


class ConsistencyProof(msgspec.Struct, frozen=True):
    """That the checkpoint continues an earlier one (RFC 6962, 2.1.2): its size and root, and the proof."""

    size: int
    root: bytes
    hashes: tuple[bytes, ...]


class EvidenceSum(msgspec.Struct, frozen=True):
    """The evidence in the export: how many files and bytes; and what the log keeps, but nobody could read."""

    files: int
    bytes: int
    absent: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest, written last. Hashes that are `bytes` stand in base64."""

    format: str
    created: str
    origin: str
    """The name of the log, as its checkpoint has it."""
    verifier: str
    """The key that signed the checkpoint, as the exporter names it: compare it with one from elsewhere."""
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
    """How many of each type."""
    consistency: ConsistencyProof | None
    evidence: EvidenceSum | None
    files: dict[str, FileSum]
    """Every file but this one and the evidence, whose names are their digests."""
    digest: str = ""
    """SHA-256 of this file's bytes as they are with nothing here: no proof, but no byte of it changes unseen."""


decode = msgspec.json.Decoder(Manifest).decode
"""Read a manifest. Errors: msgspec.DecodeError."""


def encode(manifest: Manifest) -> bytes:
    """The bytes of a manifest, indented for people, with its digest filled in."""
    blank = _indented(structs.replace(manifest, digest=""))
    return _indented(structs.replace(manifest, digest=sha256(blank).hexdigest()))


def _indented(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def events_name(format_: Format, *, gzipped: bool) -> str:
    """The name of the file that holds the events."""
    return f"events.{format_}.gz" if gzipped else f"events.{format_}"
