"""A load: agents that record decisions through `tallystick.Client`, which has the addresses of all servers."""

import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise

import msgspec

from tallystick import Client, TallystickError

PAUSE_S = 1.0
"""A longer time without an acknowledgement is a pause."""

WINDOW_S = 5.0
"""Appends are counted over this time."""

RETRY_S = 300.0
"""How long a client sends a request again: longer than any failover."""

TIMEOUT_S = 20.0
"""How long a client waits for an answer. A server that can be reached answers an append within 12 s."""

CHECK_S = 30.0
"""How long the events are read again at the end, if no server answers."""

PAUSES_KEPT = 20
TIMES_KEPT = 10_000


class Pause(msgspec.Struct, frozen=True):
    """A time without an acknowledgement: when it began, and how long it lasted."""

    began: datetime
    lasted_s: float


class LoadState(msgspec.Struct, frozen=True):
    """The load until now. `silent_s` is the time since the newest acknowledgement, `pauses` the newest ones.

    `given_up` are requests that a client sent again until its time was used up.
    """

    appended: int
    appends_per_s: float
    silent_s: float
    pauses: list[Pause]
    given_up: int


class Findings(msgspec.Struct, frozen=True):
    """What the log has, compared with what was acknowledged: events missing, at another place, or there twice."""

    acknowledged: int
    lost: int
    moved: int
    twice: int

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.lost or self.moved or self.twice)


class Load:
    """Clients that append one event after another, each at its part of a rate; `rate` is in appends a second."""

    def __init__(self, urls: Sequence[str], token: str, *, clients: int, rate: float) -> None:
        self._urls, self._token = list(urls), token
        self._wait_s = clients / rate
        self._acknowledged: dict[str, int] = {}
        self._given_up = 0
        self._recent: deque[float] = deque()
        self._pauses: deque[Pause] = deque(maxlen=PAUSES_KEPT)
        self._newest_s = time.monotonic()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._times = [deque[float](maxlen=TIMES_KEPT) for _ in range(clients)]
        self._threads = [
            threading.Thread(target=self._append, args=(number,), name=f"client {number}", daemon=True)
            for number in range(clients)
        ]

    def start(self) -> None:
        """Start the clients."""
        self._newest_s = time.monotonic()
        for thread in self._threads:
            thread.start()

    def stop(self, wait_s: float) -> None:
        """Stop each client after its request, and wait for them."""
        self._stopping.set()
        until_s = time.monotonic() + wait_s
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))

    def state(self) -> LoadState:
        """The load until now."""
        with self._lock:
            now_s = time.monotonic()
            self._forget(now_s)
            return LoadState(
                appended=len(self._acknowledged),
                appends_per_s=round(len(self._recent) / WINDOW_S, 1),
                silent_s=round(now_s - self._newest_s, 1),
                pauses=list(self._pauses),
                given_up=self._given_up,
            )

    def longest_silence(self, since_s: float) -> float:
        """The longest time without an acknowledgement of any one client, in seconds, since a monotonic time."""
        with self._lock:
            each = [[since_s, *(at_s for at_s in times if at_s >= since_s), time.monotonic()] for times in self._times]
        return max(later - earlier for times in each for earlier, later in pairwise(times))

    def check(self) -> Findings:
        """Read the log, and compare it with what was acknowledged before. Errors: TallystickError."""
        with self._lock:
            acknowledged = dict(self._acknowledged)
        with Client(self._urls, token=self._token, retry_s=CHECK_S) as client:
            places = [(event.id, event.position) for event in client.events()]
        found, counts = dict(places), Counter(name for name, _ in places)
        return Findings(
            acknowledged=len(acknowledged),
            lost=len(acknowledged.keys() - found.keys()),
            moved=sum(found[name] != position for name, position in acknowledged.items() if name in found),
            twice=sum(times > 1 for times in counts.values()),
        )

    def _append(self, number: int) -> None:
        """Append until the load is stopped. Each client begins with another server."""
        first = number % len(self._urls)
        urls = [*self._urls[first:], *self._urls[:first]]
        began = time.time_ns()
        with Client(urls, token=self._token, retry_s=RETRY_S, timeout_s=TIMEOUT_S) as client:
            for choice in count():
                name = f"rehearsal-{began}-{number}-{choice}"
                data = {"decision_id": name, "decision": f"Choice {choice} of client {number}", "confidence": 0.8}
                try:
                    result = client.append([{"id": name, "type": "decision.recorded.v1", "data": data}])
                except TallystickError:
                    with self._lock:
                        self._given_up += 1
                else:
                    self._note(number, name, result.first)
                if self._stopping.wait(self._wait_s):
                    return

    def _note(self, number: int, name: str, position: int) -> None:
        with self._lock:
            now_s = time.monotonic()
            silent_s = now_s - self._newest_s
            if silent_s >= PAUSE_S:
                self._pauses.append(Pause(datetime.now(UTC) - timedelta(seconds=silent_s), round(silent_s, 1)))
            self._newest_s = now_s
            self._acknowledged[name] = position
            self._times[number].append(now_s)
            self._recent.append(now_s)
            self._forget(now_s)

    def _forget(self, now_s: float) -> None:
        while self._recent and self._recent[0] < now_s - WINDOW_S:
            self._recent.popleft()
