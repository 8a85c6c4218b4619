"""A cluster of three nodes, made in the steps of examples/postgresql/README.md."""

import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import msgspec

from tests.cluster.layout import ETCD_PORTS, NAMES, PATRONI_PORT, POSTGRES_PORT, Layout, loopback_layout, network_layout
from tests.cluster.network import MachineNetwork
from tests.cluster.node import (
    TERMINATE_S,
    ClusterNode,
    Secrets,
    tallystick_command,
    tallystick_environment,
)
from tests.cluster.processes import processes_in
from tests.cluster.programs import ClusterPrograms, find_programs
from tests.support.example_files import FILES
from tests.support.paths import ROOT
from tests.support.postgres_programs import environment
from tests.support.wait import wait_until

AGENT = "rehearsal"
"""The agent of the load, which the token names."""

SUPERVISE_S = 0.25
ETCD_TERMINATE_S = 2.0
"""Seconds that etcd gets to end: the last member waits for others."""

ANSWER_S = 2.0
"""Seconds that Patroni gets to answer."""

Say = Callable[[str], None]


class Member(msgspec.Struct, frozen=True):
    """A server of PostgreSQL, as Patroni describes it. `lag` is in bytes, or `unknown`."""

    name: str
    role: str
    state: str
    timeline: int | None = None
    lag: int | str | None = None

    @property
    def leads(self) -> bool:
        """Whether it takes writes."""
        return self.role == "leader" and self.state == "running"


class _Members(msgspec.Struct):
    members: list[Member]


class PatroniCluster:
    """The nodes, and what a person knows who operates them. `token` lets an agent append and read."""

    def __init__(
        self, folder: Path, layout: Layout, programs: ClusterPrograms, namespaces: Sequence[str] = ("", "", "")
    ) -> None:
        self.folder = folder
        self.layout = layout
        self.token = ""
        names = ("SUPERUSER", "REPLICATION", "REWIND", "RESTAPI")
        self._passwords = {f"PATRONI_{name}_PASSWORD": secrets.token_hex(16) for name in names}
        self._roles = {role: secrets.token_hex(16) for role in ("tallystick_owner", "tallystick")}
        known = Secrets({**self._passwords, "PATRONI_RESTAPI_USERNAME": "patroni"}, self._write_pgpass())
        self.pgpass = known.pgpass
        self._programs = programs.readable_in(folder)
        self.nodes = [
            ClusterNode(name, folder / name, layout, self._programs, known, namespace)
            for name, namespace in zip(NAMES, namespaces, strict=True)
        ]
        self._stopping = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, name="supervisor", daemon=True)

    @property
    def urls(self) -> list[str]:
        """The addresses of the servers."""
        return [node.url for node in self.nodes]

    def node(self, name: str) -> ClusterNode:
        """A node by its name."""
        return self.nodes[NAMES.index(name)]

    def place(self, *, owner: bool = False, ledger: str = "") -> str:
        """The address of the ledger, as a server has it, or of another one; for the role of the owner."""
        place = self.layout.variables("systemd/tallystick.env")["TALLYSTICK_LEDGER"]
        place = place.replace("//tallystick@", "//tallystick_owner@") if owner else place
        return place.partition("ledger=")[0] + f"ledger={ledger}" if ledger else place

    def members(self) -> list[Member]:
        """The servers of PostgreSQL, as the first Patroni that answers sees them; nothing if none answers."""
        for node in self.nodes:
            if not node.patroni.wanted:
                continue
            try:
                answer = httpx.get(f"{self.layout.url(node.name, PATRONI_PORT)}/cluster", timeout=ANSWER_S)
                return msgspec.json.decode(answer.content, type=_Members).members
            except (httpx.HTTPError, msgspec.DecodeError):
                continue
        return []

    def leader(self) -> ClusterNode | None:
        """The node that leads, if one does."""
        return next((self.node(member.name) for member in self.members() if member.leads), None)

    def is_whole(self) -> bool:
        """Whether a node leads and both others receive what it writes."""
        members = self.members()
        standbys = [one for one in members if (one.role, one.state) == ("quorum_standby", "streaming")]
        return any(member.leads for member in members) and len(standbys) == 2

    def wait_until_whole(self) -> None:
        """Wait until a node leads and both others receive what it writes."""
        wait_until(self.is_whole, every_s=0.2)

    def psql(self, *words: str, user: str = "postgres", database: str = "postgres") -> str:
        """Run psql on the node that leads; return what it prints."""
        leader = self.leader()
        assert leader is not None, "no node leads"
        host = "127.0.0.1" if self.layout.own else leader.address
        command: list[str | Path] = [self._programs.postgres / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1"]
        command += ["-h", host, "-p", str(self.layout.port(POSTGRES_PORT)), "-U", user, "-d", database, *words]
        password = self._roles.get(user) or self._passwords["PATRONI_SUPERUSER_PASSWORD"]
        entered, _ = leader.in_network(*command)
        done = subprocess.run(
            entered, env=environment() | {"PGPASSWORD": password, "PGCONNECT_TIMEOUT": "10"},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def tallystick(self, *words: str, owner: bool = False, ledger: str = "") -> str:
        """Run a command of Tallystick on the ledger of the servers, or on another one; return what it prints."""
        variables = {"TALLYSTICK_LEDGER": self.place(owner=owner, ledger=ledger), "PGPASSFILE": str(self.pgpass)}
        variables["TALLYSTICK_STATE"] = str(self.folder / "operator")
        entered, _ = self.nodes[0].in_network(*tallystick_command(*words))
        done = subprocess.run(
            entered, env=tallystick_environment() | variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def begin(self, say: Say) -> None:
        """Start everything, and make the roles, the ledger and a token."""
        for node in self.nodes:
            node.etcd.start()
        wait_until(self._has_majority, *(node.etcd for node in self.nodes))
        say("etcd has a majority")
        for node in self.nodes:
            node.patroni.start()
        wait_until(self.is_whole, *(node.patroni for node in self.nodes), every_s=0.2)
        say("PostgreSQL has a leader and two standbys")
        self.psql("-f", str(FILES / "patroni" / "roles.sql"))
        for role, password in self._roles.items():
            self.psql("-c", f"ALTER ROLE {role} PASSWORD '{password}'")
        self.tallystick("ledger", "create", "--grant", "tallystick", owner=True)
        self.token = self.tallystick("token", "add", AGENT)
        first, *others = self.nodes
        first.server.start()
        self._wait_for_servers([first])
        for node in others:
            shutil.copy(first.folder / "server" / "acme.key", node.folder / "server")
            node.server.start()
        self._wait_for_servers(others)
        say("three servers of Tallystick are ready")
        self._supervisor.start()

    def end(self) -> None:
        """End everything: the servers, then PostgreSQL, then etcd; kill what does not end."""
        self._stopping.set()
        if self._supervisor.is_alive():
            self._supervisor.join()
        for node in self.nodes:
            node.thaw()
        for services in zip(*(reversed(node.services) for node in self.nodes), strict=True):
            for service in services:
                service.stop()
            until_s = time.monotonic() + (TERMINATE_S if services[0].unit != "etcd" else ETCD_TERMINATE_S)
            for service in services:
                if not service.wait(until_s):
                    service.kill()
                    service.wait(time.monotonic() + TERMINATE_S)

    def processes(self) -> list[int]:
        """The ids of all processes of the nodes."""
        return processes_in(self.folder)

    def _supervise(self) -> None:
        while not self._stopping.wait(SUPERVISE_S):
            for node in self.nodes:
                node.supervise()

    def _has_majority(self) -> bool:
        return all(_is_healthy(self.layout.url(node.name, ETCD_PORTS[0])) for node in self.nodes)

    def _wait_for_servers(self, nodes: Sequence[ClusterNode]) -> None:
        wait_until(lambda: all(_is_ready(node.url) for node in nodes), *(node.server for node in nodes), every_s=0.1)

    def _write_pgpass(self) -> Path:
        """The passwords of the roles, as libpq reads them."""
        path = self.folder / "pgpass"
        path.touch(mode=0o600)
        path.write_text("".join(f"*:*:*:{role}:{word}\n" for role, word in self._roles.items()), encoding="utf-8")
        return path


@contextmanager
def patroni_cluster(
    folder: Path | None = None,
    *,
    keep: bool = False,
    network: MachineNetwork | None = None,
    say: Say = lambda _text: None,
) -> Iterator[PatroniCluster]:
    """Make a cluster and start it; at the end, and also if this process is killed, end every process of it.

    `folder` is made, in the system's folder for temporary files by default; `keep`: it is not removed. The nodes
    are the first machines of `network`, or addresses of loopback without one.
    Errors: ProgramsMissing; FileExistsError.
    """
    programs = find_programs()
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="tallystick-cluster-"))
    else:
        folder.mkdir(parents=True)
    folder.chmod(0o755)
    words = [sys.executable, "-S", "-m", processes_in.__module__, str(folder), "keep" if keep else ""]
    words += [network.prefix] if network else []
    guard = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, start_new_session=True)
    try:
        if network is None:
            cluster = PatroniCluster(folder, loopback_layout(), programs)
        else:
            machines = network.namespaces[: len(NAMES)]
            cluster = PatroniCluster(folder, network_layout(network), programs, machines)
        try:
            cluster.begin(say)
            yield cluster
        finally:
            cluster.end()
    finally:
        guard.communicate()


def _is_healthy(url: str) -> bool:
    try:
        answer = httpx.get(f"{url}/health", timeout=ANSWER_S)
    except httpx.HTTPError:
        return False
    return answer.status_code == 200 and answer.json()["health"] == "true"


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=ANSWER_S).status_code == 200
    except httpx.HTTPError:
        return False
