"""Whether a write-ahead log still holds every transaction that was synced into it.

SQLite reads a log that was left behind up to the first frame whose checksum does not fit, and drops the rest without a
word: that is right for the torn end of a transaction that nobody was answered for, and wrong for a damaged frame, which
takes every transaction behind it along. The two are told apart here. A frame is damaged, not torn,

- where a frame stands behind a later commit, and fits it: it was written only after that commit was synced (I4), or
- where one bit set right makes it fit, and the frames behind it lead to a commit: no torn sector looks like that.

A header is damaged where one bit set right makes it one, and leads to a commit that is not in the file: a log is begun
anew only when it is, and the half of a new header that a failed write left may be a bit away from the old one.
Source: SQLite's file format, section 4, "The Write-Ahead Log"; its checksum is linear, and worked out by weights here.
"""

import os
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ledger.errors import LedgerDamaged, LedgerUnusable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
MAGIC = 0x377F0682
"""The last bit says whether checksums read words with the first byte first."""

CHUNK_FRAMES = 1_000

Sum = tuple[int, int]
"""A checksum: two words of 32 bits."""

_MASK = 0xFFFFFFFF


class WalDamage(NamedTuple):
    """A place of a log behind which SQLite would drop what was committed: the frame, from 1 (0 for the header)."""

    frame: int
    frames: int
    page: int

    def __str__(self) -> str:
        if self.frame == 0:
            return f"its header is damaged, and SQLite would drop all of its {self.frames:,} frames."
        return (
            f"frame {self.frame:,} (page {self.page:,} of the ledger) is damaged; SQLite would drop it and what was "
            f"committed behind it, {self.frames - self.frame + 1:,} frames."
        )


def damage(ledger: Path) -> WalDamage | None:
    """What is wrong with the write-ahead log beside a ledger file; None where it is whole, torn, or not there.

    Beside a server it is read twice before anything is called wrong, since that one writes it meanwhile.
    Errors: OSError.
    """
    path = Path(f"{ledger.resolve()}-wal")
    if not path.exists() or path.stat().st_size < HEADER_BYTES + FRAME_HEADER_BYTES:
        return None
    return _damage(path, ledger) and _damage(path, ledger)


def require_whole(ledger: Path) -> None:
    """Errors: LedgerDamaged, for a log that SQLite would drop a part of; LedgerUnusable."""
    try:
        found = damage(ledger)
    except OSError as error:
        raise LedgerUnusable(f"{ledger}-wal cannot be read: {error}.", "Check its permissions.") from error
    if found is not None:
        raise LedgerDamaged(
            f"{ledger}-wal",
            [str(found)],
            f"Restore a backup: tallystick restore. Or let SQLite drop them: sqlite3 {ledger} 'PRAGMA wal_checkpoint'.",
        )


def _damage(path: Path, ledger: Path) -> WalDamage | None:
    with path.open("rb") as file, ledger.open("rb") as pages:
        header = file.read(HEADER_BYTES)
        size = os.fstat(file.fileno()).st_size - HEADER_BYTES
        whole = _is_header(header)
        for tried in [header] if whole else _mended_headers(header):
            frames = _Frames(tried, whole=whole)
            found = frames.walk(_read(file.fileno(), frames.bytes, size))
            if found is not None and (whole or not _is_moved(file.fileno(), tried, pages.fileno())):
                return found
    return None


def _is_moved(log: int, header: bytes, pages: int) -> bool:
    """Whether a file has every page that a log of this header has for it: without the log it is the same ledger."""
    page_bytes = int.from_bytes(header[8:12])
    newest: dict[int, int] = {}
    written: dict[int, int] = {}
    size = 0
    at = HEADER_BYTES
    while (frame := os.pread(log, FRAME_HEADER_BYTES, at))[8:16] == header[16:24]:
        written[int.from_bytes(frame[:4])] = at + FRAME_HEADER_BYTES
        if frame[4:8] != bytes(4):
            size = int.from_bytes(frame[4:8])
            newest |= written
            written.clear()
        at += FRAME_HEADER_BYTES + page_bytes
    return os.fstat(pages).st_size == size * page_bytes and all(
        os.pread(log, page_bytes, place) == os.pread(pages, page_bytes, (page - 1) * page_bytes)
        for page, place in newest.items()
    )


def _is_header(header: bytes) -> bool:
    words = struct.unpack(">8I", header)
    return words[0] & ~1 == MAGIC and _checksum(struct.unpack(f"{_order(header)}6I", header[:24]), (0, 0)) == words[6:]


def _mended_headers(header: bytes) -> Iterator[bytes]:
    """A header with one bit set right, in each way that makes it one: none where a log was being begun anew."""
    for bit in range(8 * HEADER_BYTES):
        tried = (int.from_bytes(header) ^ 1 << bit).to_bytes(HEADER_BYTES)
        if _is_header(tried):
            yield tried


def _order(header: bytes) -> str:
    """How checksums read words: the first byte first, or last."""
    return ">" if header[3] & 1 else "<"


def _read(descriptor: int, frame_bytes: int, size: int) -> Iterator[bytes]:
    """The frames of a log, so many at a time; what is no whole frame at its end is left out."""
    offset = HEADER_BYTES
    for left in range(size // frame_bytes, 0, -CHUNK_FRAMES):
        data = os.pread(descriptor, min(left, CHUNK_FRAMES) * frame_bytes, offset)
        offset += len(data)
        yield data[: len(data) // frame_bytes * frame_bytes]


class _Frames:
    """The frames of one log, followed from checksum to checksum."""

    def __init__(self, header: bytes, *, whole: bool) -> None:
        self.bytes = FRAME_HEADER_BYTES + int.from_bytes(header[8:12])
        self._salts = header[16:24]
        self._order = _order(header)
        self._before: Sum = struct.unpack(">2I", header[24:32])
        self._broken: tuple[int, int] | None = None if whole else (0, 0)
        self._follows = not whole
        self._commit_seen = False
        self._committed = False
        self._other: tuple[Sum, Sum] | None = None

    def walk(self, chunks: Iterator[bytes]) -> WalDamage | None:
        """Follow the checksums; damage, where a commit stands behind a frame, or a header, that does not fit."""
        before = self._before
        number = 0
        for chunk in chunks:
            sums = self._sums(chunk)
            for at, (first, second) in enumerate(sums):
                frame = chunk[at * self.bytes : (at + 1) * self.bytes]
                number += 1
                carried = _carry(before, len(self._weights()[0]) // 2)
                found = (carried[0] + first & _MASK, carried[1] + second & _MASK)
                if self._broken is None:
                    before = found if self._fits(frame, found) else self._mended(frame, number, found)
                else:
                    before = self._behind(frame, found)
        return WalDamage(self._broken[0], number, self._broken[1]) if self._broken and self._committed else None

    def _fits(self, frame: bytes, found: Sum) -> bool:
        return frame[8:16] == self._salts and struct.unpack(">2I", frame[16:24]) == found

    def _mended(self, frame: bytes, number: int, found: Sum) -> Sum:
        """The first frame that does not fit: the checksum that the next one goes on from."""
        stored: Sum = struct.unpack(">2I", frame[16:24])
        self._broken = (number, int.from_bytes(frame[:4]))
        if frame[8:16] != self._salts:
            self._follows = stored == found and _bits(frame[8:16], self._salts) == 1
        elif _bits(frame[16:24], struct.pack(">2I", *found)) == 1:
            self._follows = True
            self._other = (stored, found)  # a bit of the checksum, or the same bit of the last word
        else:
            flipped = self._flipped(frame, found, stored)
            self._follows = flipped is not None
            frame = flipped or frame
        self._committed = self._follows and frame[4:8] != bytes(4)
        return stored

    def _behind(self, frame: bytes, found: Sum) -> Sum:
        """A frame behind the broken one; it counts where it goes on from the checksum before it, as no noise does."""
        stored: Sum = struct.unpack(">2I", frame[16:24])
        linked = frame[8:16] == self._salts and stored in (found, self._found_otherwise(found))
        self._other = None
        commits = linked and frame[4:8] != bytes(4)
        self._follows = self._follows and linked
        self._committed = self._committed or (linked and self._commit_seen) or (self._follows and commits)
        self._commit_seen = commits
        return stored

    def _found_otherwise(self, found: Sum) -> Sum:
        """The checksum of a frame, had the one before it another than it says."""
        if self._other is None:
            return found
        pairs = len(self._weights()[0]) // 2
        said, other = (_carry(before, pairs) for before in self._other)
        return found[0] - said[0] + other[0] & _MASK, found[1] - said[1] + other[1] & _MASK

    def _flipped(self, frame: bytes, found: Sum, stored: Sum) -> bytes | None:
        """The frame with one bit set right, where that makes it fit; its checksum and salts are not looked at."""
        import numpy as np  # noqa: PLC0415 - only a log that was left behind needs it

        words = self._words(frame)[0]
        wanted = [np.uint32((stored[place] - found[place]) & _MASK) for place in (0, 1)]
        for bit in range(32):
            step = np.uint32(1 << bit)
            raised = np.where(words & step, np.uint32(_MASK - int(step) + 1 & _MASK), step)
            fits = (raised * self._weights()[0] == wanted[0]) & (raised * self._weights()[1] == wanted[1])
            if fits.any():
                place = int(np.argmax(fits))
                mended = words.copy()
                mended[place] ^= step
                data: bytes = mended.astype(f"{self._order}u4").tobytes()
                return data[:8] + frame[8:24] + data[8:]
        return None

    def _words(self, chunk: bytes) -> "NDArray[np.uint32]":
        """What checksums are over, a row for each frame: the first eight bytes of its header, and its page."""
        import numpy as np  # noqa: PLC0415 - as above

        words = np.frombuffer(chunk, dtype=f"{self._order}u4").reshape(-1, self.bytes // 4)
        return np.concatenate((words[:, :2], words[:, FRAME_HEADER_BYTES // 4 :]), axis=1).astype(np.uint32)

    def _sums(self, chunk: bytes) -> list[Sum]:
        """What each frame by itself adds to the checksum before it."""
        import numpy as np  # noqa: PLC0415 - as above

        words = self._words(chunk)
        sums = [(words * weights).sum(axis=1, dtype=np.uint32).tolist() for weights in self._weights()]
        return list(zip(*sums, strict=True))

    def _weights(self) -> "tuple[NDArray[np.uint32], NDArray[np.uint32]]":
        return _weights((self.bytes - FRAME_HEADER_BYTES + 8) // 4)


def _checksum(words: tuple[int, ...], before: Sum) -> Sum:
    first, second = before
    for at in range(0, len(words), 2):
        first = first + words[at] + second & _MASK
        second = second + words[at + 1] + first & _MASK
    return first, second


@cache
def _weights(count: int) -> "tuple[NDArray[np.uint32], NDArray[np.uint32]]":
    """How much each of some words counts in both halves of their checksum."""
    import numpy as np  # noqa: PLC0415 - as above

    first, second = np.empty(count, np.uint32), np.empty(count, np.uint32)
    one, other = (1, 1), (0, 1)
    for at in range(count - 2, -1, -2):
        (first[at], second[at]), (first[at + 1], second[at + 1]) = one, other
        one, other = _carry(one, 1), _carry(other, 1)
    return first, second


@cache
def _power(pairs: int) -> tuple[int, int, int, int]:
    """The matrix that takes a checksum through so many pairs of words that are zero."""
    result, step = (1, 0, 0, 1), (1, 1, 1, 2)
    while pairs:
        if pairs & 1:
            result = _product(result, step)
        step = _product(step, step)
        pairs >>= 1
    return result


def _product(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    return (
        a[0] * b[0] + a[1] * b[2] & _MASK,
        a[0] * b[1] + a[1] * b[3] & _MASK,
        a[2] * b[0] + a[3] * b[2] & _MASK,
        a[2] * b[1] + a[3] * b[3] & _MASK,
    )


def _carry(before: Sum, pairs: int) -> Sum:
    """A checksum behind so many pairs of words that are zero."""
    a, b, c, d = _power(pairs)
    return a * before[0] + b * before[1] & _MASK, c * before[0] + d * before[1] & _MASK


def _bits(one: bytes, other: bytes) -> int:
    """In how many bits two texts of one length differ."""
    return (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()
