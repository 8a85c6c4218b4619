"""Backup and restore: make a verified copy of a ledger, and put a verified copy in the place of a ledger.

A backup is a ledger file with companion files: the evidence that its log refers to, the hashes of tokens, the newest
checkpoint. The private key is left out unless the caller requests it: more people can read backups than the ledger,
and anyone with the key can sign another history in its name.

All files are written under `.part` names, and moved when all are complete, the ledger file last: when the ledger file
has its name, the backup or the restored ledger is complete. The next attempt removes the files of a killed one.
"""

import asyncio
import os
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from api.progress import OpenProgress, no_progress
from events.decode_error_messages import DECODE_ERRORS
from ledger.atomic_file import PART, replace_whole, sync_folder, write_error
from ledger.errors import Damaged, LedgerDamaged, LedgerUnusable, Occupied
from ledger.evidence_store import EvidenceStore
from ledger.file_seal import seal_path
from ledger.private_file import FILE_MODE, make_private_folder, read_private
from ledger.sqlite.backup import (
    SQLITE_SUFFIXES,
    copy_ledger,
    is_erased,
    move_files,
    remove_files,
    stored_evidence,
)
from ledger.sqlite.lock import WriterLock, lock_path
from ledger.sqlite.reader import SqliteReader
from ledger.transparency.checkpoints import checkpoint_path, read_checkpoint
from ledger.transparency.keys import read_key
from ledger.transparency.signed_note import Checkpoint, SignedCheckpoint, encode_base64
from ledger.transparency.tree import LogTree
from ledger.verify import FileFindings, Finding, Findings, verify_file

EVIDENCE = ".evidence"
CHECKPOINT = ".checkpoint"
SIGNED = (CHECKPOINT, ".witnessed")
COMPANIONS = (".tokens", *SIGNED)
"""Name endings of the small files beside a ledger that a backup contains."""
COMPANION_BYTES_MAX = 64 << 20
"""One of these files; the largest is that of the tokens."""
KEY = ".key"
LAST_BACKUP = ".last-backup"
"""The end of the name of the file beside a ledger that remembers its last backup."""
LAST_BACKUP_BYTES_MAX = 65_536
PARTS = ("", EVIDENCE, *COMPANIONS, ".imported", KEY)
"""Name endings of a backup's files. One of a ledger in a database that was imported has the export's checkpoint."""
PART_ENDINGS = (*(ending + PART for ending in PARTS[1:]), *PARTS[1:], *SQLITE_SUFFIXES[1:], "")
"""Name endings of files that a killed attempt may leave. The last one is removed last: it marks the attempt."""
REBUILT = tuple(name + ending for name in (".views.db", ".search.db", ".vectors.db") for ending in SQLITE_SUFFIXES)
"""Name endings of files that are rebuilt from the log. After a restore, the old ones belong to another log."""


class BackupResult(msgspec.Struct, frozen=True, kw_only=True):
    """A backup that was made: its contents and its files."""

    file: str
    events: int
    root: str
    size_bytes: int
    evidence: int
    checkpoint: int | None
    files: list[str]
    elapsed_s: float
    missing: list[str] = []
    """Digests of evidence that this machine does not have, of a ledger in a database."""
    standby: str | None = None
    """The server that a ledger in a database was read from, if it is a standby."""


class LastBackup(msgspec.Struct, frozen=True, kw_only=True):
    """The last backup of a ledger, as a file beside the ledger remembers it."""

    time: datetime
    file: str
    events: int
    root: str


class RestoreResult(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger that was restored.

    `signed` is the size of the newest checkpoint here before the restore, `lost` how many of those events the backup
    lacks, `forked` whether the events that it has differ from the signed ones. `missing` is evidence that the backup
    lacks; `aside` is the folder to which the previous ledger was moved.
    """

    ledger: str
    events: int
    root: str
    evidence: int
    missing: list[str]
    signed: int | None
    lost: int
    forked: bool
    key: bool
    aside: str | None
    elapsed_s: float


def back_up(ledger: Path, target: Path, *, with_key: bool, progress: OpenProgress = no_progress) -> BackupResult:
    """Copy a ledger with its companions, verify the copy, and then give it its name. A server may run meanwhile.

    Errors: Occupied, for a name that exists; LedgerUnusable; LedgerDamaged, Damaged, for a ledger that is not
    complete (no backup is made); LedgerLocked, while another process makes the same backup; LedgerFull,
    LedgerUnavailable.
    """
    began = time.monotonic()
    asyncio.run(_require_ledger(ledger))
    ledger, part = ledger.resolve(), target.with_name(target.name + PART)
    with reserve_name(target, part):
        # Companions first: their checkpoint must not be newer than the copy.
        write_beside(part, read_companions(ledger, with_key=with_key))
        _copy(ledger, part, progress)
        evidence, missing = _copy_evidence((ledger,), part, progress)
        while missing:
            if not any(is_erased(ledger, digest) for digest in missing):
                raise next(iter(missing.values()))
            remove_files(part, *SQLITE_SUFFIXES, EVIDENCE)  # erased meanwhile: a new copy of the log has the erasure
            _copy(ledger, part, progress)
            evidence, missing = _copy_evidence((ledger,), part, progress)
        verified = _verify_copy(part, ledger, progress)
        size_bytes = part.stat().st_size
        signed = read_checkpoint(checkpoint_path(part))
        files = move_files(part, target, *reversed(PARTS))
    remember_backup(ledger, target, verified.events, verified.root)
    return BackupResult(
        file=str(target),
        events=verified.events,
        root=encode_base64(verified.root),
        size_bytes=size_bytes,
        evidence=evidence,
        checkpoint=signed.size if signed else None,
        files=sorted(map(str, files)),
        elapsed_s=time.monotonic() - began,
    )


def restore(
    ledger: Path,
    backup: Path,
    now: datetime,
    *,
    replace: bool = False,
    without_evidence: bool = False,
    progress: OpenProgress = no_progress,
) -> RestoreResult:
    """Put a verified copy of a backup in the place of a ledger; move the previous ledger into a dated folder.

    An existing key, tokens and a newer checkpoint stay: the restored ledger must continue what was signed last.
    Errors: Occupied, for an existing ledger without `replace`; LedgerLocked, while a process writes it; LedgerUnusable;
    LedgerDamaged, for a backup that is not complete; Damaged, for a backup without all evidence and without
    `without_evidence`; LedgerFull, LedgerUnavailable. After each of these the ledger is unchanged.
    """
    began = time.monotonic()
    ledger = ledger.resolve()
    part = ledger.with_name(ledger.name + PART)
    _require_backup(backup, ledger)
    lock = WriterLock.acquire(ledger)
    try:
        if ledger.exists() and not replace:
            raise Occupied(str(ledger), "--replace restores in its place and keeps it; or name another with --ledger.")
        signed = read_checkpoint(checkpoint_path(ledger))
        with _translate_os_errors(f"Restoring {ledger}"), _clear_parts(part):
            companions = read_companions(backup, with_key=True)
            write_beside(part, companions)
            _copy(backup, part, progress, still=True)
            evidence, missing = _copy_evidence((backup, ledger), part, progress)
            if missing and not without_evidence:
                raise next(iter(missing.values()))
            verified = _verify_copy(part, backup, progress, missing=missing)
            forked = signed is not None and asyncio.run(_is_forked(part, verified.events, signed.checkpoint))
            aside = _set_aside(ledger, now)
            remove_files(ledger, *REBUILT)
            move_files(part, ledger, *_companions_to_restore(ledger, companions), EVIDENCE, "")
            remove_files(part, *PART_ENDINGS)
    finally:
        lock.release()
    return RestoreResult(
        ledger=str(ledger),
        events=verified.events,
        root=encode_base64(verified.root),
        evidence=evidence,
        missing=sorted(missing),
        signed=signed.size if signed else None,
        lost=max(0, signed.size - verified.events) if signed else 0,
        forked=forked,
        key=ledger.with_name(ledger.name + KEY).exists(),
        aside=str(aside) if aside else None,
        elapsed_s=time.monotonic() - began,
    )


def read_last_backup(ledger: Path) -> LastBackup | None:
    """Return the last backup of a ledger; None if none is known. Errors: LedgerUnusable."""
    path = ledger.with_name(ledger.name + LAST_BACKUP)
    try:
        return msgspec.json.decode(read_private(path, LAST_BACKUP_BYTES_MAX), type=LastBackup)
    except FileNotFoundError:
        return None
    except (OSError, *DECODE_ERRORS) as error:
        raise LedgerUnusable(
            f"{path} cannot be read: {error}.", "Remove it; the next backup makes it again."
        ) from error


def remember_backup(ledger: Path, target: Path, events: int, root: bytes) -> None:
    """Write down the last backup, for `doctor`. A folder that cannot be written does not make a backup fail."""
    last = LastBackup(time=datetime.now(UTC), file=str(target.absolute()), events=events, root=encode_base64(root))
    with suppress(OSError, LedgerUnusable):
        replace_whole(ledger.with_name(ledger.name + LAST_BACKUP), msgspec.json.encode(last), mode=FILE_MODE)


@contextmanager
def reserve_name(target: Path, part: Path) -> Iterator[None]:
    """Reserve the name of a backup while it is made: exclude other processes, and remove all parts on failure."""
    if not target.parent.is_dir():
        raise LedgerUnusable(f"There is no folder {target.parent}.", "Make it, or name another file.")
    lock = WriterLock.acquire(part)
    try:
        left_behind = () if target.exists() or not part.exists() else PARTS[1:]
        for ending in (*PARTS, *SQLITE_SUFFIXES):
            path = target.with_name(target.name + ending)
            if ending not in left_behind and os.path.lexists(path):
                raise Occupied(str(path), "Name another file: a backup overwrites nothing.")
        with _translate_os_errors(f"Writing {target}"):
            remove_files(target, *left_behind)
            with _clear_parts(part):
                try:
                    yield
                except BaseException:
                    if not target.exists():
                        remove_files(target, *PARTS[1:])
                    raise
    finally:
        lock.release()
        lock_path(part).unlink(missing_ok=True)


@contextmanager
def _clear_parts(part: Path) -> Iterator[None]:
    """Remove the `.part` files of an earlier attempt before the block, and those of this one if the block fails."""
    remove_files(part, *PART_ENDINGS)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            remove_files(part, *PART_ENDINGS)
        raise


@contextmanager
def _translate_os_errors(what: str) -> Iterator[None]:
    """Raise LedgerFull or LedgerUnavailable in place of OSError."""
    try:
        yield
    except OSError as error:
        raise write_error(error, what, "nothing was put in its place") from error


def _copy(source: Path, part: Path, progress: OpenProgress, *, still: bool = False) -> None:
    with progress("copying", "pages") as report:
        copy_ledger(source, part, still=still, progress=report)


def _copy_evidence(sources: Sequence[Path], part: Path, progress: OpenProgress) -> tuple[int, dict[str, Damaged]]:
    """Copy each blob that the log refers to from the first ledger that has it, and verify it.

    Return how many blobs were copied, and by digest the errors of the others. Errors: LedgerFull, LedgerUnavailable.
    """
    recorded = stored_evidence(part)
    stores, target = [EvidenceStore(source) for source in sources], EvidenceStore(part)
    missing: dict[str, Damaged] = {}
    with progress("copying", "blobs of evidence") as report:
        for done, (digest, stored) in enumerate(recorded.items(), 1):
            readable = (store for store in stores if store.is_readable(digest, stored.size_bytes))
            try:
                target.write_pending({digest: next(readable, stores[0]).read(digest, stored.size_bytes)})
                target.publish(digest)
            except Damaged as error:
                missing[digest] = error
            report(done, len(recorded))
    return len(recorded) - len(missing), missing


def _verify_copy(part: Path, source: Path, progress: OpenProgress, missing: Container[str] = ()) -> FileFindings:
    """Verify a copy with its companions. Errors: LedgerDamaged, naming the source; LedgerUnusable."""
    signer = read_key(source)
    findings = Findings()
    with progress("verifying", "events") as report:
        verified = verify_file(findings, part, key=signer.verifier if signer else None, progress=report)
    faults = [fault for check in findings.checks for fault in check.faults if not _is_about_missing(missing, fault)]
    if faults:
        details = [fault.detail.replace(part.name, source.name) for fault in faults]
        raise LedgerDamaged(str(source), details, f"See all that is wrong: tallystick verify --ledger {source}")
    return verified


def _is_about_missing(missing: Container[str], fault: Finding) -> bool:
    """Return whether a finding is about one of some missing digests."""
    return fault.check == "evidence" and fault.detail.removeprefix("evidence ").partition(":")[0] in missing


async def _require_ledger(ledger: Path) -> None:
    """Check that a ledger can be opened. Errors: LedgerUnusable."""
    await (await SqliteReader.open(ledger)).close()


async def _is_forked(part: Path, size: int, checkpoint: Checkpoint) -> bool:
    """Return whether a copy has other lines than the checkpoint signed; False for a copy with fewer lines."""
    if checkpoint.size > size:
        return False
    reader = await SqliteReader.open(part)
    try:
        return await LogTree(reader).root(checkpoint.size) != checkpoint.root
    finally:
        await reader.close()


def _require_backup(backup: Path, ledger: Path) -> None:
    if not backup.is_file():
        raise LedgerUnusable(f"There is no backup at {backup}.", "Name a file that tallystick backup made.")
    if backup.resolve() == ledger:
        raise LedgerUnusable(f"{backup} is the ledger itself.", "Name another with --ledger.")
    if not ledger.parent.is_dir():
        raise LedgerUnusable(f"There is no folder {ledger.parent}.", "Make it, or name another with --ledger.")


def read_companions(ledger: Path, *, with_key: bool) -> dict[str, bytes]:
    """Read the small files beside a ledger, by the endings of their names. Errors: LedgerUnusable; OSError."""
    contents: dict[str, bytes] = {}
    for ending in (*COMPANIONS, KEY) if with_key else COMPANIONS:
        with suppress(FileNotFoundError):
            contents[ending] = read_private(ledger.with_name(ledger.name + ending), COMPANION_BYTES_MAX)
    return contents


def write_beside(ledger: Path, companions: Mapping[str, bytes]) -> None:
    """Write small files beside a ledger, without seals. Errors: LedgerUnusable; OSError."""
    for ending, data in companions.items():
        path = ledger.with_name(ledger.name + ending)
        seal_path(path).unlink(missing_ok=True)
        replace_whole(path, data, mode=FILE_MODE)


def _companions_to_restore(ledger: Path, companions: Mapping[str, bytes]) -> list[str]:
    """List the name endings of companions to restore: missing ones, and newer checkpoints of the same log."""
    return [
        ending
        for ending, data in companions.items()
        if not (path := ledger.with_name(ledger.name + ending)).exists()
        or (ending in SIGNED and _is_newer(SignedCheckpoint.parse(data), read_checkpoint(path)))
    ]


def _is_newer(offered: SignedCheckpoint, existing: SignedCheckpoint | None) -> bool:
    return existing is None or (
        existing.checkpoint.origin == offered.checkpoint.origin and existing.size < offered.size
    )


def _set_aside(ledger: Path, now: datetime) -> Path | None:
    """Move a ledger, then its evidence, into a dated folder; return the folder, or None without any of these."""
    endings = (*SQLITE_SUFFIXES, EVIDENCE)
    if not any(os.path.lexists(ledger.with_name(ledger.name + ending)) for ending in endings):
        return None
    aside = ledger.with_name(f"{ledger.name}.replaced-{now:%Y%m%dT%H%M%S%fZ}")
    make_private_folder(aside)
    sync_folder(aside.parent)
    move_files(ledger, aside / ledger.name, *endings)
    return aside
