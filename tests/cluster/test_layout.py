"""The files of examples/postgresql with other addresses: nothing of the example's network is left."""

import re
from pathlib import Path

import pytest
import yaml

from tests.cluster.layout import NAMES, POSTGRES_PORT, SERVER_PORT, Layout, loopback_layout

LAYOUT = Layout("127.9.8.", "127.0.0.0/8", 10_000, own=False)
FOLDER = Path("/nodes/n2")


def test_no_address_of_the_examples_is_left() -> None:
    files = ["etcd/etcd.env", "patroni/patroni.yml", "systemd/tallystick.env", *(f"nodes/{name}.env" for name in NAMES)]
    for file in files:
        text = re.sub("^ *#.*", "", LAYOUT.text(file), flags=re.MULTILINE)
        assert "10.0.0." not in text, file
        assert "127.9.8.1" in text, file


def test_every_port_is_moved() -> None:
    variables = LAYOUT.etcd_variables("n2", FOLDER) | LAYOUT.patroni_variables("n2", FOLDER, Path("/programs"))
    ports = {int(port) for value in variables.values() for port in re.findall(r"127\.9\.8\.1\d:(\d+)", value)}
    assert ports == {12379, 12380, 15432, 18008}
    place = LAYOUT.variables("systemd/tallystick.env")["TALLYSTICK_LEDGER"]
    assert place == "postgresql://tallystick@127.9.8.11:15432,127.9.8.12:15432,127.9.8.13:15432/tallystick?ledger=acme"
    assert LAYOUT.url("n3", SERVER_PORT) == "http://127.9.8.13:18321"


def test_the_configuration_of_patroni_is_that_of_the_example_but_for_what_nodes_of_one_machine_share() -> None:
    same = Layout("10.0.0.", "10.0.0.0/24", 0, own=True)
    example, changed = (
        yaml.safe_load(same.text("patroni/patroni.yml")),
        yaml.safe_load(same.patroni_configuration(FOLDER)),
    )
    assert example["watchdog"].pop("mode") != changed["watchdog"].pop("mode") == "off"
    assert changed["postgresql"].pop("parameters").keys() == {"unix_socket_directories", "dynamic_shared_memory_type"}
    assert changed == example


@pytest.mark.parametrize("name", NAMES)
def test_nodes_share_no_address_of_loopback(name: str) -> None:
    variables = LAYOUT.etcd_variables(name, FOLDER)
    assert variables["ETCD_LISTEN_CLIENT_URLS"] == f"http://{LAYOUT.address(name)}:12379"


@pytest.mark.slow
def test_two_clusters_have_different_addresses() -> None:
    assert len({loopback_layout().network for _ in range(20)}) > 1
    assert loopback_layout().port(POSTGRES_PORT) >= POSTGRES_PORT
