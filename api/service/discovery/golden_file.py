"""The file that keeps the first accepted response of a run, byte for byte, for a test suite to read."""

import os
from pathlib import Path

from ledger.atomic_file import write_text
from ledger.errors import InvalidQuery


class GoldenFile:
    """One such file. No file that is there is overwritten, unless `force` says so."""

    def __init__(self, path: Path, *, force: bool) -> None:
        """Look whether it may be written. Errors: InvalidQuery, before anything is asked."""
        self.path = path
        self._force = force
        if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
            raise InvalidQuery("golden", f"{path} cannot be written.", "Name a file in a folder that is there.")

    def check(self, text: str | None = None) -> None:
        """Refuse a file that is there, unless it holds `text` already. Errors: InvalidQuery."""
        if self._force or not os.path.lexists(self.path) or (text is not None and self.holds(text)):
            return
        raise InvalidQuery(
            "golden", f"{self.path} is there already.", "Name another file, or overwrite it with --force."
        )

    def holds(self, text: str) -> bool:
        """Whether the file holds a text."""
        return self.path.is_file() and self.path.read_bytes() == text.encode()

    def keep(self, text: str) -> None:
        """Write a text, whole or not at all. Errors: OSError, FileExistsError among them."""
        write_text(self.path, text, exclusive=not self._force)
