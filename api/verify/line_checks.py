"""Compare the lines of an export with its checkpoint: all lines by their root, or each selected line by its proof."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from api.export.manifest import LEAVES, PROOFS, Filters, InclusionLine, Manifest
from api.verify.event_lines import EventFile, lines_of
from events.envelope import source_of
from ledger.transparency.merkle import HASH_BYTES, leaf_hashes, verify_inclusion
from ledger.transparency.signed_note import Checkpoint
from ledger.verify import (
    Check,
    Findings,
    LineHeader,
    LineHeaders,
    OrderCheck,
    SignatureCheck,
    TreeRebuild,
)

PROOF_BYTES_MAX = 8_192
"""The most bytes of a line of the proofs' file; the longest line has 63 hashes."""


class CompleteCheck:
    """Checks every line of a log."""

    side_files: tuple[str, ...] = (LEAVES,)
    """The names of the files that are read together with the lines."""

    def __init__(self, findings: Findings, notes: SignatureCheck, form: type[LineHeader]) -> None:
        self.order: OrderCheck[Any] = OrderCheck(findings, form, complete=True, streams=True)
        self._leaves = findings.check(LEAVES, "hashes")
        self._positions = findings.check("positions", "events")
        self._notes = notes
        self._rebuild = TreeRebuild(notes.sizes)

    def check_page(self, page: list[bytes], headers: list[Any], files: Mapping[str, EventFile | None]) -> None:
        """Check the next lines, with their decoded headers and the next bytes of the side files."""
        leaves = leaf_hashes(page)
        self._rebuild.grow(leaves, read_claimed_hashes(files[LEAVES], len(page), self._leaves))

    def finish(self, files: Mapping[str, EventFile | None]) -> None:
        """Compare the lines with the signed root, their number, and the file `leaves`."""
        check_file_ended(files[LEAVES], LEAVES, self._leaves)
        self._notes.compare_roots(self._rebuild, LEAVES)
        size = self._notes.sizes[0] if self._notes.sizes else self.order.events
        if self.order.events > size:
            extra = f"{self.order.events - size:,} more follow the {size:,} of the checkpoint."
            self._positions.fault(extra, size + 1)
        first = self._rebuild.first
        if first is not None and self._notes.right:
            self._leaves.fault(f"{LEAVES} has another hash than the line at position {first:,}.", first)

    @property
    def root(self) -> bytes:
        """The root of the log, computed from every line."""
        return self._rebuild.edge.root()


_decode = msgspec.json.Decoder(InclusionLine).decode


class SelectionCheck:
    """Checks some lines of a log, each one by its proof."""

    side_files: tuple[str, ...] = (LEAVES, PROOFS)

    def __init__(self, findings: Findings, manifest: Manifest, checkpoint: Checkpoint | None) -> None:
        filters = manifest.filters
        self.order: OrderCheck[Any] = OrderCheck(
            findings, LineHeaders, complete=False, streams=filters == Filters(subjects=filters.subjects)
        )
        self._leaves = findings.check(LEAVES, "hashes")
        self._proofs = findings.check("proofs", "proofs")
        self._filters = findings.check("filters", "events")
        self._manifest_filters = filters
        self._checkpoint = checkpoint or Checkpoint(manifest.origin, manifest.size, manifest.root)
        self._records: Iterator[bytes] | None = None
        findings.notes.append(
            "It is a filtered export: it proves that each of its events is in the log, but not that it has every match."
        )

    def check_page(self, page: list[bytes], headers: list[Any], files: Mapping[str, EventFile | None]) -> None:
        claimed = read_claimed_hashes(files[LEAVES], len(page), self._leaves)
        proofs = self._next(files[PROOFS], len(page))
        if len(headers) != len(page):
            return
        for index, (header, leaf) in enumerate(zip(headers, leaf_hashes(page), strict=True)):
            self._check_filters(header)
            self._check_proof(
                header.position, leaf, claimed[index * HASH_BYTES :][:HASH_BYTES], proofs[index : index + 1]
            )

    def finish(self, files: Mapping[str, EventFile | None]) -> None:
        check_file_ended(files[LEAVES], LEAVES, self._leaves)
        if self._next(files[PROOFS], 1):
            self._proofs.fault(f"{PROOFS} has more proofs than there are events.")

    @property
    def root(self) -> bytes:
        """The signed root of the log."""
        return self._checkpoint.root

    def _next(self, source: EventFile | None, count: int) -> list[bytes]:
        """Return the next lines of proofs."""
        if self._records is None and source is not None:
            pages = lines_of(source, b"\n", PROOF_BYTES_MAX, PROOFS, self._proofs)
            self._records = (line for page in pages for line in page)
        return list(islice(self._records or (), count))

    def _check_filters(self, header: LineHeaders) -> None:
        filters = self._manifest_filters
        self._filters.count += 1
        if not (
            (not filters.types or header.type in filters.types)
            and (not filters.subjects or header.subject in filters.subjects)
            and (filters.agent is None or header.source == source_of(filters.agent))
            and (filters.since is None or header.time >= filters.since)
            and (filters.until is None or header.time <= filters.until)
        ):
            self._filters.fault("the event does not match the filters.", header.position)

    def _check_proof(self, position: int, leaf: bytes, claimed: bytes, proofs: Sequence[bytes]) -> None:
        """Check that the proof leads from a leaf to the root. If it does from the claimed leaf, the line is wrong."""
        _, size, root = self._checkpoint
        self._proofs.count += 1
        try:
            (proof,) = map(_decode, proofs)
        except (ValueError, RecursionError) as error:
            reason = error if proofs else "it is missing"
            self._proofs.fault(f"the proof of position {position:,} is unusable: {reason}.", position)
            return
        if proof.position != position:
            detail = f"the proof of position {proof.position:,} is in place of that of {position:,}."
            self._proofs.fault(detail, position)
        elif verify_inclusion(leaf, position - 1, size, proof.hashes, root):
            if claimed and claimed != leaf:
                self._leaves.fault(f"{LEAVES} has another hash than the line at position {position:,}.", position)
        elif verify_inclusion(claimed, position - 1, size, proof.hashes, root):
            self._proofs.fault(f"the line at position {position:,} is not the one that is in the log.", position)
        else:
            self._proofs.fault(f"the line at position {position:,} is not in the log, or its proof is wrong.", position)


LineCheck = CompleteCheck | SelectionCheck
"""Checks lines, page by page."""


def read_claimed_hashes(source: EventFile | None, count: int, check: Check) -> bytes:
    """Read the claimed hashes of the next lines; fewer if the file ends."""
    data = source.read(count * HASH_BYTES) if source is not None else b""
    hashes = len(data) // HASH_BYTES
    check.count += hashes
    if hashes < count and check.right:
        check.fault(f"{LEAVES} ends after {check.count:,} hashes.")
    return data[: hashes * HASH_BYTES]


def check_file_ended(source: EventFile | None, name: str, check: Check) -> None:
    """Check that a file has ended."""
    if source is not None and source.read(1):
        check.fault(f"{name} has more entries than there are events.")
