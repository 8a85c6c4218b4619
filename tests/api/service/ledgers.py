"""Open a ledger service for a scenario, and read the files beside the ledger after it has closed."""

from collections.abc import Callable, Coroutine
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import pytest

from api.service.ledger import LedgerService
from events.errors import TallystickError
from tests.support.event_loop import run

Reported = TypeVar("Reported")


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def within(
    ledger: Path, *, writable: bool = True
) -> Callable[[Callable[[LedgerService], Coroutine[Any, Any, Reported]]], Reported]:
    """Decorate a scenario: run it at once in a newly opened ledger service, and bind its result to its name."""

    def perform(scenario: Callable[[LedgerService], Coroutine[Any, Any, Reported]]) -> Reported:
        async def opened() -> Reported:
            service = await LedgerService.open(ledger, writable=writable)
            try:
                return await scenario(service)
            finally:
                await service.close()

        return run(opened())

    return perform


def bytes_beside(ledger: Path) -> dict[str, bytes]:
    """Return the contents of a ledger's evidence files by name."""
    folder = ledger.with_name(ledger.name + ".evidence")
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def head(service: LedgerService) -> int:
    return (await service.reader.head()).position


async def refusal(coroutine: Coroutine[Any, Any, object]) -> type[TallystickError]:
    with pytest.raises(TallystickError) as caught:
        await coroutine
    assert caught.value.detail
    assert caught.value.advice
    return caught.type
