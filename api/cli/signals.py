"""Stop at the next safe point on SIGINT, SIGTERM or SIGHUP; on a second signal, at once."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class StopSignal(NamedTuple):
    """An event that is set once a signal has arrived, and the numbers of the signals."""

    event: asyncio.Event
    caught: list[int]


@contextmanager
def catch_stop_signals() -> Iterator[StopSignal]:
    """Catch the first signal. Call it within a running event loop."""
    stop = StopSignal(asyncio.Event(), [])
    loop = asyncio.get_running_loop()
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores it, and so do we
        numbers.append(signal.SIGHUP)

    def catch(number: int) -> None:
        stop.caught.append(number)
        stop.event.set()
        release()

    def release() -> None:
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, catch, number)
    try:
        yield stop
    finally:
        release()
