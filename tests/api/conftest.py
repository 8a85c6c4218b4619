"""One server for each module of tests, on a ledger of its own, and clients of it."""

from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from tests.api.cstp.client import Caller
from tests.support.server import Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served") / "ledger.db") as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=None) as connected:
        yield connected


@pytest.fixture(scope="module")
def cstp(server: Served) -> Iterator[Caller]:
    with Caller(server.url) as caller:
        yield caller


@pytest.fixture
def project() -> str:
    """A project that no other test records in."""
    return f"project-{uuid4().hex[:12]}"


@pytest.fixture
def agent() -> str:
    """An agent that no other test thinks as."""
    return f"agent-{uuid4().hex[:12]}"
