"""An export as it came: files by name, in a folder or in a ZIP, each read once with its sum."""

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
from ledger.errors import UnusableExport
from ledger.verify import Check

BLOCK_BYTES = 1 << 20
"""Read at once."""

HASHED_ASIDE_BYTES = 1 << 16
"""A piece that is worth the way to a thread."""

UNREADABLE = (OSError, BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What reading a damaged archive or disk raises."""


class Readable(Protocol):
    """A file to be read from its beginning."""

    def read(self, size: int, /) -> bytes:
        """What follows; nothing at the end. Errors: UNREADABLE."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Package(Protocol):
    """The files of an export."""

    def names(self) -> list[str]:
        """Every file, by its name in the export; one that is there twice stands twice."""
        ...

    def open(self, name: str) -> IO[bytes]:
        """A file, from its beginning. Errors: KeyError, UNREADABLE."""
        ...

    def pour(self, name: str) -> Readable:
        """The same, with all that can be read of it before anything is found wrong. Errors: KeyError, UNREADABLE."""
        ...


class FolderPackage:
    """An export in a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        inner = self._path / EVIDENCE
        evidence = [f"{EVIDENCE}/{file.name}" for file in inner.iterdir()] if inner.is_dir() else []
        return [file.name for file in self._path.iterdir() if file.name != EVIDENCE] + evidence

    def open(self, name: str) -> IO[bytes]:
        try:
            return (self._path / name).open("rb")
        except FileNotFoundError:
            raise KeyError(name) from None

    def pour(self, name: str) -> Readable:
        return self.open(name)


class ZipPackage:
    """An export in a ZIP. What its headers say of times and rights has no meaning."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive

    def names(self) -> list[str]:
        return self._archive.namelist()

    def open(self, name: str) -> IO[bytes]:
        return self._archive.open(name)

    def pour(self, name: str) -> Readable:
        return _Member(self._archive, name)


class _Member:
    """A file of a ZIP whose CRC is compared behind its last byte: zipfile gives nothing of a file with a wrong one."""

    def __init__(self, archive: ZipFile, name: str) -> None:
        info = copy(archive.getinfo(name))
        self._wanted, self._crc = info.CRC, 0
        del info.CRC
        self._file = archive.open(info)

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._crc = zlib.crc32(data, self._crc)
        if not data and self._crc != self._wanted:
            raise BadZipFile("it has another CRC-32 than the ZIP says")
        return data

    def close(self) -> None:
        self._file.close()


@contextmanager
def package_of(path: Path) -> Iterator[Package]:
    """Open an export. Errors: UnusableExport."""
    if path.is_dir():
        yield FolderPackage(path)
        return
    if not path.exists():
        raise UnusableExport(f"There is no export at {path}.", "Name its folder or its ZIP.")
    try:
        archive = ZipFile(path)
    except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UnusableExport(
            f"{path} is no whole ZIP: {error}.", "Copy it again from where it was made: it may have been cut off."
        ) from error
    with archive:
        yield ZipPackage(archive)


class HashedReader:
    """A file that is read to its end, and its sum: size, and SHA-256 of all its bytes.

    One that cannot be read to its end is a fault, told once, and ends there. A long piece is hashed on a thread while
    what it says is looked at: hashing lets go of the interpreter's lock, and took a tenth of a verification.
    """

    def __init__(self, file: Readable, name: str, check: Check, thread: Executor) -> None:
        self._file = file
        self._name = name
        self._check = check
        self._digest = hashlib.sha256()
        self._size_bytes = 0
        self._thread = thread
        self._hashing: Future[None] | None = None

    def read(self, size: int = BLOCK_BYTES) -> bytes:
        """What follows."""
        try:
            data = self._file.read(size)
        except UNREADABLE as error:
            self._check.fault(f"{self._name} cannot be read to its end: {error}.")
            self._file = BytesIO()
            return b""
        self._size_bytes += len(data)
        self._hash(data)
        return data

    def _hash(self, data: bytes) -> None:
        if self._hashing is not None:
            self._hashing.result()
            self._hashing = None
        if len(data) < HASHED_ASIDE_BYTES:
            self._digest.update(data)
        else:
            self._hashing = self._thread.submit(self._digest.update, data)

    def sum(self) -> FileSum:
        """Read what is left; the sum of all."""
        while self.read():
            pass
        return FileSum(self._size_bytes, self._digest.hexdigest())


@contextmanager
def summed(package: Package, name: str, check: Check, wanted: FileSum | None) -> Iterator[HashedReader]:
    """Read a file; at the end whether its sum is the one that is wanted. Errors: KeyError, where it is not there."""
    check.count += 1
    opened: Readable
    try:
        opened = package.pour(name)
    except UNREADABLE as error:
        check.fault(f"{name} cannot be opened: {error}.")
        opened = BytesIO()
    with closing(opened), ThreadPoolExecutor(1) as thread:
        file = HashedReader(opened, name, check, thread)
        yield file
        found = file.sum()
    if wanted is not None and found.bytes != wanted.bytes:
        check.fault(f"{name} has {found.bytes:,} bytes; the manifest says {wanted.bytes:,}.")
    elif wanted is not None and found != wanted:
        check.fault(f"{name} has other bytes than those whose SHA-256 the manifest says.")
