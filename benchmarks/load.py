"""Load a real server process over a loopback socket with wrk, a compiled load generator."""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from benchmarks import bare_server

ROOT = Path(__file__).parent.parent
ANSWER_S = 3_600
"""Seconds for which the answer of a large ledger is awaited."""

LOAD_ANSWER_S = 120
"""Seconds for which wrk awaits an answer: 2 by itself, and it reserves memory for each millisecond."""

BUSY_S = 0.02
"""Seconds after which a server that was busy is asked again."""

_units = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


class LoadResult(NamedTuple):
    """The result of wrk: answers per second, the median time of an answer in seconds, and the number of answers."""

    rate: float
    median_s: float
    answers: int


class ServerProcess(NamedTuple):
    """A running server."""

    url: str
    pid: int

    @property
    def peak_mb(self) -> float:
        """Its peak memory in megabytes (10^6 bytes)."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        peak = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert peak is not None
        return int(peak[1]) * 1024 / 1e6


@contextmanager
def start_tallystick(ledger: Path | str, *options: str) -> Iterator[ServerProcess]:
    """Start Tallystick's server on a ledger; yield it when its projections are folded."""
    with start_unfolded(ledger, *options) as server:
        read_answer(f"{server.url}/projections")
        yield server


@contextmanager
def start_unfolded(ledger: Path | str, *options: str) -> Iterator[ServerProcess]:
    """Start Tallystick's server on a ledger, with general options; yield it as soon as it listens."""
    command = [sys.executable, "-m", "tallystick", "--ledger", str(ledger), *options, "serve", "--port", "0"]
    with start_process(command) as (process, log):
        for line in log:
            record = msgspec.json.decode(line) if line.startswith(b"{") else {}
            if record.get("event") == "serving":
                break
        else:
            raise SystemExit("The server did not start.")
        yield ServerProcess(record["address"], process.pid)


@contextmanager
def start_bare_server() -> Iterator[ServerProcess]:
    """Start a bare Starlette handler under the same server and settings."""
    with start_process([sys.executable, "-m", bare_server.__name__]) as (process, log):
        url = next(line.decode().strip() for line in log if line.startswith(b"http://"))
        yield ServerProcess(url, process.pid)


@contextmanager
def start_process(command: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], Iterator[bytes]]]:
    """Start a process; yield it with the lines of its standard error, and terminate it at the end."""
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stderr is not None
    try:
        yield process, iter(process.stderr.readline, b"")
    finally:
        process.terminate()
        process.communicate()


def run_wrk(
    url: str, *, connections: int, seconds: int, body: bytes | None = None, media: str = "", script: str = ""
) -> LoadResult:
    """Load a URL from some connections; POST if there is a body, or send what a Lua script makes.

    Every answer must be a success.
    """
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed. Install it (Debian: apt-get install wrk) and run again.")
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", f"{LOAD_ANSWER_S}s", "--latency"]
    with tempfile.TemporaryDirectory() as folder:
        if body is not None:
            payload = Path(folder, "body")
            payload.write_bytes(body)
            script = (
                f'wrk.method = "POST"\nwrk.headers["Content-Type"] = "{media}"\n'
                f'local file = io.open("{payload}", "rb")\nwrk.body = file:read("*a")\nfile:close()\n'
            )
        if script:
            Path(folder, "load.lua").write_text(script)
            command += ["-s", str(Path(folder, "load.lua"))]
        output = subprocess.run([*command, url], check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(f"The server refused some of the load:\n{output}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    median_time = re.search(r"50%\s+([\d.]+)(us|ms|s|m)\b", output)
    assert rate is not None, output
    assert median_time is not None, output
    answers = re.search(r"(\d+) requests in", output)
    assert answers is not None, output
    return LoadResult(float(rate[1]), float(median_time[1]) * _units[median_time[2]], int(answers[1]))


def time_answers(url: str, seconds: float) -> list[float]:
    """Return the seconds of each answer of one connection, in ascending order: of at least three, for some seconds.

    wrk counts only answers that end in its time; this also times an answer that takes longer.
    """
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=ANSWER_S)
    times: list[float] = []
    begun_s = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begun_s < seconds:
        started_s = time.perf_counter()
        _ask(connection, f"{parts.path}?{parts.query}")
        times.append(time.perf_counter() - started_s)
    connection.close()
    return sorted(times)


def read_answer(url: str) -> Any:  # noqa: ANN401 - the shapes are those of the routes
    """Return an answer in JSON, however long it takes."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=ANSWER_S)
    answer = msgspec.json.decode(_ask(connection, f"{parts.path}?{parts.query}"))
    connection.close()
    return answer


def _ask(connection: HTTPConnection, target: str) -> bytes:
    """Return the body of an answer. A server that is busy is asked again, as a client would."""
    deadline_s = time.monotonic() + ANSWER_S
    while True:
        connection.request("GET", target)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status == HTTPStatus.OK:
            return body
        if answer.status != HTTPStatus.SERVICE_UNAVAILABLE or time.monotonic() > deadline_s:
            raise SystemExit(f"{target} was refused with {answer.status}:\n{body.decode()}")
        time.sleep(BUSY_S)
