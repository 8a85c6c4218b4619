"""Start the peers that are servers: a plain service and MLflow, from an environment of their own."""

import os
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from benchmarks import plain_service
from benchmarks.load import ServerProcess, start_process

START_S = 300
"""Seconds in which a peer must have started."""


def is_installed(python: Path, *packages: str) -> bool:
    """Return whether an interpreter exists that can import some packages."""
    if not python.exists():
        return False
    source = f"import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, {list(packages)})))"
    return subprocess.run([python, "-c", source], check=False, capture_output=True).returncode == 0


@contextmanager
def start_plain_service(python: Path, database: Path) -> Iterator[ServerProcess]:
    """Start the plain service on a database file."""
    with start_process([str(python), plain_service.__file__, str(database)]) as (process, log):
        url = next(log, b"").decode().strip()
        if not url.startswith("http://"):
            rest = b"".join(log).decode()
            raise SystemExit(f"The plain service did not start:\n{url}\n{rest}")
        yield ServerProcess(url, process.pid)


@contextmanager
def start_mlflow(python: Path, folder: Path) -> Iterator[ServerProcess]:
    """Start an MLflow tracking server with one worker on a SQLite database with a write-ahead log.

    SQLite syncs each commit by default, and remembers the write-ahead log in the file.
    """
    folder.mkdir()
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    store = f"sqlite:///{folder / 'mlflow.db'}"
    mlflow = [str(python), "-m", "mlflow"]
    subprocess.run([*mlflow, "db", "upgrade", store], env=environment, check=True, capture_output=True)
    with sqlite3.connect(folder / "mlflow.db") as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    port = free_port()
    command = [
        *mlflow, "server", "--backend-store-uri", store, "--default-artifact-root", str(folder / "artifacts"),
        "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(process, url, folder / "log")
        yield ServerProcess(url, process.pid)
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """Return a port that was free just now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def _wait_until_healthy(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline_s = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline_s:
        try:
            if httpx.get(f"{url}/health").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise SystemExit(f"MLflow did not start:\n{log.read_text()}")


def wait_until_listening(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Wait until a server that was started accepts connections. SystemExit, if it ends."""
    deadline_s = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline_s:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit(f"{process.args!r} did not start:\n{log.read_text()}")
