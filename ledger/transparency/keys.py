"""The signing key of a ledger, in a file beside it: make, read, and replace it.

`LEDGER.key` has the private key on one line, in the format of Go's signed notes. Only the process that holds the
writer's lock makes or replaces it. All functions block: call them on a thread.
"""

import secrets
import stat
from pathlib import Path

from ledger.atomic_file import replace_whole, write_error
from ledger.errors import BadNote, LedgerUnusable
from ledger.private_file import FILE_MODE, read_private
from ledger.transparency.signed_note import Signer

KEY_BYTES_MAX = 4_096
"""One private key."""

REPLACE_ADVICE = "begin a new identity, which everyone who has the old key will notice: tallystick key make --replace"


def path_beside(ledger: Path, ending: str) -> Path:
    """Return the path of a file beside a ledger file; the same for all symbolic links to the ledger."""
    ledger = ledger.resolve()
    return ledger.with_name(f"{ledger.name}.{ending}")


def key_path(ledger: Path) -> Path:
    """Return the path of the private key of a ledger."""
    return path_beside(ledger, "key")


def read_key(ledger: Path, file: Path | None = None) -> Signer | None:
    """Read the key of a ledger; None if it has none. Errors: BadNote, LedgerUnusable.

    `file` is one that the operator named, as a mounted secret, which may be a link: it must exist.
    """
    path = file or key_path(ledger)
    try:
        data = read_private(path, KEY_BYTES_MAX) if file is None else _read_named(path)
        text = data.decode()
    except FileNotFoundError as error:
        if file is None:
            return None
        raise LedgerUnusable(f"There is no key {file}.", "Put the key there: --key names it.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise LedgerUnusable(f"{path} cannot be read: {error}.", "Run as its owner, or restore it.") from error
    try:
        return Signer.parse(text.removesuffix("\n"))
    except BadNote as error:
        raise BadNote(f"{path}: {error.detail}", f"Restore it from a copy, or {REPLACE_ADVICE}.") from None


def _read_named(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(KEY_BYTES_MAX)


def others_may_read(ledger: Path, file: Path | None = None) -> bool:
    """Return whether users other than its owner may read or write the key file."""
    try:
        return bool((file or key_path(ledger)).stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except OSError:
        return False


def make_key(ledger: Path, name: str | None = None) -> Signer:
    """Make a key, by default with a random name, and replace any old one.

    Errors: BadNote, LedgerFull, LedgerUnavailable.
    """
    signer = new_signer(name)
    try:
        replace_whole(key_path(ledger), f"{signer.secret()}\n".encode(), mode=FILE_MODE)
    except OSError as error:
        raise write_error(error, "Writing the key", "no key was made") from error
    return signer


def new_signer(name: str | None) -> Signer:
    """Return a new key, by default with a random name. Errors: BadNote."""
    return Signer.make(name if name is not None else f"tallystick/{secrets.token_hex(8)}")
