"""The seal of the full-text index: an HMAC-SHA256 over every byte of its file, in a file beside it.

One process at a time owns the index file, by a kernel lock. Only the owner writes it. It seals the file when it has
indexed many events, now and then, and when it closes. After a crash the seal is of older bytes: the events are then
indexed again.
"""

import fcntl
import hmac
import logging
import os
from contextlib import suppress
from pathlib import Path

from ledger.atomic_file import write_whole
from ledger.errors import LedgerUnusable
from ledger.private_file import FILE_MODE, open_private
from projections.snapshots import remove_database

log = logging.getLogger("tallystick.search")

LABEL = b"tallystick search index\n"
BLOCK_BYTES = 1 << 20
SIDE_FILES = ("-journal", "-wal")
"""Files that SQLite applies to a database when it opens it; they are empty beside a sealed one."""


class IndexSeal:
    """The seal of one index file, and the right to write it. All methods block: call them on a thread."""

    def __init__(self, path: Path, secret: bytes) -> None:
        self._path = path
        self._seal = path.with_name(path.name + ".seal")
        self._secret = secret
        self._lock: int | None = None

    def acquire(self) -> bool:
        """Become the owner of the file; return False if another process is, or the folder cannot be written."""
        if self._lock is not None:
            return True
        try:
            descriptor = open_private(self._path.with_name(self._path.name + ".lock"), os.O_RDWR | os.O_CREAT)
        except (OSError, LedgerUnusable):
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def release(self) -> None:
        """Stop owning the file."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def remove_unsealed(self) -> None:
        """Remove a file without a right seal; the owner then begins a new one."""
        if not self._path.is_file() or self.is_sealed():
            return
        if self._path.stat().st_size:
            log.warning(
                "%s was not written by this ledger's owner, or a crash left it: it was removed, and the events are "
                "indexed again.",
                self._path,
            )
        self.remove()

    def remove(self) -> None:
        """Remove the file and its seal, as far as possible."""
        remove_database(self._path)
        with suppress(OSError):
            self._seal.unlink()

    def is_sealed(self) -> bool:
        """Return whether the seal of the file is right."""
        with suppress(OSError):
            if not self._has_side_files():
                return hmac.compare_digest(self._digest_of_file(), self._seal.read_bytes())
        return False

    def sealed_bytes(self) -> bytes | None:
        """Return the bytes of the file if its seal is right, otherwise None."""
        try:
            if self._has_side_files():
                return None
            stated, data = self._seal.read_bytes(), self._path.read_bytes()
        except OSError:
            return None
        digest = hmac.new(self._secret, LABEL, "sha256")
        digest.update(data)
        return data if hmac.compare_digest(digest.digest(), stated) else None

    def write(self) -> None:
        """Seal the bytes that the file has now. If that fails, the next owner indexes the events again."""
        with suppress(OSError):
            write_whole(self._seal, self._digest_of_file(), mode=FILE_MODE)

    def _digest_of_file(self) -> bytes:
        """Return the seal of the bytes that the file has now, read in blocks. Errors: OSError."""
        digest = hmac.new(self._secret, LABEL, "sha256")
        with self._path.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
        return digest.digest()

    def _has_side_files(self) -> bool:
        return any(self._size_of(ending) for ending in SIDE_FILES)

    def _size_of(self, ending: str) -> int:
        try:
            return self._path.with_name(self._path.name + ending).lstat().st_size
        except FileNotFoundError:
            return 0
