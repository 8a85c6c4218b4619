"""A command as users run it, and the most memory that it took."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.api.cli.command import environment
from tests.support.paths import ROOT

MB = 1 << 20


class Measured(NamedTuple):
    """How a command ended, what it said, and its largest resident set."""

    code: int
    out: bytes
    err: str
    resident_bytes: int


_WATCH = """
import json, resource, subprocess, sys
code = subprocess.call([sys.executable, "-m", "tallystick", *sys.argv[2:]])
with open(sys.argv[1], "w") as file:
    json.dump([code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024], file)
"""
"""A small process between the test and the command: a process inherits the memory that its parent had at the start."""


def measured(*arguments: str | Path, given: bytes = b"") -> Measured:
    """Run `tallystick ARGUMENTS` cold, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        ended = subprocess.run(
            [sys.executable, "-c", _WATCH, str(result), *map(str, arguments)],
            cwd=ROOT, env=environment(), input=given, capture_output=True, check=True,
        )  # fmt: skip
        code, resident_bytes = msgspec.json.decode(result.read_bytes())
        return Measured(code, ended.stdout, ended.stderr.decode(), resident_bytes)
