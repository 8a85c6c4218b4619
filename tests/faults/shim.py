"""A process whose files fail: `shim.c` compiled, put before the C library, and steered while the process runs."""

import mmap
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, Self

SOURCE = Path(__file__).with_name("shim.c")

Call = Literal["write", "read", "sync"]
CALLS: tuple[Call, ...] = ("write", "read", "sync")
FOR_EVER = 1 << 62

Kind = Literal["O", "W", "T", "S", "D", "U", "R", "L", "K", "M", "A", "F"]
"""What was done: a file made (its name), written (where, and what), truncated (to how much), synced (its name); the
names of a folder synced (the folder's); a file unlinked, renamed, linked, a folder made (the names, by zero bytes);
a file mapped to be written; what is sent on a socket; a call that failed (its place in `CALLS`, the file's name)."""

_RECORD = struct.Struct("=QQII")


class Record(NamedTuple):
    """One step of a trace."""

    kind: Kind
    file: int
    offset: int
    data: bytes

    @property
    def names(self) -> list[str]:
        return self.data.decode().split("\0")


def unfit() -> str | None:
    """Why nothing can be put before the C library here, or nothing."""
    if sys.platform != "linux":
        return f"LD_PRELOAD is Linux's, and this is {sys.platform}"
    return None if _compiler() else "there is no C compiler (cc or gcc)"


def _compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc")


def compiled(folder: Path) -> Path:
    """The library, compiled into a folder where it is not there yet."""
    library, compiler = folder / "shim.so", _compiler()
    if not library.exists():
        assert compiler is not None, unfit()
        part = folder / f"shim.{os.getpid()}.so"
        command = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        subprocess.run([*command, "-o", str(part), str(SOURCE), "-ldl"], check=True)
        part.replace(library)
    return library


class Shim:
    """What befalls the files of one folder, in every process that runs with `environment`.

    Shapes: `folder` holds the ledger; `beside` is another, for the library, the control file and the trace.
    """

    FIELDS = 4 * len(CALLS) + 4
    TORN, SYNC_US, CLOCK_US, STOPPED_US = range(FIELDS - 4, FIELDS)

    def __init__(self, folder: Path, beside: Path, *, traced: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        beside.mkdir(parents=True, exist_ok=True)
        control = beside / "control"
        control.write_bytes(bytes(8 * self.FIELDS))
        self._fields = _shared(control)
        self.trace_path = beside / "trace"
        self.environment = {
            "LD_PRELOAD": str(compiled(beside)),
            "SHIM_FOLDER": str(folder.resolve()),
            "SHIM_CONTROL": str(control),
        }
        if traced:
            self.environment["SHIM_TRACE"] = str(self.trace_path)

    @classmethod
    def attached(cls) -> Self:
        """That of this process, which runs with its environment."""
        shim = cls.__new__(cls)
        shim._fields = _shared(Path(os.environ["SHIM_CONTROL"]))
        return shim

    def fail(self, call: Call, number: int, calls: int = 1, *, torn: bool = False) -> None:
        """Let the n-th call from now on fail, and so many in all; a torn write leaves its first half."""
        place = CALLS.index(call)
        self._fields[self.TORN] = torn
        self._fields[2 * len(CALLS) + place] = calls
        self._fields[len(CALLS) + place] = self._fields[place] + number

    def heal(self) -> None:
        """No call fails any more, none is slow, and the clock is right."""
        for place in (*range(len(CALLS), 2 * len(CALLS)), self.TORN, self.SYNC_US, self.CLOCK_US, self.STOPPED_US):
            self._fields[place] = 0

    def calls(self, call: Call) -> int:
        """How many there have been."""
        return self._fields[CALLS.index(call)]

    def failed(self, call: Call) -> int:
        """How many of them have failed."""
        return self._fields[3 * len(CALLS) + CALLS.index(call)]

    def slow_syncs(self, delay_ms: int) -> None:
        """Let each sync take so much longer."""
        self._fields[self.SYNC_US] = delay_ms * 1_000

    def set_clock(self, ahead_s: int) -> None:
        """Let the wall clock be so far ahead of what it should be."""
        self._fields[self.CLOCK_US] = ahead_s * 1_000_000

    def stop_clock(self, moment: datetime) -> None:
        """Stop the wall clock at this moment, until the next call."""
        self._fields[self.STOPPED_US] = round(moment.timestamp() * 1_000_000)

    def trace(self) -> list[Record]:
        """All that was done so far."""
        return list(_records(self.trace_path.read_bytes())) if self.trace_path.exists() else []

    def forget(self) -> None:
        """Empty the trace. Call this while no process writes to it."""
        with suppress(FileNotFoundError):
            os.truncate(self.trace_path, 0)


def _shared(control: Path) -> memoryview:
    with control.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0)).cast("q")


def _records(trace: bytes) -> Iterator[Record]:
    at = 0
    while at + _RECORD.size <= len(trace):
        file, offset, length, kind = _RECORD.unpack_from(trace, at)
        at += _RECORD.size
        yield Record(chr(kind), file, offset, trace[at : at + length])  # type: ignore[arg-type]
        at += length
