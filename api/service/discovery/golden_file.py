"""The golden file: the first accepted response of a run, byte for byte, for use as a test fixture."""

import os
from pathlib import Path

from ledger.atomic_file import write_text
from ledger.errors import InvalidQuery


class GoldenFile:
    """A golden file. An existing file is overwritten only with `force`."""

    def __init__(self, path: Path, *, force: bool) -> None:
        """Check that the file can be written, before a router is asked. Errors: InvalidQuery."""
        self.path = path
        self._force = force
        if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
            raise InvalidQuery("golden", f"{path} cannot be written.", "Name a file in an existing, writable folder.")

    def check(self, text: str | None = None) -> None:
        """Refuse an existing file, except with `force` or if it contains exactly `text`. Errors: InvalidQuery."""
        if self._force or not os.path.lexists(self.path) or (text is not None and self.holds(text)):
            return
        raise InvalidQuery(
            "golden", f"{self.path} is there already.", "Name another file, or overwrite it with --force."
        )

    def holds(self, text: str) -> bool:
        """Return whether the file contains exactly a text."""
        return self.path.is_file() and self.path.read_bytes() == text.encode()

    def keep(self, text: str) -> None:
        """Write a text atomically. Errors: OSError, including FileExistsError."""
        write_text(self.path, text, exclusive=not self._force)
