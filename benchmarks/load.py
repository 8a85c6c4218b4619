"""Load a real server process over a loopback socket with wrk, a compiled load generator."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec

from benchmarks import bare_server

ROOT = Path(__file__).parent.parent
_units = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


class LoadResult(NamedTuple):
    """The result of wrk: answers per second, and the median time of an answer in seconds."""

    rate: float
    median_s: float


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
def start_tallystick(ledger: Path) -> Iterator[ServerProcess]:
    """Start Tallystick's server on a ledger file; yield it when its projections are folded."""
    command = [sys.executable, "-m", "tallystick", "--ledger", str(ledger), "serve", "--port", "0"]
    with _start_process(command) as (process, log):
        for line in log:
            record = msgspec.json.decode(line) if line.startswith(b"{") else {}
            if record.get("event") == "serving":
                url = record["address"]
                break
        else:
            raise SystemExit("The server did not start.")
        httpx.get(f"{url}/projections", timeout=600).raise_for_status()
        yield ServerProcess(url, process.pid)


@contextmanager
def start_bare_server() -> Iterator[ServerProcess]:
    """Start a bare Starlette handler under the same server and settings."""
    with _start_process([sys.executable, "-m", bare_server.__name__]) as (process, log):
        url = next(line.decode().strip() for line in log if line.startswith(b"http://"))
        yield ServerProcess(url, process.pid)


@contextmanager
def _start_process(command: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], Iterator[bytes]]]:
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stderr is not None
    try:
        yield process, iter(process.stderr.readline, b"")
    finally:
        process.terminate()
        process.communicate()


def run_wrk(url: str, *, connections: int, seconds: int, body: bytes | None = None, media: str = "") -> LoadResult:
    """Load a URL from some connections; POST if there is a body. Every answer must be a success."""
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed. Install it (Debian: apt-get install wrk) and run again.")
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    with tempfile.TemporaryDirectory() as folder:
        if body is not None:
            payload, script = Path(folder, "body"), Path(folder, "post.lua")
            payload.write_bytes(body)
            script.write_text(
                f'wrk.method = "POST"\nwrk.headers["Content-Type"] = "{media}"\n'
                f'local file = io.open("{payload}", "rb")\nwrk.body = file:read("*a")\nfile:close()\n'
            )
            command += ["-s", str(script)]
        output = subprocess.run([*command, url], check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(f"The server refused some of the load:\n{output}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    median_time = re.search(r"50%\s+([\d.]+)(us|ms|s|m)\b", output)
    assert rate is not None, output
    assert median_time is not None, output
    return LoadResult(float(rate[1]), float(median_time[1]) * _units[median_time[2]])
