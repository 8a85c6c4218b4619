"""The evidence store: files beside the log, each named by the SHA-256 digest of its content.

Each blob is one file, compressed by zlib, in `LEDGER.evidence/`. So no free page, journal or other blob keeps a copy of
it, and removing it needs no disk space. A blob that is being stored or erased is in `pending/`: it is moved there
before the event is appended, and moved away or removed afterwards. After a crash at any instant, the log decides about
each file in `pending/`: with an `evidence.stored` event it is moved to its final path, without one it is removed.

All functions block: call them on a thread. Only the process that writes the log writes these files.
"""

import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ledger.atomic_file import PART, sync_folder, write_error, write_whole
from ledger.errors import Damaged, LedgerFull, LedgerUnavailable, LedgerUnusable
from ledger.private_file import make_private_folder, open_private, refuse_link

ZEROS = bytes(1 << 20)
"""The bytes that overwrite a file, 1 MiB at a time."""


class EvidenceStore:
    """The evidence files of one ledger."""

    def __init__(self, ledger: Path) -> None:
        ledger = ledger.resolve()
        self.folder = ledger.with_name(ledger.name + ".evidence")
        self._pending = self.folder / "pending"

    def write_pending(self, blobs: Mapping[str, bytes]) -> list[str]:
        """Write blobs, by digest, into `pending/` and sync them; return the digests that were not there before.

        Errors: LedgerFull, LedgerUnavailable; blobs that were not there before are then removed.
        """
        new: list[str] = []
        try:
            self._refuse_links()
            _make_folder(self._pending)
            for digest, data in blobs.items():
                if not (self._pending / digest).exists():
                    new.append(digest)
                write_whole(self._pending / digest, zlib.compress(data))
            sync_folder(self._pending)
        except OSError as error:
            for digest in new:
                with suppress(LedgerUnavailable):
                    self.remove_pending(digest)
            raise _write_error(error, "nothing was kept") from error
        return new

    def publish(self, digest: str) -> None:
        """Move a pending blob to its final path. Errors: LedgerUnavailable; the blob can still be read."""
        pending, stored = self._pending / digest, self._path(digest)
        self._refuse_links()
        try:
            if pending.exists():
                _make_folder(stored.parent)
                pending.replace(stored)
                sync_folder(stored.parent)
        except OSError as error:
            raise _write_error(error, "the bytes are kept") from error

    def unpublish(self, digest: str) -> None:
        """Move a stored blob to `pending/` and sync: from now on the log decides whether it is kept.

        Errors: LedgerFull, LedgerUnavailable; nothing was erased.
        """
        stored = self._path(digest)
        self._refuse_links()
        try:
            if stored.exists():
                _make_folder(self._pending)
                stored.replace(self._pending / digest)
                sync_folder(self._pending)
                sync_folder(stored.parent)
        except OSError as error:
            raise _write_error(error, "nothing was erased") from error

    def remove_pending(self, digest: str) -> None:
        """Remove the pending files of a blob, as `remove` does."""
        _remove(digest, self._pending / (digest + PART), self._pending / digest)

    def remove(self, digest: str) -> None:
        """Overwrite and unlink every file of a blob, and sync. Errors: LedgerUnavailable; call it again to finish."""
        self.remove_pending(digest)
        _remove(digest, self._path(digest))

    def read(self, digest: str, size_bytes: int) -> bytes:
        """Return the verified bytes of a blob. Errors: Damaged, if the file is missing or has other content."""
        stored = self._path(digest)
        for path in (stored, self._pending / digest, stored):
            with suppress(FileNotFoundError):
                return _read_verified(path, digest, size_bytes)
        raise Damaged(
            f"evidence {digest}: its file {stored} is missing.", "Store the same bytes again, or restore the file."
        )

    def is_readable(self, digest: str, size_bytes: int) -> bool:
        """Return whether the bytes of a blob can be read and are right."""
        try:
            self.read(digest, size_bytes)
        except Damaged:
            return False
        return True

    def exists(self, digest: str) -> bool:
        """Return whether a blob has a file at its final path; its content is not checked."""
        return self._path(digest).exists()

    def pending(self) -> list[str]:
        """Return the digests of the blobs that were being stored or erased when the last writer ended."""
        try:
            return sorted({path.name.removesuffix(PART) for path in self._pending.iterdir()})
        except FileNotFoundError:
            return []

    def _refuse_links(self) -> None:
        """Refuse folders that are symbolic links. Errors: LedgerUnusable."""
        refuse_link(self.folder)
        refuse_link(self._pending)

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest


def _remove(digest: str, *paths: Path) -> None:
    try:
        for path in paths:
            refuse_link(path.parent)
            if path.exists():
                _overwrite(path)
                path.unlink()
                sync_folder(path.parent)
    except OSError as error:
        raise LedgerUnavailable(
            f"The bytes of evidence {digest} could not be removed yet: {error}.",
            "Check the disk, then erase it again, or restart the server.",
        ) from error


def _read_verified(path: Path, digest: str, size_bytes: int) -> bytes:
    """Return the content of a file, if its digest is right; unpack no more than the recorded size."""
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            packed = file.read(_packed_max(size_bytes) + 1)
        decompressor = zlib.decompressobj()
        data = decompressor.decompress(packed, size_bytes + 1)
        complete = decompressor.eof and not decompressor.unused_data
    except FileNotFoundError:
        raise
    except (OSError, LedgerUnusable, zlib.error) as error:
        raise _damaged(path, digest, f"{error}") from error
    if not complete or len(data) != size_bytes or sha256(data).hexdigest() != digest:
        raise _damaged(path, digest, "it has other bytes")
    return data


def _packed_max(size_bytes: int) -> int:
    """Return the largest size that zlib gives for some bytes."""
    return size_bytes + (size_bytes >> 10) + 64


def _damaged(path: Path, digest: str, reason: str) -> Damaged:
    return Damaged(
        f"evidence {digest}: its file {path} is damaged ({reason}).", "Store the same bytes again, or restore the file."
    )


def _write_error(error: OSError, outcome: str) -> LedgerFull | LedgerUnavailable:
    return write_error(error, "The evidence store", outcome)


def _overwrite(path: Path) -> None:
    """Write zeros over a file's blocks; skip it if the disk is full and the file system writes to new blocks."""
    with suppress(OSError), os.fdopen(open_private(path, os.O_RDWR), "r+b") as file:
        remaining = path.stat().st_size
        while remaining > 0:
            remaining -= file.write(ZEROS[:remaining])
        file.flush()
        os.fsync(file.fileno())


def _make_folder(folder: Path) -> None:
    """Make a private folder that survives a power failure. Errors: LedgerUnusable, for a symbolic link; OSError."""
    refuse_link(folder)
    if not folder.is_dir():
        _make_folder(folder.parent)
        make_private_folder(folder)
        sync_folder(folder.parent)
