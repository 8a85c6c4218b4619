"""Open the files of an export by name, in a folder or a ZIP. Each file is read once, and hashed."""

import hashlib
import zlib
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from copy import copy
from io import BytesIO
from pathlib import Path
from typing import IO, Protocol
from zipfile import BadZipFile, ZipFile

from api.export.manifest import EVIDENCE, FileSum
from events.limits import EVIDENCE_BYTES_MAX
from ledger.errors import UnusableExport
from ledger.regular_file import open_regular
from ledger.verify import Check

BLOCK_BYTES = 1 << 20
"""Bytes read at once."""

EXTRA_BYTES_MAX = 64 << 20
"""Bytes beyond the stated size after which the rest of a file is not read: its size is then reported as larger."""

THREAD_BYTES_MIN = 1 << 16
"""Pieces of this size or larger are hashed on a thread."""

UNREADABLE = (OSError, BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""Errors of reading a damaged archive or disk."""


class Readable(Protocol):
    """A file that is read from its beginning."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes; no bytes at the end. Errors: UNREADABLE."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class FolderPackage:
    """An export in a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        """Return the name of every file in the export; a name that occurs twice is listed twice."""
        folder = self._path / EVIDENCE
        evidence = [f"{EVIDENCE}/{file.name}" for file in folder.iterdir()] if folder.is_dir() else []
        return [file.name for file in self._path.iterdir() if file.name != EVIDENCE] + evidence

    def open(self, name: str) -> IO[bytes]:
        """Open a file. Errors: KeyError, UNREADABLE."""
        try:
            return open_regular(self._path / name)
        except FileNotFoundError:
            raise KeyError(name) from None

    def open_unchecked(self, name: str) -> Readable:
        """Open a file; its checksum, if it has one, is compared at its end. Errors: KeyError, UNREADABLE."""
        return self.open(name)


class ZipPackage:
    """An export in a ZIP. Times and permissions in its headers are ignored."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive

    def names(self) -> list[str]:
        return self._archive.namelist()

    def open(self, name: str) -> IO[bytes]:
        return self._archive.open(name)

    def open_unchecked(self, name: str) -> Readable:
        return _Member(self._archive, name)


class _Member:
    """A file of a ZIP whose bytes are returned even if its CRC is wrong. The CRC is compared after the last byte."""

    def __init__(self, archive: ZipFile, name: str) -> None:
        info = copy(archive.getinfo(name))
        self._stated_crc, self._crc = info.CRC, 0
        del info.CRC
        self._file = archive.open(info)

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._crc = zlib.crc32(data, self._crc)
        if not data and self._crc != self._stated_crc:
            raise BadZipFile("its CRC-32 differs from the one in the ZIP")
        return data

    def close(self) -> None:
        self._file.close()


Package = FolderPackage | ZipPackage
"""The files of an export."""


@contextmanager
def open_package(path: Path) -> Iterator[Package]:
    """Open an export. Errors: UnusableExport."""
    if path.is_dir():
        yield FolderPackage(path)
        return
    if not path.is_file():
        problem = "is not a regular file" if path.exists() else "does not exist"
        raise UnusableExport(f"{path} {problem}.", "Name a ledger, or the folder or the ZIP of an export.")
    try:
        archive = ZipFile(path)
    except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UnusableExport(
            f"{path} is not a complete ZIP: {error}.", "Copy it again from its source: it may have been cut off."
        ) from error
    with archive:
        yield ZipPackage(archive)


class HashedReader:
    """Reads a file to its end and computes its size and SHA-256.

    If the file cannot be read further, a fault is added once, and the reader returns no more bytes. A long piece is
    hashed on a thread while its content is checked: hashing releases the interpreter's lock, and took a tenth of the
    time of a verification.
    """

    def __init__(self, file: Readable, name: str, check: Check, thread: Executor, bytes_max: int) -> None:
        self._file = file
        self._name = name
        self._check = check
        self._bytes_max = bytes_max
        self._digest = hashlib.sha256()
        self._size_bytes = 0
        self._thread = thread
        self._hashing: Future[None] | None = None

    def read(self, size: int = BLOCK_BYTES) -> bytes:
        """Return the next bytes."""
        try:
            data = self._file.read(size)
        except UNREADABLE as error:
            self._check.fault(f"{self._name} cannot be read to its end: {error}.")
            self._file = BytesIO()
            return b""
        self._size_bytes += len(data)
        if self._size_bytes > self._bytes_max:
            self._check.fault(f"{self._name} has more than {self._bytes_max:,} bytes; the rest was not read.")
            self._file = BytesIO()
        self._hash(data)
        return data

    def _hash(self, data: bytes) -> None:
        if self._hashing is not None:
            self._hashing.result()
            self._hashing = None
        if len(data) < THREAD_BYTES_MIN:
            self._digest.update(data)
        else:
            self._hashing = self._thread.submit(self._digest.update, data)

    def sum(self) -> FileSum:
        """Read the rest; return the size and digest of the whole file."""
        while self.read():
            pass
        return FileSum(self._size_bytes, self._digest.hexdigest())


@contextmanager
def open_hashed(package: Package, name: str, check: Check, stated: FileSum | None) -> Iterator[HashedReader]:
    """Open a file; at the end compare its size and digest with the stated ones. Errors: KeyError, if it is missing."""
    check.count += 1
    file: Readable
    try:
        file = package.open_unchecked(name)
    except UNREADABLE as error:
        check.fault(f"{name} cannot be opened: {error}.")
        file = BytesIO()
    with closing(file), ThreadPoolExecutor(1) as thread:
        stated_bytes = EVIDENCE_BYTES_MAX if stated is None else stated.bytes
        reader = HashedReader(file, name, check, thread, max(0, stated_bytes) + EXTRA_BYTES_MAX)
        yield reader
        actual = reader.sum()
    if stated is not None and actual.bytes != stated.bytes:
        check.fault(f"{name} has {actual.bytes:,} bytes; the manifest says {stated.bytes:,}.")
    elif stated is not None and actual != stated:
        check.fault(f"the SHA-256 of {name} differs from the one in the manifest.")
