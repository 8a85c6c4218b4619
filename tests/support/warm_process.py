"""A command that starts warm: a process of its own, forked from one that has loaded what verbs load.

Loading takes a second, and these tests run two thousand commands and servers. Each has its own descriptors,
environment, folder, signals and exit code. Commands that are killed or signalled, README's, and what starts under a
changed C library or runs at full dose start cold.
"""

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.paths import ROOT

LOADED = [
    "cryptography.hazmat.primitives.asymmetric.ed25519", "httpx", "numpy.ma", "pydantic.plugin._loader",
    "rich.markdown", "tallystick.__main__", "typer._adapters", "typer._click.decorators", "typer.rich_utils",
    "uvicorn.lifespan.on", "uvicorn.protocols.http.httptools_impl", "uvloop",
]  # fmt: skip
"""Modules of others that verbs and servers load when they need them."""

APART = ("api/export/parquet.py", "api/mcp/", "api/pytest_plugin/")
"""Of the application, what needs an optional extra, or is started by others."""


def application() -> list[str]:
    """Every module that a verb or a request may load."""
    files = [path.relative_to(ROOT) for folder in ("api", "instruments") for path in (ROOT / folder).rglob("*.py")]
    shared = sorted(path for path in files if path.stem != "__main__" and not str(path).startswith(APART))
    return [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in shared]


_warm = multiprocessing.get_context("forkserver")
_warm.set_forkserver_preload([*application(), *LOADED])


class Warm:
    """`tallystick ARGUMENTS` under way, handled as a `subprocess.Popen` is; its output is appended to two files."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, given: Path, out: Path, err: Path
    ) -> None:
        self.args = list(arguments)
        self._process = _warm.Process(target=_command, args=(self.args, dict(environment), folder, (given, out, err)))
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended. Errors: TimeoutExpired."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self._process.exitcode

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def run(
    arguments: Sequence[str], given: bytes, environment: dict[str, str], folder: Path, ends_s: float
) -> "subprocess.CompletedProcess[bytes]":
    """Run `tallystick ARGUMENTS` to its end, as `subprocess.run` does. Errors: TimeoutExpired."""
    with TemporaryDirectory() as made:
        paths = [Path(made) / name for name in ("given", "out", "err")]
        paths[0].write_bytes(given)
        process = Warm(arguments, environment, folder, *paths)
        try:
            code = process.wait(ends_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        return subprocess.CompletedProcess(process.args, code, paths[1].read_bytes(), paths[2].read_bytes())


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
    from tallystick.__main__ import main  # noqa: PLC0415 - loaded by the server that this is forked from

    main()
