"""The evidence store: bytes beside the log, each file named by the SHA-256 digest of what it holds.

A file a blob, compressed by zlib, in `LEDGER.evidence/`: no free pages, no journal and no neighbour keeps a copy, and
removing one needs no room on the disk. What is being put or erased stands in `pending/`, where it is moved before the
event is appended and from where it is moved, or removed, after it. So a crash at any instant leaves one rule: a file in
`pending/` stands as the log says. One whose `evidence.stored` is there is put in its place, every other is removed.

Everything here blocks: call it on a thread. The one writer of the log is the one writer of these files.
"""

import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ledger.atomic_file import PART, failure, sync_folder, write_whole
from ledger.errors import Damaged, LedgerFull, LedgerUnavailable

ZEROS = bytes(1 << 20)


class EvidenceStore:
    """The files of one ledger's evidence."""

    def __init__(self, ledger: Path) -> None:
        ledger = ledger.resolve()
        self.folder = ledger.with_name(ledger.name + ".evidence")
        self._pending = self.folder / "pending"

    def hold(self, blobs: Mapping[str, bytes]) -> list[str]:
        """Write some blobs into `pending/`, by their digests, and sync them; the digests that were not there before.

        Errors: LedgerFull, LedgerUnavailable; of those that were not there before nothing is left then.
        """
        new: list[str] = []
        try:
            _make(self._pending)
            for digest, data in blobs.items():
                if not (self._pending / digest).exists():
                    new.append(digest)
                write_whole(self._pending / digest, zlib.compress(data))
            sync_folder(self._pending)
        except OSError as error:
            for digest in new:
                with suppress(LedgerUnavailable):
                    self.remove_pending(digest)
            raise _failed(error, "nothing was kept") from error
        return new

    def settle(self, digest: str) -> None:
        """Move what is pending to its place. Errors: LedgerUnavailable; it can be read where it is, too."""
        pending, place = self._pending / digest, self._place(digest)
        try:
            if pending.exists():
                _make(place.parent)
                pending.replace(place)
                sync_folder(place.parent)
        except OSError as error:
            raise _failed(error, "the bytes are kept") from error

    def withdraw(self, digest: str) -> None:
        """Move what is in its place to `pending/`, synced: from now on it stands as the log says.

        Errors: LedgerFull, LedgerUnavailable; nothing was erased.
        """
        place = self._place(digest)
        try:
            if place.exists():
                _make(self._pending)
                place.replace(self._pending / digest)
                sync_folder(self._pending)
                sync_folder(place.parent)
        except OSError as error:
            raise _failed(error, "nothing was erased") from error

    def remove_pending(self, digest: str) -> None:
        """Remove what is pending of a blob, as `remove` does."""
        _remove(digest, self._pending / (digest + PART), self._pending / digest)

    def remove(self, digest: str) -> None:
        """Overwrite and unlink every file of a blob, and sync. Errors: LedgerUnavailable; asked again, it goes on."""
        self.remove_pending(digest)
        _remove(digest, self._place(digest))

    def read(self, digest: str, size_bytes: int) -> bytes:
        """The bytes of a digest, verified. Errors: Damaged, for a file that is missing or holds anything else."""
        place = self._place(digest)
        for path in (place, self._pending / digest, place):
            with suppress(FileNotFoundError):
                return _verified(path, digest, size_bytes)
        raise Damaged(
            f"evidence {digest}: its file {place} is missing.", "Put the same bytes again, or restore the file."
        )

    def holds(self, digest: str, size_bytes: int) -> bool:
        """Whether the bytes of a digest can be read."""
        try:
            self.read(digest, size_bytes)
        except Damaged:
            return False
        return True

    def stands(self, digest: str) -> bool:
        """Whether a file is in the place of a digest, whatever it holds."""
        return self._place(digest).exists()

    def pending(self) -> list[str]:
        """The digests of what was being put or erased when the last writer ended."""
        try:
            return sorted({path.name.removesuffix(PART) for path in self._pending.iterdir()})
        except FileNotFoundError:
            return []

    def _place(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest


def _remove(digest: str, *paths: Path) -> None:
    try:
        for path in paths:
            if path.exists():
                _overwrite(path)
                path.unlink()
                sync_folder(path.parent)
    except OSError as error:
        raise LedgerUnavailable(
            f"The bytes of evidence {digest} could not be removed yet: {error}.",
            "Mend the disk, then erase it again, or restart the server.",
        ) from error


def _verified(path: Path, digest: str, size_bytes: int) -> bytes:
    """What a file holds, if that is what its name says; no more than the recorded size is ever unpacked."""
    try:
        with path.open("rb") as file:
            packed = file.read(_packed_max(size_bytes) + 1)
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(packed, size_bytes + 1)
        whole = unpacking.eof and not unpacking.unused_data
    except FileNotFoundError:
        raise
    except (OSError, zlib.error) as error:
        raise _damaged(path, digest, f"{error}") from error
    if not whole or len(data) != size_bytes or sha256(data).hexdigest() != digest:
        raise _damaged(path, digest, "it holds other bytes")
    return data


def _packed_max(size_bytes: int) -> int:
    """The most that zlib makes of so many bytes."""
    return size_bytes + (size_bytes >> 10) + 64


def _damaged(path: Path, digest: str, why: str) -> Damaged:
    return Damaged(
        f"evidence {digest}: its file {path} is damaged ({why}).", "Put the same bytes again, or restore the file."
    )


def _failed(error: OSError, done: str) -> LedgerFull | LedgerUnavailable:
    return failure(error, "The evidence store", done)


def _overwrite(path: Path) -> None:
    """Write zeros over a file's own blocks; where there is no room, as the file system writes elsewhere, leave it."""
    with suppress(OSError), path.open("r+b") as file:
        left = path.stat().st_size
        while left > 0:
            left -= file.write(ZEROS[:left])
        file.flush()
        os.fsync(file.fileno())


def _make(folder: Path) -> None:
    """A folder that is there after a power cut, too."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)
