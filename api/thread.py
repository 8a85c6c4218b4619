"""Blocking work on a thread, which is never left behind."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ledger.connect import to_its_end

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


async def on_thread(function: Callable[_Given, _Result], *given: _Given.args, **named: _Given.kwargs) -> _Result:
    """What a function gives, on a thread. Who gives up waiting waits until it has ended: it holds a turn, or a file."""
    return await to_its_end(asyncio.ensure_future(asyncio.to_thread(function, *given, **named)))
