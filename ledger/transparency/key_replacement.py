"""Replace the key of a log that many nodes write: for everyone else, a new log begins.

The note of the key, the checkpoint of all events, signed with the new key, and the list of earlier keys change in one
commit. A node that is signing with the old key meanwhile finds that the checkpoint has changed, and writes nothing: no
checkpoint of the old key follows one of the new.
"""

import asyncio
from pathlib import Path

from ledger.atomic_file import replace_whole, sync_folder, write_error
from ledger.errors import InvalidQuery, LedgerUnavailable
from ledger.private_file import FILE_MODE
from ledger.shared_notes import Notes
from ledger.transparency.checkpoints import checkpoint_path, name_aside, read_checkpoint, set_aside
from ledger.transparency.keys import key_path, new_signer
from ledger.transparency.shared_checkpoints import NEWEST, TRIES, WITNESSED, read_last_line
from ledger.transparency.shared_keys import EARLIER, KEY, read_shared_verifier, replacement_path
from ledger.transparency.signed_note import Checkpoint, SignedCheckpoint, Signer, Verifier
from ledger.transparency.tree import LogTree

Changes = dict[str, tuple[int | None, bytes]]


async def replace_shared_key(ledger: Path, notes: Notes, name: str | None = None) -> Verifier:
    """Make a new key in the folder of this node, and sign the log with it. The old checkpoints are kept as other notes.

    Errors: InvalidQuery, for the log's present name; NotFound, if the log has no key; BadNote, LedgerFull,
    LedgerUnavailable.
    """
    old = await read_shared_verifier(notes)
    if name == old.name:
        raise InvalidQuery("origin", f"{name} is this log already.", "A new key begins a new log: choose another name.")
    signer = new_signer(name)
    made = replacement_path(ledger, signer.verifier)
    # before the notes name it: after a crash in between, nobody would have the private key of the log
    await asyncio.to_thread(_write, made, signer)
    if not await _change(notes, old, signer):
        await asyncio.to_thread(made.unlink, missing_ok=True)
        raise LedgerUnavailable("Other nodes changed the key or the checkpoint at each try.", "Retry.")
    await asyncio.to_thread(_rename, made, ledger, old)
    return signer.verifier


async def _change(notes: Notes, old: Verifier, signer: Signer) -> bool:
    """Change the notes; return whether that was done."""
    for _ in range(TRIES):
        key = await notes.read_durable(KEY)
        if key is None or key.content.decode() != str(old):
            return False
        changes: Changes = {KEY: (key.version, str(signer.verifier).encode())}
        earlier = await notes.read(EARLIER)
        line = f"{old}\n".encode()
        changes[EARLIER] = (None, line) if earlier is None else (earlier.version, earlier.content + line)
        edge = await LogTree(notes.log).edge((await notes.log.head()).position)
        last = await read_last_line(LogTree(notes.log, edge), edge)
        checkpoint = Checkpoint(signer.verifier.name, edge.size, edge.root())
        signed = SignedCheckpoint(checkpoint, signer.sign(checkpoint.text())).note.encode()
        for note, content in ((NEWEST, signed), (WITNESSED, b"")):
            row = await notes.read(note)
            if row is not None and row.content:
                changes[name_aside(note, row.content)] = (None, row.content)
            if row is not None or content:
                changes[note] = (None if row is None else row.version, content)
        if await notes.change(changes, last=(edge.size, last) if edge.size else None):
            return True
    return False


def _write(path: Path, signer: Signer) -> None:
    """Write a new key. Errors: LedgerFull, LedgerUnavailable."""
    try:
        replace_whole(path, f"{signer.secret()}\n".encode(), mode=FILE_MODE)
    except OSError as error:
        raise write_error(error, "Writing the key", "no key was made") from error


def _rename(made: Path, ledger: Path, old: Verifier) -> None:
    """Give the new key its name, and put the checkpoint of the old one aside.

    A server that uses the same folder may have done that already. Errors: BadNote, LedgerFull, LedgerUnavailable.
    """
    try:
        if made.exists():
            made.replace(key_path(ledger))
            sync_folder(made.parent)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise write_error(error, f"Renaming {made}", "the log has the new key, which is in this file") from error
    path = checkpoint_path(ledger)
    seen = read_checkpoint(path)
    if seen is not None and seen.checkpoint.origin == old.name:
        set_aside(path)
