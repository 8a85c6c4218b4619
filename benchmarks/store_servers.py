"""Start and fill what the log on PostgreSQL is compared with: databases of message-db, and a cluster of NATS."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from benchmarks import ledgers, store_client
from benchmarks.peer_servers import free_port, wait_until_listening
from tests.support.postgres import PostgresServer

MESSAGE_DB = Path("npm", "node_modules", "@eventide", "message-db", "database", "install.sh")
"""The program in the environment of the peers that makes a database of message-db."""


class Stored(msgspec.Struct):
    """What a peer acknowledged in some seconds, and the events that it has since."""

    acknowledged: int
    seconds: float
    stored: int


def append_to(python: Path, peer: str, address: str, *options: str) -> float:
    """Return the events per second that a peer acknowledges. SystemExit, unless it has exactly these."""
    command = [str(python), store_client.__file__, peer, address, *options]
    done = subprocess.run(command, input=ledgers.SINGLE, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{peer} failed:\n{done.stderr.decode()}")
    result = msgspec.json.decode(done.stdout, type=Stored)
    if result.acknowledged != result.stored:
        raise SystemExit(f"{peer} acknowledged {result.acknowledged:,} events and has {result.stored:,}.")
    return result.acknowledged / result.seconds


def message_db_installer(python: Path) -> Path:
    """Return the path of the program that makes a database of message-db, whether it is there or not."""
    return python.parent.parent / MESSAGE_DB


def make_message_db(installer: Path, server: PostgresServer, database: str) -> str:
    """Make a database with message-db's own installer; return its address."""
    environment = {
        **os.environ,
        "PATH": f"{server.programs}{os.pathsep}{os.environ['PATH']}",
        "PGHOST": server.host,
        "PGPORT": str(server.port),
        "PGUSER": "postgres",
        "DATABASE_NAME": database,
    }
    done = subprocess.run(["bash", str(installer)], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"message-db cannot be installed:\n{done.stdout}{done.stderr}")
    return server.dsn(database)


@contextmanager
def start_nats(python: Path, folder: Path) -> Iterator[str]:
    """Start three servers of NATS with JetStream, each of which syncs every message; yield their addresses.

    Without `sync_interval: always` a server syncs every two minutes.
    """
    clients = [free_port() for _ in range(store_client.REPLICAS)]
    routes = [free_port() for _ in range(store_client.REPLICAS)]
    with ExitStack() as stack:
        for number, (port, route) in enumerate(zip(clients, routes, strict=True)):
            home = folder / f"nats-{number}"
            home.mkdir()
            others = ", ".join(f"nats-route://127.0.0.1:{other}" for other in routes if other != route)
            (home / "nats.conf").write_text(
                f"server_name: n{number}\nlisten: 127.0.0.1:{port}\n"
                f'jetstream {{ store_dir: "{home}", sync_interval: always }}\n'
                f"cluster {{ name: bench, listen: 127.0.0.1:{route}, routes: [{others}] }}\n"
            )
            log = stack.enter_context((home / "log").open("wb"))
            command = [str(python.parent / "nats-server"), "-c", str(home / "nats.conf")]
            process = subprocess.Popen(command, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            wait_until_listening(process, port, home / "log")
        yield ",".join(f"nats://127.0.0.1:{port}" for port in clients)
