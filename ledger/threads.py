"""Blocking work on a thread, which is never left behind."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


async def on_thread(function: Callable[_Given, _Result], *given: _Given.args, **named: _Given.kwargs) -> _Result:
    """What a function gives, on a thread. Who gives up waiting waits until it has ended: it holds a turn, or a file."""
    return await to_its_end(asyncio.ensure_future(asyncio.to_thread(function, *given, **named)))


_Found = TypeVar("_Found")


async def to_its_end(running: asyncio.Future[_Found]) -> _Found:
    """What a thread gives. Who gives up waiting waits until it has ended: it looks at what may change then."""
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        if not running.cancelled():
            running.exception()
        raise
