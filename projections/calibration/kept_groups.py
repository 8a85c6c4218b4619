"""What was computed of groups of rows, kept while it holds.

It holds while no value of the columns changes that it was computed from, and until a decision becomes due or reaches
another age. Threads share it.
"""

from typing import Final, Generic, NamedTuple, TypeVar

from projections.column_table import ColumnTable

_Value = TypeVar("_Value")

KEPT_KINDS_MAX: Final = 4
"""Kinds of questions for which parts are kept at a time."""


class State(NamedTuple):
    """The rows of a group, and numbers of which one is another after what is computed of them changed."""

    rows: int
    stamps: tuple[int, ...]


class Held(NamedTuple, Generic[_Value]):
    """A value, the state of the group of rows that it was computed from, and since and until when it holds."""

    state: State
    since_us: int
    until_us: int
    value: _Value


class KeptGroups(Generic[_Value]):
    """A value for each group of rows."""

    def __init__(self) -> None:
        self.held: dict[int, Held[_Value]] = {}

    def get(self, group: int, state: State, now_us: int) -> Held[_Value] | None:
        """Return the value of a group, if it holds."""
        held = self.held.get(group)
        return held if held is not None and held.state == state and held.since_us <= now_us < held.until_us else None

    def put(self, group: int, state: State, now_us: int, until_us: int, value: _Value) -> Held[_Value]:
        """Keep the value of a group."""
        held = self.held[group] = Held(state, now_us, until_us, value)
        return held


def state_of(table: ColumnTable, group: int, names: tuple[str, ...], *others: int) -> State:
    """Return the state of some columns of a group of rows; `others` are numbers of what else a value depends on."""
    start, end = table.bounds(group)
    return State(end - start, (*(table.stamp(name, group) for name in names), *others))
