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

KEY_MODE = stat.S_IRUSR | stat.S_IWUSR
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
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            return None
        if status.st_uid not in _owners(ledger):
            return None
        text = os.read(descriptor, FILE_BYTES_MAX)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return bytes.fromhex(text.decode()) if _hex_line.fullmatch(text) else None


def _owners(ledger: Path) -> set[int]:
    """Return the users whose secret is believed: the one who runs this, and the owner of the ledger file."""
    owners = {os.geteuid()}
    with suppress(OSError):
        owners.add(ledger.stat().st_uid)
    return owners


def _make(path: Path, *, replace: bool) -> None:
    """Write a new secret; without `replace`, another process may be first. Errors: OSError."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, KEY_MODE)
    try:
        try:
            os.write(descriptor, secrets.token_hex(KEY_BYTES).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if replace:
            part.replace(path)
        else:
            os.link(part, path)
    finally:
        part.unlink(missing_ok=True)
