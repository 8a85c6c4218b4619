"""What was computed of groups of rows, kept while it holds.

It holds while no value of the columns changes that it was computed from, and until a decision becomes due or reaches
another age. Threads share it. It can be saved beside a snapshot, by the digests of these columns, so that a restart
computes it only for the rows that are newer: a value is a chunk of its own, which is read when it is used.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from projections.chunk_store import ChunkSource, ChunkTarget
from projections.column_table import ColumnTable

_Value = TypeVar("_Value", bound=tuple[npt.NDArray[Any], ...])

KEPT_FILTERS_MAX: Final = 4
"""Filters for which parts are kept at a time."""

Column = tuple[ColumnTable, str]
"""A column by its name."""


class State(NamedTuple):
    """The rows of a group, numbers of which one is another after a column changed, and a number of what else counts."""

    rows: int
    stamps: tuple[int, ...]
    version: int


class Held(NamedTuple, Generic[_Value]):
    """A value, the state of the group of rows that it was computed from, and since and until when it holds.

    `read` returns the value; None if it is not worth keeping.
    """

    state: State
    since_us: int
    until_us: int
    read: Callable[[], _Value] | None


class SavedGroup(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a full group of rows, by the digests of the columns that it was computed from.

    `value` is the digest of the chunk that has it.
    """

    group: int
    digests: list[bytes]
    version: int
    since_us: int
    until_us: int
    value: bytes | None


class SavedValue(Generic[_Value]):
    """A value in a chunk, which is read when it is first used."""

    def __init__(self, digest: bytes, read: Callable[[bytes], _Value]) -> None:
        self.digest = digest
        self._read = read

    def __call__(self) -> _Value:
        """Return the value. Errors: ViewDamaged."""
        return self._value

    @cached_property
    def _value(self) -> _Value:
        return self._read(self.digest)


class KeptGroups(Generic[_Value]):
    """A value for each group of rows, a named tuple of arrays of some types; None if it is not worth keeping."""

    def __init__(self, kind: type[_Value], *types: type[np.generic]) -> None:
        self._kind, self._types = kind, types
        self._held: dict[int, Held[_Value]] = {}

    def get(self, group: int, state: State, now_us: int) -> Held[_Value] | None:
        """Return what is held of a group, if it holds."""
        held = self._held.get(group)
        return held if held is not None and held.state == state and held.since_us <= now_us < held.until_us else None

    def put(self, group: int, state: State, now_us: int, until_us: int, value: _Value | None) -> Held[_Value]:
        """Keep the value of a group."""
        held = self._held[group] = Held(state, now_us, until_us, None if value is None else lambda: value)
        return held

    def held(self, group: int) -> Held[_Value] | None:
        """Return what is held of a group, whether it holds or not."""
        return self._held.get(group)

    def saved(self, columns: Sequence[Column], target: ChunkTarget) -> list[SavedGroup]:
        """Return what is held of full groups of frozen columns, and store the values that are not stored yet."""
        found, full = [], columns[0][0].full_groups
        for group, held in sorted(dict(self._held).items()):
            if group >= full or held.state != state_of(columns, group, held.state.version):
                continue
            digests = [column.digest(name, group) for column, name in columns]
            value = None if held.read is None else _store(held.read, target)
            found.append(SavedGroup(group, digests, held.state.version, held.since_us, held.until_us, value))
        return found

    def restore(self, columns: Sequence[Column], saved: Sequence[SavedGroup], source: ChunkSource) -> None:
        """Hold what was saved of columns that have the same values now."""

        def decode(digest: bytes) -> _Value:
            arrays = msgspec.msgpack.decode(source.read(digest), type=list[memoryview])
            return self._kind(*(np.frombuffer(array, kind) for array, kind in zip(arrays, self._types, strict=True)))

        for one in saved:
            if [column.digest(name, one.group) for column, name in columns] == one.digests:
                value = None if one.value is None else SavedValue(one.value, decode)
                state = state_of(columns, one.group, one.version)
                self._held[one.group] = Held(state, one.since_us, one.until_us, value)


def _store(read: Callable[[], tuple[npt.NDArray[Any], ...]], target: ChunkTarget) -> bytes:
    """Store a value, and return its digest."""
    if isinstance(read, SavedValue):
        target.keep(read.digest)
        return read.digest
    return target.store(msgspec.msgpack.encode([memoryview(array.tobytes()) for array in read()]))


def state_of(columns: Sequence[Column], group: int, version: int = 0) -> State:
    """Return the state of some columns of a group of rows; `version` is a number of what else a value depends on."""
    start, end = columns[0][0].bounds(group)
    return State(end - start, tuple(table.stamp(name, group) for table, name in columns), version)
