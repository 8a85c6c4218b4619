"""A page of events is never newer than the head that it names."""

import asyncio
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from api.http.routes.events import _page
from ledger.log import Head, LogPage


@pytest.mark.parametrize(("noted", "head"), [(1, 2), (2, 2), (5, 5)])
def test_an_event_that_the_log_has_not_noted_yet_is_counted(noted: int, head: int) -> None:
    async def newest() -> Head:
        return Head(noted, 0)

    ledger: Any = SimpleNamespace(reader=SimpleNamespace(head=newest))
    response = asyncio.run(_page(ledger, LogPage(b'{"position":1}\n{"position":2}', [1, 2], more=False)))
    assert msgspec.json.decode(response.body)["head"] == head
