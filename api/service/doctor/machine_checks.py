"""Check what a ledger needs of its machine: permissions of its files, disk space, SQLite, the clock, the lock."""

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from api.service.doctor.diagnosis import Diagnosis, ok, warning, wrong
from api.text_format import format_time, pluralize
from ledger.sqlite.lock import find_writer, holder_of, lock_path
from ledger.sqlite.wal_check import find_damage

SECRETS = (".key", ".tokens", ".webhooks")
"""Endings of files that nobody else may read."""

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS_READ = stat.S_IRGRP | stat.S_IROTH

DISK_BYTES_MIN = 100 * 1024 * 1024
"""Free bytes below which appends may soon be refused."""

FILES_MIN = 1_000
"""Free entries of the file system below which appends may soon be refused."""

FIXED_WAL_RESET = (3, 51, 3)
"""The first version of SQLite without the bug that corrupts a write-ahead log which two connections reset at once."""

WAL_BYTES_MAX = 1024 * 1024 * 1024
"""Length of a write-ahead log that a reader, or a copy, has kept from being moved into the ledger."""

CLOCK_DIFFERENCE_MAX = timedelta(minutes=1)
"""How far a time in a ledger or of a file may be ahead of the clock."""

EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)
"""A clock before this is not set."""

MB = 1_000_000


def find_files(ledger: Path) -> list[Path]:
    """Return the ledger and all files and folders beside it that belong to it, those inside the folders too."""
    beside = [path for path in ledger.parent.iterdir() if path.name.startswith((f"{ledger.name}.", f"{ledger.name}-"))]
    found = [ledger, *sorted(beside)]
    for folder in beside:
        if folder.is_dir() and not folder.is_symlink():
            found += sorted(folder.rglob("*"))
    return found


def check_permissions(ledger: Path) -> Iterator[Diagnosis]:
    """Check that nobody else can read or write the files, and that none is a symbolic link."""
    files, readable, faults = find_files(ledger), 0, 0
    owner = ledger.stat().st_uid
    for path in files:
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        name = path.relative_to(ledger.parent)
        fix = f"chmod {'700' if path.is_dir() else '600'} '{path}'"
        if stat.S_ISLNK(status.st_mode):
            yield wrong("permissions", f"{name} is a symbolic link.", "Put the file itself in its place, or remove it.")
        elif mode & OTHERS_WRITE:
            yield wrong("permissions", f"others may write {name} (mode {mode:04o}).", fix)
        elif mode & OTHERS_READ and path.name.endswith(SECRETS):
            yield wrong("permissions", f"others may read {name} (mode {mode:04o}).", fix)
        elif status.st_uid != owner:
            yield warning("permissions", f"{name} has another owner than the ledger.", f"chown {owner} '{path}'")
        else:
            readable += bool(mode & OTHERS_READ)
            continue
        faults += 1
    if readable:
        advice = f"chmod -R go-rwx '{ledger}'*, unless you chose that."
        yield warning("permissions", f"others may read {pluralize(readable, 'file')} of {len(files):,}.", advice)
    elif not faults:
        yield ok("permissions", f"{pluralize(len(files), 'file')}, for their owner alone.")
    yield _check_folder(ledger.parent)


def _check_folder(folder: Path) -> Diagnosis:
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & OTHERS_WRITE and not mode & stat.S_ISVTX:
        detail = f"others may add and replace files in {folder} (mode {mode:04o})."
        return wrong("folder", detail, f"chmod go-w '{folder}', or move the ledger.")
    return ok("folder", f"only its owner may change what is in {folder}.")


def check_unfinished(ledger: Path) -> Iterator[Diagnosis]:
    """Check that no write was killed in the middle."""
    parts = [path.name for path in find_files(ledger) if path.name.endswith(".part")]
    if parts:
        advice = "If nothing is writing now, remove them: they are of writes that were killed."
        yield warning("unfinished files", f"{', '.join(parts[:3])}{', ...' if len(parts) > 3 else ''}.", advice)


def check_disk(ledger: Path) -> Iterator[Diagnosis]:
    """Check that the disk has space for appends and for a copy."""
    usage, system = shutil.disk_usage(ledger.parent), os.statvfs(ledger.parent)
    size_bytes = sum(path.lstat().st_size for path in find_files(ledger))
    free = f"{usage.free / MB:,.0f} MB of {usage.total / MB:,.0f} MB are free"
    if system.f_flag & os.ST_RDONLY:
        yield warning("disk", "it is mounted read-only: nothing can be appended.", "Mount it for writing.")
    elif usage.free < DISK_BYTES_MIN:
        yield wrong("disk", f"{free}: appends are refused when it is full.", "Free some space.")
    elif system.f_files > 0 and system.f_favail < FILES_MIN:
        detail = f"it has only {system.f_favail:,} free entries for files."
        yield wrong("disk", detail, "Remove files: evidence needs one entry for each piece.")
    elif usage.free < size_bytes:
        detail = f"{free}: a copy of the ledger ({size_bytes / MB:,.0f} MB) does not fit."
        yield warning("disk", detail, "Free some space, or make backups on another disk.")
    else:
        yield ok("disk", f"{free}; the ledger takes {size_bytes / MB:,.1f} MB.")


def check_sqlite(ledger: Path) -> Iterator[Diagnosis]:
    """Check the version of SQLite, and the write-ahead log."""
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < FIXED_WAL_RESET:
        yield warning(
            "SQLite",
            f"version {version} has the WAL-reset bug: two programs that write one file at once can corrupt it."
            " Tallystick writes with one connection, which the bug does not affect.",
            "Let no other program write the ledger, and use SQLite 3.51.3 or newer when you can.",
        )
    else:
        yield ok("SQLite", f"version {version}, without known bugs that concern a ledger.")
    log = Path(f"{ledger}-wal")
    if not log.exists():
        return
    size_bytes = log.stat().st_size
    if (damage := find_damage(ledger)) is not None:
        yield wrong("write-ahead log", f"{log.name}: {damage}", "Restore a backup: tallystick restore.")
    elif size_bytes > WAL_BYTES_MAX:
        detail = f"{log.name} has {size_bytes / MB:,.0f} MB: a reader or a copy keeps it from being moved."
        yield warning("write-ahead log", detail, "End long reads and copies; then restart the server.")
    else:
        yield ok("write-ahead log", f"{size_bytes / MB:,.1f} MB, undamaged.")


def check_clock(ledger: Path, now: datetime, newest: datetime | None, stepped_s: float) -> Iterator[Diagnosis]:
    """Check the clock against the newest event, the files, and the time that passed meanwhile."""
    limit = now + CLOCK_DIFFERENCE_MAX
    times = [(datetime.fromtimestamp(path.lstat().st_mtime, UTC), path.name) for path in find_files(ledger)]
    file_time, name = max(times)
    set_it = "Set the clock, and keep it set: NTP."
    if now < EARLIEST:
        yield wrong("clock", f"it says {format_time(now)} UTC, and is not set.", set_it)
    elif newest is not None and newest > limit:
        detail = f"it says {format_time(now)} UTC; the newest event was recorded at {format_time(newest)} UTC."
        yield wrong("clock", detail, f"{set_it} Until it passes that time, new events are recorded with that time.")
    elif file_time > limit:
        detail = f"it says {format_time(now)} UTC; {name} was written at {format_time(file_time)} UTC."
        yield warning("clock", detail, set_it)
    elif abs(stepped_s) > 0.5:
        yield warning("clock", f"it was set by {stepped_s:+.1f} s during this check.", set_it)
    else:
        yield ok("clock", f"{format_time(now)} UTC, not before the newest event or file.")


def check_lock(ledger: Path) -> Iterator[Diagnosis]:
    """Check which process writes the ledger."""
    holder, writer = holder_of(ledger), find_writer(ledger)
    if writer is not None:
        address = f", serving at {writer.address}" if writer.address is not None else ""
        yield ok("lock", f"process {writer.pid} writes the ledger{address}.")
    elif holder is not None:
        detail = f"process {holder.pid} ended without closing the ledger; nobody writes it now."
        yield warning(
            "lock", detail, f"Nothing, unless that was not meant: the next writer takes {lock_path(ledger).name}."
        )
    else:
        yield ok("lock", "nobody writes the ledger.")
