"""The file of a ledger's tokens. A seal shows whether another program has changed it (`ledger/file_seal.py`).

The lock file beside it remembers that the ledger had tokens, also after the file is removed.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ledger.errors import LedgerUnusable
from ledger.file_seal import find_alteration, replace_sealed, seal_advice
from ledger.private_file import FILE_MODE, follow_typed_link, open_private, read_private

FILE_BYTES_MAX = 64 << 20
"""The file of a ledger's tokens: some hundred thousand tokens."""

REQUIRED = b"required\n"
"""The content of the lock file once the ledger had a token."""


class TokenFile:
    """The list of tokens of one ledger, in a file beside it."""

    def __init__(self, ledger: Path) -> None:
        target = follow_typed_link(ledger)
        self.path = target.with_name(target.name + ".tokens")
        self.name = str(self.path)
        self.public_name = f"{self.path.name}, the file of the tokens,"
        self._ledger = target
        self._beside_link = ledger.with_name(ledger.name + ".tokens")
        self._lock_path = self.path.with_name(self.path.name + ".lock")

    def version(self) -> tuple[int, int] | None:
        """Return the modification time and the inode; None if there is no file.

        Errors: LedgerUnusable, for a file beside a symbolic link to the ledger, where it was kept before; OSError.
        """
        try:
            status = self.path.lstat()
        except FileNotFoundError:
            if self._beside_link != self.path and self._beside_link.exists():
                detail = f"{self._beside_link} is beside a symbolic link; the tokens of a ledger are beside its file."
                raise LedgerUnusable(detail, f"Move it to {self.path}.") from None
            return None
        return status.st_mtime_ns, status.st_ino

    def read(self) -> bytes:
        """Return the content. Errors: FileNotFoundError, OSError; LedgerUnusable, if another program changed it."""
        data = read_private(self.path, FILE_BYTES_MAX)
        if (alteration := find_alteration(self._ledger, self.path, data)) is not None:
            raise LedgerUnusable(alteration, seal_advice(self.path))
        return data

    def remembers(self) -> bool:
        """Return whether the ledger had a token. Errors: LedgerUnusable."""
        with suppress(FileNotFoundError, PermissionError):
            return read_private(self._lock_path, len(REQUIRED) * 2) != b""
        return False

    def remember(self) -> None:
        """Remember that the ledger has tokens. Errors: LedgerUnusable, OSError."""
        with self._locked(had_tokens=True):
            pass

    def update(self, change: Callable[[], bytes | None]) -> None:
        """Replace the file; only its owner may read it. Errors: LedgerUnusable, OSError, and those of `change`."""
        with self._locked():
            data = change()
            if data is not None:
                replace_sealed(self._ledger, self.path, data, mode=FILE_MODE)

    @contextmanager
    def _locked(self, *, had_tokens: bool = False) -> Iterator[None]:
        """Hold the lock of the file, and remember in it that the ledger has tokens. Errors: LedgerUnusable, OSError."""
        with os.fdopen(open_private(self._lock_path, os.O_RDWR | os.O_CREAT), "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
            if (had_tokens or self.path.exists()) and lock.read(len(REQUIRED)) != REQUIRED:
                lock.seek(0)
                lock.write(REQUIRED)
                lock.flush()
                os.fsync(lock.fileno())
