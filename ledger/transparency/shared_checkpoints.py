"""Checkpoints of a log that many nodes write: shared notes have the newest one, the witnessed one, and the log's key.

S5 A checkpoint is signed for events that the standbys have: its tree is computed, then the compare-and-set of the note
   `checkpoint` commits, and waits for the standbys to have everything before it. Only then is it published.
S6 All nodes sign one sequence of checkpoints: the winner of the compare-and-set has signed, every other node adopts it.
S7 Each node keeps the newest checkpoint that it saw in a file of its own. A log that does not continue it is refused as
   forked, also if the whole database, with its notes, was replaced by an older copy.
S8 The note `key` says whose log this is. A node signs only with that key: see `shared_keys.py`.

Nothing of this uses a tree that the process kept: a database that was replaced while it ran would go unnoticed.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

from ledger.atomic_file import replace_whole, write_error
from ledger.errors import BadNote, Forked, LedgerUnavailable, NotFound
from ledger.shared_notes import NoteRow, Notes
from ledger.transparency.checkpoints import (
    SIGNING_INTERVAL_S,
    check_extension,
    checkpoint_path,
    merge_cosignatures,
    read_checkpoint,
    set_aside,
)
from ledger.transparency.merkle import leaf_hashes, verify_inclusion
from ledger.transparency.shared_keys import NodeKey, has_note, read_shared_verifier, was_signed_earlier
from ledger.transparency.signed_note import Checkpoint, SignedCheckpoint, Verifier
from ledger.transparency.tiles import TreeEdge
from ledger.transparency.tree import LogTree, TreeLog

NEWEST, WITNESSED = "checkpoint", "witnessed"
"""The names of the notes. An empty content says that there is none."""

TRIES = 10
"""Tries to sign or to adopt, while other nodes sign, too."""

_Result = TypeVar("_Result")


class Computed(NamedTuple):
    """The tree of all events in the database, and the last line; empty without events."""

    edge: TreeEdge
    line: bytes


class SharedCheckpointStore:
    """Signs the checkpoints of one log in turn with other nodes, and stores those that this node saw."""

    def __init__(self, ledger: Path, key: NodeKey, log: TreeLog, notes: Notes) -> None:
        self.newest: SignedCheckpoint | None = None
        """The newest checkpoint that this node saw; None before the first."""
        self._ledger = ledger
        self._key = key
        self._log = log
        self._notes = notes
        self._row: NoteRow | None = None
        self._witnessed: SignedCheckpoint | None = None
        self._checked_s = self._signed_s = float("-inf")
        self._signing = asyncio.Lock()

    @property
    def verifier(self) -> Verifier:
        """Return the key of the log, as this node knows it."""
        return self._key.verifier

    @property
    def unsigned(self) -> NotFound | None:
        """Return why this node signs nothing; None if it signs."""
        return self._key.unsigned

    @classmethod
    async def open(cls, ledger: Path, log: TreeLog, notes: Notes, key: Path | None = None) -> Self:
        """Open the store of a ledger; make a key if this node is the first one of a new log.

        `key` is the file of the key, if it is not beside the ledger's other files.
        Errors: Forked, if the log does not continue its checkpoints, or those that this node saw; BadNote, if a key or
        a checkpoint is damaged or of another log; LedgerUnusable, LedgerFull, LedgerUnavailable.
        """
        path = checkpoint_path(ledger)
        seen = await asyncio.to_thread(read_checkpoint, path)
        node_key = await NodeKey.open(ledger, notes, key, signed=seen is not None or await has_note(notes, NEWEST))
        store = cls(ledger, node_key, log, notes)
        if seen is not None and await was_signed_earlier(notes, seen):
            await asyncio.to_thread(set_aside, path)
            seen = None
        if seen is not None:
            _check_signature(seen, str(path), store.verifier)
        store.newest = seen
        await store._confirmed(store._refresh)
        # `_refresh` checks only notes that are new to it: also without one, the log must continue what this node saw
        await store._confirmed(store._check)
        store._signed_s = float("-inf")
        return store

    async def checkpoint(self, covering: int = 0, *, at_once: bool = False) -> SignedCheckpoint:
        """Return the newest checkpoint, of `covering` events or more; sign a new one if the log has grown.

        All nodes together sign at most one in SIGNING_INTERVAL_S; `at_once` ignores that. A node without the key
        returns what others signed. If the caller is cancelled, a started signature is still completed and stored.
        Errors: Forked; BadNote; NotFound, without the key, if nothing covers so many events; LedgerFull,
        LedgerUnavailable, if the checkpoint could not be stored, and is not returned.
        """
        return await asyncio.shield(asyncio.ensure_future(self._checkpoint(covering, at_once)))

    async def _checkpoint(self, covering: int, at_once: bool) -> SignedCheckpoint:
        async with self._signing:
            for _ in range(TRIES):
                fresh = time.monotonic() < self._checked_s + SIGNING_INTERVAL_S
                if self.newest is not None and self.newest.size >= covering and fresh and not at_once:
                    return self.newest
                await self._confirmed(self._refresh)
                wait_s = 0.0 if at_once else self._signed_s + SIGNING_INTERVAL_S - time.monotonic()
                if wait_s > 0 and self.newest is not None:
                    if self.newest.size >= covering:
                        return self.newest
                    await asyncio.sleep(wait_s)
                elif (signed := await self._sign(covering)) is not None:
                    return signed
        raise LedgerUnavailable("Other nodes changed the checkpoint at each try.", "Retry.")

    async def _sign(self, covering: int) -> SignedCheckpoint | None:
        """Sign the log as it is in the database; None, if another node was faster, or the server has changed."""
        edge, line = await self._confirmed(self._check)
        checkpoint, newest = Checkpoint(self.verifier.name, edge.size, edge.root()), self.newest
        # without a row only the file of this node has it, and the other nodes need it
        if newest is not None and newest.checkpoint == checkpoint and self._row is not None:
            return newest
        if (signer := self._key.signer) is None:
            if newest is not None and newest.size >= covering:
                return newest
            assert self.unsigned is not None
            raise self.unsigned
        content = SignedCheckpoint(checkpoint, signer.sign(checkpoint.text())).note.encode()
        seen = None if self._row is None else self._row.version
        # the commit fails if the database no longer has this line: it was replaced after its tree was computed
        last = (edge.size, line) if edge.size else None
        if not await self._notes.compare_and_set(NEWEST, seen, content, last=last):
            await self._confirmed(self._refresh)
            return None
        self._row = NoteRow(1 if seen is None else seen + 1, content)
        return await self._keep(SignedCheckpoint.parse(content))

    async def _confirmed(self, check: Callable[[], Awaitable[_Result]]) -> _Result:
        """Run a check. If it finds a fork, run it again through new connections: a stale server may look like a fork.

        If it finds one again, this node appends nothing more: each event would take the position of a lost one.
        Errors: those of the check.
        """
        try:
            return await check()
        except Forked:
            self._notes.reconnect()
        try:
            return await check()
        except Forked as error:
            refused = Forked(error.found, appends=False)
            self._log.refuse_appends(refused)
            raise refused from error

    async def _refresh(self) -> None:
        """Adopt what other nodes stored (S6), if the log continues it and what this node saw (S7).

        Errors: Forked, BadNote, LedgerUnavailable.
        """
        replaced = await self._key.refresh()
        while True:
            if replaced:
                await self._begin_again()
            try:
                return await self._adopt()
            except BadNote:  # the key was read before it was replaced, and the checkpoint after it
                replaced = await self._key.refresh()
                if not replaced:
                    raise

    async def _adopt(self) -> None:
        witnessed = await self._notes.read(WITNESSED)
        if witnessed is not None and witnessed.content:
            self._witnessed = _parse(witnessed, WITNESSED, self.verifier)
        row = await self._notes.read(NEWEST, self._row)
        if row is not None and row is not self._row:
            # a change of the note that only one server has could be lost with that server (S5)
            row = await self._notes.read_durable(NEWEST)
        if row is None and self._row is not None:
            raise Forked(f"{self._row.version} checkpoints of the ledger were signed, and the database has none.")
        if row is not None and row != self._row:
            shared = _parse(row, NEWEST, self.verifier)
            await self._check(shared)
            if self.newest is None or shared.size > self.newest.size:
                await self._keep(shared)
        self._row = row
        self._checked_s = time.monotonic()

    async def _begin_again(self) -> None:
        """Forget the checkpoints of a key that was replaced: for everyone else this is another log."""
        await asyncio.to_thread(set_aside, checkpoint_path(self._ledger))
        self.newest = self._witnessed = self._row = None

    async def _check(self, *others: SignedCheckpoint) -> Computed:
        """Compute the tree of all events in the database; check that it continues every known checkpoint (S2).

        Errors: Forked, LedgerUnavailable, LedgerDamaged.
        """
        known, read = self._log.edge, self._log.newest.position
        log = self._notes.log
        size = (await log.head()).position
        if max(read, known.size) > size:
            raise Forked(f"This node has read {max(read, known.size)} events, and the ledger has {size}.")
        edge = await LogTree(log).edge(size)
        tree = LogTree(log, edge)
        seen = [older.checkpoint for older in (self.newest, self._witnessed, *others) if older is not None]
        for older in (*seen, Checkpoint(self.verifier.name, known.size, known.root())):
            await check_extension(tree, older, edge)
        await self._log.wait_for_tree(0)  # raises an error if the stored tiles are damaged
        return Computed(edge, await read_last_line(tree, edge))

    async def _keep(self, signed: SignedCheckpoint) -> SignedCheckpoint:
        """Store the newest checkpoint that this node saw in its file (S7), publish it, and return it."""
        await asyncio.to_thread(_store_seen, self._ledger, signed)
        self.newest = signed
        self._signed_s = time.monotonic()
        return signed


async def read_shared(notes: Notes, name: str) -> SignedCheckpoint | None:
    """Return the checkpoint in a note, verified with the log's key; None if there is none. Errors: BadNote."""
    row = await notes.read(name)
    if row is None or not row.content:
        return None
    try:
        return _parse(row, name, await read_shared_verifier(notes))
    except BadNote:
        if await notes.read(name, row) == row:
            raise
    return await read_shared(notes, name)  # it was changed meanwhile, and perhaps the key, too


async def store_shared_witnessed(notes: Notes, cosigned: SignedCheckpoint) -> None:
    """Store a cosigned checkpoint, with other cosignatures of the same one, unless a longer one is stored.

    Errors: BadNote, LedgerUnavailable.
    """
    for _ in range(TRIES):
        row = await notes.read(WITNESSED)
        stored = None if row is None or not row.content else SignedCheckpoint.parse(row.content)
        if stored is not None and stored.size > cosigned.size:
            return
        if stored is not None and stored.checkpoint == cosigned.checkpoint:
            cosigned = SignedCheckpoint(cosigned.checkpoint, merge_cosignatures(stored.note, cosigned.note))
        if await notes.compare_and_set(WITNESSED, None if row is None else row.version, cosigned.note.encode()):
            return
    raise LedgerUnavailable("Other nodes changed the witnessed checkpoint at each try.", "Ask the witness again.")


async def read_last_line(tree: LogTree, edge: TreeEdge) -> bytes:
    """Return the last line of a tree, which has it; empty without events. Errors: LedgerUnavailable."""
    if edge.size == 0:
        return b""
    (line,) = await tree.lines(edge.size - 1, edge.size)
    proof = await tree.inclusion(edge.size, edge.size)
    if not verify_inclusion(leaf_hashes([line])[0], edge.size - 1, edge.size, proof, edge.root()):
        raise LedgerUnavailable("The database changed while its tree was computed.", "Retry.")
    return line


def _parse(row: NoteRow, name: str, verifier: Verifier) -> SignedCheckpoint:
    """Return the checkpoint in a note. Errors: BadNote, unless the log's key has signed it."""
    try:
        signed = SignedCheckpoint.parse(row.content)
    except BadNote as error:
        raise BadNote(f"The note {name} in the database is damaged: {error.detail}", "Restore the database.") from None
    _check_signature(signed, f"The note {name} in the database", verifier)
    return signed


def _check_signature(signed: SignedCheckpoint, what: str, verifier: Verifier) -> None:
    if signed.checkpoint.origin != verifier.name or not verifier.verifies(signed.note):
        raise BadNote(
            f"{what} is not signed with the key of {verifier.name}.",
            "It belongs to another log: restore what belongs to this one, or use another folder with --state.",
        )


def _store_seen(ledger: Path, signed: SignedCheckpoint) -> None:
    """Store a checkpoint in this node's file, unless a longer one is there. Errors: LedgerFull, LedgerUnavailable."""
    path = checkpoint_path(ledger)
    stored = read_checkpoint(path)
    if stored is not None and stored.checkpoint.origin == signed.checkpoint.origin and stored.size > signed.size:
        return
    try:
        replace_whole(path, signed.note.encode())
    except OSError as error:
        raise write_error(error, "Keeping the checkpoint", "this node did not publish it") from error
