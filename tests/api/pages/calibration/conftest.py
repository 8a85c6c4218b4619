"""A server over the ledger of the simulated agents of the manual."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.simulated_ledger import import_simulated_agents
from tests.support.server import serving


@pytest.fixture(scope="package")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_simulated_agents(tmp_path_factory.mktemp("calibration-pages") / "t.db")


@pytest.fixture(scope="package")
def agents_url(simulated: Path) -> Iterator[str]:
    with serving(simulated) as url:
        yield url


@pytest.fixture(scope="package")
def agents(agents_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=agents_url, timeout=None) as connected:
        yield connected
