"""Check that a write-ahead log still has every transaction that was synced into it.

After a crash, SQLite reads the log up to the first frame with a wrong checksum, and drops the rest without a message.
That is right for the torn end of a transaction that was never acknowledged. It is wrong for a damaged frame, because
every transaction after it is lost. This module distinguishes the two. A frame is damaged, not torn,

- if a later frame follows a later commit with a right checksum: it was written only after that commit was synced (I4);
- or if correcting one bit makes its checksum right, and the frames after it lead to a commit: a torn sector does not.

A header is damaged if correcting one bit makes its checksum right, and it leads to a commit that is not in the file.
The second condition is needed: a log is restarted only when all its commits are in the file, and a failed write may
leave half of a new header, which may differ from the old one in one bit.
Source: SQLite's file format, section 4, "The Write-Ahead Log". The checksum is linear, and is
computed as a weighted sum of the words.
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
PAGE_BYTES, SALTS, _CHECKSUM = slice(8, 12), slice(16, 24), slice(24, 32)
"""Fields of the header."""

_PAGE, _COMMIT_PAGES, FRAME_SALTS, _FRAME_CHECKSUM = slice(0, 4), slice(4, 8), slice(8, 16), slice(16, 24)
"""Fields of a frame: the page's number, the size of the file after a commit (else 0), salts and checksum."""

MAGIC = 0x377F0682
"""The lowest bit says whether checksums read words as big-endian."""

CHUNK_FRAMES = 1_000
"""Frames read at a time."""

Sum = tuple[int, int]
"""A checksum: two words of 32 bits."""

_MASK = 0xFFFFFFFF


class WalDamage(NamedTuple):
    """A damaged frame, from 1 (0 for the header): SQLite would drop the committed frames from there on."""

    frame: int
    frames: int
    page: int

    def __str__(self) -> str:
        if self.frame == 0:
            return f"its header is damaged, and SQLite would drop all of its {self.frames:,} frames."
        return (
            f"frame {self.frame:,} (page {self.page:,} of the ledger) is damaged; SQLite would drop it and the "
            f"committed frames after it, {self.frames - self.frame + 1:,} frames."
        )


def find_damage(ledger: Path) -> WalDamage | None:
    """Return the damage of the write-ahead log beside a ledger file; None if it is whole, torn, or missing.

    Damage is reported only if a second reading shows it, too, because a server may be writing the log meanwhile.
    Errors: OSError.
    """
    path = Path(f"{ledger.resolve()}-wal")
    if not path.exists() or path.stat().st_size < HEADER_BYTES + FRAME_HEADER_BYTES:
        return None
    return _read_damage(path, ledger) and _read_damage(path, ledger)


def require_undamaged(ledger: Path) -> None:
    """Refuse a write-ahead log of which SQLite would drop committed frames. Errors: LedgerDamaged, LedgerUnusable."""
    try:
        damage = find_damage(ledger)
    except OSError as error:
        raise LedgerUnusable(f"{ledger}-wal cannot be read: {error}.", "Check its permissions.") from error
    if damage is not None:
        raise LedgerDamaged(
            f"{ledger}-wal",
            [str(damage)],
            f"Restore a backup: tallystick restore. Or let SQLite drop them: sqlite3 {ledger} 'PRAGMA wal_checkpoint'.",
        )


def _read_damage(path: Path, ledger: Path) -> WalDamage | None:
    with path.open("rb") as file, ledger.open("rb") as pages:
        header = file.read(HEADER_BYTES)
        size = os.fstat(file.fileno()).st_size - HEADER_BYTES
        valid = _is_header(header)
        for candidate in [header] if valid else _corrected_headers(header):
            frames = _FrameWalk(candidate, valid_header=valid)
            damage = frames.walk(_read(file.fileno(), frames.bytes, size))
            if damage is not None and (valid or not _is_moved(file.fileno(), candidate, pages.fileno())):
                return damage
    return None


def _is_moved(log: int, header: bytes, pages: int) -> bool:
    """Return whether the file already has every page of a log with this header, so that the log adds nothing."""
    page_bytes = int.from_bytes(header[PAGE_BYTES])
    newest: dict[int, int] = {}
    written: dict[int, int] = {}
    size = 0
    offset = HEADER_BYTES
    while (frame := os.pread(log, FRAME_HEADER_BYTES, offset))[FRAME_SALTS] == header[SALTS]:
        written[int.from_bytes(frame[_PAGE])] = offset + FRAME_HEADER_BYTES
        if _is_commit(frame):
            # pages after the last commit are those of a torn transaction, which the file need not have
            size = int.from_bytes(frame[_COMMIT_PAGES])
            newest |= written
            written.clear()
        offset += FRAME_HEADER_BYTES + page_bytes
    return os.fstat(pages).st_size == size * page_bytes and all(
        os.pread(log, page_bytes, start) == os.pread(pages, page_bytes, (page - 1) * page_bytes)
        for page, start in newest.items()
    )


def _is_commit(frame: bytes) -> bool:
    return frame[_COMMIT_PAGES] != bytes(4)


def _is_header(header: bytes) -> bool:
    words = struct.unpack(">8I", header)
    return words[0] & ~1 == MAGIC and _checksum(struct.unpack(f"{_order(header)}6I", header[:24]), (0, 0)) == words[6:]


def _corrected_headers(header: bytes) -> Iterator[bytes]:
    """Yield each valid header that differs in one bit; none where a restart of the log was interrupted."""
    for bit in range(8 * HEADER_BYTES):
        candidate = (int.from_bytes(header) ^ 1 << bit).to_bytes(HEADER_BYTES)
        if _is_header(candidate):
            yield candidate


def _order(header: bytes) -> str:
    """Return the byte order in which checksums read words, as a format character of `struct`."""
    return ">" if header[3] & 1 else "<"


def _read(descriptor: int, frame_bytes: int, size: int) -> Iterator[bytes]:
    """Yield the whole frames of a log, CHUNK_FRAMES at a time."""
    offset = HEADER_BYTES
    for remaining in range(size // frame_bytes, 0, -CHUNK_FRAMES):
        data = os.pread(descriptor, min(remaining, CHUNK_FRAMES) * frame_bytes, offset)
        offset += len(data)
        # a server may have cut the file meanwhile, inside a frame
        yield data[: len(data) // frame_bytes * frame_bytes]


class _FrameWalk:
    """A walk over the frames of one log, from checksum to checksum."""

    def __init__(self, header: bytes, *, valid_header: bool) -> None:
        self.bytes = FRAME_HEADER_BYTES + int.from_bytes(header[PAGE_BYTES])
        self._salts = header[SALTS]
        self._order = _order(header)
        self._before: Sum = struct.unpack(">2I", header[_CHECKSUM])
        self._broken: tuple[int, int] | None = None if valid_header else (0, 0)  # number and page of the wrong frame
        self._follows = not valid_header  # whether the correction and all frames after it form one chain
        self._commit_seen = False  # whether the frame before is a commit that continues the checksum before it
        self._committed = False  # whether a commit after the damage is proven
        self._candidates: tuple[Sum, Sum] | None = None  # what the frame after the broken one may continue

    def walk(self, chunks: Iterator[bytes]) -> WalDamage | None:
        """Follow the checksums; return the damage, if a commit follows a frame or header with a wrong checksum."""
        before = self._before
        number = 0
        for chunk in chunks:
            sums = self._sums(chunk)
            for index, (first, second) in enumerate(sums):
                frame = chunk[index * self.bytes : (index + 1) * self.bytes]
                number += 1
                # linear: the checksum before, advanced over as many zero words, plus what the words of this frame add
                start = _advance(before, len(self._weights()[0]) // 2)
                computed = (start[0] + first & _MASK, start[1] + second & _MASK)
                if self._broken is None:
                    before = computed if self._is_valid(frame, computed) else self._correct(frame, number, computed)
                else:
                    before = self._check_later(frame, computed)
        return WalDamage(self._broken[0], number, self._broken[1]) if self._broken and self._committed else None

    def _is_valid(self, frame: bytes, computed: Sum) -> bool:
        return frame[FRAME_SALTS] == self._salts and _stored_checksum(frame) == computed

    def _correct(self, frame: bytes, number: int, computed: Sum) -> Sum:
        """Record the first frame with a wrong checksum; return the checksum from which the next frame continues."""
        stored = _stored_checksum(frame)
        self._broken = (number, int.from_bytes(frame[_PAGE]))
        # checksums do not cover salts: with a right one the salts were damaged, else it is a frame of an older log
        if frame[FRAME_SALTS] != self._salts:
            self._follows = stored == computed and _differing_bits(frame[FRAME_SALTS], self._salts) == 1
        elif _differing_bits(frame[_FRAME_CHECKSUM], struct.pack(">2I", *computed)) == 1:
            self._follows = True
            self._candidates = (stored, computed)  # a bit of the checksum, or the same bit of the last word
        else:
            corrected = self._correct_bit(frame, computed, stored)
            self._follows = corrected is not None
            frame = corrected or frame
        self._committed = self._follows and _is_commit(frame)
        return stored

    def _check_later(self, frame: bytes, computed: Sum) -> Sum:
        """Check a frame after the broken one: it is evidence only if it continues the checksum before it."""
        stored = _stored_checksum(frame)
        linked = frame[FRAME_SALTS] == self._salts and stored in (computed, self._alternative(computed))
        self._candidates = None  # only the frame right after the broken one has two sums to continue
        commits = linked and _is_commit(frame)
        self._follows = self._follows and linked
        # the two proofs of the module's docstring: a frame after a commit, or one chain from the correction to a commit
        self._committed = self._committed or (linked and self._commit_seen) or (self._follows and commits)
        self._commit_seen = commits
        return stored

    def _alternative(self, computed: Sum) -> Sum:
        """Return the checksum of a frame if the frame before had its other possible checksum."""
        if self._candidates is None:
            return computed
        pairs = len(self._weights()[0]) // 2
        stored, corrected = (_advance(before, pairs) for before in self._candidates)
        return computed[0] - stored[0] + corrected[0] & _MASK, computed[1] - stored[1] + corrected[1] & _MASK

    def _correct_bit(self, frame: bytes, computed: Sum, stored: Sum) -> bytes | None:
        """Return the frame with one bit corrected, if that makes its checksum right; not a bit of checksum or salts."""
        import numpy as np  # noqa: PLC0415 - only a log that an unclean end left needs it

        words = self._words(frame)[0]
        missing = [np.uint32((stored[half] - computed[half]) & _MASK) for half in (0, 1)]
        for bit in range(32):
            step = np.uint32(1 << bit)
            # what flipping the bit adds modulo 2**32: its value if it is clear, minus its value if it is set
            change = np.where(words & step, np.uint32(_MASK - int(step) + 1 & _MASK), step)
            fits = (change * self._weights()[0] == missing[0]) & (change * self._weights()[1] == missing[1])
            if fits.any():
                corrected = words.copy()
                corrected[int(np.argmax(fits))] ^= step
                data: bytes = corrected.astype(f"{self._order}u4").tobytes()
                return data[:8] + frame[8:24] + data[8:]
        return None

    def _words(self, chunk: bytes) -> "NDArray[np.uint32]":
        """Return the words under each frame's checksum, one row a frame: 8 bytes of its header, and its page."""
        import numpy as np  # noqa: PLC0415 - as above

        words = np.frombuffer(chunk, dtype=f"{self._order}u4").reshape(-1, self.bytes // 4)
        return np.concatenate((words[:, :2], words[:, FRAME_HEADER_BYTES // 4 :]), axis=1).astype(np.uint32)

    def _sums(self, chunk: bytes) -> list[Sum]:
        """Return, for each frame, what it adds to the checksum before it."""
        import numpy as np  # noqa: PLC0415 - as above

        words = self._words(chunk)
        sums = [(words * weights).sum(axis=1, dtype=np.uint32).tolist() for weights in self._weights()]
        return list(zip(*sums, strict=True))

    def _weights(self) -> "tuple[NDArray[np.uint32], NDArray[np.uint32]]":
        return _weights((self.bytes - FRAME_HEADER_BYTES + 8) // 4)


def _stored_checksum(frame: bytes) -> Sum:
    first, second = struct.unpack(">2I", frame[_FRAME_CHECKSUM])
    return first, second


def _checksum(words: tuple[int, ...], before: Sum) -> Sum:
    first, second = before
    for index in range(0, len(words), 2):
        first = first + words[index] + second & _MASK
        second = second + words[index + 1] + first & _MASK
    return first, second


@cache
def _weights(count: int) -> "tuple[NDArray[np.uint32], NDArray[np.uint32]]":
    """Return the weights of some words in both halves of their checksum."""
    import numpy as np  # noqa: PLC0415 - as above

    first, second = np.empty(count, np.uint32), np.empty(count, np.uint32)
    # from the last pair on: its first word adds to both sums, its second one only to the second sum
    even, odd = (1, 1), (0, 1)
    for index in range(count - 2, -1, -2):
        (first[index], second[index]), (first[index + 1], second[index + 1]) = even, odd
        even, odd = _advance(even, 1), _advance(odd, 1)
    return first, second


@cache
def _power(pairs: int) -> tuple[int, int, int, int]:
    """Return the matrix that advances a checksum over some pairs of zero words."""
    # one pair of zero words makes (a, b) into (a + b, a + 2 b); powers by repeated squaring
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


def _advance(before: Sum, pairs: int) -> Sum:
    """Return a checksum after some pairs of zero words."""
    a, b, c, d = _power(pairs)
    return a * before[0] + b * before[1] & _MASK, c * before[0] + d * before[1] & _MASK


def _differing_bits(left: bytes, right: bytes) -> int:
    """Return the number of bits in which two byte strings of one length differ."""
    return (int.from_bytes(left) ^ int.from_bytes(right)).bit_count()
