"""A file of an export while it is written: its bytes to the target, and their sum."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha256
from typing import ParamSpec, TypeVar

from api.exporting.manifest import FileSum
from api.exporting.targets import Target

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class Writing:
    """One file, from its beginning to its end. It blocks: call it on a thread."""

    def __init__(self, target: Target, name: str) -> None:
        self._target = target
        self._name = name
        self._sum = sha256()
        self._size_bytes = 0

    def begin(self) -> None:
        """Begin it."""
        self._target.begin(self._name)

    def put(self, piece: Callable[[], Iterable[bytes]]) -> None:
        """Make a piece, and write it, part by part."""
        for part in piece():
            self._sum.update(part)
            self._size_bytes += len(part)
            self._target.write(part)

    def end(self) -> FileSum:
        """End it; what it came to."""
        self._target.end()
        return FileSum(self._size_bytes, self._sum.hexdigest())


async def on_thread(function: Callable[_Given, _Result], *given: _Given.args, **named: _Given.kwargs) -> _Result:
    """What a function gives, on a thread. Who gives up waiting waits until it has ended: its file is closed then."""
    running = asyncio.ensure_future(asyncio.to_thread(function, *given, **named))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        if not running.cancelled():
            running.exception()
        raise
