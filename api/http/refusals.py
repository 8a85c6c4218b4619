"""Limit what refused requests cost: by token, by client address without one, and in the log by reason.

A client gets REFUSALS_BURST refusals at once and then some per second. Beyond that, each refusal is held, so that this
rate is kept, for at most HOLD_S_MAX. Other requests are not affected.
"""

import asyncio
from collections import OrderedDict
from typing import Any, Final

from api.service.server_log import log
from events.limits import REFUSALS_BURST, REFUSALS_LOGGED_PER_S, REFUSALS_PER_S_MAX

HOLD_S_MAX: Final = 10.0
"""Seconds for which a refusal is held at most."""

CLIENTS_MAX: Final = 10_000
"""Clients that are remembered; the one that was refused longest ago is forgotten first."""


class ClientRefusals:
    """The refusals that each client may still cause at once; `per_s` 0 sets no limit."""

    def __init__(self, per_s: float = REFUSALS_PER_S_MAX) -> None:
        self.per_s = per_s
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # refusals left, and when this was computed

    def take(self, client: str, now_s: float) -> float:
        """Take one refusal of a client; return for how many seconds it is to be held."""
        if not self.per_s:
            return 0.0
        left, updated_s = self._left.pop(client, (float(REFUSALS_BURST), now_s))
        left = min(float(REFUSALS_BURST), left + (now_s - updated_s) * self.per_s) - 1.0
        self._left[client] = (max(left, -HOLD_S_MAX * self.per_s), now_s)
        if len(self._left) > CLIENTS_MAX:
            self._left.popitem(last=False)
        return min(HOLD_S_MAX, max(0.0, -left / self.per_s))

    def most_of_a_client(self) -> float:
        """Return the refusals of the client with most of them, when it was last refused."""
        return REFUSALS_BURST - min((left for left, _ in self._left.values()), default=REFUSALS_BURST)


class RefusalLog:
    """Logs refused requests: REFUSALS_LOGGED_PER_S lines per second and reason, and one line with the count beyond."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}

    def write(self, reason: str, **fields: Any) -> None:  # noqa: ANN401 - the fields of a log line
        """Log a refused request, or count it."""
        if not self._lines:
            asyncio.get_running_loop().call_later(1.0, self._end_second)
        lines = self._lines[reason] = self._lines.get(reason, 0) + 1
        if lines <= REFUSALS_LOGGED_PER_S:
            log.info("refused", reason=reason, **fields)

    def _end_second(self) -> None:
        for reason, lines in self._lines.items():
            if lines > REFUSALS_LOGGED_PER_S:
                log.info("refusals not logged", reason=reason, count=lines - REFUSALS_LOGGED_PER_S)
        self._lines.clear()
