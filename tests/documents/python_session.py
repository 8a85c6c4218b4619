"""A Python session that runs the blocks of a page one after the other, as one program."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

READER = """
import sys, json, traceback
names = {"__name__": "__main__"}
requests, answers = sys.stdin, sys.stdout
for line in requests:
    from io import StringIO
    sys.stdout = printed = StringIO()
    failed = ""
    try:
        exec(compile(json.loads(line), "<page>", "exec"), names)
    except BaseException:
        failed = traceback.format_exc()
    sys.stdout = answers
    print(json.dumps([printed.getvalue(), failed]), flush=True)
"""
"""Reads each block as a JSON string on a line; answers with what it printed, and how it failed."""


class PythonSession:
    """One Python process that runs the blocks of a page in their order."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", READER],
            cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def run(self, block: str) -> str:
        """Run a block; return what it prints on standard output. Errors: AssertionError, with the traceback."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(block) + b"\n")
        self._process.stdin.flush()
        printed, failed = msgspec.json.decode(self._process.stdout.readline(), type=tuple[str, str])
        assert not failed, f"{block}\n{printed}\n{failed}"
        return printed
