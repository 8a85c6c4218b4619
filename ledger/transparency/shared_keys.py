"""The key of a log that many nodes write: the note `key` says whose log it is, and each node has the private key.

Only the first node of a new log makes a key. A node signs only with the key that the note names, and reads the note
again before it signs. If the key was replaced, the note `earlier_keys` has the one before: only then does a running
node adopt the new one, and forget the checkpoints of the old. Without the private key it serves what other nodes sign,
until the key is put in its place.
"""

import asyncio
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Self

from ledger.errors import BadNote, Forked, LedgerUnusable, NotFound
from ledger.shared_notes import NoteRow, Notes
from ledger.transparency.keys import key_path, make_key, path_beside, read_key
from ledger.transparency.signed_note import SignedCheckpoint, Signer, Verifier

KEY, EARLIER = "key", "earlier_keys"
"""The names of the notes. `earlier_keys` has a line for each key that was replaced."""


class NodeKey:
    """The key of a log, and the private key of one node, if it has it."""

    def __init__(self, ledger: Path, notes: Notes, file: Path | None, row: NoteRow) -> None:
        self.verifier = _parse_verifier(row)
        self.signer: Signer | None = None
        self._ledger = ledger
        self._notes = notes
        self._file = file
        self._row = row
        self._other: Verifier | None = None
        """The key that the node has in the place of the right one."""

    @classmethod
    async def open(cls, ledger: Path, notes: Notes, file: Path | None, *, signed: bool) -> Self:
        """Read the key of the log and that of this node; make it for a new log, if nothing was `signed`.

        Errors: BadNote, for a key that is not that of the log, and never was; LedgerUnusable, LedgerFull,
        LedgerUnavailable.
        """
        own = await asyncio.to_thread(read_key, ledger, file)
        row = await notes.read_durable(KEY)  # written before the first checkpoint
        if row is None:
            if own is None and signed:
                raise BadNote(
                    f"{key_path(ledger)} is missing, and checkpoints of the log were signed with it.",
                    "Put the key in its place: it is the same on every node.",
                )
            first = await asyncio.to_thread(make_key, ledger) if own is None else own
            if not await notes.compare_and_set(KEY, None, str(first.verifier).encode()) and own is None:
                await asyncio.to_thread(key_path(ledger).unlink)  # another node was the first
            row = await notes.read(KEY)
            assert row is not None, "one of the nodes has written it"
        key = cls(ledger, notes, file, row)
        await key._read_signer()
        other = key._other
        if other is not None and other not in await read_earlier(notes):
            raise BadNote(
                f"{key.path} is the key of {other.name}, and the ledger has that of {key.verifier.name}.",
                "Put the right key in its place: it is the same on every node.",
            )
        return key

    @property
    def path(self) -> Path:
        """The file of the private key."""
        return self._file or key_path(self._ledger)

    @property
    def unsigned(self) -> NotFound | None:
        """Return why this node signs nothing; None if it signs."""
        if self.signer is not None:
            return None
        if self._other is not None:
            why = f"{self.path} is that of {self._other.name}, which was replaced"
        else:
            why = f"{self.path} is missing"
        return NotFound(
            f"This node has no key and signs nothing: {why}. It serves what other nodes sign.",
            f"Put the key of {self.verifier.name} there, as on the other nodes.",
        )

    async def refresh(self) -> bool:
        """Read the note again, and the private key if it is missing; return whether the key was replaced.

        Errors: Forked, BadNote, if the log has another key, and this one was not replaced; LedgerUnavailable.
        """
        row = await self._notes.read(KEY, self._row)
        if row is None:
            raise Forked(f"The log is that of {self.verifier.name}, and the database has no key.")
        verifier = _parse_verifier(row)
        replaced = verifier != self.verifier
        if replaced and self.verifier not in await read_earlier(self._notes):
            raise BadNote(
                f"The log is that of {self.verifier.name}, and the database has the key of {verifier.name}.",
                "It belongs to another log: restore what belongs to this one.",
            )
        self._row, self.verifier = row, verifier
        if replaced or self.signer is None:
            await self._read_signer()
        return replaced

    async def _read_signer(self) -> None:
        """Read the private key. One that cannot be read, or is another one, is none."""
        self.signer = self._other = None
        with suppress(BadNote, LedgerUnusable):
            found = await asyncio.to_thread(_find_key, self._ledger, self._file, self.verifier)
            if found is not None and found.verifier != self.verifier:
                self._other = found.verifier
            else:
                self.signer = found


def replacement_path(ledger: Path, verifier: Verifier) -> Path:
    """Return the file of a new key, until the database has it too."""
    return path_beside(ledger, f"key.{sha256(str(verifier).encode()).hexdigest()[:8]}")


async def has_note(notes: Notes, name: str) -> bool:
    """Return whether there is a note. Errors: LedgerUnavailable."""
    return await notes.read(name) is not None


async def read_shared_verifier(notes: Notes) -> Verifier:
    """Return the log's verifier key. Errors: NotFound, before the first node made one; BadNote."""
    row = await notes.read(KEY)
    if row is None:
        raise NotFound("The ledger has no key yet.", "tallystick serve makes one.")
    return _parse_verifier(row)


async def read_earlier(notes: Notes) -> list[Verifier]:
    """Return the keys of the log that were replaced, oldest first. Errors: BadNote, LedgerUnavailable."""
    row = await notes.read(EARLIER)
    lines = [] if row is None else row.content.decode(errors="replace").splitlines()
    return [Verifier.parse(line) for line in lines]


async def was_signed_earlier(notes: Notes, signed: SignedCheckpoint) -> bool:
    """Return whether a key that was replaced has signed a checkpoint. Errors: BadNote, LedgerUnavailable."""
    return any(signed.checkpoint.origin == key.name and key.verifies(signed.note) for key in await read_earlier(notes))


def _parse_verifier(row: NoteRow) -> Verifier:
    return Verifier.parse(row.content.decode(errors="replace"))


def _find_key(ledger: Path, file: Path | None, verifier: Verifier) -> Signer | None:
    """Return the private key of the log, or whatever is in its place; None if nothing is.

    A command that replaced the key may have been killed before it gave the new one its name. Errors: BadNote,
    LedgerUnusable; OSError.
    """
    found = read_key(ledger, file)
    if file is not None or (found is not None and found.verifier == verifier):
        return found
    new = replacement_path(ledger, verifier)
    if new.exists() and (made := read_key(ledger, new)) is not None and made.verifier == verifier:
        new.replace(key_path(ledger))
        return made
    return found
