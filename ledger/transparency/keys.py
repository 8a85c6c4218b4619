"""The key of a ledger, in a file beside it: made where there is none, read, and replaced by a new identity.

`LEDGER.key` holds the private key in one line, as Go's notes write it. Only who holds the writer's lock makes or
replaces it. Everything here blocks: call it on a thread.
"""

import secrets
import stat
from hashlib import sha256
from pathlib import Path

from ledger.atomic_file import replace_whole, sync_folder, write_error
from ledger.errors import BadNote, LedgerUnusable
from ledger.transparency.signed_note import Signer

KEY_MODE = stat.S_IRUSR | stat.S_IWUSR
"""Only its owner reads a key."""

REPLACE = "begin a new identity, which everyone who has the old key will notice: tallystick key make --replace"


def beside(ledger: Path, ending: str) -> Path:
    """A file beside a ledger file; one, by whatever link the ledger is named."""
    ledger = ledger.resolve()
    return ledger.with_name(f"{ledger.name}.{ending}")


def key_path(ledger: Path) -> Path:
    """Where the private key of a ledger is."""
    return beside(ledger, "key")


def read_key(ledger: Path) -> Signer | None:
    """The key of a ledger; None where none was made. Errors: BadNote, LedgerUnusable."""
    path = key_path(ledger)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise LedgerUnusable(f"{path} cannot be read: {error}.", "Its owner can; or restore it.") from error
    try:
        return Signer.parse(text.removesuffix("\n"))
    except BadNote as error:
        raise BadNote(f"{path}: {error.detail}", f"Restore it from where you keep a copy, or {REPLACE}.") from None


def others_may_read(ledger: Path) -> bool:
    """Whether anyone but its owner may read or write the key file."""
    try:
        return bool(key_path(ledger).stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except OSError:
        return False


def make_key(ledger: Path, name: str | None = None) -> Signer:
    """A new key, by default of a random name, in place of any. Errors: BadNote, LedgerFull, LedgerUnavailable."""
    signer = Signer.make(name if name is not None else f"tallystick/{secrets.token_hex(8)}")
    try:
        replace_whole(key_path(ledger), f"{signer.secret()}\n".encode(), mode=KEY_MODE)
    except OSError as error:
        raise write_error(error, "Writing the key", "no key was made") from error
    return signer


def retire(path: Path) -> None:
    """Move what an earlier key signed out of the way, under its own digest. Errors: LedgerUnavailable."""
    try:
        digest = sha256(path.read_bytes()).hexdigest()
        path.replace(path.with_name(f"{path.name}.{digest[:8]}"))
        sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise write_error(error, f"Moving {path}", "the new key is made: run this again") from error
