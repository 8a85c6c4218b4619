"""Files that a user names to be read: only regular ones, since a FIFO, a device or a socket may never answer or end."""

import errno
import os
import stat
import sys
from contextlib import AbstractContextManager, nullcontext
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO


def check_regular(path: Path | str) -> None:
    """Check that a path names a regular file, without opening it. Errors: OSError, which names it."""
    mode = Path(path).stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file, but a FIFO, a device or a socket", str(path))


_OWN = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Names of files that this process has open, as a shell gives them to a command: `append <(command)`."""


def open_input(name: str) -> AbstractContextManager[BinaryIO]:
    """Open a file to read it once, or for `-` standard input, which stays open. Errors: as `open_regular`."""
    return nullcontext(sys.stdin.buffer) if name == "-" else open_once(name)


def read_input(name: str, bytes_max: int) -> bytes:
    """Return the first bytes of a file, or for `-` of standard input. Errors: as `open_regular`."""
    with open_input(name) as file:
        return file.read(bytes_max)


def open_once(path: Path | str) -> BufferedReader:
    """Open a regular file, or a pipe that is open already, to read it once. Errors: as `open_regular`."""
    if str(path).startswith(_OWN) and stat.S_ISFIFO(Path(path).stat().st_mode):
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC), "rb")
    return open_regular(path)


def open_regular(path: Path | str) -> BufferedReader:
    """Open a regular file to read its bytes. Errors: OSError, for anything else at once."""
    check_regular(path)
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
