"""The files of examples/postgresql for nodes on this machine: other addresses and folders, the rest as it is.

The examples have three machines, 10.0.0.11 to 10.0.0.13. Here each node has an address of its own on this machine, and
the ports of the examples, or all of them some thousands higher where another program has one of them.
"""

import random
import re
import socket
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.cluster.network import MachineNetwork
from tests.support.example_files import FILES, Yaml, parse_variables

NAMES = ("n1", "n2", "n3")

POSTGRES_PORT = 5432
PATRONI_PORT = 8008
ETCD_PORTS = (2379, 2380)
SERVER_PORT = 8321
PORTS = (POSTGRES_PORT, PATRONI_PORT, *ETCD_PORTS, SERVER_PORT)
SHIFTS = range(0, 50_000, 10_000)

_address = re.compile(r"\b10\.0\.0\.(\d+)(?::(\d+))?")


class Layout(NamedTuple):
    """What the addresses of the examples become.

    `network` begins each address, `clients` is the network that PostgreSQL accepts, `shift` is added to each port.
    `own`: each node has a network stack of its own, and may listen on all of its addresses.
    """

    network: str
    clients: str
    shift: int
    own: bool

    def address(self, name: str) -> str:
        """The address of a node."""
        return f"{self.network}1{name.removeprefix('n')}"

    def port(self, port: int) -> int:
        """The port that is used for one of the examples."""
        return port + self.shift

    def url(self, name: str, port: int) -> str:
        """The address of a service of a node, by its port in the examples."""
        return f"http://{self.address(name)}:{self.port(port)}"

    def text(self, file: str) -> str:
        """A file of the examples with the addresses replaced."""
        text = (FILES / file).read_text(encoding="utf-8").replace("10.0.0.0/24", self.clients)
        return _address.sub(self._replaced_address, text)

    def variables(self, file: str) -> dict[str, str]:
        """The variables of a file of the examples."""
        return parse_variables(self.text(file))

    def etcd_variables(self, name: str, folder: Path) -> dict[str, str]:
        """The variables of etcd on a node."""
        found = {**self.variables("etcd/etcd.env"), **self.variables(f"nodes/{name}.env")}
        if not self.own:  # 127.0.0.1 is the same for all nodes
            found["ETCD_LISTEN_CLIENT_URLS"] = found["ETCD_LISTEN_CLIENT_URLS"].split(",")[0]
        return {**found, "ETCD_DATA_DIR": str(folder / "etcd")}

    def patroni_variables(self, name: str, folder: Path, programs: Path) -> dict[str, str]:
        """The variables of Patroni on a node: those of the example, and its folders here."""
        listen = "0.0.0.0" if self.own else self.address(name)
        return {
            **self.variables(f"nodes/{name}.env"),
            "PATRONI_RESTAPI_LISTEN": f"{listen}:{self.port(PATRONI_PORT)}",
            "PATRONI_POSTGRESQL_LISTEN": f"{listen}:{self.port(POSTGRES_PORT)}",
            "PATRONI_POSTGRESQL_DATA_DIR": str(folder / "data"),
            "PATRONI_POSTGRESQL_BIN_DIR": str(programs),
            "PATRONI_POSTGRESQL_PGPASS": str(folder / "patroni.pgpass"),
        }

    def patroni_configuration(self, folder: Path) -> str:
        """The configuration of Patroni: the example, without what the nodes of one machine would share."""
        configuration: Yaml = yaml.safe_load(self.text("patroni/patroni.yml"))
        configuration["watchdog"]["mode"] = "off"  # it would reset this machine
        configuration["postgresql"]["parameters"] = {
            "unix_socket_directories": str(folder),
            "dynamic_shared_memory_type": "mmap",  # in the folder of the data, so that nothing is left after SIGKILL
        }
        return yaml.safe_dump(configuration, sort_keys=False)

    def _replaced_address(self, match: re.Match[str]) -> str:
        return f"{self.network}{match[1]}:{self.port(int(match[2] or POSTGRES_PORT))}"


def network_layout(network: MachineNetwork) -> Layout:
    """Machines of a network: the n-th is the n-th node."""
    return Layout(network.network, network.subnet, 0, own=True)


def loopback_layout() -> Layout:
    """Three addresses of loopback that nothing uses. Errors: OSError, if every choice of ports is taken."""
    rng = random.SystemRandom()
    for shift in SHIFTS:
        layout = Layout(f"127.{rng.randint(1, 254)}.{rng.randint(1, 254)}.", "127.0.0.0/8", shift, own=False)
        if all(_is_free(layout.address(name), layout.port(port)) for name in NAMES for port in PORTS):
            return layout
    raise OSError(f"Other programs listen on the ports {PORTS} of every address, and on those {SHIFTS.step} higher.")


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True
