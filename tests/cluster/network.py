"""Machines that are network namespaces of Linux, connected by a bridge: they can be cut off, and ports be blocked.

It needs root and `ip` of iproute2. Addresses are in 198.18.0.0/15, which is reserved for measurements of networks. It
needs only the standard library, as the guard uses it.
"""

import os
import random
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PREFIX_LETTERS = "tally"
HOST_NUMBER = 1
BLOCKED = ("dport", "sport")


class MachineNetwork:
    """The namespaces of some machines, and the bridge between them; this process has an address there, too."""

    def __init__(self, machines: int) -> None:
        self.prefix = f"{PREFIX_LETTERS}{secrets.token_hex(3)}"
        rng = random.SystemRandom()
        self.network = f"198.{rng.choice((18, 19))}.{rng.randint(0, 255)}."
        self.subnet = f"{self.network}0/24"
        self.namespaces = [f"{self.prefix}{number}" for number in range(1, machines + 1)]

    def make(self) -> None:
        """Make the bridge and the namespaces; the n-th machine has the address that ends with 1n."""
        _ip("link", "add", self.prefix, "type", "bridge")
        _ip("address", "add", f"{self.network}{HOST_NUMBER}/24", "dev", self.prefix)
        _ip("link", "set", self.prefix, "up")
        for number, namespace in enumerate(self.namespaces, 1):
            _ip("netns", "add", namespace)
            _ip("link", "add", self._port(namespace), "type", "veth", "peer", "name", "eth0", "netns", namespace)
            _ip("link", "set", self._port(namespace), "master", self.prefix, "up")
            inside = ("-n", namespace)
            _ip(*inside, "address", "add", f"{self.network}1{number}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip(*inside, "link", "set", device, "up")

    def cut(self, namespace: str) -> None:
        """Cut a machine off: what it sends and what others send to it disappears."""
        _ip("link", "set", self._port(namespace), "nomaster")

    def heal(self, namespace: str) -> None:
        """Connect a machine again."""
        _ip("link", "set", self._port(namespace), "master", self.prefix)

    def block(self, namespace: str, ports: str) -> None:
        """Drop what a machine sends to other machines' TCP ports of a range such as 80-81, or from its own."""
        for place, end in enumerate(BLOCKED, 10):
            _ip("-n", namespace, "rule", "add", "pref", str(place), "ipproto", "tcp", end, ports, "blackhole")

    def unblock(self, namespace: str) -> None:
        """Drop nothing any more."""
        for place, _ in enumerate(BLOCKED, 10):
            _ip("-n", namespace, "rule", "delete", "pref", str(place))

    @staticmethod
    def _port(namespace: str) -> str:
        """The end of a machine's cable at the bridge."""
        return f"{namespace}e"


@contextmanager
def machine_network(machines: int) -> Iterator[MachineNetwork]:
    """Make a network, and remove it at the end."""
    network = MachineNetwork(machines)
    try:
        network.make()
        yield network
    finally:
        remove_network(network.prefix)


def remove_network(prefix: str) -> None:
    """Remove the namespaces and the bridge whose names begin so, if they are there."""
    listed = _ip("netns", "list", check=False).split()
    for namespace in [name for name in listed if name.startswith(prefix)]:
        _ip("netns", "delete", namespace, check=False)
    _ip("link", "delete", prefix, check=False)


def network_missing() -> str | None:
    """Why no network of machines can be made here; None if it can."""
    if os.geteuid() != 0:
        return "Network namespaces need root."
    if shutil.which("ip") is None or shutil.which("nsenter") is None:
        return "`ip` or `nsenter` is not installed: apt-get install iproute2 util-linux"
    try:
        with machine_network(1) as network:
            network.block(network.namespaces[0], "1-2")
    except subprocess.CalledProcessError as error:
        return f"Network namespaces cannot be made: {error.stderr.strip()}"
    return None


def _ip(*words: str, check: bool = True) -> str:
    command: Sequence[str] = ("ip", *words)
    return subprocess.run(command, capture_output=True, text=True, check=check).stdout
