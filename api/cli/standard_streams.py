"""The standard streams of a process that was started with some of them closed or full.

A descriptor that the caller has closed (`>&-`) would be given to the next file that is opened, such as a ledger, and
what is printed would go into that file. So every closed one is opened on /dev/null: standard error for writing, which
drops what is written; standard input and output the wrong way round, so that reading and writing fail, as they do for
a closed descriptor.
"""

import errno
import io
import os
import sys
from typing import Any


class _TolerantOutput(io.FileIO):
    """Standard error: what cannot be written is dropped, so that a remark or error message ends no command."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - anything with a buffer
        try:
            return super().write(data)
        except OSError:
            return len(data)


def prepare_standard_streams() -> None:
    """Open the standard streams that are closed, and let no command fail on a full or broken standard error."""
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        if _is_closed(descriptor):
            opened = os.open(os.devnull, flags)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as above
    encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
    if sys.stderr is sys.__stderr__:
        raw = io.BufferedWriter(_TolerantOutput(2, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=True)


def _is_closed(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError as error:
        return error.errno == errno.EBADF
    return False
