"""What others' checkers say about the workflows, the container file and the description of the package: nothing."""

import shutil
from pathlib import Path

import pytest

from tests.distribution.checkers import ACTIONLINT, WORKFLOWS, checker, said
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow


def test_zizmor_finds_nothing_in_the_workflows() -> None:
    assert "No findings to report" in said(checker("zizmor"), "--offline", "--no-progress", *WORKFLOWS)


def test_zizmor_finds_an_action_without_a_hash(tmp_path: Path) -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if "actions/checkout@" in line)
    faulty = tmp_path / "ci.yml"
    faulty.write_text(text.replace(line, "      - uses: actions/checkout@v6"))
    assert "unpinned-uses" in said(checker("zizmor"), "--offline", "--no-progress", faulty, code=14)


def actionlint(*files: Path, folder: Path, code: int = 0) -> str:
    node = shutil.which("node")
    if node is None or not ACTIONLINT.is_file():
        pytest.skip("actionlint is not installed: it needs Node 20 with npm, and then make .venv/.checkers")
    for file in files:
        shutil.copy(file, folder)
    return said(node, ACTIONLINT, f"{folder}/*.yml", code=code)


def test_actionlint_finds_a_fault_and_only_that(tmp_path: Path) -> None:
    """One run, because each takes seconds to start: a faulty workflow beside ours."""
    (tmp_path / "faulty.yml").write_text("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    stepps: []\n")
    text = actionlint(*WORKFLOWS, folder=tmp_path, code=1)
    assert "stepps" in text
    assert not [path.name for path in WORKFLOWS if path.name in text], text


def test_hadolint_finds_nothing_in_the_container_file() -> None:
    assert said(checker("hadolint"), ROOT / "Dockerfile") == ""


def test_the_description_of_the_package_is_valid() -> None:
    assert "Valid" in said(checker("validate-pyproject"), ROOT / "pyproject.toml")
