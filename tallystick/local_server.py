"""Starts a private server for a ledger file, or finds the server that already has it open."""

import atexit
import os
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import msgspec

from tallystick.async_client import AsyncClient
from tallystick.client import Client
from tallystick.errors import LocalServerFailed
from tallystick.settings import RETRY_S, TIMEOUT_S
from tallystick.shapes.parts import LockHolder

START_S = 60.0
"""How long a server may take to start, or another program to release the file, seconds."""

STOP_S = 40.0
"""How long a server may take to stop before it is killed, seconds; it waits 30 s for answers under way."""

CONNECT_S = 2.0
"""How long an attempt to connect to a server found in a lock file may take, seconds."""

STARTS_MAX = 3
"""Failed starts, while no other process had the lock, after which an error is raised."""

POLL_S = 0.05
"""Pause before the lock file is read again, seconds."""

LINES_KEPT = 40
"""Lines of a server's messages that are kept for an error."""


class _Serving(msgspec.Struct, frozen=True):
    """The log line that a server writes when it begins to serve."""

    event: str
    address: str = ""


def local(
    ledger: str | os.PathLike[str],
    *,
    agent: str | None = None,
    token: str | None = None,
    retry_s: float = RETRY_S,
    timeout_s: float = TIMEOUT_S,
    start_s: float = START_S,
) -> Client:
    """Return a client of a private server for a ledger file, which is created if it does not exist.

    The server listens on loopback and ends when the client is closed, or when the program ends in any way. If another
    server already has the file open, the client uses that server, and starts its own when that one ends.

    - `ledger` is the path of the ledger file.
    - `agent` is the agent that decides. Default: TALLYSTICK_AGENT, or `anonymous`.
    - `token` is for a ledger that has tokens. Default: TALLYSTICK_TOKEN, or none.
    - `retry_s` and `timeout_s` are those of `Client`.
    - `start_s` is how long the server may take to start, seconds.

    Errors: LocalServerFailed, with the output of the server.
    """
    server = LocalServer(Path(ledger), start_s)
    try:
        client = Client(server.url(), agent=agent, token=token, retry_s=retry_s, timeout_s=timeout_s)
    except BaseException:
        server.close()
        raise
    client._endpoint = server
    return client


def async_local(
    ledger: str | os.PathLike[str],
    *,
    agent: str | None = None,
    token: str | None = None,
    retry_s: float = RETRY_S,
    timeout_s: float = TIMEOUT_S,
    start_s: float = START_S,
) -> AsyncClient:
    """Return an asynchronous client of a private server; it starts at the first request. See `local`."""
    client = AsyncClient("http://127.0.0.1", agent=agent, token=token, retry_s=retry_s, timeout_s=timeout_s)
    client._endpoint = LocalServer(Path(ledger), start_s)
    return client


class LocalServer:
    """The endpoint of one ledger file: a server that it started, or another that has the file open. Thread-safe."""

    def __init__(self, ledger: Path, start_s: float) -> None:
        self._ledger = ledger.absolute()
        self._start_s = start_s
        self._lock = threading.Lock()
        self._url: str | None = None
        self._silent_url: str | None = None
        self._process: _ServerProcess | None = None

    def url(self) -> str:
        """Return the address of the server; start one if none answers. Errors: LocalServerFailed."""
        with self._lock:
            if self._process is not None and self._process.ended:
                self._stop()
            if self._url is None or (self._process is None and self._url == self._silent_url):
                self._url, self._silent_url = self._find_or_start(), None
            return self._url

    def failed(self, url: str) -> None:
        """Make the next `url()` look for the server again, unless our own process is alive. It never blocks."""
        self._silent_url = url

    def unavailable(self, url: str) -> None:
        """Do nothing: there is no other server, and this one may serve again soon."""

    def close(self) -> None:
        """Stop our own process, but no server that another program started."""
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        process, self._process, self._url = self._process, None, None
        if process is not None:
            process.stop()

    def _find_or_start(self) -> str:
        """Return the address of the ledger's server. If two programs do this at once, only one server starts."""
        deadline_s = time.monotonic() + self._start_s
        failures = 0
        while True:
            holder = holder_of(self._ledger)
            if holder is not None and not holder.address and is_locked(self._ledger):
                reason = f"process {holder.pid} writes it and does not serve."
            elif holder is not None and holder.address and _accepts(holder.address) and is_locked(self._ledger):
                return holder.address
            else:
                process = self._start()
                address = process.wait_until_serving(deadline_s)
                if address is not None:
                    self._process = process
                    return address
                process.stop()
                reason = process.message()
                failures += not is_locked(self._ledger)  # otherwise another process took the lock first
            if failures > STARTS_MAX or time.monotonic() > deadline_s:
                raise LocalServerFailed(
                    f"No server could be started over {self._ledger}: {reason}",
                    "Correct this, and start the program again. Nothing was sent.",
                )
            time.sleep(POLL_S)

    def _start(self) -> "_ServerProcess":
        try:
            return _ServerProcess(self._ledger)
        except OSError as error:
            advice = "Run it under a Python that can start processes, or name a server: tallystick.Client(url)."
            raise LocalServerFailed(f"No process could be started: {error}.", advice) from None


class _ServerProcess:
    """A server process that we started, and its output."""

    def __init__(self, ledger: Path) -> None:
        from tallystick import local_server_process  # noqa: PLC0415 - it runs as __main__ and must not be imported there

        arguments = ["--ledger", str(ledger), "serve", "--port", "0"]
        self._owner = os.getpid()
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._address: str | None = None
        self._reported = threading.Event()
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", "-m", local_server_process.__name__, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches only the program, which may still record something
        )
        assert self._process.stderr is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stderr,), daemon=True)
        self._reader.start()
        atexit.register(self.stop)

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def wait_until_serving(self, deadline_s: float) -> str | None:
        """Wait until the process serves, and return its address; None if it ended or did not serve in time."""
        self._reported.wait(max(0.0, deadline_s - time.monotonic()))
        return self._address

    def message(self) -> str:
        """Return the plain lines of its output, or if there are none its last log lines."""
        self._reader.join(1.0)
        lines = list(self._lines)
        plain = [line for line in lines if not line.startswith("{")]
        code = self._process.poll()
        ended = "it did not serve in time" if code is None else f"it ended with code {code}"
        return " ".join(plain or lines).removeprefix("error: ") or f"{ended} and printed nothing."

    def stop(self) -> None:
        """End the process, after it has answered the current requests and closed the ledger."""
        if os.getpid() != self._owner:  # a fork of the program, which did not start the server
            return
        atexit.unregister(self.stop)
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(1.0)

    def _read(self, stream: IO[bytes]) -> None:
        """Read its output to the end, so that it never waits for a reader."""
        with stream:
            for line in stream:
                text = line.decode(errors="replace").strip()
                self._lines.append(text)
                if not self._reported.is_set() and (address := _address_in(text)) is not None:
                    self._address = address
                    self._reported.set()
        self._reported.set()


def holder_of(ledger: Path) -> LockHolder | None:
    """Return the contents of a ledger's lock file; None if it cannot be read."""
    try:
        return msgspec.json.decode(_lock_path(ledger).read_bytes(), type=LockHolder)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def is_locked(ledger: Path) -> bool:
    """Return whether a process has locked a ledger. If none has, this takes a shared lock for a moment."""
    import fcntl  # noqa: PLC0415 - not on every system, and only a local server needs it

    try:
        descriptor = os.open(_lock_path(ledger), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _lock_path(ledger: Path) -> Path:
    resolved = ledger.resolve()
    return resolved.with_name(resolved.name + ".lock")


def _address_in(line: str) -> str | None:
    """Return the address in the log line `serving` of a server; None for any other line."""
    try:
        serving = msgspec.json.decode(line, type=_Serving)
    except msgspec.DecodeError:
        return None
    return serving.address if serving.event == "serving" else None


def _accepts(address: str) -> bool:
    """Return whether a process accepts connections at an address."""
    parts = urlsplit(address)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 80), CONNECT_S).close()
    except OSError:
        return False
    return True
