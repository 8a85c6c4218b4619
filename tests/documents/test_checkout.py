"""The tour and the tutorials, followed in a checkout, leave nothing that git would add."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.documents.page import DOCS, files_needed
from tests.documents.run import run
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
FOLLOWED = [ROOT / "README.md", *(pytest.param(page, marks=pytest.mark.slow) for page in TUTORIALS)]


@pytest.mark.trial("A14")
@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: page.name)
def test_a_reader_leaves_nothing_untracked(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if missing := [path for path in files_needed(text) if not path.exists()]:
        pytest.skip(f"not beside this checkout: {missing}")
    shutil.copy(ROOT / ".gitignore", tmp_path)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    for _ in run(text, tmp_path):
        pass  # what a page shows is compared by its own test
    status = ["git", "-C", str(tmp_path), "status", "--porcelain", "--untracked-files=all"]
    left = set(subprocess.run(status, check=True, capture_output=True, text=True).stdout.splitlines())
    assert left == {"?? .gitignore", "?? examples"}
