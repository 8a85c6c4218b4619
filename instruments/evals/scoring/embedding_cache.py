"""A cache of text vectors in a file, which may be deleted at any time.

Each line holds one vector: the key (SHA-256 of endpoint, model and text), the numbers as little-endian 32-bit floats in
Base64, and a checksum of both. Torn or damaged lines are skipped. Several processes may add to one file, since each
appends whole lines. If the file cannot be read or written, or is a symbolic link, vectors stay in memory only.
"""

import os
import stat
import struct
import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FILE_BYTES_MAX = 64 * 1024 * 1024
"""A file that would become larger is emptied first."""

FILE_MODE = stat.S_IRUSR | stat.S_IWUSR
"""Only its owner may read a new file: vectors reveal the texts."""

# O_NONBLOCK: to open a named pipe would otherwise wait for its other end
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Vector = array  # of 4-byte floats, normalized to length 1


class EmbeddingCache:
    """Vectors by key, all of one size. A vector of another size comes from another model, and clears the cache."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._vectors: dict[str, Vector[float]] = {}
        for line in _lines(path):
            entry = _decode(line)
            if entry is not None:
                self._store(*entry)

    def get(self, key: str) -> "Vector[float] | None":
        """Return the vector of a key; None if it is not cached."""
        return self._vectors.get(key)

    def put(self, vectors: "Iterable[tuple[str, Vector[float]]]") -> None:
        """Store vectors, in the file as well."""
        lines = bytearray()
        for key, vector in vectors:
            self._store(key, vector)
            lines += _encode(key, vector)
        if self._path is not None:
            with suppress(OSError), os.fdopen(os.open(self._path, _APPEND, FILE_MODE), "ab", buffering=0) as file:
                if os.fstat(file.fileno()).st_size + len(lines) > FILE_BYTES_MAX:
                    file.truncate(0)
                # a line that another process left torn ends here
                file.write(b"\n" + lines)

    def _store(self, key: str, vector: "Vector[float]") -> None:
        if self._vectors and len(next(iter(self._vectors.values()))) != len(vector):
            self._vectors.clear()
        self._vectors[key] = vector


def _lines(path: Path | None) -> list[bytes]:
    if path is None:
        return []
    try:
        with os.fdopen(os.open(path, _READ), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > FILE_BYTES_MAX:
                return []
            return file.read(FILE_BYTES_MAX).splitlines()
    except OSError:
        return []


def _encode(key: str, vector: "Vector[float]") -> bytes:
    body = f"{key} ".encode() + b64encode(struct.pack(f"<{len(vector)}f", *vector))
    return body + f" {zlib.crc32(body):08x}\n".encode()


def _decode(line: bytes) -> "tuple[str, Vector[float]] | None":
    body, _, check = line.rpartition(b" ")
    if f"{zlib.crc32(body):08x}".encode() != check:
        return None
    key, _, numbers = body.partition(b" ")
    try:
        packed = b64decode(numbers, validate=True)
        return key.decode("ascii"), array("f", struct.unpack(f"<{len(packed) // 4}f", packed))
    except (ValueError, struct.error):
        return None
