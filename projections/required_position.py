"""The position that the running request must see: what was committed when it came.

A request that asks several views, or waits between two of them, then waits only once for events to be folded.
"""

from contextvars import ContextVar

_required: ContextVar[int | None] = ContextVar("_required", default=None)


def require_position(position: int) -> None:
    """From now on in this task, views that have folded up to a position are new enough."""
    _required.set(position)


def required_position() -> int | None:
    """Return the position up to which views must have been folded; None if it is the newest one."""
    return _required.get()
