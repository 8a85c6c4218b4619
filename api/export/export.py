"""Make an export: file by file, each in one pass. The memory does not grow with the log.

All reads end at the checkpoint's size, and events never change. So each file is made by a scan of its own, and nothing
is kept between files.

The export takes no longer than reading. SQLite returns a page as one value, because reading row by row would double the
time. A thread encodes, hashes and writes a page while the next one is read. Relative to the processor time of a bare
scan, reading joined pages takes 1.05, their SHA-256 0.45, writing them 0.35. So no page is copied, and no long
operation holds the interpreter's lock, for which both threads would wait. (A queue of one more page is slower: each
page then leaves the processor's cache before it is written.) The leaves of a complete export are copied from the
stored tiles, because computing them would take longer than everything else. They are not trusted: if the root differs,
they show which line is wrong.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import structs

from api.export.encoders import Parts, encoder_of
from api.export.manifest import (
    CHECKPOINT,
    EARLIER,
    EVIDENCE,
    FORMAT,
    LEAVES,
    MANIFEST,
    PROOFS,
    README,
    WITNESSED,
    ConsistencyProof,
    EvidenceSum,
    FileSum,
    InclusionLine,
    Manifest,
    encode_manifest,
    events_name,
)
from api.export.selection import ExportSelection
from api.export.targets import ExportTarget, FileWriter
from api.principal import OWNER
from api.service.evidence import EvidenceService
from api.service.ledger import LedgerService
from api.service.open_log import open_reader
from api.service.unknown_names import check_event_names
from events.envelope import timestamp
from ledger.errors import Damaged, Gone, LedgerUnusable
from ledger.log import LogPage, LogReader, Query
from ledger.threads import run_on_thread
from ledger.transparency.inclusion_proofs import InclusionProver
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.signed_note import SignedCheckpoint
from ledger.transparency.tiles import WIDTH
from ledger.transparency.tree import LogTree

STORED = "evidence.stored.v1"

_quoted_digest = re.compile(rb'"([0-9a-f]{64})"')


async def evidence_of(
    evidence: EvidenceService, pages: AsyncIterator[LogPage], size: int
) -> AsyncIterator[tuple[str, bytes | None]]:
    """Yield the digest and the bytes of each evidence that some events name, as it was when the log had `size` events.

    Each is yielded once. Evidence that was erased before is left out. Evidence that was erased later, or is damaged,
    has no bytes. Memory: 32 bytes for each digest seen.
    """
    seen: set[bytes] = set()
    async for page in pages:
        digests = [digest.decode() for digest in dict.fromkeys(_quoted_digest.findall(page.ndjson))]
        new = [digest for digest in digests if bytes.fromhex(digest) not in seen]
        seen.update(map(bytes.fromhex, new))
        for digest, state in (await evidence.known(new)).items():
            if state.position <= size and (state.erasure is None or state.erased_position > size):
                data = None
                with suppress(Gone, Damaged):
                    data = (await evidence.get(digest, OWNER)).data
                yield digest, data


class ExportCheckpoint(NamedTuple):
    """The signed checkpoint of an export, the key that verifies it, and checkpoints that were published before it.

    `witnessed` is the newest one that a witness has cosigned; it may be the same as `signed`.
    """

    signed: SignedCheckpoint
    verifier: str
    earlier: SignedCheckpoint | None = None
    witnessed: SignedCheckpoint | None = None


async def choose_checkpoint(ledger: LedgerService) -> ExportCheckpoint:
    """Return a new checkpoint of the whole log if this process may sign, otherwise the one that was signed last.

    `earlier` is the largest smaller checkpoint of the same log among the last published and the last witnessed one.

    Errors: NotFound, if nothing is signed; Forked, BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable.
    """
    published = await ledger.proving.stored()
    head = (await ledger.reader.head()).position if ledger.log is not None else 0
    signed = await ledger.proving.checkpoint(head)
    witnessed = await ledger.proving.kept_witnessed()
    origin, size = signed.checkpoint.origin, signed.size
    if witnessed is not None and (witnessed.checkpoint.origin != origin or witnessed.size > size):
        witnessed = None
    candidates = [note for note in (published, witnessed) if note is not None and note.checkpoint.origin == origin]
    earlier = max((note for note in candidates if note.size < size), key=lambda note: note.size, default=None)
    return ExportCheckpoint(signed, str(await ledger.proving.verifier()), earlier, witnessed)


TILES_READ = 256
"""Tiles of one read: 2 MiB of leaves."""

Piece = Callable[[], Parts]
"""Makes a piece of a file. It is called on the thread that writes the file."""

PAGE_BYTES = 8 << 20
"""Approximate size of a page: large enough that the cost of each query does not matter."""

EVENTS_MIN, EVENTS_MAX = 64, 16_384
"""The least and the most events of a page; the first page has the least."""


class Member(NamedTuple):
    """A file of the export that is not written yet."""

    name: str
    pieces: AsyncGenerator[Piece, None]


class Export:
    """One export; write it once."""

    def __init__(
        self,
        reader: LogReader,
        counter: LogReader,
        evidence: EvidenceService,
        selection: ExportSelection,
        anchor: ExportCheckpoint,
        created: datetime,
    ) -> None:
        self._reader = reader
        self._counter = counter
        self._evidence = evidence
        self._selection = selection
        self._anchor = anchor
        self._files: dict[str, FileSum] = {}
        self._blobs = self._blob_bytes = 0
        self._absent: list[str] = []
        self._counting: asyncio.Future[dict[str, int]] | None = None
        self._first: int | None = None
        self._last: int | None = None
        self.size = anchor.signed.size
        """Events under the checkpoint."""
        self.created = created
        self.manifest: Manifest | None = None
        """Set once the export is whole."""

    async def write(self, target: ExportTarget) -> AsyncGenerator[int, None]:
        """Write every file; after each piece, yield the position up to which events are written.

        Errors: LedgerUnusable, if the log is not the one that the checkpoint signs; LedgerUnavailable; OSError.
        """
        if await LogTree(self._reader).root(self.size) != self._anchor.signed.checkpoint.root:
            detail = f"The first {self.size} events are not those that the checkpoint was signed for."
            raise LedgerUnusable(detail, "The ledger was altered or damaged: tallystick verify says where.")
        try:
            async with aclosing(self._members()) as members:
                async for member in members:
                    writer = FileWriter(target, member.name)
                    await run_on_thread(writer.begin)
                    async with aclosing(member.pieces) as pieces:
                        async for piece in pieces:
                            await run_on_thread(writer.put, piece)
                            yield self._last or 0
                    self._count(member.name, await run_on_thread(writer.end))
        finally:
            if self._counting is not None:
                self._counting.cancel()

    def _count(self, name: str, written: FileSum) -> None:
        if name.startswith(f"{EVIDENCE}/"):
            self._blobs += 1
            self._blob_bytes += written.bytes
        else:
            self._files[name] = written

    async def _members(self) -> AsyncGenerator[Member, None]:
        """Yield the files in the order in which they are written."""
        selection, anchor = self._selection, self._anchor
        yield Member(events_name(selection.format, gzipped=selection.gzipped), self._events())
        if selection.complete:
            yield Member(LEAVES, self._leaves())
        else:
            yield Member(LEAVES, self._chosen_leaves())
            yield Member(PROOFS, self._proofs())
        yield Member(CHECKPOINT, _whole(anchor.signed.note.encode()))
        earlier = None if selection.complete else anchor.earlier
        if earlier is not None:
            yield Member(EARLIER, _whole(earlier.note.encode()))
        if anchor.witnessed is not None:
            yield Member(WITNESSED, _whole(anchor.witnessed.note.encode()))
        if selection.evidence:
            pages = self._pages(types=(STORED,)) if selection.complete else self._pages()
            async for digest, data in evidence_of(self._evidence, pages, self.size):
                if data is None:
                    self._absent.append(digest)
                else:
                    yield Member(f"{EVIDENCE}/{digest}", _whole(data))
        about = readme(selection, earlier=earlier is not None, witnessed=anchor.witnessed is not None)
        yield Member(README, _whole(about.encode()))
        self.manifest = await self._manifest_of(earlier)
        yield Member(MANIFEST, _whole(encode_manifest(self.manifest)))

    def _pages(self, **changed: object) -> AsyncGenerator[LogPage, None]:
        return scan(self._reader, msgspec.structs.replace(self._selection.query, **changed), self.size)

    async def _events(self) -> AsyncGenerator[Piece, None]:
        encoder = encoder_of(self._selection.format, gzipped=self._selection.gzipped)
        query = msgspec.structs.replace(self._selection.query, before=self.size + 1, walk=True)
        self._counting = asyncio.ensure_future(self._counter.counts(query))
        async for page in self._pages():
            yield partial(encoder.encode, page)
            self._first = self._first or page.positions[0]
            self._last = page.positions[-1]
        yield encoder.finish

    async def _leaves(self) -> AsyncGenerator[Piece, None]:
        """Yield the leaves of all events: the stored tiles, then the leaves that are in no full tile yet."""
        full = self.size // WIDTH
        next_tiles = asyncio.ensure_future(self._tiles(0, full))
        try:
            for first in range(0, full, TILES_READ):
                tiles = await next_tiles
                next_tiles = asyncio.ensure_future(self._tiles(first + TILES_READ, full))
                yield partial(_joined, tiles)
        finally:
            next_tiles.cancel()
        rest = await LogTree(self._reader).leaves(full * WIDTH, self.size)
        yield partial(_joined, rest)

    async def _tiles(self, first: int, end: int) -> list[bytes]:
        """Read the next tiles, up to `end`. They are read while the previous ones are written: that halves the time."""
        return await self._reader.tiles(0, first, min(TILES_READ, end - first))

    async def _chosen_leaves(self) -> AsyncGenerator[Piece, None]:
        async for page in self._pages():
            yield partial(_hashed, page)

    async def _proofs(self) -> AsyncGenerator[Piece, None]:
        prover = InclusionProver(self._reader, self.size)
        async for page in self._pages():
            proofs = await prover.prove(page.positions)
            yield partial(_encoded, [InclusionLine(position, hashes) for position, _, hashes in proofs])

    async def _manifest_of(self, earlier: SignedCheckpoint | None) -> Manifest:
        """Return the manifest of the files written so far."""
        assert self._counting is not None, "the events are written first"
        types = await self._counting
        checkpoint, witnessed = self._anchor.signed.checkpoint, self._anchor.witnessed
        if self._selection.complete:
            witnessed = None  # the lines give its root
        return Manifest(
            format=FORMAT,
            created=timestamp(self.created),
            origin=checkpoint.origin,
            verifier=self._anchor.verifier,
            size=checkpoint.size,
            root=checkpoint.root,
            filters=self._selection.filters,
            complete=self._selection.complete,
            events=sum(types.values()),
            first=self._first,
            last=self._last,
            types=types,
            consistency=await self._consistency(earlier) if earlier is not None else None,
            witnessed=await self._consistency(witnessed) if witnessed is not None else msgspec.UNSET,
            evidence=self._evidence_sum() if self._selection.evidence else None,
            files=dict(self._files),
        )

    async def _consistency(self, earlier: SignedCheckpoint) -> ConsistencyProof:
        hashes = await LogTree(self._reader).consistency(earlier.size, self.size)
        return ConsistencyProof(earlier.size, earlier.checkpoint.root, tuple(hashes))

    def _evidence_sum(self) -> EvidenceSum:
        return EvidenceSum(self._blobs, self._blob_bytes, tuple(sorted(self._absent)))


async def _whole(data: bytes) -> AsyncGenerator[Piece, None]:
    yield lambda: (data,)


def _joined(hashes: list[bytes]) -> Parts:
    return (b"".join(hashes),)


def _hashed(page: LogPage) -> Parts:
    return _joined(leaf_hashes(page.lines))


def _encoded(proofs: list[InclusionLine]) -> Parts:
    return (_encode_lines(proofs),)


_encode_lines = msgspec.json.Encoder().encode_lines


@asynccontextmanager
async def open_export(ledger: LedgerService, selection: ExportSelection) -> AsyncIterator[Export]:
    """Open an export of a ledger. It has its own connections, so that no other request waits for it.

    One connection reads the events, and another one counts them at the same time: that saves a tenth of the time.

    Errors: NotFound, if nothing is signed, or a stream or an agent is unknown; and those of signing.
    """
    async with _reading(ledger) as reader, _reading(ledger) as counter:
        await check_event_names(reader, selection.query)
        yield Export(reader, counter, ledger.evidence, selection, await choose_checkpoint(ledger), ledger.clock())


@asynccontextmanager
async def _reading(ledger: LedgerService) -> AsyncIterator[LogReader]:
    reader = await open_reader(ledger.place, primary=ledger.log is not None)
    try:
        yield reader
    finally:
        await reader.close()


async def scan(reader: LogReader, query: Query, size: int) -> AsyncGenerator[LogPage, None]:
    """Yield every event up to a position that matches a query. Errors: LedgerUnavailable."""
    query = structs.replace(query, before=size + 1, limit=EVENTS_MIN, walk=True)
    next_page = asyncio.ensure_future(reader.read(query))
    try:
        while True:
            page = await next_page
            if page.more:
                query = structs.replace(query, after=page.positions[-1], limit=_limit(page))
                next_page = asyncio.ensure_future(reader.read(query))
            if page.positions:
                yield page
            if not page.more:
                return
    finally:
        next_page.cancel()


def _limit(page: LogPage) -> int:
    """Estimate how many events fit into PAGE_BYTES, from the last page."""
    fitting = PAGE_BYTES * len(page.positions) // max(1, len(page.ndjson))
    return max(EVENTS_MIN, min(EVENTS_MAX, fitting))


def readme(selection: ExportSelection, *, earlier: bool, witnessed: bool) -> str:
    """Return README.md of an export: its files, and two programs that verify them without Tallystick.

    It has no text that an agent wrote. `earlier` and `witnessed` say whether the export has an earlier and a cosigned
    checkpoint.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only an export loads it

    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=False,  # noqa: S701 - Markdown, of which no part comes from others
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    modules = ["base64", "hashlib", "json", "sys"]
    modules += {"csv": ["csv"], "parquet": ["pyarrow.parquet"]}.get(selection.format, [])
    modules += ["gzip"] if selection.gzipped else []
    return environment.get_template("readme.md.j2").render(
        version=FORMAT,
        complete=selection.complete,
        format=selection.format,
        events=events_name(selection.format, gzipped=selection.gzipped),
        evidence=selection.evidence,
        earlier=earlier,
        witnessed=witnessed,
        modules=", ".join(sorted(modules)),
        open="gzip.open" if selection.gzipped else "open",
    )
