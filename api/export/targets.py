"""Where an export is written: a folder, or a ZIP stream that is never seeked. Both block: call them on a thread."""

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Self
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from api.export.manifest import FileSum
from ledger.private_file import make_private_folder, open_new_private

READABLE = 0o644

AHEAD_BYTES = 8 << 20
"""After this many bytes, advise the system that they are not read again. The system then begins to write them, so that
the sync at the end of a large file is short (without the advice it took a quarter of an export's time)."""


class FolderTarget:
    """Writes files into a folder, and syncs each one at its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._written = self._advised = 0

    def begin(self, name: str) -> None:
        """Begin a file."""
        path = self._path / name
        make_private_folder(path.parent)
        self._file = open_new_private(path)
        self._written = self._advised = 0

    def write(self, piece: bytes) -> None:
        """Write a piece of the current file."""
        assert self._file is not None, "a file was begun"
        left = memoryview(piece)
        while left:
            left = left[self._file.write(left) :]
        self._written += len(piece)
        if self._written - self._advised >= AHEAD_BYTES and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._file.fileno(), 0, self._written, os.POSIX_FADV_DONTNEED)
            self._advised = self._written

    def end(self) -> None:
        """End the current file."""
        assert self._file is not None, "a file was begun"
        os.fsync(self._file.fileno())
        self._file.close()
        self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        """Close a file that was not ended."""
        if self._file is not None:
            self._file.close()


class ZipTarget:
    """Writes a ZIP64 archive of stored files as a stream: the size of each file follows the file.

    Memory: about a hundred bytes for each file, for the directory at the end.
    """

    def __init__(self, write: Callable[[bytes], object], created: datetime) -> None:
        self._stream = _Stream(write)
        self._zip = ZipFile(self._stream, "w", ZIP_STORED)  # type: ignore[call-overload]
        self._created = created.timetuple()[:6]
        self._file: IO[bytes] | None = None

    def begin(self, name: str) -> None:
        info = ZipInfo(name, self._created)
        info.external_attr = READABLE << 16
        self._file = self._zip.open(info, "w", force_zip64=True)

    def write(self, piece: bytes) -> None:
        assert self._file is not None, "a file was begun"
        self._file.write(piece)

    def end(self) -> None:
        assert self._file is not None, "a file was begun"
        self._file.close()
        self._file = None

    def close(self) -> None:
        """Write the directory."""
        self._zip.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        """Close without writing: otherwise a ZipFile writes its directory when it is garbage collected."""
        self._stream.end()
        if self._file is not None:
            self._file.close()
        self._zip.close()


class _Stream:
    """A file object that can only be written to, without seeking."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._ended = False

    def write(self, piece: bytes) -> int:
        if not self._ended:
            self._write(bytes(piece))
        return len(piece)

    def end(self) -> None:
        """Discard everything that is written from now on."""
        self._ended = True

    def flush(self) -> None:
        """Do nothing: bytes are passed on at once."""


ExportTarget = FolderTarget | ZipTarget
"""Receives the files of an export, one after the other."""


class FileWriter:
    """Writes one file and computes its digest. It blocks: call it on a thread."""

    def __init__(self, target: ExportTarget, name: str) -> None:
        self._target = target
        self._name = name
        self._sum = sha256()
        self._size_bytes = 0

    def begin(self) -> None:
        """Begin the file."""
        self._target.begin(self._name)

    def put(self, piece: Callable[[], Iterable[bytes]]) -> None:
        """Call `piece`, and write the parts that it returns."""
        for part in piece():
            self._sum.update(part)
            self._size_bytes += len(part)
            self._target.write(part)

    def end(self) -> FileSum:
        """End the file; return its size and digest."""
        self._target.end()
        return FileSum(self._size_bytes, self._sum.hexdigest())
