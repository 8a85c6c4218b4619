"""Checkpoints and receipts: sign the head of the log as it grows, and prove single events."""

import asyncio
from contextlib import suppress
from pathlib import Path

from api.service.server_log import log
from events.errors import TallystickError
from ledger.errors import BadNote, Forked, LedgerUnusable, NotFound
from ledger.log import LogReader, Query
from ledger.shared_notes import Notes
from ledger.transparency.checkpoints import (
    SIGNING_INTERVAL_S,
    CheckpointStore,
    checkpoint_path,
    read_checkpoint,
    read_witnessed,
    store_witnessed,
    witnessed_path,
)
from ledger.transparency.keys import key_path, others_may_read, read_key
from ledger.transparency.receipt import Receipt
from ledger.transparency.shared_checkpoints import (
    NEWEST,
    WITNESSED,
    SharedCheckpointStore,
    read_shared,
    store_shared_witnessed,
)
from ledger.transparency.shared_keys import read_shared_verifier
from ledger.transparency.signed_note import SignedCheckpoint, Verifier
from ledger.transparency.tree import LogTree, TreeLog

PERMANENT = (BadNote, Forked, LedgerUnusable)
"""Errors that a retry does not resolve: each request raises them again until the ledger is reopened."""


async def read_line(reader: LogReader, position: int) -> bytes:
    """Return the stored line at a position. Errors: NotFound."""
    page = await reader.read(Query(after=position - 1, before=position + 1, limit=1))
    if not page.positions:
        head = (await reader.head()).position
        raise NotFound(
            f"Position {position} is not in the log.", f"Positions run from 1 to {head}.", name=str(position)
        )
    return page.ndjson


class CheckpointService:
    """Signs the head of a ledger that is open for writing. For one that is open for reading, it reads checkpoints."""

    def __init__(
        self,
        ledger: Path,
        reader: LogReader,
        writer: TreeLog | None,
        notes: Notes | None = None,
        key: Path | None = None,
    ) -> None:
        self.refusal: TallystickError | None = None
        """Why the last attempt to sign failed; None if it succeeded."""
        self.ledger = ledger
        self._reader = reader
        self._writer = writer
        self._notes = notes
        self._key = key
        """The file of the key, if it is not beside the ledger."""
        self._checkpoints: CheckpointStore | SharedCheckpointStore | None = None
        self._opening = asyncio.Lock()
        self._signing_task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def start(self) -> None:
        """Sign the log from now on as it grows. A failure is only logged."""
        assert self._writer is not None
        if await asyncio.to_thread(others_may_read, self.ledger, self._key):
            key = str(self._key or key_path(self.ledger))
            log.warning("key readable by others", key=key, advice="chmod 600 it.")
        await self._try_sign(self._writer)
        self._signing_task = asyncio.create_task(self._sign_periodically(self._writer), name="signer")

    async def close(self) -> None:
        """Sign the rest of the log, if `start` was called."""
        if self._signing_task is None:
            return
        self._closing.set()
        await self._signing_task

    @property
    def signed_size(self) -> int:
        """The size of the newest checkpoint that this process knows, in events."""
        newest = self._checkpoints.newest if self._checkpoints is not None else None
        return newest.size if newest is not None else 0

    @property
    def tree(self) -> LogTree:
        """The tree over the current log."""
        return LogTree(self._reader, self._writer.edge if self._writer is not None else None)

    async def verifier(self) -> Verifier:
        """Return the log's verifier key. Errors: NotFound, without a key; BadNote, LedgerUnusable."""
        if self._writer is not None:
            return (await self._open_signer(self._writer)).verifier
        if self._notes is not None:
            return await read_shared_verifier(self._notes)
        signer = await asyncio.to_thread(read_key, self.ledger, self._key)
        if signer is None:
            raise NotFound(f"{self.ledger} has no key yet.", "tallystick key make, or tallystick serve, makes one.")
        return signer.verifier

    async def checkpoint(self, covering: int = 0) -> SignedCheckpoint:
        """Return the newest checkpoint. It covers at least `covering` events; these must exist.

        For a ledger that is open for reading, return the last one that a writer signed.
        Errors: NotFound, if that covers fewer events; Forked, BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable.
        """
        if self._writer is not None:
            return await self._sign(self._writer, covering)
        stored = await self.stored()
        if stored is None or stored.size < covering:
            newest = "nothing is signed yet" if stored is None else f"the newest checkpoint is of {stored.size} events"
            advice = "A server that writes it signs within a second: ask again."
            raise NotFound(f"{self.ledger}: {newest}.", advice)
        await self._check_stored(checkpoint_path(self.ledger), stored)
        return stored

    async def stored(self) -> SignedCheckpoint | None:
        """Return the checkpoint that was signed last, as it is stored; None before the first.

        Errors: BadNote, LedgerUnusable, LedgerUnavailable.
        """
        if self._notes is not None:
            return await read_shared(self._notes, NEWEST)
        return await asyncio.to_thread(read_checkpoint, checkpoint_path(self.ledger))

    async def witnessed(self) -> SignedCheckpoint:
        """Return the newest cosigned checkpoint. Errors: NotFound; BadNote, LedgerUnusable."""
        stored = await self.kept_witnessed()
        if stored is None:
            raise NotFound("No witness has cosigned a checkpoint.", "Ask one: tallystick witness --url WITNESS.")
        return stored

    async def kept_witnessed(self) -> SignedCheckpoint | None:
        """Return the newest cosigned checkpoint, or None. Errors: BadNote, LedgerUnusable, Forked."""
        path = witnessed_path(self.ledger)
        if self._notes is not None:
            stored = await read_shared(self._notes, WITNESSED)
        else:
            stored = await asyncio.to_thread(read_witnessed, self.ledger)
        if stored is not None:
            await self._check_stored(path, stored)
        return stored

    async def keep_witnessed(self, cosigned: SignedCheckpoint) -> None:
        """Store a cosigned checkpoint. Errors: BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable."""
        if self._notes is not None:
            await store_shared_witnessed(self._notes, cosigned)
        else:
            await asyncio.to_thread(store_witnessed, self.ledger, cosigned)

    async def _check_stored(self, path: Path, stored: SignedCheckpoint) -> None:
        """Check that the log's key signed a stored checkpoint, if the key can be read, and that the log has its root.

        Errors: BadNote, Forked.
        """
        with suppress(NotFound, LedgerUnusable):
            verifier = await self.verifier()
            if stored.checkpoint.origin != verifier.name or not verifier.verifies(stored.note):
                raise BadNote(
                    f"{path} is not signed with the key of {verifier.name}.", "Restore it: tallystick verify."
                )
        head = (await self._reader.head()).position
        if stored.size > head:
            raise Forked(f"{path} covers {stored.size} events, and the ledger has {head}.")
        if await self.tree.root(stored.size) != stored.checkpoint.root:
            raise Forked(f"The first {stored.size} events are not those that {path} was signed for.")

    async def receipt(self, position: int) -> Receipt:
        """Return the proof of the event at a position, to the cosigned checkpoint if that covers it.

        Errors: NotFound, and those of `checkpoint`; Forked, for a line that differs from the signed one.
        """
        line = await read_line(self._reader, position)
        signed = await self.checkpoint(position)
        with suppress(NotFound, BadNote, LedgerUnusable, Forked):
            cosigned = await self.witnessed()
            if cosigned.checkpoint.origin == signed.checkpoint.origin and cosigned.size >= position:
                signed = cosigned
        hashes = await self.tree.inclusion(position, signed.size)
        receipt = Receipt(position, tuple(hashes), signed, line)
        if not receipt.includes(line):
            raise Forked(f"The event at position {position} is not the one that was signed.")
        return receipt

    async def _sign(self, writer: TreeLog, covering: int = 0, *, at_once: bool = False) -> SignedCheckpoint:
        try:
            checkpoints = await self._open_signer(writer)
            signed = await checkpoints.checkpoint(covering, at_once=at_once)
        except TallystickError as error:
            self.refusal = error
            raise
        self.refusal = checkpoints.unsigned
        return signed

    async def _open_signer(self, writer: TreeLog) -> CheckpointStore | SharedCheckpointStore:
        async with self._opening:
            if isinstance(self.refusal, PERMANENT):
                raise self.refusal
            if self._checkpoints is None and self._notes is not None:
                self._checkpoints = await SharedCheckpointStore.open(self.ledger, writer, self._notes, self._key)
            elif self._checkpoints is None:
                self._checkpoints = await CheckpointStore.open(self.ledger, writer, self._key)
            return self._checkpoints

    async def _sign_periodically(self, writer: TreeLog) -> None:
        """Sign the log every SIGNING_INTERVAL_S if it has grown, and once more when the ledger closes."""
        while not self._closing.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), SIGNING_INTERVAL_S)
            await self._try_sign(writer)

    async def _try_sign(self, writer: TreeLog) -> None:
        """Sign the head; log a failure unless it is the same as the last one."""
        before = self.refusal
        try:
            await self._sign(writer, at_once=self._closing.is_set())
        except TallystickError:
            pass  # it is in `refusal`
        except Exception:
            log.exception("signing failed", ledger=str(self.ledger))
        if self.refusal is not None and str(self.refusal) != str(before):
            log.error("unsigned", reason=str(self.refusal), ledger=str(self.ledger))
