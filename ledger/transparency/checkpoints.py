"""What a log says of itself: checkpoints, signed with its key, kept, and held to.

S1 A checkpoint is durable in `LEDGER.checkpoint` before anyone is given it; a crash leaves the old one or the new.
S2 None is signed that does not continue the newest that was signed, or the newest that a witness has cosigned.
S3 Only the process that holds the writer's lock signs.
S4 Nothing is signed where the log has not grown, and under load at most one checkpoint in PACE_S.

S2 is what catches a ledger that was restored from an older copy, or altered. It compares roots, which stand on the
tiles that are kept; whether each line still is what its tile says, who reads all of them can tell.
"""

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from events.limits import NOTE_SIGNATURES_MAX
from ledger.atomic_file import replace_whole, write_error
from ledger.errors import BadNote, Forked, InvalidQuery, LedgerUnusable
from ledger.transparency.keys import REPLACE, beside, key_path, make_key, read_key, retire
from ledger.transparency.merkle import continues
from ledger.transparency.signed_note import Checkpoint, SignedCheckpoint, SignedNote, Signer
from ledger.transparency.tiles import TreeEdge
from ledger.transparency.tree import LogTree, TreeLog

PACE_S = 1.0
"""The least time between two signatures."""


class CheckpointStore:
    """The one who signs for a log."""

    def __init__(self, ledger: Path, signer: Signer, held: dict[Path, SignedCheckpoint], log: TreeLog) -> None:
        self.verifier = signer.verifier
        self.newest = held.get(checkpoint_path(ledger))
        """The newest checkpoint that is durable; None before the first."""
        self._ledger = ledger
        self._signer = signer
        self._held = list(held.values())
        self._log = log
        self._signed_s = float("-inf")
        self._one = asyncio.Lock()

    @classmethod
    async def open(cls, ledger: Path, log: TreeLog) -> Self:
        """Begin to sign, by the holder of the writer's lock; a key is made where there is none.

        Errors: Forked, for a log that does not continue what was signed; BadNote, for a key or a checkpoint that is
        damaged or another's; LedgerUnusable, LedgerFull, LedgerUnavailable.
        """
        signer, held = await asyncio.to_thread(_prepare, ledger)
        signing = cls(ledger, signer, held, log)
        await signing._check(log.edge)
        return signing

    async def checkpoint(self, covering: int = 0, *, at_once: bool = False) -> SignedCheckpoint:
        """The newest checkpoint, of `covering` events or more, signed anew where the log has grown.

        Under load it may lack the events of the last PACE_S, but never those that are asked for; `at_once` waits for
        no pace. Whoever gives up waiting stops nothing: what was begun is kept.
        Errors: Forked; LedgerFull, LedgerUnavailable, where it could not be kept, and is not given.
        """
        assert covering <= self._log.edge.size, covering
        return await asyncio.shield(asyncio.ensure_future(self._newest(covering, at_once)))

    async def _newest(self, covering: int, at_once: bool) -> SignedCheckpoint:
        async with self._one:
            wait_s = 0.0 if at_once else self._signed_s + PACE_S - time.monotonic()
            if wait_s > 0:
                if self.newest is not None and self.newest.size >= covering:
                    return self.newest
                await asyncio.sleep(wait_s)
            return await self._sign(self._log.edge)

    async def _sign(self, edge: TreeEdge) -> SignedCheckpoint:
        checkpoint = Checkpoint(self.verifier.name, edge.size, edge.root())
        if self.newest is not None and self.newest.checkpoint == checkpoint:
            return self.newest
        await self._check(edge)
        signed = SignedCheckpoint(checkpoint, self._signer.sign(checkpoint.text()))
        await asyncio.to_thread(_keep, self._ledger, signed)
        self.newest, self._held = signed, [signed]
        self._signed_s = time.monotonic()
        return signed

    async def _check(self, edge: TreeEdge) -> None:
        """S2. Errors: Forked."""
        tree = LogTree(self._log, edge)
        for held in self._held:
            if held.size > edge.size:
                raise Forked(f"{held.size} events were signed, and the ledger has {edge.size}.")
            proof = await tree.consistency(held.size, edge.size)
            if not continues(held.size, edge.size, proof, held.checkpoint.root, edge.root()):
                raise Forked(f"The first {held.size} of its {edge.size} events are not those that were signed.")


def checkpoint_path(ledger: Path) -> Path:
    """Where the newest checkpoint that was signed is kept."""
    return beside(ledger, "checkpoint")


def witnessed_path(ledger: Path) -> Path:
    """Where the newest checkpoint that a witness has cosigned is kept."""
    return beside(ledger, "witnessed")


def read_signed(path: Path) -> SignedCheckpoint | None:
    """A checkpoint that is kept; None where there is none. Errors: BadNote, LedgerUnusable."""
    try:
        return SignedCheckpoint.parse(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerUnusable(f"{path} cannot be read: {error}.", "Check its permissions.") from error
    except BadNote as error:
        raise BadNote(f"{path} is damaged: {error.detail}", f"Restore it, or {REPLACE}.") from None


def keep_witnessed(ledger: Path, cosigned: SignedCheckpoint) -> None:
    """Keep what a witness has cosigned, with the cosignatures of others on the same checkpoint, unless more is kept.

    Call it on a thread. Errors: BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable.
    """
    path = witnessed_path(ledger)
    kept = read_signed(path)
    if kept is not None and kept.checkpoint == cosigned.checkpoint:
        cosigned = SignedCheckpoint(cosigned.checkpoint, _merged(kept.note, cosigned.note))
    elif kept is not None and kept.checkpoint.origin == cosigned.checkpoint.origin and kept.size > cosigned.size:
        return
    try:
        replace_whole(path, cosigned.note.encode())
    except OSError as error:
        raise write_error(error, "Keeping the cosignature", "it was not kept") from error


def replace_key(ledger: Path, name: str | None = None) -> Signer:
    """A new key in place of the one there is, and what that one signed out of the way: another log, to everyone.

    Call it on a thread, with the writer's lock.
    Errors: InvalidQuery, for the name there is; BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable.
    """
    with suppress(BadNote):
        if name is not None and (old := read_key(ledger)) is not None and old.verifier.name == name:
            raise InvalidQuery("origin", f"{name} is this log already.", "A new key begins a new log: name it anew.")
    signer = make_key(ledger, name)
    for path in (checkpoint_path(ledger), witnessed_path(ledger)):
        retire(path)
    return signer


def _merged(kept: SignedNote, cosigned: SignedNote) -> SignedNote:
    """The newer signatures, then those of other keys."""
    newer = {signature[:2] for signature in cosigned.signatures}
    others = tuple(signature for signature in kept.signatures if signature[:2] not in newer)
    return cosigned._replace(signatures=(*cosigned.signatures, *others)[:NOTE_SIGNATURES_MAX])


def _prepare(ledger: Path) -> tuple[Signer, dict[Path, SignedCheckpoint]]:
    """The key, and what it is held to. Errors: BadNote, LedgerUnusable, LedgerFull, LedgerUnavailable."""
    paths = (checkpoint_path(ledger), witnessed_path(ledger))
    kept = {path: signed for path in paths if (signed := read_signed(path)) is not None}
    signer = read_key(ledger)
    if signer is None and kept:
        detail = f"{key_path(ledger)} is missing, and {next(iter(kept))} was signed with it."
        raise BadNote(detail, f"Restore it from where you keep a copy, or {REPLACE}.")
    signer = signer or make_key(ledger)
    for path, signed in kept.items():
        if signed.checkpoint.origin != signer.verifier.name or not signer.verifier.verifies(signed.note):
            detail = f"{path} is not signed with {key_path(ledger)}, the key of {signer.verifier.name}."
            raise BadNote(detail, f"Restore the one that fits the other, or {REPLACE}.")
    return signer, kept


def _keep(ledger: Path, signed: SignedCheckpoint) -> None:
    """S1. Errors: LedgerFull, LedgerUnavailable."""
    try:
        replace_whole(checkpoint_path(ledger), signed.note.encode())
    except OSError as error:
        raise write_error(error, "Keeping the checkpoint", "none was published") from error
