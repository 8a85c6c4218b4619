"""An export in its place: written beside it under another name, synced, and given its name when it is whole.

What is there already is never written over; what broke off leaves nothing; and what was killed leaves a `.part` that
nobody takes for an export.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path

from api.export.export import Export
from api.export.manifest import Manifest
from api.export.targets import ExportTarget, FolderTarget, ZipTarget
from ledger.atomic_file import sync_folder
from ledger.errors import InvalidQuery, LedgerFull
from ledger.threads import on_thread

ZIP = ".zip"

Report = Callable[[int, int], None]
"""Told what is done, and what there is to do."""


def is_archive(output: Path) -> bool:
    """Whether a place is named as that of a ZIP."""
    return output.suffix.lower() == ZIP


def check_place(output: Path) -> None:
    """Errors: InvalidQuery, for a place that is taken, or is in no folder."""
    if os.path.lexists(output):
        raise InvalidQuery("output", f"{output} is there already, and is not written over.", "Name another place.")
    if not output.parent.is_dir():
        raise InvalidQuery("output", f"there is no folder {output.parent}.", "Make it first.")


@contextmanager
def placing(output: Path) -> Iterator[Path]:
    """Where to write what is to stand at a place; it is moved there at the end, and is gone where that is not reached.

    Errors: InvalidQuery; LedgerFull, for a full disk; OSError.
    """
    check_place(output)
    part = output.with_name(f"{output.name}.{os.getpid()}.part")
    _clear(part)
    try:
        yield part
        check_place(output)
        if part.is_dir():
            sync_folder(part)
            part.rename(output)
        else:
            os.link(part, output)
        sync_folder(output.parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            detail = f"The disk of {output} is full; nothing is left of the export."
            raise LedgerFull(detail, "Make room, or name another place.") from error
        raise
    finally:
        _clear(part)


async def place(export: Export, output: Path, report: Report) -> Manifest:
    """Write an export to a folder, or a ZIP where the place is named as one; what it holds. Errors: those of both."""
    with placing(output) as part:
        if is_archive(output):
            with part.open("xb", buffering=0) as file:
                with ZipTarget(file.write, export.created) as archive:
                    await _write(export, archive, report)
                    await on_thread(archive.close)
                await on_thread(os.fsync, file.fileno())
        else:
            part.mkdir()
            with FolderTarget(part) as folder:
                await _write(export, folder, report)
    assert export.manifest is not None, "an export that was written is whole"
    return export.manifest


async def _write(export: Export, target: ExportTarget, report: Report) -> None:
    async with aclosing(export.write(target)) as written:
        async for position in written:
            report(position, export.size)


def _clear(part: Path) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        part.unlink() if not part.is_dir() else shutil.rmtree(part)
