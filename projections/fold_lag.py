"""How long a committed event may have been waiting to be folded, at most."""

import time


class FoldLag:
    """The time since every committed event was folded: none while the engine waits for the next event."""

    def __init__(self) -> None:
        self._current_s = time.monotonic()
        self._waits_at: int | None = None

    def seconds(self, position: int) -> float:
        """Return the time in seconds, for an engine at a position that is not the newest."""
        return 0.0 if position == self._waits_at else time.monotonic() - self._current_s

    def note_folded(self, before_s: float) -> None:
        """Note that every event committed before a moment, by the monotonic clock, is folded."""
        self._current_s = before_s

    def begin_wait(self, position: int) -> None:
        """Note that the engine waits at a position, which is the newest."""
        self._waits_at = position

    def end_wait(self, position: int) -> None:
        """Note that there may be a newer event. Until now every event was folded, if the engine is where it waited."""
        if position == self._waits_at:
            self._current_s = time.monotonic()
        self._waits_at = None
