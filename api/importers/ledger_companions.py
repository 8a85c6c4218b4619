"""Copy the small files of a ledger to its new place: key, tokens, checkpoints. In a database most of them are notes."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from api.importers.ledger_rebuild import IMPORTED
from api.service.backup import REBUILT, SIGNED, read_companions, write_beside
from api.service.shared_tokens import TOKENS
from events.limits import NOTE_BYTES_MAX
from ledger.atomic_file import write_error
from ledger.errors import Occupied
from ledger.place import Place
from ledger.private_file import read_private
from ledger.sqlite.backup import remove_files
from ledger.transparency.keys import path_beside
from ledger.transparency.shared_checkpoints import NEWEST, WITNESSED
from ledger.transparency.shared_keys import KEY
from ledger.transparency.signed_note import SignedCheckpoint, Signer

if TYPE_CHECKING:
    from ledger.verify.database_rebuild import DatabaseRebuild

SHARED = {".tokens": TOKENS, ".checkpoint": NEWEST, ".witnessed": WITNESSED}
"""The files of a ledger that are notes in a database, by the endings of their names."""


def copy_companions(
    source: Place,
    target: Place,
    notes: Mapping[str, bytes],
    shared: "DatabaseRebuild | None",
    *,
    with_key: bool,
) -> None:
    """Copy key, tokens and checkpoints. `notes` are those of a source in a database; `shared` stores those of a target.

    A checkpoint of the same log that covers fewer events is replaced.
    Errors: Occupied, for a file that differs; LedgerFull, LedgerUnavailable.
    """
    try:
        companions = read_companions(source.path, with_key=with_key)
        if source.database is not None:
            companions = {ending: data for ending, data in companions.items() if ending not in SHARED}
            companions |= {ending: notes[name] for ending, name in SHARED.items() if name in notes}
        with suppress(FileNotFoundError):
            companions[f".{IMPORTED}"] = read_private(path_beside(source.path, IMPORTED), NOTE_BYTES_MAX)
        if shared is not None:
            shared.put_notes(_notes_of(companions))
            companions.pop(".tokens", None)
        _write_files(target.path, companions)
    except OSError as error:
        raise write_error(error, f"Copying the files beside {source}", "the ledger was not moved") from error


def _notes_of(companions: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the notes of a ledger in a database, with the public half of its key."""
    notes = {name: companions[ending] for ending, name in SHARED.items() if ending in companions}
    if (private := companions.get(".key")) is not None:
        notes[KEY] = str(Signer.parse(private.decode().strip()).verifier).encode()
    return notes


def _write_files(target: Path, companions: dict[str, bytes]) -> None:
    """Write files beside the new ledger, where they are not there already. Errors: Occupied; OSError."""
    for ending, data in read_companions(target, with_key=True).items():
        if data == companions.get(ending):
            del companions[ending]
        elif not (ending in SIGNED and ending in companions and _continues(companions[ending], data)):
            path = target.with_name(target.name + ending)
            raise Occupied(str(path), "It belongs to another ledger: move it away, then run the import again.")
    write_beside(target, companions)
    remove_files(target, *REBUILT)


def _continues(offered: bytes, existing: bytes) -> bool:
    """Return whether a checkpoint is of the same log as an older one and covers at least as many events."""
    new, old = SignedCheckpoint.parse(offered).checkpoint, SignedCheckpoint.parse(existing).checkpoint
    return new.origin == old.origin and new.size >= old.size
