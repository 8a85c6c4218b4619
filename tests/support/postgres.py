"""A real PostgreSQL: a cluster that a test makes, stops, kills and promotes. Its folders and processes end with it.

The server listens on loopback and on a Unix socket, trusts every connection, syncs every commit, and has checksums of
its pages. If the tests run as root, another user runs it.
"""

import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import pytest

from tests.support.paths import ROOT
from tests.support.postgres_processes import (
    freeze_processes,
    kill_processes,
    processes_of,
    thaw_processes,
)
from tests.support.postgres_programs import MISSING, environment, postgres_folder, server_account
from tests.support.wait import wait_until

requires_postgres = pytest.mark.usefixtures("postgres_programs")
"""Skips a test where PostgreSQL is not installed. The fixture `postgres` does so, too."""

StopMode = Literal["smart", "fast", "immediate"]

HOST = "127.0.0.1"
SUPERUSER = "postgres"
POLL_S = 0.01
PORTS = range(10_240, 32_768)
"""Below the ports that the system gives to sockets: a server that is started again finds its port free."""

SOCKET_BYTES_MAX = 100
STOPS: Mapping[StopMode, signal.Signals] = MappingProxyType(
    {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
)
SETTINGS = MappingProxyType(
    {
        "dynamic_shared_memory_type": "mmap",  # in the folder of the data, so that nothing is left after SIGKILL
        "max_connections": "60",
        "shared_buffers": "16MB",
        "wal_keep_size": "256MB",  # for a standby that was frozen
        "wal_retrieve_retry_interval": "100ms",  # a standby finds a primary that came back
    }
)


class PostgresServer:
    """One server of a cluster.

    `name` is `primary`, `standby1` and so on: standbys give it as their `application_name`. `data` is the folder of its
    data, `log` what it prints, `host` and `port` its address, `sockets` the folder of its socket.
    """

    def __init__(self, programs: Path, home: Path, data: Path, name: str) -> None:
        self.name = name
        self.host = HOST
        self.port = 0
        self.data = data
        self.sockets = home
        self.log = home / f"{name}.log"
        self.cluster_name = f"{home.name}.{name}"
        self.programs = programs
        self._process: subprocess.Popen[bytes] | None = None

    def dsn(self, database: str = "postgres", user: str = SUPERUSER) -> str:
        """The address of a database, for any client."""
        return f"postgresql://{user}@{self.host}:{self.port}/{database}"

    def psql(self, sql: str, database: str = "postgres", user: str = SUPERUSER) -> str:
        """Run SQL as psql does, and return the rows: a line each, `|` between columns."""
        words = [str(self.programs / "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, self.dsn(database, user)]
        done = subprocess.run(words, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
        assert done.returncode == 0, f"{self.name}: {sql}: {done.stderr.decode()}"
        return done.stdout.decode().rstrip("\n")

    def configure(self, **settings: str) -> None:
        """Change settings that a reload changes; return when they hold for each session's next command.

        A new session has them only after the server has signalled every process to reload. The process that makes
        checkpoints decides whether commits wait for standbys: it reads its settings before it makes one.
        """
        for name, value in settings.items():
            self.psql(f"ALTER SYSTEM SET {name} = {_quoted(value)}")
        before = self.psql("SELECT pg_conf_load_time()")
        self.psql("SELECT pg_reload_conf()")
        wait_until(lambda: self.psql("SELECT pg_conf_load_time()") != before, self)
        self.psql("CHECKPOINT")

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        assert self.poll() is not None, f"{self.name} is running"
        for port in [self.port] if self.port else _free_ports():
            self.port = port
            if self._start():
                return
        raise AssertionError(f"{self.name} does not start on port {self.port}: {self._last_words()}")

    def stop(self, mode: StopMode = "fast") -> int:
        """Stop it, and wait; return the exit code, 0 after a clean end."""
        assert self._process is not None
        self._process.send_signal(STOPS[mode])
        return self._process.wait()

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop it and start it on the same port."""
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """Kill all its processes at once (SIGKILL), the first one first so that it starts no other."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        kill_processes(self.cluster_name)

    def freeze(self) -> None:
        """Stop all its processes where they are (SIGSTOP): it answers nothing, and its connections stay open."""
        freeze_processes(self.cluster_name)

    def thaw(self) -> None:
        """Let its processes continue."""
        thaw_processes(self.cluster_name)

    def processes(self) -> list[int]:
        """The ids of its processes; empty while it does not run."""
        return processes_of(self.cluster_name)

    @property
    def pid(self) -> int:
        """The id of its first process."""
        assert self._process is not None
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code; None while it runs, 0 before the first start."""
        return 0 if self._process is None else self._process.poll()

    def accepts(self) -> bool:
        """Whether it accepts a connection now."""
        words = [str(self.programs / "psql"), "-XAtqc", "SELECT", self.dsn()]
        return subprocess.run(words, env=environment(), capture_output=True, check=False).returncode == 0

    def _start(self) -> bool:
        """Whether it came up; it does not where another process took the port."""
        words = [str(self.programs / "postgres"), "-D", str(self.data)]
        words += ["-c", f"port={self.port}", "-c", f"cluster_name={self.cluster_name}"]
        begin = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self._process = process = subprocess.Popen(
                words, cwd=self.sockets, env=environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, **server_account().options(),
            )  # fmt: skip
        while not self._accepts():
            if process.poll() is not None:
                taken = b"could not bind" in self.log.read_bytes()[begin:]
                assert taken, f"{self.name} ended with {process.returncode}: {self._last_words()}"
                return False
            time.sleep(POLL_S)
        return True

    def _accepts(self) -> bool:
        """Whether the server states that it accepts connections: as pg_ctl reads it."""
        try:
            lines = (self.data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return False
        return len(lines) >= 8 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def _last_words(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-2000:]


class Standby(PostgresServer):
    """A server that replays what its primary writes, until it is promoted."""

    def pause(self) -> None:
        """Stop replaying; what the primary sends is still received and synced."""
        self.psql("SELECT pg_wal_replay_pause()")
        wait_until(lambda: self.psql("SELECT pg_get_wal_replay_pause_state()") == "paused", self)

    def resume(self) -> None:
        """Continue replaying."""
        self.psql("SELECT pg_wal_replay_resume()")

    def promote(self) -> None:
        """Make it a primary of its own, and wait until it accepts writes."""
        self.psql("SELECT pg_promote(false)")
        wait_until(lambda: self.psql("SELECT pg_is_in_recovery()") == "f", self)


class Primary(PostgresServer):
    """The server that takes writes, and its standbys."""

    def __init__(self, programs: Path, home: Path, data: Path, name: str = "primary") -> None:
        super().__init__(programs, home, data, name)
        self.standbys: list[Standby] = []

    def standby(self, number: int) -> Standby:
        """A standby by its number, 1 for the first."""
        return self.standbys[number - 1]

    def cluster_dsn(self, database: str = "postgres", user: str = SUPERUSER) -> str:
        """The address of a database with every server of the cluster, for a client that looks for the primary."""
        servers = ",".join(f"{server.host}:{server.port}" for server in (self, *self.standbys))
        return f"postgresql://{user}@{servers}/{database}"

    def kill_cluster(self) -> None:
        """Kill the primary and every standby."""
        for server in (self, *self.standbys):
            server.kill()

    def synchronous(self, names: str) -> None:
        """Set the standbys that each commit waits for, such as `ANY 1 (standby1, standby2)`; none for an empty text."""
        self.configure(synchronous_standby_names=names)

    def add_standby(self) -> Standby:
        """Copy the primary, start the copy as a standby, and wait until it receives what the primary writes."""
        name = f"standby{len(self.standbys) + 1}"
        standby = Standby(self.programs, self.sockets, self.data.with_name(name), name)
        source = f"host={self.host} port={self.port} user={SUPERUSER} application_name={name}"
        _run(
            [self.programs / "pg_basebackup", "-R", "-N", "-c", "fast", "-D", standby.data, "-d", source], self.sockets
        )
        self.standbys.append(standby)
        standby.start()
        receives = f"SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND application_name = '{name}'"
        wait_until(lambda: self.psql(receives) == "1", self, standby)
        return standby


@contextmanager
def postgres_server(
    folder: Path | None = None, *, standbys: int = 0, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Primary]:
    """Make a cluster and start it. At the end, and also if this process is killed, kill it and remove its folders.

    `folder` is where the data is, such as a small disk; every folder above it must be open to the user that runs the
    server (pytest's `tmp_path` is not, for root). Without it, the data is in the system's folder for temporary files,
    as the sockets and logs always are. `settings` are added to the configuration of every server.
    """
    programs = postgres_folder()
    if programs is None:
        raise FileNotFoundError(MISSING)
    with ExitStack() as stack:
        home = _new_folder()
        place = _new_folder(folder) if folder else home
        stack.enter_context(_guarded(home.name, home, place))
        primary = Primary(programs, home, place / "primary")
        stack.callback(primary.kill_cluster)
        assert len(f"{home}/.s.PGSQL.{PORTS.stop}".encode()) <= SOCKET_BYTES_MAX, f"sockets in {home}: a shorter TMPDIR"
        initdb: list[str | Path] = [programs / "initdb", "-D", primary.data, "-U", SUPERUSER, "-A", "trust", "-k", "-N"]
        _run([*initdb, "-E", "UTF8", "--locale=C"], home)
        ours = {"listen_addresses": HOST, "unix_socket_directories": str(home), **SETTINGS, **settings}
        with (primary.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{name} = {_quoted(value)}\n" for name, value in ours.items())
        primary.start()
        for _ in range(standbys):
            primary.add_standby()
        yield primary


def new_database(server: PostgresServer) -> str:
    """Make an empty database with a random name, which is there until the server ends; return its name."""
    name = new_schema_name()
    server.psql(f"CREATE DATABASE {name} TEMPLATE template0")
    return name


def new_schema_name() -> str:
    """A random name, for a schema that does not exist yet."""
    return f"t{secrets.token_hex(8)}"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _free_ports() -> Iterator[int]:
    """Some ports that were free when we looked; another process may take one meanwhile."""
    for port in random.SystemRandom().sample(PORTS, 20):
        with socket.socket() as probe:
            taken = probe.connect_ex((HOST, port)) == 0
        if not taken:
            yield port


def _new_folder(parent: Path | None = None) -> Path:
    """A folder of the user that runs the server."""
    folder = Path(tempfile.mkdtemp(prefix="tallystick-", dir=parent))
    account = server_account()
    os.chown(folder, account.user, account.group)
    return folder


@contextmanager
def _guarded(cluster_name: str, *folders: Path) -> Iterator[None]:
    """Start the process that kills the servers and removes their folders, at the end or when this process is killed."""
    words = [sys.executable, "-S", "-m", processes_of.__module__, cluster_name, *map(str, folders)]
    guard = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        guard.communicate()
        assert guard.returncode == 0, f"the guard of {cluster_name} ended with {guard.returncode}"


def _run(words: Sequence[str | Path], folder: Path) -> None:
    """Run one of PostgreSQL's programs as the user that runs the server."""
    options = server_account().options()
    done = subprocess.run(
        words, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False, **options
    )
    assert done.returncode == 0, f"{words[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')}"
