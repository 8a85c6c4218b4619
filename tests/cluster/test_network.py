"""A network of machines: what is cut off is reached by nobody, and again once it is connected."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.cluster.network import MachineNetwork, machine_network, network_missing
from tests.support.wait import wait_until

MISSING = network_missing()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(MISSING is not None, reason=MISSING or "")]

PORT = 2379

LISTEN = f"""
import socket
with socket.create_server(("", {PORT})) as server:
    while True:
        with server.accept()[0] as connection:
            connection.sendall(b"here")
"""
CONNECT = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 4) as connection:
    print(connection.recv(4).decode())
"""


@pytest.fixture
def network() -> Iterator[MachineNetwork]:
    with machine_network(3) as made:
        yield made


def python_in(network: MachineNetwork, number: int, code: str) -> list[str]:
    return ["nsenter", f"--net=/run/netns/{network.namespaces[number - 1]}", sys.executable, "-S", "-c", code]


def reaches(network: MachineNetwork, number: int, other: int) -> bool:
    """Whether a machine reaches the server of another one."""
    command = [*python_in(network, number, CONNECT), f"{network.network}1{other}", str(PORT)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout == "here\n"


def test_a_machine_is_cut_off_and_connected_again(network: MachineNetwork) -> None:
    listening = subprocess.Popen(python_in(network, 2, LISTEN))
    try:
        wait_until(lambda: reaches(network, 1, 2), listening)
        network.cut(network.namespaces[1])
        assert not reaches(network, 1, 2)
        assert reaches(network, 2, 2), "it reaches itself"
        network.heal(network.namespaces[1])
        assert reaches(network, 1, 2)
    finally:
        listening.kill()
        listening.wait()


def test_ports_of_a_machine_are_blocked(network: MachineNetwork) -> None:
    listening = [subprocess.Popen(python_in(network, number, LISTEN)) for number in (1, 2)]
    try:
        wait_until(lambda: reaches(network, 3, 1) and reaches(network, 3, 2), *listening)
        network.block(network.namespaces[1], f"{PORT}-{PORT + 1}")
        assert not reaches(network, 2, 1), "what it sends is dropped"
        assert not reaches(network, 3, 2), "what it answers is dropped"
        assert reaches(network, 2, 2), "it reaches itself"
        assert reaches(network, 3, 1), "others are as before"
        network.unblock(network.namespaces[1])
        assert reaches(network, 2, 1)
        assert reaches(network, 3, 2)
    finally:
        for process in listening:
            process.kill()
            process.wait()
