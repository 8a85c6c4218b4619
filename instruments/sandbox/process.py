"""Run a program in the sandbox: start its process, wait, end it, and read the result.

The process runs with Python's own library alone, an empty environment, no descriptors but the ones named here, in a
session of its own. What it is given and what it returns are anonymous files in memory: nothing is on a disk.
"""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from instruments.sandbox.child import STARTED
from instruments.sandbox.system_calls import machine

WALL_S = 120.0
"""The longest time for one run: far above the processor time that it has, for programs that only wait."""
RESULT_BYTES_MAX = 8_388_608
ROOT = Path(__file__).parents[2]
MIB = 1 << 20

_LIMITS = {"CPU": 3, "FSIZE": RESULT_BYTES_MAX, "CORE": 0}
PYTHON_LIMITS = {**_LIMITS, "AS": 512 * MIB, "NOFILE": 16, "NPROC": 1}
PROGRAM_LIMITS = {**_LIMITS, "AS": 4096 * MIB, "DATA": 512 * MIB, "NOFILE": 32, "NPROC": 64}
TOOL_LIMITS = {**PROGRAM_LIMITS, "CPU": 60, "FSIZE": 64 * MIB, "AS": 8192 * MIB, "DATA": 2048 * MIB, "NOFILE": 512}
"""CPU in s; FSIZE (each file), AS (addresses), DATA (memory that can be written) in bytes; NPROC counts threads too."""

_PROGRAM = "import sys; sys.path.insert(0, {root!r}); from instruments.sandbox.child import main; main()"


class SandboxUnavailable(Exception):
    """A needed protection does not exist or does not work here: nothing was run. The text says which."""


class SandboxResult(NamedTuple):
    """What the program wrote, cut at its limit, and whether it was ended after `WALL_S`."""

    data: bytes
    timed_out: bool


def run_in_sandbox(request: Mapping[str, Any], descriptors: Sequence[int] = ()) -> SandboxResult:
    """Run the program of a request; return what it wrote. `descriptors` are those that the request names.

    Errors: SandboxUnavailable; the program was then not started.
    """
    if machine() is None:
        raise SandboxUnavailable("the sandbox needs Linux on x86_64 or aarch64")
    body = msgspec.json.encode(request)
    with anonymous_file(body) as given, anonymous_file() as result, anonymous_file() as status:
        command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", _PROGRAM.format(root=str(ROOT))]
        process = subprocess.Popen(  # noqa: S603 - our own child, with what it runs in the request
            command, stdin=given, stdout=result, stderr=status, cwd="/", env={}, pass_fds=descriptors,
            start_new_session=True,
        )  # fmt: skip
        timed_out = not _ended(process)
        said = os.pread(status, 4096, 0)
        if not said.startswith(STARTED):
            reason = said.decode(errors="replace").strip() or f"its process ended with code {process.returncode}"
            raise SandboxUnavailable(reason.splitlines()[-1][:300])
        return SandboxResult(os.pread(result, request["limits"]["FSIZE"], 0), timed_out)


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Wait for a process; kill it and all of its group if it takes too long."""
    try:
        process.wait(WALL_S)
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return True


@contextmanager
def anonymous_file(content: bytes | None = None) -> Iterator[int]:
    """Open a file in memory and close it at the end. With content, nobody can change it."""
    descriptor = os.memfd_create("sandbox", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        if content is not None:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
            os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
