"""examples/postgresql: the files for a cluster name only what exists, and agree with one another.

The programs that read them check them, where they are installed: promtool, systemd-analyze, PostgreSQL.
"""

import asyncio
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest
import yaml

from api.service.open_log import open_log
from docs._generate.program import metrics, verbs
from ledger.place import DatabasePlace, Host, Place
from ledger.postgres.create import create_ledger
from tests.examples.alert_cases import CASES, HEALTHY, AlertCase
from tests.support.example_files import FILES, Yaml, loaded, variables_of
from tests.support.paths import ROOT
from tests.support.postgres import Primary
from tests.support.server import serving

ALERTS = FILES / "prometheus" / "alerts.yaml"
DASHBOARD = FILES / "grafana" / "tallystick.json"
UNITS = sorted((FILES / "systemd").glob("*.service"))
NODES = sorted((FILES / "nodes").glob("*.env"))
SUFFIXES = ("_bucket", "_sum", "_count")


def rules() -> list[Yaml]:
    return [rule for group in loaded(ALERTS)["groups"] for rule in group["rules"]]


def panels() -> list[Yaml]:
    found: list[Yaml] = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return found


def expressions() -> list[str]:
    """Every expression of the alerts and of the dashboard."""
    return [rule["expr"] for rule in rules()] + [each["expr"] for panel in panels() for each in panel["targets"]]


def option_words(command: str) -> list[str]:
    return [word for word in shlex.split(command) if word.startswith("--")]


@pytest.mark.slow
def test_every_metric_of_alerts_and_dashboard_is_served(tmp_path: Path) -> None:
    with serving(tmp_path / "ledger.db") as url:
        text = httpx.get(f"{url}/metrics").text
    named = {name for each in expressions() for name in re.findall(r"\btallystick_\w+", each)}
    families = metrics(text)
    served = families | {f"{name}{suffix}" for name in families for suffix in SUFFIXES}
    assert len(named) > 10
    assert named <= served, f"no such metric: {sorted(named - served)}"


@pytest.mark.slow
def test_every_label_of_alerts_and_dashboard_is_served(tmp_path: Path) -> None:
    """The endpoint of appends, above all: a wrong name would be an alert that never fires."""
    with serving(tmp_path / "ledger.db") as url:
        httpx.post(f"{url}/events", json={})
        text = httpx.get(f"{url}/metrics").text
    labels = {pair for each in expressions() for pair in re.findall(r'\b(?:endpoint|method)="\w+"', each)}
    assert labels == {'endpoint="post_events"', 'method="POST"'}
    assert all(pair in text for pair in labels)


def test_the_dashboard_can_be_drawn() -> None:
    ids = [panel["id"] for panel in panels()]
    assert len(ids) == len(set(ids)) > 10
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels()}
    assert len(places) == len(ids)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels())


def promtool() -> str:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    return program


@pytest.mark.slow
def test_prometheus_reads_every_expression(tmp_path: Path) -> None:
    queries = [each["expr"] for panel in panels() for each in panel["targets"]]
    plain = [query.replace("$__rate_interval", "1m").replace("$job", "tallystick") for query in queries]
    recorded = [{"record": f"panel:{number}", "expr": query} for number, query in enumerate(plain)]
    file = tmp_path / "dashboard.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": recorded}]}), encoding="utf-8")
    done = subprocess.run([promtool(), "check", "rules", ALERTS, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(rules())} rules found" in done.stdout


def unit_test(case: AlertCase) -> Yaml:
    series = {**HEALTHY, **case.changed}
    return {
        "interval": "10s",
        "input_series": [{"series": name, "values": values} for name, values in series.items() if values is not None],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"} > 0) > bool 0',
                "eval_time": "30m",
                "exp_samples": [
                    {"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(case.firing)
                ],
            }
        ],
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_alerts_fire_when_they_should(case: AlertCase, tmp_path: Path) -> None:
    file = tmp_path / "test.yaml"
    document = {"rule_files": [str(ALERTS)], "evaluation_interval": "10s", "tests": [unit_test(case)]}
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    done = subprocess.run([promtool(), "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_case() -> None:
    assert {rule["alert"] for rule in rules()} == {name for case in CASES for name in case.firing}


def test_every_option_of_the_units_exists() -> None:
    serve = next(verb for verb in verbs() if verb.name == "tallystick serve")
    commands = re.findall(
        r"^ExecStart=\S+/tallystick (.+)$", (FILES / "systemd/tallystick.service").read_text(), re.MULTILINE
    )
    compose = [service["command"] for name, service in services().items() if name.startswith("server")]
    chart = re.findall(r"args: \[(serve,.+)\]", (FILES / "helm/tallystick/templates/servers.yaml").read_text("utf-8"))
    words = [*commands, *map(shlex.join, compose), *(each.replace(",", "") for each in chart)]
    assert len(words) == 4
    for command in words:
        assert command.startswith("serve --")
        assert set(option_words(command)) <= set(serve.options), command


def test_the_variables_of_servers_exist() -> None:
    names = variables_of(FILES / "systemd" / "tallystick.env")
    assert names.keys() == {"TALLYSTICK_LEDGER", "TALLYSTICK_STATE", "PGPASSFILE"}
    manual = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in manual for name in names if name.startswith("TALLYSTICK"))
    texts = [path.read_text(encoding="utf-8") for path in FILES.rglob("*") if path.is_file()]
    used = {name for text in texts for name in re.findall(r"\bTALLYSTICK_[A-Z]+\b", text)}
    assert used == {"TALLYSTICK_LEDGER", "TALLYSTICK_STATE"}


def test_the_address_of_the_ledger_names_every_node() -> None:
    address = variables_of(FILES / "systemd" / "tallystick.env")["TALLYSTICK_LEDGER"]
    database = Place.parse(address, Path("/state")).database
    assert database is not None
    hosts = [str(host) for host in database.hosts]
    assert hosts == [variables_of(path)["PATRONI_POSTGRESQL_CONNECT_ADDRESS"].split(":")[0] for path in NODES]
    assert services()["server1"]["environment"]["TALLYSTICK_LEDGER"] == address
    patroni = loaded(FILES / "patroni" / "patroni.yml")
    assert patroni["etcd3"]["hosts"] == ",".join(f"{host}:2379" for host in hosts)
    rows = [line.split() for line in patroni["postgresql"]["pg_hba"]]
    assert ["host", database.database, database.user, "10.0.0.0/24", "scram-sha-256"] in rows


def test_the_nodes_agree() -> None:
    cluster = variables_of(FILES / "etcd" / "etcd.env")["ETCD_INITIAL_CLUSTER"]
    each = [variables_of(path) for path in NODES]
    assert len(each) == 3
    assert ",".join(f"{node['ETCD_NAME']}={node['ETCD_INITIAL_ADVERTISE_PEER_URLS']}" for node in each) == cluster
    for path, node in zip(NODES, each, strict=True):
        assert node["PATRONI_NAME"] == node["ETCD_NAME"] == path.stem
        assert node.keys() == each[0].keys()
        addresses = {value for text in node.values() for value in re.findall(r"10\.0\.0\.\d+", text)}
        assert len(addresses) == 1
    networks = [services()[f"etcd{number}"]["networks"]["nodes"]["ipv4_address"] for number in (1, 2, 3)]
    assert networks == [node["PATRONI_POSTGRESQL_CONNECT_ADDRESS"].split(":")[0] for node in each]


def test_the_cluster_is_as_durable_as_the_manual_says() -> None:
    """The settings with which failover was measured: docs/how-to/failover.md names each."""
    patroni = loaded(FILES / "patroni" / "patroni.yml")
    settings = patroni["bootstrap"]["dcs"]
    manual = (ROOT / "docs" / "how-to" / "failover.md").read_text(encoding="utf-8")
    for name, value in (
        ("synchronous_mode", "quorum"), ("synchronous_mode_strict", True), ("primary_start_timeout", 0),
        ("ttl", 20), ("loop_wait", 1), ("retry_timeout", 3),
    ):  # fmt: skip
        assert settings[name] == value
        assert f"`{name}: {str(value).lower()}`" in manual
    assert "data-checksums" in patroni["bootstrap"]["initdb"]
    parameters = settings["postgresql"]["parameters"]
    assert [parameters[name] for name in ("fsync", "full_page_writes", "synchronous_commit")] == ["on"] * 3


def services() -> dict[str, Yaml]:
    found: dict[str, Yaml] = loaded(FILES / "compose.yaml")["services"]
    return found


def test_the_compose_file_names_files_that_exist() -> None:
    for service in services().values():
        build = service.get("build")
        if build is not None:
            context = FILES / build["context"]
            assert (context / build["dockerfile"]).is_file()
        assert all((FILES / name).is_file() for name in service.get("env_file", ()))
        mounted = [volume.split(":")[0] for volume in service.get("volumes", ())]
        declared = loaded(FILES / "compose.yaml")["volumes"]
        assert all((FILES / name).is_file() if name.startswith(".") else name in declared for name in mounted)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_reads_the_units(unit: Path, tmp_path: Path) -> None:
    """Without the programs: they are not installed here."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    text, found = re.subn(r"^(Exec\w+)=\S+", r"\1=/bin/true", unit.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found
    copy = tmp_path / unit.name
    copy.write_text(text, encoding="utf-8")
    command: list[str | Path] = [program, "verify", "--man=no", "--recursive-errors=no", copy]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_the_roles_suffice_to_make_a_ledger_and_to_use_it(postgres: Primary) -> None:
    """With the names of databases and roles replaced: the server is shared by other tests."""
    text = (FILES / "patroni" / "roles.sql").read_text(encoding="utf-8")
    name = f"roles{postgres.port}_{id(text)}"
    for statement in re.sub(r"\btallystick(?=_owner\b|\b)(?! ledger)", name, re.sub(r"--.*", "", text)).split(";"):
        if statement.strip():
            postgres.psql(statement)
    hosts = (Host(postgres.host, postgres.port),)
    owner = DatabasePlace(hosts=hosts, database=name, ledger="acme", user=f"{name}_owner")
    server = DatabasePlace(hosts=hosts, database=name, ledger="acme", user=name)

    async def make_and_open() -> int:
        await create_ledger(owner, grant=name)
        log = await open_log(Place(Path("unused"), server, "local"))
        try:
            return (await log.head()).position
        finally:
            await log.close()

    assert asyncio.run(make_and_open()) == 0
    rights = postgres.psql(
        f"SELECT rolsuper, pg_has_role(oid, 'pg_signal_backend', 'member') FROM pg_roles WHERE rolname = '{name}'"
    )
    assert rights.strip() == "f|f"
