"""The wheel by the programs that users install it with: uv and pipx. And the list of packages of a release."""

import json
import os
import re
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.distribution.checkers import FOLDER, checker, said
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

PINNED = re.compile(r"^([\w.-]+)==(\S+) \\$", re.MULTILINE)
LOCKED = dict(PINNED.findall((ROOT / "requirements.txt").read_text(encoding="utf-8")))


def variables(folder: Path) -> dict[str, str]:
    """The environment of a user without a checkout: nothing of this one, and none of our settings."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "PYTHON", "TALLYSTICK", "VIRTUAL_ENV", "UV_", "PIPX_", "MAKE", "MFLAGS"))
    }
    index = said(FOLDER / "bin" / "pip", "config", "list")
    found = dict(re.findall(r"^(?:global|:env:)\.(index-url|find-links|extra-index-url)='(.+)'$", index, re.MULTILINE))
    named = {"UV_DEFAULT_INDEX": found["index-url"]} if "index-url" in found else {}
    return kept | named | {
        "UV_CACHE_DIR": str(folder / "cache"), "UV_TOOL_DIR": str(folder / "tools"),
        "UV_PYTHON_DOWNLOADS": "never", "UV_CONSTRAINT": str(constraints(folder)),
        "PIP_CONSTRAINT": str(constraints(folder)),
        "PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin"), "PIPX_MAN_DIR": str(folder / "man"),
    }  # fmt: skip


def constraints(folder: Path) -> Path:
    """The locked versions, so that the test installs what was tested."""
    path = folder / "constraints.txt"
    path.write_text("".join(f"{name}=={version}\n" for name, version in LOCKED.items()))
    return path


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make dist` builds and checks."""
    checker("twine")
    folder = tmp_path_factory.mktemp("make") / "dist"
    said("make", "dist", f"DIST={folder}")
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (wheel,) = dist.glob("*.whl")
    return wheel


def test_a_release_is_two_distributions_and_the_list_of_packages(dist: Path) -> None:
    names = sorted(re.sub(r"\d+\.\d+\.\d+", "V", path.name) for path in dist.iterdir())
    assert names == ["tallystick-V-py3-none-any.whl", "tallystick-V.tar.gz", "tallystick.cdx.json"]


def test_the_list_has_every_locked_package_with_its_hashes(dist: Path) -> None:
    listed = json.loads((dist / "tallystick.cdx.json").read_text(encoding="utf-8"))
    assert listed["bomFormat"] == "CycloneDX"
    assert listed["metadata"]["component"]["name"] == "tallystick"
    assert len(LOCKED) > 30
    assert {each["name"]: each["version"] for each in listed["components"]} == LOCKED
    hashed = [each for each in listed["components"] if any("hashes" in it for it in each.get("externalReferences", ()))]
    assert len(hashed) == len(LOCKED)


def serves(*words: str | Path, folder: Path) -> None:
    """Run a server, until it says that it is ready; it makes the default ledger in an empty folder."""
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    server = subprocess.Popen(
        [*words, "serve", "--port", "0"], cwd=empty, env=variables(folder), stderr=subprocess.PIPE, text=True
    )
    with server:
        try:
            assert server.stderr is not None
            url = next(json.loads(line)["address"] for line in server.stderr if '"event":"serving"' in line)
            assert httpx.get(f"{url}/readyz").status_code == 200
        finally:
            server.terminate()
            server.communicate()
    assert (empty / "tallystick.db").is_file()


def test_uvx_runs_the_wheel_without_a_checkout(wheel: Path, tmp_path: Path) -> None:
    uvx = checker("uvx")
    there = variables(tmp_path)
    version = said(uvx, "--quiet", "--from", wheel, "tallystick", "--version", folder=tmp_path, variables=there)
    assert version == f"tallystick {wheel.name.split('-')[1]}\n"
    serves(uvx, "--quiet", "--from", wheel, "tallystick", folder=tmp_path)


def test_pipx_installs_the_command_and_the_manual_page(wheel: Path, tmp_path: Path) -> None:
    said(checker("pipx"), "install", wheel, folder=tmp_path, variables=variables(tmp_path))
    serves(tmp_path / "bin" / "tallystick", folder=tmp_path)
    assert (tmp_path / "man" / "man1" / "tallystick.1").resolve().is_file()
