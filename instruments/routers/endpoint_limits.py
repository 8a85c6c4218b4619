"""How often endpoints may be asked: rates that the caller sets, and pauses that an endpoint asks for.

Each endpoint has a bucket of one token, which fills once in the interval of its rate: requests are evenly spaced, so
that no window of time has more of them than the rate allows. All jobs of a run share the buckets and the pauses.
"""

import asyncio
import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import Self

import msgspec

from events.errors import InvalidQuery

AGENT = ""
"""The name of the agent's own limit, whatever endpoints it uses."""

SLICE_S = 0.2
"""The longest sleep of a blocking wait, after which it looks whether it was stopped."""

_EXAMPLE = "Write 30/m, or api.example.com=30/m."
_PERIODS_S = {"s": 1.0, "m": 60.0, "h": 3_600.0}
_rate = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)/([smh])")
_host = re.compile(r"[A-Za-z0-9._\-]+(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?")

BUSY_STATUSES = frozenset({429, 503})
"""The statuses with which an endpoint asks for a later request."""

OUTAGE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""The statuses after which the same request may succeed later."""

RETRY_AFTER_S_MIN = 1.0
"""The shortest wait, even if Retry-After is shorter."""

RETRY_AFTER_S_MAX = 3_600.0
"""The longest Retry-After that an evaluation waits for, seconds. A run stops where an endpoint asks for more."""

_DIGITS_MAX = 9


class PauseTooLong(Exception):
    """An endpoint asks for a longer pause than RETRY_AFTER_S_MAX; the text says which, and for how long."""


class EndpointRate(msgspec.Struct, frozen=True):
    """A limit on the requests to a host, with a port or without, and the seconds between two requests."""

    endpoint: str
    interval_s: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `N/s`, `N/m` or `N/h`, of the agent, or `HOST=N/m` of an endpoint. Errors: InvalidQuery."""
        host, equals, rate = text.strip().rpartition("=")
        found = _rate.fullmatch(rate.strip())
        if found is None or float(found[1]) <= 0:
            raise InvalidQuery("rate_limit", f"{text!r} is not N/s, N/m or N/h with a number above 0.", _EXAMPLE)
        endpoint = host.strip().lower()
        if equals and _host.fullmatch(endpoint) is None:
            raise InvalidQuery("rate_limit", f"{text!r} names no host, with a port or without, before '='.", _EXAMPLE)
        return cls(endpoint if equals else AGENT, _PERIODS_S[found[2]] / float(found[1]))


def endpoint_name(text: str) -> str | None:
    """Return the host, with the port if one is stated, of an address or of a host; None if there is none."""
    bare = text.strip().partition("://")[2] or text.strip()
    host = bare.partition("/")[0].rpartition("@")[2].lower()
    return host if _host.fullmatch(host) is not None else None


class EndpointLimits:
    """The limits and pauses of the endpoints of one run. Thread-safe. `clock_s` is monotonic."""

    def __init__(self, rates: Iterable[EndpointRate] = (), clock_s: Callable[[], float] = time.monotonic) -> None:
        self._intervals_s: Mapping[str, float] = {rate.endpoint: rate.interval_s for rate in rates}
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._free_s: dict[str, float] = {}
        """The time of the next token of each endpoint with a rate."""
        self._paused_s: dict[str, float] = {}
        """The end of the pause of each endpoint."""
        self._stopped = False
        self._refusals: dict[str, str] = {}
        """The endpoints that ask for a longer pause than RETRY_AFTER_S_MAX, in words."""

    @property
    def refusal(self) -> str | None:
        """Return why nobody may go on: an endpoint asks for too long a pause; None if none does."""
        return next(iter(self._refusals.values()), None)

    def pause(self, endpoint: str, seconds: float) -> None:
        """Let nobody ask an endpoint for some seconds. A pause never becomes shorter."""
        with self._lock:
            until_s = self._clock_s() + seconds
            self._paused_s[endpoint] = max(until_s, self._paused_s.get(endpoint, -math.inf))
            if seconds > RETRY_AFTER_S_MAX:
                self._refusals[endpoint] = (
                    f"{endpoint or 'the agent'} asks to wait {describe_seconds(seconds)}, "
                    f"and a run waits at most {describe_seconds(RETRY_AFTER_S_MAX)}"
                )

    def stop(self) -> None:
        """End the waits of all threads."""
        self._stopped = True

    async def acquire(self, endpoints: Iterable[str]) -> None:
        """Wait until every endpoint may be asked, and take a token of each. Cancelling ends the wait.

        Errors: PauseTooLong.
        """
        names = tuple(dict.fromkeys(endpoints))
        while (at_s := self._reserve(names)) is not None:
            while (left_s := at_s - self._clock_s()) > 0:  # noqa: ASYNC110 - a sleep may end too early
                await asyncio.sleep(left_s)
            if not self._is_paused(names):
                return

    def acquire_blocking(self, endpoint: str) -> None:
        """Wait as `acquire` does, on a thread; `stop` ends the wait. Errors: PauseTooLong."""
        while (at_s := self._reserve((endpoint,))) is not None and not self._stopped:
            while (left_s := at_s - self._clock_s()) > 0 and not self._stopped:
                time.sleep(min(left_s, SLICE_S))
            if not self._is_paused((endpoint,)):
                return

    def _reserve(self, endpoints: tuple[str, ...]) -> float | None:
        """Take the next tokens; return the time from which they hold; None if that is now. Errors: PauseTooLong."""
        with self._lock:
            now_s = at_s = self._clock_s()
            for endpoint in endpoints:
                if endpoint in self._refusals:
                    raise PauseTooLong(self._refusals[endpoint])
                at_s = max(at_s, self._paused_s.get(endpoint, now_s), self._free_s.get(endpoint, now_s))
            for endpoint in endpoints:
                if (interval_s := self._interval_s(endpoint)) is not None:
                    self._free_s[endpoint] = at_s + interval_s
            return at_s if at_s > now_s else None

    def _interval_s(self, endpoint: str) -> float | None:
        """Return the interval of an endpoint: that of its host and port, or that of its host."""
        stated = self._intervals_s.get(endpoint)
        return self._intervals_s.get(endpoint.rpartition(":")[0]) if stated is None and endpoint else stated

    def _is_paused(self, endpoints: tuple[str, ...]) -> bool:
        with self._lock:
            now_s = self._clock_s()
            return any(self._paused_s.get(endpoint, now_s) > now_s for endpoint in endpoints)


def describe_seconds(seconds: float) -> str:
    """Write a time to wait for people: `30 s`, `45 min`, `2 h 1 s`; from 10 minutes on in whole seconds."""
    if seconds < 600:
        return f"{seconds:.6g} s"
    minutes, left_s = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60) if minutes >= 120 else (0, minutes)
    parts = {"h": hours, "min": minutes, "s": left_s}
    return " ".join(f"{number:,} {unit}" for unit, number in parts.items() if number)


def stated_wait_s(status: int, headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a busy endpoint asks to wait; None if it is not busy, or states none."""
    return parse_retry_after(headers.get("retry-after", "")) if status in BUSY_STATUSES else None


def parse_retry_after(value: str) -> float | None:
    """Return the seconds to wait; None if the value is neither a number of seconds nor a date."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return max(RETRY_AFTER_S_MIN, float(value[:_DIGITS_MAX]))
    try:
        retry_at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(RETRY_AFTER_S_MIN, retry_at.timestamp() - time.time())
