"""How the lines of an export stand under its checkpoint: all of them by their root, chosen ones by a proof each."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

import msgspec

from api.export.manifest import LEAVES, PROOFS, Filters, Manifest
from api.verify.event_files import EventFile, lines_of
from events.envelope import source_of
from ledger.transparency.merkle import HASH_BYTES, leaf_hashes, verify_inclusion
from ledger.transparency.signed_note import Checkpoint
from ledger.verify import Check, Findings, LineHeader, LineHeaders, NoteCheck, TreeRebuild
from ledger.verify import OrderCheck as Run

PROOF_BYTES_MAX = 8_192
"""A line of proofs; the longest has 63 hashes."""


class CheckpointCheck(Protocol):
    """Lines, page by page, and what they come to."""

    run: Run[Any]
    beside: tuple[str, ...]
    """The files that are read beside them."""

    def take(self, page: list[bytes], found: list[Any], beside: Mapping[str, EventFile | None]) -> None:
        """The lines that follow, what they say, and the files beside them, which go on from where they were."""
        ...

    def judge(self, beside: Mapping[str, EventFile | None]) -> None:
        """All were taken, and nothing must be left in the files beside them."""
        ...

    @property
    def root(self) -> bytes:
        """The root of the log they are of, as far as they tell."""
        ...


class CompleteCheck:
    """Every line of a log."""

    beside: tuple[str, ...] = (LEAVES,)

    def __init__(self, account: Findings, notes: NoteCheck, form: type[LineHeader]) -> None:
        self.run: Run[Any] = Run(account, form, complete=True, streams=True)
        self._leaves = account.check(LEAVES, "hashes")
        self._positions = account.check("positions", "events")
        self._notes = notes
        self._regrowth = TreeRebuild(notes.sizes)

    def take(self, page: list[bytes], found: list[Any], beside: Mapping[str, EventFile | None]) -> None:
        leaves = leaf_hashes(page)
        self._regrowth.grow(leaves, claimed_of(beside[LEAVES], len(page), self._leaves))

    def judge(self, beside: Mapping[str, EventFile | None]) -> None:
        """The lines are what is signed, as many and no more; `leaves` is wrong where it differs from those that are."""
        check_end(beside[LEAVES], LEAVES, self._leaves)
        self._notes.compare_roots(self._regrowth, LEAVES)
        size = self._notes.sizes[0] if self._notes.sizes else self.run.events
        if self.run.events > size:
            behind = f"behind the {size:,} of the checkpoint stand {self.run.events - size:,} others."
            self._positions.fault(behind, size + 1)
        first = self._regrowth.first
        if first is not None and self._notes.right:
            self._leaves.fault(f"{LEAVES} has another hash than the line at position {first:,}.", first)

    @property
    def root(self) -> bytes:
        return self._regrowth.edge.root()


class _Proof(msgspec.Struct, forbid_unknown_fields=True):
    position: int
    hashes: list[bytes]


_decode = msgspec.json.Decoder(_Proof).decode


class SelectionCheck:
    """Some lines of a log, each with its proof."""

    beside: tuple[str, ...] = (LEAVES, PROOFS)

    def __init__(self, account: Findings, manifest: Manifest, checkpoint: Checkpoint | None) -> None:
        filters = manifest.filters
        self.run: Run[Any] = Run(
            account, LineHeaders, complete=False, streams=filters == Filters(subjects=filters.subjects)
        )
        self._leaves = account.check(LEAVES, "hashes")
        self._proofs = account.check("proofs", "proofs")
        self._filters = account.check("filters", "events")
        self._wanted = filters
        self._checkpoint = checkpoint or Checkpoint(manifest.origin, manifest.size, manifest.root)
        self._records: Iterator[bytes] | None = None
        account.notes.append(
            "It is a filtered export: each event in it is proven to stand in the log; that none is left out is not."
        )

    def take(self, page: list[bytes], found: list[Any], beside: Mapping[str, EventFile | None]) -> None:
        claimed = claimed_of(beside[LEAVES], len(page), self._leaves)
        proofs = self._next(beside[PROOFS], len(page))
        if len(found) != len(page):
            return
        for at, (said, leaf) in enumerate(zip(found, leaf_hashes(page), strict=True)):
            self._check_filters(said)
            self._check_proof(said.position, leaf, claimed[at * HASH_BYTES :][:HASH_BYTES], proofs[at : at + 1])

    def judge(self, beside: Mapping[str, EventFile | None]) -> None:
        check_end(beside[LEAVES], LEAVES, self._leaves)
        if self._next(beside[PROOFS], 1):
            self._proofs.fault(f"{PROOFS} holds more proofs than there are events.")

    @property
    def root(self) -> bytes:
        return self._checkpoint.root

    def _next(self, source: EventFile | None, count: int) -> list[bytes]:
        """The lines of proofs that follow."""
        if self._records is None and source is not None:
            pages = lines_of(source, b"\n", PROOF_BYTES_MAX, PROOFS, self._proofs)
            self._records = (line for page in pages for line in page)
        return list(islice(self._records or (), count))

    def _check_filters(self, said: LineHeaders) -> None:
        wanted = self._wanted
        self._filters.count += 1
        if not (
            (not wanted.types or said.type in wanted.types)
            and (not wanted.subjects or said.subject in wanted.subjects)
            and (wanted.agent is None or said.source == source_of(wanted.agent))
            and (wanted.since is None or said.time >= wanted.since)
            and (wanted.until is None or said.time <= wanted.until)
        ):
            self._filters.fault("the event is none that the filters ask for.", said.position)

    def _check_proof(self, position: int, leaf: bytes, claimed: bytes, proofs: Sequence[bytes]) -> None:
        """Whether a leaf stands at its position. Where the claimed one does, it is the line that is wrong."""
        _, size, root = self._checkpoint
        self._proofs.count += 1
        try:
            (proof,) = map(_decode, proofs)
        except (ValueError, RecursionError) as error:
            why = error if proofs else "it is missing"
            self._proofs.fault(f"the proof of position {position:,} is none: {why}.", position)
            return
        if proof.position != position:
            told = f"the proof of position {proof.position:,} stands where that of {position:,} must."
            self._proofs.fault(told, position)
        elif verify_inclusion(leaf, position - 1, size, proof.hashes, root):
            if claimed and claimed != leaf:
                self._leaves.fault(f"{LEAVES} has another hash than the line at position {position:,}.", position)
        elif verify_inclusion(claimed, position - 1, size, proof.hashes, root):
            self._proofs.fault(f"the line at position {position:,} is not the one that is in the log.", position)
        else:
            self._proofs.fault(f"the line at position {position:,} is not in the log, or its proof is wrong.", position)


def claimed_of(source: EventFile | None, count: int, check: Check) -> bytes:
    """What the file of leaves says of the lines that follow; whole hashes, fewer where it ends."""
    held = source.read(count * HASH_BYTES) if source is not None else b""
    check.count += len(held) // HASH_BYTES
    if len(held) < count * HASH_BYTES and check.right:
        check.fault(f"{LEAVES} ends behind {check.count:,} hashes.")
    return held[: len(held) // HASH_BYTES * HASH_BYTES]


def check_end(source: EventFile | None, name: str, check: Check) -> None:
    """Whether a file has ended."""
    if source is not None and source.read(1):
        check.fault(f"{name} holds more than there are events.")
