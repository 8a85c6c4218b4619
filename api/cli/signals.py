"""A signal is a wish: it stops what a verb is doing at the next place where nothing is lost."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class StopSignal(NamedTuple):
    """Set once a signal came, with the signals that did."""

    event: asyncio.Event
    caught: list[int]


@contextmanager
def stoppable() -> Iterator[StopSignal]:
    """Within a running loop: SIGINT, SIGTERM and SIGHUP are wishes. A second signal ends the command at once."""
    stop = StopSignal(asyncio.Event(), [])
    loop = asyncio.get_running_loop()
    stopping = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # under nohup it goes on
        stopping.append(signal.SIGHUP)

    def stopped(number: int) -> None:
        stop.caught.append(number)
        stop.event.set()
        release()

    def release() -> None:
        for one in stopping:
            loop.remove_signal_handler(one)

    for number in stopping:
        loop.add_signal_handler(number, stopped, number)
    try:
        yield stop
    finally:
        release()
