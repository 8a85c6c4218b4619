"""Files beside a ledger: only their owner may read them, and no symbolic link redirects them.

A file that is made gets mode 0600 and a folder 0700, whatever the umask. A file that exists keeps its mode: its owner
may have chosen another one. Anyone who may write in the folder of a ledger can put a symbolic link under the name of
one of its files; such a link is refused, and never followed.
"""

import errno
import os
import stat
from io import FileIO
from pathlib import Path

from ledger.errors import LedgerUnusable

FILE_MODE = stat.S_IRUSR | stat.S_IWUSR
FOLDER_MODE = stat.S_IRWXU


def make_private_file(path: Path) -> bool:
    """Make an empty file if nothing has the name; return whether it was made. Errors: LedgerUnusable; OSError."""
    try:
        open_new_private(path).close()
    except FileExistsError:
        refuse_link(path)
        return False
    return True


def open_new_private(path: Path) -> FileIO:
    """Make a file and open it for writing, unbuffered. Errors: FileExistsError, also for a link; OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    os.fchmod(descriptor, FILE_MODE)
    return FileIO(descriptor, "w")


def make_private_folder(path: Path) -> bool:
    """Make a folder if nothing has the name; return whether it was made. Errors: LedgerUnusable; OSError."""
    try:
        path.mkdir(FOLDER_MODE)
    except FileExistsError:
        refuse_link(path)
        if not path.is_dir():
            raise
        return False
    path.chmod(FOLDER_MODE)
    return True


def open_private(path: Path, flags: int) -> int:
    """Open a regular file without following a link, and return its descriptor; with O_CREAT, make it if it is missing.

    Errors: LedgerUnusable, for a link or another kind of file; OSError.
    """
    if flags & os.O_CREAT:
        make_private_file(path)
    try:
        descriptor = os.open(path, flags & ~os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_link(path)
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise LedgerUnusable(f"{path} is not a regular file.", "Move it away: a file of the ledger has this name.")
    return descriptor


def read_private(path: Path, bytes_max: int) -> bytes:
    """Return the content of a file, at most `bytes_max` bytes. Errors: as `open_private`; LedgerUnusable, if longer."""
    with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise LedgerUnusable(f"{path} has more than {bytes_max:,} bytes.", "Restore it from a copy.")
    return data


def refuse_link(path: Path) -> None:
    """Refuse a symbolic link in the place of a file. Errors: LedgerUnusable."""
    if path.is_symlink():
        raise LedgerUnusable(
            f"{path} is a symbolic link, which is not followed.",
            "Put the file itself in its place, or remove the link.",
        )


def follow_typed_link(ledger: Path) -> Path:
    """Return the file that a ledger's path leads to, if the path itself is a symbolic link; its files are beside it."""
    return ledger.resolve() if ledger.is_symlink() else ledger
