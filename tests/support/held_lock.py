"""Hold the lock of a ledger, as a process does that writes it."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def holding(ledger: Path, **holder: object) -> Iterator[None]:
    """Hold the lock of a ledger; the lock file names this process, and what else is given."""
    with Path(f"{ledger}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps({"pid": os.getpid(), **holder}))
        file.flush()
        yield
