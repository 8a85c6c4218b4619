"""The secret that binds the snapshots of views and the search index to the owner of a ledger.

`LEDGER.views.key` has 32 random bytes in hex on one line. Only its owner may read it. It signs nothing: if it is
deleted, the next start makes another one, and folds and indexes the events again.
"""

import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from ledger.errors import LedgerUnusable
from ledger.private_file import open_new_private, open_private

KEY_BYTES = 32
FILE_BYTES_MAX = 256

_hex_line = re.compile(rb"[0-9a-f]{%d}\n" % (2 * KEY_BYTES))


def view_key_path(ledger: Path) -> Path:
    """Return the path of the secret; the same for all symbolic links to the ledger."""
    ledger = ledger.resolve()
    return ledger.with_name(f"{ledger.name}.views.key")


def read_view_key(ledger: Path, *, make: bool) -> bytes | None:
    """Return the secret. If there is none, or others can read or have made it, make a new one or return None.

    It blocks: call it on a thread.
    """
    path = view_key_path(ledger)
    secret = _read(path, ledger)
    if secret is None and make:
        with suppress(OSError):
            _make(path, replace=path.is_symlink() or path.exists())
        secret = _read(path, ledger)
    return secret


def _read(path: Path, ledger: Path) -> bytes | None:
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            status, text = os.fstat(file.fileno()), file.read(FILE_BYTES_MAX)
    except (OSError, LedgerUnusable):
        return None
    is_private = not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) and status.st_uid in _owners(ledger)
    return bytes.fromhex(text.decode()) if is_private and _hex_line.fullmatch(text) else None


def _owners(ledger: Path) -> set[int]:
    """Return the users whose secret is believed: the one who runs this, and the owner of the ledger file."""
    owners = {os.geteuid()}
    with suppress(OSError):
        owners.add(ledger.stat().st_uid)
    return owners


def _make(path: Path, *, replace: bool) -> None:
    """Write a new secret; without `replace`, another process may be first. Errors: OSError."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with open_new_private(part) as file:
            file.write(secrets.token_hex(KEY_BYTES).encode() + b"\n")
            os.fsync(file.fileno())
        if replace:
            part.replace(path)
        else:
            os.link(part, path)
    finally:
        part.unlink(missing_ok=True)
