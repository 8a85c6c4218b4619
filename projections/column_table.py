"""A table of columns in groups of rows. A column of one group, a chunk, is loaded when it is first read.

A chunk that did not change since it was saved is not saved again: snapshots name chunks by the digests of their bytes.
So a restart loads what is read, a snapshot writes what is new, and both cost the same in a log of any length.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import count
from typing import Any, Final, Self

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import split_runs
from projections.chunk_store import ALL_ZERO, ChunkSource, SavedTable

GROUP_ROWS: Final = 65_536
"""Number of rows in a group."""

Values = npt.NDArray[Any]


_stamps = count(1)


class _Chunk:
    """The values of a column in one group of rows, or where to load them from.

    `digest` is that of the values if it is known, `source` where they are saved. A chunk that has a digest, or is
    `shared` with a frozen table, is copied before its values change. `stamp` is another number after each change.
    Chunks with equal stamps have equal values in the rows that both have.
    """

    __slots__ = ("array", "digest", "shared", "source", "stamp", "used")

    def __init__(
        self,
        array: Values | None,
        digest: bytes | None = None,
        source: ChunkSource | None = None,
        stamp: int | None = None,
    ) -> None:
        self.array = array
        self.digest = digest
        self.source = source
        self.shared = False
        self.stamp = next(_stamps) if stamp is None else stamp
        self.used = True

    def values(self, dtype: np.dtype[Any]) -> Values:
        """Return the values, which must not be changed. Errors: ViewDamaged."""
        self.used = True
        array = self.array
        if array is None:
            assert self.source is not None
            assert self.digest is not None
            array = self.array = np.frombuffer(self.source.read(self.digest), dtype)
        return array


class ColumnTable:
    """Columns of equal length. A column that is not given when rows are added has zeros there.

    Threads may read a frozen table (`freeze`) while this one grows and changes.
    """

    def __init__(self, **columns: type[np.generic]) -> None:
        self._dtypes = {name: np.dtype(kind).newbyteorder("<") for name, kind in columns.items()}
        self._chunks: dict[str, list[_Chunk | None]] = {name: [] for name in columns}
        self._rows = 0
        self._group_rows = GROUP_ROWS

    def __len__(self) -> int:
        return self._rows

    @property
    def group_rows(self) -> int:
        """The number of rows in each group but the last."""
        return self._group_rows

    @property
    def groups(self) -> int:
        """The number of groups."""
        return -(-self._rows // self._group_rows)

    @property
    def full_groups(self) -> int:
        """The number of groups that have all their rows."""
        return self._rows // self._group_rows

    def bounds(self, group: int) -> tuple[int, int]:
        """Return the first row of a group, and the row after its last."""
        return group * self._group_rows, min(self._rows, (group + 1) * self._group_rows)

    def append(self, rows: int, columns: Mapping[str, Values]) -> None:
        """Add rows. `columns` has an array of that length for each column that is not zero in all of them."""
        done = 0
        while done < rows:
            group, at = divmod(self._rows, self._group_rows)
            count = min(rows - done, self._group_rows - at)
            for name, chunks in self._chunks.items():
                if at == 0:
                    chunks.append(None)
                values = columns[name][done : done + count] if name in columns else None
                if chunks[group] is not None or (values is not None and values.any()):
                    array = self._tail(name, group)
                    if values is not None:
                        array[at : at + count] = values
            self._rows += count
            done += count

    def _tail(self, name: str, group: int) -> Values:
        """Return the array of a chunk of the last group, which has space for all its rows.

        Frozen tables do not see rows that are added later, so the array may be shared with them.
        """
        chunk = self._chunks[name][group]
        if chunk is not None and chunk.digest is None and chunk.array is not None:
            return chunk.array
        return self._copy(name, group)

    def put(self, name: str, rows: npt.NDArray[Any], values: Values | int) -> None:
        """Change the values of a column in some rows; where a row is named twice, the last value stays."""
        for group, places, inside in self.by_group(rows):
            array = self._writable(name, group)
            array[inside] = values[places] if isinstance(values, np.ndarray) else values

    def _writable(self, name: str, group: int) -> Values:
        """Return the array of a chunk, to change values in it."""
        chunk = self._chunks[name][group]
        if chunk is not None and not chunk.shared and chunk.digest is None and chunk.array is not None:
            chunk.stamp = next(_stamps)
            return chunk.array
        return self._copy(name, group)

    def _copy(self, name: str, group: int) -> Values:
        """Replace a chunk by a copy that has space for all rows of a group; return its array."""
        chunk, dtype = self._chunks[name][group], self._dtypes[name]
        array = np.zeros(self._group_rows, dtype)
        if chunk is not None:
            values = chunk.values(dtype)
            array[: len(values)] = values
        self._chunks[name][group] = _Chunk(array)
        return array

    def take(self, name: str, rows: npt.NDArray[Any]) -> Values:
        """Return the values of a column in some rows, in their order."""
        found = np.zeros(len(rows), self._dtypes[name])
        for group, places, inside in self.by_group(rows):
            if self._chunks[name][group] is not None:
                found[places] = self.chunk(name, group)[inside]
        return found

    def by_group(self, rows: npt.NDArray[Any]) -> Iterator[tuple[int, npt.NDArray[Any] | slice, npt.NDArray[Any]]]:
        """Yield each group that has some of the rows, their places in `rows`, and their places in the group."""
        if not len(rows):
            return
        groups = rows // self._group_rows
        first, last = int(groups.min()), int(groups.max())
        if not 0 <= first <= last < self.groups or int(rows.max()) >= self._rows:
            raise IndexError("a row that the table does not have")
        if first == last:
            yield first, slice(None), rows - first * self._group_rows
            return
        ascending = bool((groups[1:] >= groups[:-1]).all())
        order = None if ascending else np.argsort(groups, kind="stable")
        starts, lengths = split_runs(groups if order is None else groups[order])
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
            run = slice(start, start + length)
            places = run if order is None else order[run]
            group = int(groups[places][0])
            yield group, places, rows[places] - group * self._group_rows

    def chunk(self, name: str, group: int) -> Values:
        """Return the values of a column in the rows of a group. They must not be changed."""
        start, end = self.bounds(group)
        chunk, dtype = self._chunks[name][group], self._dtypes[name]
        if chunk is None:
            return np.broadcast_to(np.zeros((), dtype), end - start)
        return chunk.values(dtype)[: end - start]

    def is_zero(self, name: str, group: int) -> bool:
        """Return whether no row of a group was ever given another value than zero."""
        return self._chunks[name][group] is None

    def column(self, name: str) -> Values:
        """Return a copy of a whole column."""
        found = np.zeros(self._rows, self._dtypes[name])
        for group in range(self.groups):
            start, end = self.bounds(group)
            found[start:end] = self.chunk(name, group)
        return found

    def stamp(self, name: str, group: int) -> int:
        """Return a number that is another one after values of a chunk changed. Rows that are added may leave it."""
        chunk = self._chunks[name][group]
        return 0 if chunk is None else chunk.stamp

    def freeze(self, *names: str) -> Self:
        """Return these columns (or all) as they are now. Later changes of this table do not reach it.

        Its chunks have the stamps of this table's, so what was counted of the one holds for the other until it changes.
        """
        frozen = type(self)()
        frozen._rows, frozen._group_rows = self._rows, self._group_rows
        for name in names or self._chunks:
            chunks = self._chunks[name]
            for chunk in chunks:
                if chunk is not None:
                    chunk.shared = True
            frozen._dtypes[name] = self._dtypes[name]
            frozen._chunks[name] = list(chunks)
        if self._rows % self._group_rows:
            for copies in frozen._chunks.values():
                last = copies[-1]
                if last is not None and last.digest is None:  # this table goes on growing in it
                    copies[-1] = _Chunk(last.array, stamp=last.stamp)
        return frozen

    def saved(self) -> SavedTable:
        """Return the table by the digests of its chunks. Of a frozen table, any thread may ask it."""
        columns = {name: [self.digest(name, group) for group in range(self.groups)] for name in self._chunks}
        return SavedTable(self._rows, columns)

    def digest(self, name: str, group: int) -> bytes:
        """Return the digest of a chunk; ALL_ZERO if it is zero. Of a frozen table, any thread may ask it."""
        chunk = self._chunks[name][group]
        if chunk is None:
            return ALL_ZERO
        if chunk.digest is not None:
            return chunk.digest
        values = self.chunk(name, group)
        chunk.digest = sha256(values.data).digest() if values.any() else ALL_ZERO
        return chunk.digest

    def unsaved(self, source: ChunkSource) -> Iterator[tuple[bytes, bytes]]:
        """Yield digest and bytes of each chunk that is not saved in a source."""
        for name in self._chunks:
            for group in range(self.groups):
                chunk, digest = self._chunks[name][group], self.digest(name, group)
                if chunk is not None and digest != ALL_ZERO and chunk.source is not source:
                    yield digest, self.chunk(name, group).tobytes()

    def note_saved(self, source: ChunkSource) -> None:
        """Note that the chunks of this frozen table are saved in a source now."""
        for chunks in self._chunks.values():
            for chunk in chunks:
                if chunk is not None and chunk.digest:
                    chunk.source = source

    def restore(self, saved: SavedTable, source: ChunkSource) -> None:
        """Make this empty table the one that was saved. Errors: ValueError, for one of other columns."""
        groups = -(-saved.rows // self._group_rows)
        if saved.columns.keys() != self._chunks.keys() or any(len(c) != groups for c in saved.columns.values()):
            raise ValueError("a table of other columns was saved")
        self._rows = saved.rows
        for name, digests in saved.columns.items():
            self._chunks[name] = [None if digest == ALL_ZERO else _Chunk(None, digest, source) for digest in digests]

    def release(self) -> None:
        """Drop from memory what is saved and was not read since the last call."""
        for chunks in self._chunks.values():
            for chunk in chunks:
                if chunk is not None and chunk.source is not None:
                    if not chunk.used:
                        chunk.array = None
                    chunk.used = False


def equal_tables(one: ColumnTable, other: ColumnTable) -> bool:
    """Return whether two tables have equal columns."""
    return len(one) == len(other) and one.saved() == other.saved()


def digest_tables(tables: Mapping[str, ColumnTable]) -> bytes:
    """Return a digest of the contents of tables by name, whatever part of them is loaded."""
    return sha256(msgspec.msgpack.encode({name: table.saved() for name, table in tables.items()})).digest()
