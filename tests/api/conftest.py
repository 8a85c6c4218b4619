"""For each module of tests the application on a ledger of its own, in this process; or a server process."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.api.cstp.client import Caller
from tests.support.in_process import application
from tests.support.server import Served, served


@pytest.fixture(scope="module")
def application_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ledger file of the application in this process."""
    return tmp_path_factory.mktemp("application") / "ledger.db"


@pytest.fixture(scope="module")
def client(application_ledger: Path) -> Iterator[httpx.Client]:
    """A client of the application in this process."""
    with application(application_ledger) as connected:
        yield connected


@pytest.fixture(scope="module")
def cstp(client: httpx.Client) -> Caller:
    """A caller of the application in this process."""
    return Caller(client)


@pytest.fixture
def empty_client(tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of the application on an empty ledger that no other test uses."""
    with application(tmp_path / "empty.db") as connected:
        yield connected


@pytest.fixture
def empty_cstp(empty_client: httpx.Client) -> Caller:
    """A caller of the application on an empty ledger that no other test uses."""
    return Caller(empty_client)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server process, for what only a process or a socket shows."""
    with served(tmp_path_factory.mktemp("served") / "ledger.db") as running:
        yield running


@pytest.fixture(scope="module")
def served_client(server: Served) -> Iterator[httpx.Client]:
    """A client of the server process."""
    with httpx.Client(base_url=server.url, timeout=None) as connected:
        yield connected


@pytest.fixture(scope="module")
def served_cstp(served_client: httpx.Client) -> Caller:
    """A caller of the server process."""
    return Caller(served_client)


@pytest.fixture
def project() -> str:
    """A project that no other test records in."""
    return f"project-{uuid4().hex[:12]}"


@pytest.fixture
def agent() -> str:
    """An agent that no other test thinks as."""
    return f"agent-{uuid4().hex[:12]}"
