"""Vectors of texts, kept in a file that may be thrown away at any time.

A line a vector: the key (SHA-256 of endpoint, model and text), the numbers as little-endian 32-bit floats in Base64,
and a checksum of both. A line that is torn or damaged is passed over and its text asked for again. Several processes
may add to one file, since each appends whole lines. Where the file cannot be read or written, vectors are kept in
memory alone.
"""

import sys
import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FILE_BYTES_MAX = 64 * 1024 * 1024
"""A file over this is begun anew."""

Vector = array  # of floats of 4 bytes, of length 1 together


class EmbeddingCache:
    """Vectors by key, all of one length: one of another length comes of another model, and throws the others away."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, Vector[float]] = {}
        for line in _lines(path):
            found = _decoded(line)
            if found is not None:
                self._keep(*found)

    def get(self, key: str) -> "Vector[float] | None":
        """The vector of a key, where it is known."""
        return self._known.get(key)

    def put(self, found: "Iterable[tuple[str, Vector[float]]]") -> None:
        """Keep vectors, in the file as well."""
        lines = bytearray()
        for key, vector in found:
            self._keep(key, vector)
            lines += _encoded(key, vector)
        if self._path is not None:
            with suppress(OSError):
                full = self._path.exists() and self._path.stat().st_size + len(lines) > FILE_BYTES_MAX
                with self._path.open("wb" if full else "ab", buffering=0) as file:
                    file.write(b"\n" + lines)

    def _keep(self, key: str, vector: "Vector[float]") -> None:
        if self._known and len(next(iter(self._known.values()))) != len(vector):
            self._known.clear()
        self._known[key] = vector


def _lines(path: Path | None) -> list[bytes]:
    if path is None:
        return []
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            return []
        return path.read_bytes().splitlines()
    except OSError:
        return []


def _encoded(key: str, vector: "Vector[float]") -> bytes:
    body = f"{key} ".encode() + b64encode(_swapped(vector).tobytes())
    return body + f" {zlib.crc32(body):08x}\n".encode()


def _decoded(line: bytes) -> "tuple[str, Vector[float]] | None":
    body, _, check = line.rpartition(b" ")
    if f"{zlib.crc32(body):08x}".encode() != check:
        return None
    key, _, numbers = body.partition(b" ")
    try:
        vector = array("f", b64decode(numbers, validate=True))
        return key.decode("ascii"), _swapped(vector)
    except ValueError:
        return None


def _swapped(vector: "Vector[float]") -> "Vector[float]":
    if sys.byteorder == "big":
        vector = vector[:]
        vector.byteswap()
    return vector
