"""The command where standard output is a terminal."""

import fcntl
import os
import pty
import struct
import subprocess
import termios

from tests.api.cli.command import environment
from tests.support.paths import ROOT


def on_a_terminal(*words: str, columns: int | None = None, **variables: str) -> str:
    """What a command prints where standard output is a terminal; with `columns`, one that has so many."""
    ours, theirs = pty.openpty()
    settings = environment(**variables)
    if columns is not None:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        del settings["COLUMNS"]
    with subprocess.Popen(words, cwd=ROOT, env=settings, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        said = b""
        try:
            while chunk := os.read(ours, 65_536):
                said += chunk
        except OSError:
            pass
        finally:
            os.close(ours)
    return said.decode()
