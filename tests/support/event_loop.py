"""Running coroutines in tests: a loop of its own for each test."""

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing
from typing import TypeVar

from ledger.log import LogReader, Query

Result = TypeVar("Result")


def run(coroutine: Coroutine[object, object, Result]) -> Result:
    """Run to the end, and fail where an exception was lost in the loop."""
    lost: list[str] = []

    async def main() -> Result:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(str(context)))
        return await coroutine

    result = asyncio.run(main())
    assert lost == []
    return result


async def collect(log: LogReader, query: Query, count: int) -> list[bytes]:
    """The first lines that a follower sees, at least so many."""
    lines: list[bytes] = []
    follower = log.follow(query)
    async with aclosing(follower) as slices:  # type: ignore[type-var]
        async for one in slices:
            lines += one.lines
            if len(lines) >= count:
                break
    return lines
