"""A house that is opened for a scenario, and what stands beside it when it is closed."""

from collections.abc import Callable, Coroutine
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import pytest

from api.service.ledger import LedgerService
from events.errors import TallystickError
from tests.support.event_loop import run

Told = TypeVar("Told")


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def within(
    ledger: Path, *, writable: bool = True
) -> Callable[[Callable[[LedgerService], Coroutine[Any, Any, Told]]], Told]:
    """Run what is decorated, at once, in a house that is opened for it; what it gives takes its name."""

    def perform(scenario: Callable[[LedgerService], Coroutine[Any, Any, Told]]) -> Told:
        async def opened() -> Told:
            service = await LedgerService.open(ledger, writable=writable)
            try:
                return await scenario(service)
            finally:
                await service.close()

        return run(opened())

    return perform


def bytes_beside(ledger: Path) -> dict[str, bytes]:
    """What stands in the evidence files of a ledger, by their names."""
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
