"""Move a ledger between a file and PostgreSQL: the same bytes, positions, root and key. The old place is sealed.

1. The lines are copied, and verified on the way: each line, their order, and the tiles of the old place.
2. The old place is sealed: it accepts no more events. What was appended meanwhile is copied, too.
3. What the new place has is read again and verified. The root must be that of the old lines, and that of every signed
   checkpoint.
4. Evidence and the small files beside the ledger are copied.
5. Only then does the new place accept events.

At no moment do both places accept events. If a step before the last one fails, the seal is lifted. If the process is
killed, the next attempt continues.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from api.importers.ledger_companions import copy_companions
from api.importers.ledger_rebuild import LedgerImportResult, begin_rebuild
from api.progress import ReportProgress
from api.service.open_log import needing_extra, open_reader
from api.verify.verification import Given, read_options, run_verification
from ledger.errors import Damaged, InvalidQuery, LedgerUnusable, NotFound
from ledger.evidence_store import EvidenceStore
from ledger.log import LogReader, Query
from ledger.place import Place
from ledger.sqlite import moved as sealed_file
from ledger.sqlite.lock import WriterLock
from ledger.sqlite.wal_check import require_undamaged
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.signed_note import Verifier
from ledger.transparency.tiles import WIDTH
from ledger.transparency.tree import LogTree
from ledger.verify import EvidenceCheck, FileFindings, Findings, LineHeaders, OrderCheck, TreeRebuild
from ledger.verify.ledger_file import read_bundled_key, read_notes
from ledger.verify.ledger_rebuild import LedgerRebuild
from ledger.verify.merkle_rebuild import KnownRoots

if TYPE_CHECKING:
    from ledger.verify.database_rebuild import DatabaseRebuild

PAGE_EVENTS = 16 * WIDTH
"""Lines that are read, and written in one transaction."""

TILES = "the tiles of the old place"


class _Seal(NamedTuple):
    """How a place is sealed against further events. `require_right` checks that it may be."""

    read: Callable[[], str | None]
    close: Callable[[str], object]
    lift: Callable[[], None]
    require_right: Callable[[], None]


def _seal_of(place: Place, runner: asyncio.Runner) -> _Seal:
    if (database := place.database) is None:
        path = place.path
        return _Seal(
            read=partial(sealed_file.read_moved, path),
            close=partial(sealed_file.seal_moved, path),
            lift=partial(sealed_file.lift_seal, path),
            require_right=partial(require_undamaged, path),
        )
    with needing_extra():
        from ledger.postgres import moved  # noqa: PLC0415 - the extra postgres
    run = runner.run
    return _Seal(
        read=lambda: run(moved.read_moved(database)),
        close=lambda moved_to: run(moved.seal_moved(database, moved_to)),
        lift=lambda: run(moved.lift_seal(database)),
        require_right=lambda: run(moved.require_sealable(database)),
    )


class _Source(NamedTuple):
    """The old place, and how it is read and sealed. Without a seal it is copied, not moved."""

    place: Place
    reader: LogReader
    runner: asyncio.Runner
    seal: _Seal | None
    standby: str | None = None
    """The server that a ledger in a database is read from, if it is a standby."""

    def notes(self) -> dict[str, bytes]:
        """Return the notes that the nodes of a ledger in a database share, by name."""
        if self.place.database is None:
            return {}
        with needing_extra():
            from ledger.postgres.notes import read_contents  # noqa: PLC0415 - the extra postgres
            from ledger.postgres.reader import PostgresReader  # noqa: PLC0415 - the extra postgres
        assert isinstance(self.reader, PostgresReader)
        return self.runner.run(read_contents(self.reader))


def move_ledger(
    source: Place,
    target: Place,
    *,
    key: str | None = None,
    keep: bool = False,
    with_key: bool = False,
    without_evidence: bool = False,
    progress: ReportProgress = lambda done, total: None,
) -> LedgerImportResult:
    """Move a ledger to a place that has none, or copy it (`keep`); continue an interrupted attempt.

    A copy has the key only `with_key`. It can be made from a standby: of the signed events.

    If something is wrong with the old ledger, nothing is placed, and the report says what.
    Errors: LedgerLocked, while another process writes the old file; LedgerUnusable, also if the ledger was moved
            elsewhere or the target has events; Occupied, if the target has another file beside the ledger;
            Damaged, for missing evidence; InvalidQuery, LedgerDamaged, LedgerFull, LedgerUnavailable.
    """
    given = read_options(key, None, ())
    _require_different(source, target)
    name = _lasting_name(target)
    with _open_source(source, name, keep=keep) as old:
        sealed_before = old.seal is not None and old.seal.read() == name
        if sealed_before and (moved := _moved_before(old, target, given)) is not None:
            return moved
        with begin_rebuild(target) as rebuild:
            transfer = _Transfer(old, rebuild, progress)
            check = partial(transfer.run, name=name, key=given.key)
            try:
                report = run_verification(str(source), "ledger", check, given)
                if not report.right:
                    rebuild.discard()
                    _lift(old, sealed_before=sealed_before)
                    return LedgerImportResult(str(target), False, 0, report)
                rebuild.verify(report.root)
                pieces, missing = transfer.copy_evidence(target, without=without_evidence)
                shared = None if isinstance(rebuild, LedgerRebuild) else rebuild
                copy_companions(source, target, transfer.notes, shared, with_key=with_key or not keep)
            except BaseException:
                _lift(old, sealed_before=sealed_before)
                raise
            rebuild.open()
    return LedgerImportResult(
        str(target),
        True,
        pieces,
        report,
        sealed=None if keep else str(source),
        missing=tuple(missing),
        standby=old.standby,
    )


def _moved_before(old: _Source, target: Place, given: Given) -> LedgerImportResult | None:
    """Return the result of a move whose last step an earlier attempt did, before it was killed; None, if it did not.

    The new place then accepts events, and begins with the lines of the old one.
    """
    run = old.runner.run
    try:
        reader = run(open_reader(target, primary=True))
    except LedgerUnusable:  # there is no ledger, or it is incomplete
        return None
    try:
        size = run(old.reader.head()).position
        root = run(LogTree(old.reader).root(size))
        if size == 0 or run(reader.head()).position < size or run(LogTree(reader).root(size)) != root:
            return None
    finally:
        run(reader.close())
    report = run_verification(str(old.place), "ledger", lambda findings: FileFindings(size, root, given.key), given)
    return LedgerImportResult(str(target), True, 0, report, sealed=str(old.place), complete_before=True)


def _lift(old: _Source, *, sealed_before: bool) -> None:
    if old.seal is not None and not sealed_before and old.seal.read() is not None:
        old.seal.lift()


class _Transfer:
    """Copies the lines of a ledger into another place, and verifies them."""

    def __init__(self, old: _Source, rebuild: "LedgerRebuild | DatabaseRebuild", progress: ReportProgress) -> None:
        self._old = old
        self._rebuild = rebuild
        self._progress = progress
        self._tree = TreeRebuild()
        self._evidence = EvidenceCheck()
        self.notes: dict[str, bytes] = {}
        """The notes of a ledger in a database: none of them covers more than the lines that were copied."""

    def run(self, findings: Findings, *, name: str, key: Verifier | None) -> FileFindings:
        """Copy the lines; seal the old place in between. Errors: LedgerUnusable, LedgerFull, LedgerUnavailable."""
        old = self._old
        order = OrderCheck(findings, LineHeaders, complete=True, streams=True)
        self.notes = old.notes()
        notes = read_notes(findings, old.place.path, None, self.notes) if old.seal is None else None
        self._copy(order)
        if old.seal is not None and findings.right:
            old.seal.close(name)
            self._copy(order)
            self.notes = old.notes()
        order.end()
        notes = notes or read_notes(findings, old.place.path, None, self.notes)
        key = key or read_bundled_key(findings, old.place.path, self.notes)
        notes.check_signatures(key)
        self._find_roots(notes.sizes)
        notes.compare_roots(self._tree, TILES)
        if self._tree.first is not None:
            detail = f"the line at position {self._tree.first:,} is not the one of its tile."
            findings.check("tiles", "tiles").fault(detail, self._tree.first)
        if findings.right and self._rebuild.failure is not None:
            raise self._rebuild.failure
        return FileFindings(self._tree.edge.size, self._tree.edge.root(), key)

    def copy_evidence(self, target: Place, *, without: bool) -> tuple[int, list[str]]:
        """Copy the stored evidence; return the number of pieces, and the digests of missing ones. Errors: Damaged."""
        old, new = EvidenceStore(self._old.place.path), EvidenceStore(target.path)
        missing: list[str] = []
        for digest, (_, size_bytes) in self._evidence.stored.items():
            if new.is_readable(digest, size_bytes):
                continue
            try:
                new.write_pending({digest: old.read(digest, size_bytes)})
            except Damaged:
                if not without:
                    raise
                missing.append(digest)
            else:
                new.publish(digest)
        return len(self._evidence.stored) - len(missing), missing

    def _copy(self, order: OrderCheck[LineHeaders]) -> None:
        """Copy the lines that the old place has now, after those that were copied already."""
        run, reader = self._old.runner.run, self._old.reader
        head = run(reader.head()).position
        while self._tree.edge.size < head and self._rebuild.failure is None:
            size = self._tree.edge.size
            end = min(head, size - size % PAGE_EVENTS + PAGE_EVENTS)
            page = run(reader.read(Query(after=size, before=end + 1, limit=end - size)))
            lines = page.lines
            if len(lines) != end - size:
                detail = f"{self._old.place} lacks events between positions {size + 1:,} and {end:,}."
                raise LedgerUnusable(detail, "Find out what is wrong: tallystick verify.")
            headers = order.check(lines)
            self._evidence.add(headers, lines)
            self._tree.grow(leaf_hashes(lines), self._tiles(size, end))
            self._rebuild.add(lines, headers)
            self._progress(self._tree.edge.size, head)

    def _tiles(self, size: int, end: int) -> bytes:
        """Return the stored hashes of lines, as far as they are stored."""
        if size % WIDTH:
            return b""
        reader = self._old.reader
        return b"".join(self._old.runner.run(reader.tiles(0, size // WIDTH, (end - size) // WIDTH)))

    def _find_roots(self, sizes: Sequence[int]) -> None:
        """Compute the roots of signed sizes from the tiles of the old place, which were compared with the lines."""
        tree = LogTree(self._old.reader, self._tree.edge)
        for size in sizes:
            if size <= self._tree.edge.size:
                root = self._old.runner.run(tree.root(size)) if size else self._tree.roots[0].lines
                self._tree.roots[size] = KnownRoots(root, root)


@contextmanager
def _open_source(place: Place, moved_to: str, *, keep: bool) -> Iterator[_Source]:
    """Open the old place. A file is locked, unless it is only copied. Errors: as `move_ledger`."""
    with ExitStack() as opened:
        runner = opened.enter_context(asyncio.Runner())
        if place.database is None and not place.path.is_file():
            raise LedgerUnusable(f"There is no ledger at {place.path}.", "Name one, or an export.")
        if place.database is None and not keep:
            opened.callback(WriterLock.acquire(place.path).release)
        seal = None if keep else _seal_of(place, runner)
        if seal is not None:
            seal.require_right()
            if (moved := seal.read()) not in (None, moved_to):
                raise LedgerUnusable(f"{place} was moved to {moved} already.", "Move that one, or copy this: --keep.")
        reader = runner.run(open_reader(place, primary=not keep))
        opened.callback(lambda: runner.run(reader.close()))
        standby = runner.run(_standby_of(reader, place)) if keep and place.database is not None else None
        yield _Source(place, reader, runner, seal, standby)


async def _standby_of(reader: LogReader, place: Place) -> str | None:
    """Return the standby that a ledger is read from, once it has what this machine saw; None for a primary server."""
    with needing_extra():
        from ledger.postgres.standby import StandbyReader, wait_for_seen  # noqa: PLC0415 - the extra postgres
    await wait_for_seen(reader, place)
    if not isinstance(reader, StandbyReader):
        return None
    if (await reader.head()).position == 0:
        detail = f"{reader.place} is a standby, and nothing is signed there."
        raise NotFound(detail, "A server signs within a second of an event: run it again. Or name the primary server.")
    return str(reader.place.hosts[0])


def _lasting_name(place: Place) -> str:
    """Return the name of a place that is right in every folder."""
    return str(place.path.resolve() if place.database is None else place)


def _require_different(source: Place, target: Place) -> None:
    if _lasting_name(source) == _lasting_name(target):
        raise InvalidQuery("to", f"{target} is the ledger itself.", "Name another place.")
    if source.path.resolve() == target.path.resolve():
        detail = f"both ledgers would keep their files under the same name, {source.path}."
        raise InvalidQuery("state", detail, "Leave --state out, or name another folder.")
