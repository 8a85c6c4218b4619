"""Makes the ids that the client sends: new ones sort by time, and a retry uses the same ones again."""

import os
import threading
import time
import uuid

_COUNTER_BITS = 12
_DERIVED = uuid.UUID("6f1f4c39-5d0a-5b0c-9d0e-3a8f6f0a7c11")
"""The namespace of derived ids (RFC 9562, version 5): a constant, so that they are the same in every process."""


class EventIds:
    """Makes UUIDv7 (RFC 9562) that always increase within a process, also within a millisecond."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ms = 0
        self._counter = 0

    def make(self, now_ms: int | None = None) -> str:
        """Return a new id, 36 characters: milliseconds since 1970, a counter of 12 bits, 62 random bits."""
        seed = int.from_bytes(os.urandom(10), "big")
        with self._lock:
            ms = max(self._ms, time.time_ns() // 1_000_000 if now_ms is None else now_ms)
            if ms > self._ms:
                self._counter = seed >> 69  # 11 random bits, so that at least half of the counter's range is free
            else:
                self._counter += 1
            if self._counter >> _COUNTER_BITS:
                ms, self._counter = ms + 1, 0
            self._ms = ms
            counter = self._counter
        random_bits = seed & ((1 << 62) - 1)
        return str(uuid.UUID(int=ms << 80 | 7 << 76 | counter << 64 | 2 << 62 | random_bits))


new_event_id = EventIds().make
"""Make the id of an event: a UUIDv7."""


def new_stream_id() -> str:
    """Make the id of a decision or a thought: 20 random hex digits, so that the first few name it, as clients do."""
    return os.urandom(10).hex()


def derived_event_id(*parts: str) -> str:
    """Return an id that depends only on these parts: a UUIDv5, the same in every process."""
    return str(uuid.uuid5(_DERIVED, "\n".join(parts)))


def recorded_event_id(decision_id: str) -> str:
    """Return the id of the event that records a decision whose id the caller chose."""
    return f"decision/{decision_id}/recorded"


def reviewed_event_id(decision_id: str) -> str:
    """Return the id of the event by which a `with client.decision(...)` block reviews its decision."""
    return f"decision/{decision_id}/reviewed"
