"""What users would pick instead, in the same run: each acknowledged event is synced by every one of them.

A peer that is a server gets the same load from wrk as ours. `eventsourcing` is a library: it saves from this process,
without HTTP, which is an advantage. A peer that is not installed is left out, and a line says so.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec
from rich.console import Console

from benchmarks import ledgers, load
from benchmarks.event_store import EventStore
from benchmarks.measure import FULL_EFFORT, Effort, Measure, compare_beside
from benchmarks.peer_servers import is_installed, start_mlflow, start_plain_service
from events.registry import VOCABULARY
from ledger.log import Query
from ledger.sqlite.reader import SqliteReader

PEERS_PYTHON = load.ROOT / ".venv" / "peers" / "bin" / "python"
"""The interpreter of the environment that `make peers` makes."""

CONNECTIONS = 64
BATCH_CONNECTIONS = 4
JSON, NDJSON = "application/json", "application/x-ndjson"
SINGLES, BATCHES = "append, one event a request", f"append, batches of {ledgers.BATCH:,}"
READ = "read and decode every event"
PLAIN_BATCH = b"[%b]" % b",".join([ledgers.SINGLE] * ledgers.BATCH)

Rates = dict[str, list[float]]
"""The rates of a service by the name of the row, one for each round."""


class Peer(NamedTuple):
    """A peer: its name in the report, and what measures a round over a new file, by the name of the row."""

    name: str
    measure: Callable[[Path, int], dict[str, float]]
    """Takes the path of a new file or folder, and the seconds of each measurement."""


def measure_peers(folder: Path, python: Path = PEERS_PYTHON, effort: Effort = FULL_EFFORT) -> Iterator[Measure]:
    """Measure ours and every installed peer in turns."""
    peers = list(_installed(python))
    ours: Rates = {}
    theirs: dict[str, Rates] = {peer.name: {} for peer in peers}
    for number in range(effort.rounds):
        _add(ours, _ours(folder / f"ours-{number}.db", effort.seconds))
        for index, peer in enumerate(peers):
            _add(theirs[peer.name], peer.measure(folder / f"peer-{number}-{index}", effort.seconds))
    for row in (SINGLES, BATCHES, READ):
        for peer in peers:
            if row in theirs[peer.name]:
                yield compare_beside(row, ours[row], theirs[peer.name][row], "events/s", peer.name)


def _add(rates: Rates, round_rates: dict[str, float]) -> None:
    for row, rate in round_rates.items():
        rates.setdefault(row, []).append(rate)


def _installed(python: Path) -> Iterator[Peer]:
    yield Peer("eventsourcing, in process", _event_store)
    servers = {
        "FastAPI, SQLAlchemy and SQLite": (_plain_service, ("fastapi", "sqlalchemy", "uvicorn", "uvloop", "httptools")),
        "MLflow tracking server, metrics": (_mlflow, ("mlflow",)),
    }
    for name, (measure, packages) in servers.items():
        if is_installed(python, *packages):
            yield Peer(name, partial(measure, python))
        else:
            Console(stderr=True).print(f"  {name}: left out, {python} does not have it. Run: make peers")


def _ours(path: Path, seconds: int) -> dict[str, float]:
    with load.start_tallystick(path) as server:
        url = f"{server.url}/events"
        rates = {
            SINGLES: _post(url, ledgers.SINGLE, JSON, CONNECTIONS, seconds),
            BATCHES: ledgers.BATCH * _post(url, ledgers.BATCH_BODY, NDJSON, BATCH_CONNECTIONS, seconds),
        }
    return {**rates, READ: asyncio.run(_read_all(path))}


async def _read_all(path: Path) -> float:
    """Return the events per second of reading a ledger page by page and decoding each event."""
    reader = await SqliteReader.open(path)
    try:
        started_s, read = time.perf_counter(), 0
        while (page := await reader.read(Query(after=read, limit=ledgers.BATCH))).positions:
            VOCABULARY.events(page.ndjson)
            read = page.positions[-1]
        return read / (time.perf_counter() - started_s)
    finally:
        await reader.close()


def _event_store(path: Path, seconds: int) -> dict[str, float]:
    store = EventStore(path)
    try:
        return {
            SINGLES: store.save_rate(seconds, 1),
            BATCHES: store.save_rate(seconds, ledgers.BATCH),
            READ: store.read_rate(),
        }
    finally:
        store.close()


def _plain_service(python: Path, path: Path, seconds: int) -> dict[str, float]:
    with start_plain_service(python, path) as server:
        return {
            SINGLES: _post(f"{server.url}/events", ledgers.SINGLE, JSON, CONNECTIONS, seconds),
            BATCHES: ledgers.BATCH * _post(f"{server.url}/batches", PLAIN_BATCH, JSON, BATCH_CONNECTIONS, seconds),
        }


def _post(url: str, body: bytes, media: str, connections: int, seconds: int) -> float:
    return load.run_wrk(url, connections=connections, seconds=seconds, body=body, media=media).rate


def _mlflow(python: Path, folder: Path, seconds: int) -> dict[str, float]:
    """Measure metrics of one run; each has its own step, because the same one again is not stored."""
    with start_mlflow(python, folder) as server:
        api = f"{server.url}/api/2.0/mlflow/runs"
        answer = httpx.post(f"{api}/create", json={"experiment_id": "0", "start_time": 1}, timeout=60)
        run_id = msgspec.json.decode(answer.raise_for_status().content)["run"]["info"]["run_id"]
        single = _MLFLOW_SINGLE.replace("RUN", run_id)
        batch = _MLFLOW_BATCH.replace("RUN", run_id).replace("COUNT", str(ledgers.BATCH))
        return {
            SINGLES: _send(server.url, single, CONNECTIONS, seconds),
            BATCHES: ledgers.BATCH * _send(server.url, batch, BATCH_CONNECTIONS, seconds),
        }


def _send(url: str, script: str, connections: int, seconds: int) -> float:
    """Return the answers per second to what a script sends, over a longer time if there was none."""
    while not (rate := load.run_wrk(url, connections=connections, seconds=seconds, script=script).rate):
        seconds *= 2
    return rate


_MLFLOW_SINGLE = """
local n, head = 0, {["Content-Type"] = "application/json"}
request = function()
  n = n + 1
  local body = '{"run_id":"RUN","key":"single","value":0.8,"timestamp":' .. n .. ',"step":' .. n .. '}'
  return wrk.format("POST", "/api/2.0/mlflow/runs/log-metric", head, body)
end
"""

_MLFLOW_BATCH = """
local n, head = 0, {["Content-Type"] = "application/json"}
request = function()
  local metrics = {}
  for i = 1, COUNT do
    n = n + 1
    metrics[i] = '{"key":"batched","value":0.8,"timestamp":' .. n .. ',"step":' .. n .. '}'
  end
  local body = '{"run_id":"RUN","metrics":[' .. table.concat(metrics, ",") .. ']}'
  return wrk.format("POST", "/api/2.0/mlflow/runs/log-batch", head, body)
end
"""
