"""Run blocking work on a thread; the caller waits until it ends, even if the caller is cancelled."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

_Args = ParamSpec("_Args")
Result = TypeVar("Result")


async def run_on_thread(function: Callable[_Args, Result], *args: _Args.args, **kwargs: _Args.kwargs) -> Result:
    """Run a function on a thread and return its result.

    A cancelled caller waits until the function has ended, because it may hold a lock or a file.
    """
    return await wait_until_done(asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs)))


async def wait_until_done(work: asyncio.Future[Result]) -> Result:
    """Return the result of a thread's work. A cancelled caller waits until the work has ended.

    Otherwise the thread would go on using objects that the caller may change after the cancellation.
    """
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        if not work.cancelled():
            work.exception()
        raise
