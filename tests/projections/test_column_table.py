"""Tables of columns have the values of plain arrays, whatever is changed, frozen, saved, restored or released."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ledger.errors import ViewDamaged
from projections import column_table
from projections.column_table import ColumnTable, digest_tables, equal_tables
from tests.projections.chunks import Chunks, restore_tables

ROWS = 4
"""Rows in a group of these tests."""

counts = st.integers(0, 3 * ROWS)
numbers = st.integers(0, 3)
names = st.sampled_from(["code", "number", "share"])


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_table, "GROUP_ROWS", ROWS)


def new_table() -> ColumnTable:
    return ColumnTable(code=np.uint8, number=np.int64, share=np.float64)


def save(table: ColumnTable, chunks: Chunks) -> ColumnTable:
    """Save a table, and return one that is restored from what was saved."""
    new = new_table()
    restore_tables({"t": table}, {"t": new}, chunks)
    return new


class Tables(RuleBasedStateMachine):
    """A table beside plain arrays, and frozen ones beside copies of these arrays."""

    def __init__(self) -> None:
        super().__init__()
        self.groups = pytest.MonkeyPatch()
        self.groups.setattr(column_table, "GROUP_ROWS", ROWS)
        self.table = new_table()
        self.plain = {name: np.zeros(0, kind) for name, kind in (("code", "u1"), ("number", "i8"), ("share", "f8"))}
        self.frozen: list[tuple[ColumnTable, dict[str, np.ndarray]]] = []
        self.stamped: dict[tuple[str, int, int], list[float]] = {}
        """The values that each chunk had with each stamp, of as many rows as were seen."""
        self.chunks = Chunks()

    def teardown(self) -> None:
        self.groups.undo()

    @rule(count=counts, seed=st.integers(0, 99), given_columns=st.sets(names))
    def append(self, count: int, seed: int, given_columns: set[str]) -> None:
        rng = np.random.default_rng(seed)
        new = {name: rng.integers(0, 3, count).astype(self.plain[name].dtype) for name in given_columns}
        self.table.append(count, new)
        for name, column in self.plain.items():
            self.plain[name] = np.concatenate([column, new.get(name, np.zeros(count, column.dtype))])

    @rule(
        name=st.sampled_from(["code", "number", "share"]),
        places=st.lists(st.integers(0, 99), max_size=5),
        value=numbers,
    )
    def put(self, name: str, places: list[int], value: int) -> None:
        if not len(self.table):
            return
        rows = np.array(places, dtype=np.int64) % len(self.table)
        values = (np.arange(len(rows)) + value).astype(self.plain[name].dtype)
        self.table.put(name, rows, values)
        self.plain[name] = self.plain[name].copy()
        self.plain[name][rows] = values

    @rule()
    def freeze(self) -> None:
        self.frozen.append((self.table.freeze(), dict(self.plain)))

    @rule()
    def digest(self) -> None:
        self.table.saved()

    @rule()
    def go_on_from_what_is_saved(self) -> None:
        restored = save(self.table, self.chunks)
        assert equal_tables(restored, self.table)
        self.table = restored

    @rule()
    def save_and_release(self) -> None:
        save(self.table, self.chunks)
        self.table.release()
        self.table.release()

    @invariant()
    def has_the_values_of_plain_arrays(self) -> None:
        for table, plain in [(self.table, self.plain), *self.frozen]:
            for name, column in plain.items():
                assert len(table) == len(column)
                assert table.column(name).tolist() == column.tolist()
                rows = np.arange(len(column))[::-2]
                assert table.take(name, rows).tolist() == column[rows].tolist()
                for group in range(table.groups):
                    assert not (table.is_zero(name, group) and column[slice(*table.bounds(group))].any())

    @invariant()
    def has_equal_values_with_equal_stamps(self) -> None:
        for table, plain in [(self.table, self.plain), *self.frozen]:
            for name, column in plain.items():
                for group in range(table.groups):
                    values = column[slice(*table.bounds(group))].tolist()
                    seen = self.stamped.setdefault((name, group, table.stamp(name, group)), values)
                    common = min(len(seen), len(values))
                    assert seen[:common] == values[:common]
                    seen += values[common:]


TestTables = Tables.TestCase
TestTables.settings = settings(stateful_step_count=12, deadline=None)


@given(st.lists(counts, max_size=6))
def test_the_digest_depends_on_the_values_alone(sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_table, "GROUP_ROWS", ROWS)
        values = (np.arange(sum(sizes)) * 7 % 5).astype(np.uint8)
        whole, parts = new_table(), new_table()
        whole.append(len(values), {"code": values})
        done = 0
        for size in sizes:
            parts.append(size, {"code": values[done : done + size]})
            parts.saved()
            done += size
        if len(values):
            parts.put("share", np.array([0]), 1)
            assert digest_tables({"t": whole}) != digest_tables({"t": parts})
            parts.put("share", np.array([0]), 0)
        assert digest_tables({"t": whole}) == digest_tables({"t": parts})


def test_only_what_changed_is_saved_again_and_only_what_is_read_is_loaded() -> None:
    table, chunks = new_table(), Chunks()
    table.append(3 * ROWS, {"number": np.arange(3 * ROWS), "code": np.ones(3 * ROWS, np.uint8)})
    save(table, chunks)
    assert len(chunks) == 3 + 1, "equal chunks are saved once"
    table.put("number", np.array([0]), 99)
    changed = table.freeze()
    assert len(list(changed.unsaved(chunks))) == 1
    restored = save(table, chunks)
    assert restored.take("number", np.array([0, 3 * ROWS - 1])).tolist() == [99, 3 * ROWS - 1]
    assert chunks.reads == 2
    restored.chunk("number", 2)
    assert chunks.reads == 2
    restored.release()
    restored.release()
    restored.chunk("number", 2)
    assert chunks.reads == 3


def test_a_frozen_table_has_the_same_stamps_until_the_other_changes() -> None:
    table = new_table()
    table.append(ROWS + 2, {"number": np.arange(ROWS + 2)})
    frozen = table.freeze()
    before = [frozen.stamp("number", group) for group in range(2)]
    assert [table.stamp("number", group) for group in range(2)] == before
    table.append(1, {"number": np.array([9])})
    assert [table.freeze().stamp("number", group) for group in range(2)] == before, "rows were only added"
    table.put("number", np.array([ROWS + 1]), 99)
    assert table.stamp("number", 0) == before[0]
    assert table.stamp("number", 1) == table.freeze().stamp("number", 1) != before[1]
    assert [frozen.stamp("number", group) for group in range(2)] == before
    assert frozen.column("number").tolist() == list(range(ROWS + 2))


def test_a_damaged_chunk_is_an_error_when_it_is_read() -> None:
    table, chunks = new_table(), Chunks()
    table.append(ROWS, {"number": np.arange(ROWS)})
    restored = save(table, chunks)
    for digest in chunks:
        chunks[digest] = b"\0" + chunks[digest][1:] if chunks[digest][0] else b"\1" + chunks[digest][1:]
    assert restored.chunk("code", 0).tolist() == [0] * ROWS
    with pytest.raises(ViewDamaged):
        restored.chunk("number", 0)


def test_a_row_that_the_table_lacks_is_an_error() -> None:
    table = new_table()
    table.append(2, {})
    for row in (2, ROWS, -1):
        with pytest.raises(IndexError):
            table.take("code", np.array([row]))
    with pytest.raises(ValueError, match="other columns"):
        ColumnTable(code=np.uint8).restore(table.saved(), Chunks())
