"""Note which positions of the log a request reads and writes, for the audit log."""

from collections.abc import Sequence
from contextvars import ContextVar

from tallystick.shapes.appended import AppendedEvent

Span = tuple[int, int]
"""The first and the last position."""


class PositionNotes:
    """The positions that one request has read and written; None: none."""

    __slots__ = ("read", "written")

    def __init__(self) -> None:
        self.read: Span | None = None
        self.written: Span | None = None


_notes: ContextVar[PositionNotes | None] = ContextVar("_notes", default=None)


def begin_notes() -> PositionNotes:
    """Note the positions of the running task from now on."""
    notes = PositionNotes()
    _notes.set(notes)
    return notes


def note_read(positions: Sequence[int]) -> None:
    """Note that events at some positions are read."""
    notes = _notes.get()
    if notes is not None and positions:
        notes.read = _widen(notes.read, min(positions[0], positions[-1]), max(positions[0], positions[-1]))


def note_written(events: Sequence[AppendedEvent]) -> None:
    """Note that events have been appended, or were there before."""
    notes = _notes.get()
    if notes is not None:
        for event in events:
            notes.written = _widen(notes.written, event.position, event.position)


def _widen(span: Span | None, first: int, last: int) -> Span:
    return (first, last) if span is None else (min(span[0], first), max(span[1], last))
