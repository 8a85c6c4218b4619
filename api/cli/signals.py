"""Stop at the next safe point on SIGINT, SIGTERM or SIGHUP; on a second signal, at once."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class StopSignal(NamedTuple):
    """An event that is set when the first signal arrives, and the numbers of the signals that arrived."""

    event: asyncio.Event
    caught: list[int]


@contextmanager
def catch_stop_signals() -> Iterator[StopSignal]:
    """Catch the first signal; a second one has its default effect. An event loop must be running."""
    stop = StopSignal(asyncio.Event(), [])
    loop = asyncio.get_running_loop()
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup makes the process ignore it
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
