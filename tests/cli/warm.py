"""A command that starts warm: a process of its own, forked from one that has loaded what verbs load.

Loading takes a third of a second, and these tests run a thousand commands. Each has its own descriptors, environment,
folder and exit code. Servers, commands that are killed or signalled, and README's are started cold.
"""

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

LOADED = ["api.cli", "api.operations", "api.printing", "api.sink", "api.runs", "httpx", "numpy", "typer._adapters"]

_warm = multiprocessing.get_context("forkserver")
_warm.set_forkserver_preload(LOADED)


def run(
    arguments: Sequence[str], given: bytes, environment: dict[str, str], folder: Path, ends_s: float
) -> "subprocess.CompletedProcess[bytes]":
    """Run `tallystick ARGUMENTS` to its end, as `subprocess.run` does. Errors: TimeoutExpired."""
    with TemporaryDirectory() as made:
        paths = [Path(made) / name for name in ("given", "out", "err")]
        paths[0].write_bytes(given)
        process = _warm.Process(target=_command, args=(arguments, environment, folder, paths))
        process.start()
        process.join(ends_s)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(arguments), ends_s)
        code = process.exitcode
        process.close()
        return subprocess.CompletedProcess(list(arguments), code, paths[1].read_bytes(), paths[2].read_bytes())


def _command(arguments: Sequence[str], environment: dict[str, str], folder: Path, paths: Sequence[Path]) -> None:
    for descriptor, path in enumerate(paths):
        file = os.open(path, os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, descriptor)
        os.close(file)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it lives as long as the process
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    sys.argv = ["tallystick", *arguments]
    from api.cli import main  # noqa: PLC0415 - loaded by the server that this is forked from

    main()
