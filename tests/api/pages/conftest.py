"""What tests of pages share: they wait for what a server computes, and the programs that check pages.

axe-core and html-validate are installed from their lock file. Without a network, the tests that need them are skipped.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.pages.browser import WAIT
from tests.sdks.conftest import install, path_with, python_environment

__all__ = ["python_environment"]  # a fixture

PACKAGES = Path(__file__).parent / "npm"


@pytest.fixture(scope="package", autouse=True)
def waiting_clients() -> Iterator[None]:
    """Let requests wait until a page is computed, however slow the machine is; one that states otherwise does not."""
    send = httpx.Client.send

    def send_patiently(self: httpx.Client, request: httpx.Request, **options: object) -> httpx.Response:
        for name, value in WAIT.items():
            request.headers.setdefault(name, value)
        return send(self, request, **options)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx.Client, "send", send_patiently)
        yield


@pytest.fixture(scope="session")
def page_rules(python_environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of package-lock.json."""
    folder = tmp_path_factory.mktemp("rules") / "packages"
    shutil.copytree(PACKAGES, folder)
    install(["npm", "ci", "--no-audit", "--no-fund"], folder, path_with(python_environment))
    return folder
