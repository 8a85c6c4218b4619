"""Work that is repeated while there is hope."""

import asyncio

import pytest

from api.service.retry import Wait, retry, while_refused, while_unavailable
from events.errors import TallystickError
from ledger.errors import LedgerBusy, LedgerUnavailable, NotFound, StreamConflict


def test_work_is_repeated_until_it_succeeds() -> None:
    tried: list[bool] = []

    async def work(again: bool) -> str:
        tried.append(again)
        if len(tried) < 3:
            raise NotFound("It is not there yet.", "Wait.")
        return "done"

    assert asyncio.run(retry(work, lambda error, tries: 0.0)) == "done"
    assert tried == [False, True, True]


def test_the_last_error_is_raised() -> None:
    tried: list[int] = []

    async def work(again: bool) -> None:
        tried.append(len(tried))
        raise NotFound(f"try {len(tried)}", "Wait.")

    def wait_s(error: TallystickError, tries: int) -> float | None:
        return 0.0 if tries < 4 else None

    with pytest.raises(NotFound, match="try 4"):
        asyncio.run(retry(work, wait_s))


def test_each_rule_waits_for_its_own_errors() -> None:
    away, busy = LedgerUnavailable("Gone.", "Retry."), LedgerBusy(9, 3)
    refused = StreamConflict("decision/a", 1, 2, 0)
    assert [while_unavailable(away, tries) for tries in range(1, 6)] == [0.5, 1.0, 2.0, 4.0, None]
    assert (while_refused(refused, 9), while_refused(refused, 10)) == (0.0, None)
    others: dict[Wait, tuple[TallystickError, ...]] = {
        while_unavailable: (busy, refused),
        while_refused: (away, busy),
    }
    for rule, errors in others.items():
        assert [rule(error, 1) for error in errors] == [None] * len(errors)
