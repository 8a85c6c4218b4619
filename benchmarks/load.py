"""The load: wrk, a compiled generator, against a real server process on a loopback socket."""

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

from benchmarks import bare as bare_handler
from benchmarks.measure import median

ROOT = Path(__file__).parent.parent
_units = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


class Load(NamedTuple):
    """What wrk saw: answers a second, and the median time of one in seconds."""

    rate: float
    median_s: float


class Process(NamedTuple):
    """A server under load."""

    url: str
    pid: int

    @property
    def peak_mb(self) -> float:
        """The most memory it has held, megabytes (10^6 bytes)."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024 / 1e6


@contextmanager
def tallystick(ledger: Path) -> Iterator[Process]:
    """Our server on a ledger file, ready, its views folded."""
    command = [sys.executable, "-m", "tallystick", "--ledger", str(ledger), "serve", "--port", "0"]
    with _process(command) as (process, log):
        for line in log:
            said = msgspec.json.decode(line) if line.startswith(b"{") else {}
            if said.get("event") == "serving":
                url = said["address"]
                break
        else:
            raise SystemExit("The server did not start.")
        httpx.get(f"{url}/projections", timeout=600).raise_for_status()
        yield Process(url, process.pid)


@contextmanager
def bare() -> Iterator[Process]:
    """A bare Starlette handler under the same server and settings."""
    with _process([sys.executable, "-m", bare_handler.__name__]) as (process, log):
        url = next(line.decode().strip() for line in log if line.startswith(b"http://"))
        yield Process(url, process.pid)


@contextmanager
def _process(command: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], Iterator[bytes]]]:
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stderr is not None
    try:
        yield process, iter(process.stderr.readline, b"")
    finally:
        process.terminate()
        process.communicate()


def wrk(url: str, *, connections: int, seconds: int, body: bytes | None = None, media: str = "") -> Load:
    """Load a URL from some connections; POST where there is a body. Every answer must be a success."""
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
        said = subprocess.run([*command, url], check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in said or "Socket errors" in said:
        raise SystemExit(f"The server refused some of the load:\n{said}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    middle = re.search(r"50%\s+([\d.]+)(us|ms|s|m)\b", said)
    assert rate is not None, said
    assert middle is not None, said
    return Load(float(rate[1]), float(middle[1]) * _units[middle[2]])


def rounds(loads: list[Load]) -> Load:
    """The median of some rounds."""
    return Load(median([load.rate for load in loads]), median([load.median_s for load in loads]))
