"""Write an export under a temporary name, sync it, and rename it once it is complete.

An existing file is never overwritten. If the export fails, no file is left; if its process is killed, a `.part` is.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path

from api.export.export import Export
from api.export.manifest import Manifest
from api.export.targets import ExportTarget, FolderTarget, ZipTarget
from api.progress import ReportProgress
from ledger.atomic_file import sync_folder
from ledger.errors import InvalidQuery, LedgerFull
from ledger.private_file import make_private_folder, open_new_private
from ledger.threads import run_on_thread

ZIP = ".zip"


def is_archive(output: Path) -> bool:
    """Whether a path is named as a ZIP."""
    return output.suffix.lower() == ZIP


def check_output(output: Path, option: str = "output") -> None:
    """Check that a path is free and its folder exists. Errors: InvalidQuery, naming the option."""
    if os.path.lexists(output):
        raise InvalidQuery(option, f"{output} exists already, and is not overwritten.", "Name another path.")
    if not output.parent.is_dir():
        raise InvalidQuery(option, f"the folder {output.parent} does not exist.", "Create it first.")


@contextmanager
def temporary_output(output: Path) -> Iterator[Path]:
    """Give a temporary path to write to; it is renamed to `output` at the end, and deleted on an error.

    Errors: InvalidQuery; LedgerFull, for a full disk; OSError.
    """
    check_output(output)
    part = output.with_name(f"{output.name}.{os.getpid()}.part")
    _clear(part)
    try:
        yield part
        check_output(output)
        if part.is_dir():
            sync_folder(part)
            part.rename(output)
        else:
            os.link(part, output)
        sync_folder(output.parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            detail = f"The disk of {output} is full; no part of the export was kept."
            raise LedgerFull(detail, "Free some space, or name another path.") from error
        raise
    finally:
        _clear(part)


async def write_export(export: Export, output: Path, report: ReportProgress) -> Manifest:
    """Write an export to a folder, or to a ZIP if the path is named as one; return its manifest.

    Errors: those of `Export.write` and `temporary_output`.
    """
    with temporary_output(output) as part:
        if is_archive(output):
            with open_new_private(part) as file:
                with ZipTarget(file.write, export.created) as archive:
                    await _write(export, archive, report)
                    await run_on_thread(archive.close)
                await run_on_thread(os.fsync, file.fileno())
        else:
            make_private_folder(part)
            with FolderTarget(part) as folder:
                await _write(export, folder, report)
    assert export.manifest is not None, "a written export has a manifest"
    return export.manifest


async def _write(export: Export, target: ExportTarget, report: ReportProgress) -> None:
    async with aclosing(export.write(target)) as written:
        async for position in written:
            report(position, export.size)


def _clear(part: Path) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        part.unlink() if not part.is_dir() else shutil.rmtree(part)
