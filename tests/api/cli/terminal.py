"""The command where standard output is a terminal."""

import os
import pty
import subprocess

from tests.api.cli.command import environment
from tests.support.paths import ROOT


def on_a_terminal(*words: str, **variables: str) -> str:
    """What a command prints where standard output is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, cwd=ROOT, env=environment(**variables), stdout=theirs, stderr=theirs):
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
