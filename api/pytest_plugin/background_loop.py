"""An event loop on a thread of its own, for callers that have none, or one that is not ours to use."""

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class BackgroundLoop:
    """Runs coroutines for a thread that waits for each."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="tallystick", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """What a coroutine gives. Whoever is interrupted while waiting for it cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End the loop, after what was cancelled on it has come to its end."""
        self.run(_settle())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _settle() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)
