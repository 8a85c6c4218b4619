"""A node of a cluster: a member of etcd, PostgreSQL under Patroni, and a server of Tallystick."""

import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.cluster.layout import SERVER_PORT, Layout
from tests.cluster.processes import processes_in
from tests.cluster.programs import ClusterPrograms
from tests.cluster.service import Service
from tests.support.example_files import FILES, variables_of
from tests.support.paths import ROOT
from tests.support.postgres_processes import remove_shared_memory
from tests.support.postgres_programs import environment, server_account
from tests.support.process_signals import freeze_all, kill_all, send

TERMINATE_S = 20.0
"""Seconds that the services of a node get to end."""


class Secrets(NamedTuple):
    """What is secret in a cluster: Patroni's variables, and the file with the passwords of the two roles."""

    patroni: Mapping[str, str]
    pgpass: Path


class ClusterNode:
    """A node; `folder` has everything that a machine would have. `server` is the service of Tallystick."""

    def __init__(
        self,
        name: str,
        folder: Path,
        layout: Layout,
        programs: ClusterPrograms,
        secrets: Secrets,
        namespace: str = "",
    ) -> None:
        self.name = name
        self.address = layout.address(name)
        self.folder = folder
        self.url = layout.url(name, SERVER_PORT)
        self._layout, self._programs, self._secrets = layout, programs, secrets
        self._namespace = namespace
        self._lock = threading.Lock()
        folder.mkdir()
        folder.chmod(0o755)
        account = server_account()
        for made in (folder, folder / "etcd", folder / "data"):
            made.mkdir(mode=0o700, exist_ok=True)
            os.chown(made, account.user, account.group)
        self.etcd, self.patroni, self.server = self._make_etcd(), self._make_patroni(), self._make_server()
        self.services = (self.etcd, self.patroni, self.server)

    def supervise(self) -> None:
        """Start services again that have ended, as systemd does."""
        with self._lock:
            for service in self.services:
                service.supervise()

    def start(self) -> None:
        """Start every service that does not run."""
        with self._lock:
            for service in self.services:
                if service.poll() is not None:
                    service.start()

    def kill(self) -> None:
        """Kill every process of the node at once (SIGKILL): as if the machine had lost its power."""
        with self._lock:
            for service in self.services:
                service.wanted = False
        kill_all(self.processes)
        for service in self.services:
            service.wait(time.monotonic() + TERMINATE_S)
        remove_shared_memory(self.folder)

    def freeze(self) -> None:
        """Stop every process where it is (SIGSTOP)."""
        freeze_all(self.processes)

    def thaw(self) -> None:
        """Let every process continue."""
        send(self.processes(), signal.SIGCONT)

    def processes(self) -> list[int]:
        """The ids of its processes."""
        return processes_in(self.folder)

    def postmaster(self) -> int | None:
        """The id of the first process of PostgreSQL, if it runs."""
        try:
            lines = (self.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return None
        pid = int(lines[0]) if lines and lines[0].isdecimal() else 0
        return pid if pid in self.processes() else None

    def kill_postmaster(self) -> bool:
        """Kill the first process of PostgreSQL (SIGKILL); False if it does not run."""
        pid = self.postmaster()
        if pid is None:
            return False
        send([pid], signal.SIGKILL)
        return True

    def kill_server(self) -> None:
        """Kill the server of Tallystick (SIGKILL)."""
        self.server.kill()

    def kill_etcd(self) -> None:
        """Kill the member of etcd (SIGKILL), and do not start it again until the node is started."""
        with self._lock:
            self.etcd.wanted = False
            self.etcd.kill()
        self.etcd.wait(time.monotonic() + TERMINATE_S)

    def in_network(self, *words: str | Path, as_server: bool = False) -> tuple[list[str | Path], dict[str, Any]]:
        """A command in the network of the node, and the options of its start; as ourselves, or as the servers' user."""
        account = server_account()
        if not self._namespace:
            return [*words], account.options() if as_server else {}
        entered: list[str | Path] = ["nsenter", f"--net=/run/netns/{self._namespace}"]
        if as_server:
            entered += [f"--setgid={account.group}", f"--setuid={account.user}"]
        return [*entered, *words], {}

    def _make_etcd(self) -> Service:
        command, options = self.in_network(self._programs.etcd, as_server=True)
        variables = self._layout.etcd_variables(self.name, self.folder)
        return Service("etcd", command, self.folder, environment() | variables, options)

    def _make_patroni(self) -> Service:
        configuration = self.folder / "patroni.yml"
        configuration.write_text(self._layout.patroni_configuration(self.folder), encoding="utf-8")
        command, options = self.in_network(self._programs.python, "-m", "patroni", configuration, as_server=True)
        variables = {
            **environment(),
            **self._layout.patroni_variables(self.name, self.folder, self._programs.postgres),
            **self._secrets.patroni,
            "HOME": str(self.folder),
            "PYTHONPATH": str(self._programs.patroni),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return Service("patroni", command, self.folder, variables, options)

    def _make_server(self) -> Service:
        """The command and the variables of tallystick.service, with the files of this node."""
        place = self.folder / "server"
        place.mkdir(mode=0o700)
        unit = (FILES / "systemd" / "tallystick.service").read_text(encoding="utf-8")
        (line,) = (line for line in unit.splitlines() if line.startswith("ExecStart="))
        replaced = {
            "--host": self.address,
            "--port": str(self._layout.port(SERVER_PORT)),
            "--audit-log": str(place / "audit.jsonl"),
        }
        words = shlex.split(line)[1:]
        words = [replaced.get(before, word) for before, word in zip(["", *words], words, strict=False)]
        command, options = self.in_network(*tallystick_command(*words))
        variables = self._layout.variables("systemd/tallystick.env")
        assert variables.keys() == variables_of(FILES / "systemd" / "tallystick.env").keys()
        variables |= {"TALLYSTICK_STATE": str(place), "PGPASSFILE": str(self._secrets.pgpass)}
        return Service("tallystick", command, place, tallystick_environment() | variables, options)


def tallystick_command(*words: str) -> list[str | Path]:
    """The command line of Tallystick from the project's folder, wherever it is started."""
    return [sys.executable, "-m", "tallystick", *words]


def tallystick_environment() -> dict[str, str]:
    """The environment of that command: ours, without settings of Tallystick and PostgreSQL."""
    ours = {name: value for name, value in environment().items() if not name.startswith("TALLYSTICK_")}
    return ours | {"PYTHONPATH": str(ROOT)}
