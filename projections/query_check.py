"""What a long computation calls between its parts: it may pause there, or be stopped by an exception."""

from collections.abc import Callable

Check = Callable[[], None]


def no_check() -> None:
    """Let a computation go on."""
