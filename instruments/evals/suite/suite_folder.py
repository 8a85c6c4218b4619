"""Write the files of a suite into a new folder, which appears at once with all of them or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from instruments.errors import FixtureExists


@contextmanager
def new_suite_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `folder`, which becomes `folder` when the block ends without an error.

        with new_suite_folder(folder) as staged:
            write_suite_file(staged, "job-image/scenario.yaml", data)

    `folder` may exist if it is empty. Errors: FixtureExists; OSError. After an error, nothing of it remains.
    """
    folder = folder.resolve()
    check_empty(folder)
    with staged_folder(folder) as staged:
        yield staged
        check_empty(folder)
        staged.rename(folder)  # replaces an empty folder, and fails for any other


@contextmanager
def staged_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `folder`, with parents that are missing; remove what is left and empty of them.

    Errors: OSError.
    """
    missing_parents = [parent for parent in (folder.parent, *folder.parent.parents) if not parent.exists()]
    staged = folder.parent / f".{folder.name}.{token_hex(4)}"
    try:
        staged.mkdir(parents=True)
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        for parent in missing_parents:
            with suppress(OSError):  # a parent with other files is not removed
                parent.rmdir()


def check_empty(folder: Path) -> None:
    """Check that a folder is empty or missing. Errors: FixtureExists; OSError."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir() or any(folder.iterdir()):
        problem = "is not empty" if folder.is_dir() else "is not a folder"
        raise FixtureExists(f"{folder} {problem}.", "Name a folder that does not exist.")


def write_suite_file(folder: Path, path: str, data: bytes) -> None:
    """Write a file of a suite into a new folder; `path` is from a checked manifest. Errors: OSError."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("xb") as opened:
        opened.write(data)
