"""A server for the tests of a module, and an agent of each test's own."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tallystick import Client
from tests.support.server import serving


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the settings of the person who runs the tests."""
    for name in ("TALLYSTICK_URL", "TALLYSTICK_TOKEN", "TALLYSTICK_AGENT", "TALLYSTICK_LEDGER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("server") / "t.db") as address:
        yield address


@pytest.fixture
def agent() -> str:
    return f"agent-{uuid4().hex[:12]}"


@pytest.fixture
def client(url: str, agent: str) -> Iterator[Client]:
    with Client(url, agent=agent) as made:
        yield made
