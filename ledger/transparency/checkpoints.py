"""Checkpoints of a log: signed with its key, stored, and compared with every later state of the log.

S1 A checkpoint is durable in `LEDGER.checkpoint` before any caller gets it; a crash leaves the old one or the new one.
S2 A new checkpoint continues the newest signed one, and the newest one that a witness has cosigned.
S3 Only the process that holds the writer's lock signs.
S4 No checkpoint is signed while the log has not grown; under load at most one in SIGNING_INTERVAL_S.

S2 detects a ledger that was restored from an older copy, or altered. It compares roots, which are computed from stored
tiles; only a verification of all lines shows whether each line is still the one under its tile.
"""

import asyncio
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Self

from events.errors import TallystickError
from events.limits import NOTE_BYTES_MAX, NOTE_SIGNATURES_MAX
from ledger.atomic_file import replace_whole, sync_folder, write_error
from ledger.errors import BadNote, Forked, InvalidQuery, LedgerUnusable
from ledger.file_seal import find_alteration, replace_sealed, seal_advice, seal_path
from ledger.private_file import read_private, refuse_link
from ledger.transparency.keys import REPLACE_ADVICE, key_path, make_key, path_beside, read_key
from ledger.transparency.merkle import verify_consistency
from ledger.transparency.signed_note import Checkpoint, SignedCheckpoint, SignedNote, Signer
from ledger.transparency.tiles import TreeEdge
from ledger.transparency.tree import LogTree, TreeLog

SIGNING_INTERVAL_S = 1.0
"""Minimum seconds between two signatures."""


class CheckpointStore:
    """Signs and stores the checkpoints of one log."""

    def __init__(self, ledger: Path, signer: Signer, stored: dict[Path, SignedCheckpoint], log: TreeLog) -> None:
        self.verifier = signer.verifier
        self.newest = stored.get(checkpoint_path(ledger))
        """The newest checkpoint that is durable; None before the first."""
        self.unsigned: TallystickError | None = None
        """Why this process signs nothing: always None, as it has the key."""
        self._ledger = ledger
        self._signer = signer
        self._predecessors = list(stored.values())
        self._log = log
        self._signed_s = float("-inf")
        self._signing = asyncio.Lock()

    @classmethod
    async def open(cls, ledger: Path, log: TreeLog, key: Path | None = None) -> Self:
        """Open the store of a ledger; make a key if there is none. The caller holds the writer's lock.

        `key` is the file of the key, if it is not beside the ledger.

        Errors: Forked, if the log does not continue its checkpoints; BadNote, if a key or a checkpoint is damaged or of
        another log; LedgerUnusable, LedgerFull, LedgerUnavailable.
        """
        signer, stored = await asyncio.to_thread(_read_or_make_key, ledger, key)
        store = cls(ledger, signer, stored, log)
        committed = (await log.head()).position
        signed = max((older.size for older in store._predecessors), default=0)
        # not more than is committed: of a log that lost events the tree would never grow so far
        await store._check(await log.wait_for_tree(min(signed, committed)))
        return store

    async def checkpoint(self, covering: int = 0, *, at_once: bool = False) -> SignedCheckpoint:
        """Return the newest checkpoint, of `covering` events or more; sign a new one if the log has grown.

        Under load it may lack the events of the last SIGNING_INTERVAL_S, but always covers `covering` events;
        `at_once` ignores the interval. If the caller is cancelled, a started signature is still completed and stored.
        Errors: Forked; LedgerFull, LedgerUnavailable, if the checkpoint could not be stored, and is not returned.
        """
        assert covering <= self._log.newest.position, covering
        return await asyncio.shield(asyncio.ensure_future(self._checkpoint(covering, at_once)))

    async def _checkpoint(self, covering: int, at_once: bool) -> SignedCheckpoint:
        async with self._signing:
            wait_s = 0.0 if at_once else self._signed_s + SIGNING_INTERVAL_S - time.monotonic()
            if wait_s > 0:
                if self.newest is not None and self.newest.size >= covering:
                    return self.newest
                await asyncio.sleep(wait_s)
            return await self._sign(await self._log.wait_for_tree(covering))

    async def _sign(self, edge: TreeEdge) -> SignedCheckpoint:
        checkpoint = Checkpoint(self.verifier.name, edge.size, edge.root())
        if self.newest is not None and self.newest.checkpoint == checkpoint:
            return self.newest
        await self._check(edge)
        signed = SignedCheckpoint(checkpoint, self._signer.sign(checkpoint.text()))
        await asyncio.to_thread(_store, self._ledger, signed)
        self.newest, self._predecessors = signed, [signed]
        self._signed_s = time.monotonic()
        return signed

    async def _check(self, edge: TreeEdge) -> None:
        """Check that the tree of an edge continues the signed and the witnessed checkpoint (S2). Errors: Forked."""
        tree = LogTree(self._log, edge)
        for older in self._predecessors:
            await check_extension(tree, older.checkpoint, edge)


async def check_extension(tree: LogTree, older: Checkpoint, edge: TreeEdge) -> None:
    """Check that the tree of an edge begins with that of an older checkpoint. Errors: Forked."""
    if older.size > edge.size:
        raise Forked(f"{older.size} events were signed, and the ledger has {edge.size}.")
    proof = await tree.consistency(older.size, edge.size)
    if not verify_consistency(older.size, edge.size, proof, older.root, edge.root()):
        raise Forked(f"The first {older.size} of its {edge.size} events are not those that were signed.")


def checkpoint_path(ledger: Path) -> Path:
    """Return the path of the newest signed checkpoint."""
    return path_beside(ledger, "checkpoint")


def witnessed_path(ledger: Path) -> Path:
    """Return the path of the newest checkpoint that a witness has cosigned."""
    return path_beside(ledger, "witnessed")


def read_checkpoint(path: Path) -> SignedCheckpoint | None:
    """Read a stored checkpoint; None if the file does not exist. Errors: BadNote, LedgerUnusable."""
    try:
        return SignedCheckpoint.parse(read_private(path, NOTE_BYTES_MAX))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerUnusable(f"{path} cannot be read: {error}.", "Check its permissions.") from error
    except BadNote as error:
        raise BadNote(f"{path} is damaged: {error.detail}", f"Restore it, or {REPLACE_ADVICE}.") from None


def read_witnessed(ledger: Path) -> SignedCheckpoint | None:
    """Read the checkpoint that was cosigned last, and check its seal, which covers the cosignatures.

    Errors: BadNote, LedgerUnusable.
    """
    path = witnessed_path(ledger)
    signed = read_checkpoint(path)
    if signed is not None and (alteration := find_alteration(ledger, path, signed.note.encode())) is not None:
        advice = f"Ask the witness again: tallystick witness. {seal_advice(path)}"
        raise BadNote(alteration, advice)
    return signed


def store_witnessed(ledger: Path, cosigned: SignedCheckpoint) -> None:
    """Store a cosigned checkpoint, with other cosignatures of the same one, unless a longer one is stored.

    One that another program has changed is replaced.

    Call it on a thread. Errors: BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable.
    """
    path = witnessed_path(ledger)
    stored = read_checkpoint(path)
    if stored is not None and find_alteration(ledger, path, stored.note.encode()) is not None:
        stored = None
    if stored is not None and stored.checkpoint == cosigned.checkpoint:
        cosigned = SignedCheckpoint(cosigned.checkpoint, merge_cosignatures(stored.note, cosigned.note))
    elif stored is not None and stored.checkpoint.origin == cosigned.checkpoint.origin and stored.size > cosigned.size:
        return
    try:
        replace_sealed(ledger, path, cosigned.note.encode())
    except OSError as error:
        raise write_error(error, "Keeping the cosignature", "it was not kept") from error


def replace_key(ledger: Path, name: str | None = None) -> Signer:
    """Replace the key, and rename the checkpoints of the old one: for everyone else a new log begins.

    Call it on a thread, with the writer's lock.
    Errors: InvalidQuery, for the log's present name; BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable.
    """
    # a damaged key can be replaced, too
    with suppress(BadNote):
        if name is not None and (signer := read_key(ledger)) is not None and signer.verifier.name == name:
            raise InvalidQuery(
                "origin", f"{name} is this log already.", "A new key begins a new log: choose another name."
            )
    # the key first: after a crash in between, the old checkpoints do not fit it, and the next start says so
    signer = make_key(ledger, name)
    for path in (checkpoint_path(ledger), witnessed_path(ledger)):
        set_aside(path)
    return signer


def set_aside(path: Path) -> None:
    """Rename a checkpoint of an old key: append 8 digits of its digest. Errors: LedgerFull, LedgerUnavailable."""
    refuse_link(path)
    try:
        path.replace(path.with_name(name_aside(path.name, path.read_bytes())))
        seal_path(path).unlink(missing_ok=True)
        sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise write_error(error, f"Moving {path}", "the new key is made: run this again") from error


def name_aside(name: str, content: bytes) -> str:
    """Return the name under which a checkpoint of an old key is kept."""
    return f"{name}.{sha256(content).hexdigest()[:8]}"


def merge_cosignatures(stored: SignedNote, cosigned: SignedNote) -> SignedNote:
    """Return the cosigned note with the stored signatures of other keys after its own."""
    keys = {signature[:2] for signature in cosigned.signatures}
    older = tuple(signature for signature in stored.signatures if signature[:2] not in keys)
    return cosigned._replace(signatures=(*cosigned.signatures, *older)[:NOTE_SIGNATURES_MAX])


def _read_or_make_key(ledger: Path, key: Path | None) -> tuple[Signer, dict[Path, SignedCheckpoint]]:
    """Return the key and its stored checkpoints, by path; make a key if there is none.

    Errors: BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable.
    """
    paths = (checkpoint_path(ledger), witnessed_path(ledger))
    stored = {path: signed for path in paths if (signed := read_checkpoint(path)) is not None}
    signer = read_key(ledger, key)
    if signer is None and stored:
        detail = f"{key_path(ledger)} is missing, and {next(iter(stored))} was signed with it."
        raise BadNote(detail, f"Restore it from a copy, or {REPLACE_ADVICE}.")
    signer = signer or make_key(ledger)
    for path, signed in stored.items():
        if signed.checkpoint.origin != signer.verifier.name or not signer.verifier.verifies(signed.note):
            detail = f"{path} is not signed with {key or key_path(ledger)}, the key of {signer.verifier.name}."
            raise BadNote(detail, f"Restore the file that belongs to the other one, or {REPLACE_ADVICE}.")
    return signer, stored


def _store(ledger: Path, signed: SignedCheckpoint) -> None:
    """Store a checkpoint (S1). Errors: LedgerFull, LedgerUnavailable."""
    try:
        replace_whole(checkpoint_path(ledger), signed.note.encode())
    except OSError as error:
        raise write_error(error, "Keeping the checkpoint", "none was published") from error
