"""The decisions projection: an index to find, sort and count decisions by their fields.

The state is a table: one row for each decision, about 45 bytes beside those of `decision_numbers.py`, in the order in
which decisions were recorded. A decision's name and texts are not in the state: to show a decision, its stream is read
and folded (`decision_state.py`).
"""

from array import array
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from events.decision import DecisionAmended, DecisionPreserved, DecisionRecorded, DecisionRetracted, DecisionReviewed
from events.envelope import agent_of
from events.model_names import join_names
from events.payload import Payload
from ledger.clock import microseconds, moment_of
from projections.arrays import RowNumbers, row_numbers_by_group, split_runs
from projections.column_table import ColumnTable
from projections.columns import GroupKey, as_array
from projections.decisions.decision_counts import DecisionCounts, LevelCounts, count_decisions, count_levels
from projections.decisions.decision_lists import DecisionLists, Order, Rows
from projections.decisions.decision_numbers import DecisionNumbers
from projections.decisions.decision_selection import STATUSES, DecisionSelection, Status
from projections.decisions.group_fields import NO_TAGS, GroupField, GroupFields, TagSets
from projections.decisions.index_columns import DATED, HAS_PR, PRESERVED, RETRACTED, IndexColumns, StatusCounts
from projections.decisions.stated_texts import NO_TEXT, StatedTexts
from projections.decisions.word_rows import RowsWithWords
from projections.event_slice import EventSlice
from projections.outcome_codes import OUTCOME_NUMBERS
from projections.projection import Projection
from projections.saved_state import Part, nested, rebuilt

_NAN = float("nan")

_NAMED: Mapping[str, GroupField] = {
    "agent": "source", "category": "category", "project": "project", "feature": "feature",
}  # fmt: skip
"""The fields with names of which there may be many."""


class DecisionIndex(Projection):
    """An index of decisions, in the order in which they were recorded."""

    name: ClassVar[str] = "decisions"
    version: ClassVar[int] = 9
    reads: ClassVar[tuple[type[Payload], ...]] = (
        DecisionRecorded, DecisionAmended, DecisionPreserved, DecisionReviewed, DecisionRetracted,
    )  # fmt: skip

    parts: ClassVar[Mapping[str, Part]] = {
        "recorded": nested("_columns.numbers", DecisionNumbers),
        "shareds": rebuilt("_columns.groups", list[GroupKey], lambda groups: list(groups.numbers), GroupFields),
        "tagsets": rebuilt("_columns.tagsets", list[tuple[str, ...]], lambda tagsets: list(tagsets.numbers), TagSets),
        "models": rebuilt("_columns.models", list[str], lambda models: list(models.texts), StatedTexts),
        "by_fields": rebuilt("_columns.by_fields", bytes, StatusCounts.tobytes, StatusCounts),
        "by_rows": rebuilt("_columns.by_rows", bytes, StatusCounts.tobytes, StatusCounts),
    }

    def __init__(self) -> None:
        self._columns = IndexColumns()
        self._lists = DecisionLists(self._columns)

    @property
    def numbers(self) -> DecisionNumbers:
        """The row numbers of decisions. Other projections that number them in the same order may share it."""
        return self._columns.numbers

    def fold(self, events: EventSlice) -> None:
        columns = self._columns
        groups, add_group, number_tags = columns.groups.numbers, columns.groups.add, columns.tagsets.number
        new, changes = _NewRows(), _Changes()
        group, tags, confidence, models = new.group, new.tags, new.confidence, new.models
        reviewed, outcome = changes.reviewed, changes.outcome
        for event, row in zip(events, columns.numbers.fold(events), strict=True):
            data = event.data
            if type(data) is DecisionRecorded:
                key = (event.source, data.category, data.stakes, data.project, data.feature)
                number = groups.get(key)
                group.append(add_group(key) if number is None else number)
                tags.append(number_tags(data.tags) if data.tags else NO_TAGS)
                confidence.append(_NAN if data.confidence is None else data.confidence)
                model, reported = data.model, data.reported_model
                models.append(model if reported is None else join_names(model, reported))
                if data.pattern or data.pr is not None or data.review_by is not None:
                    new.state(data)
            elif type(data) is DecisionReviewed:
                reviewed.append(row)
                outcome.append(OUTCOME_NUMBERS[data.outcome])
            elif type(data) is DecisionAmended:
                changes.amend(row, data, columns.tagsets)
            elif type(data) is DecisionRetracted:
                changes.retracted.append(row)
            elif type(data) is DecisionPreserved:
                changes.preserved[row] = data.preserve
        columns.append(len(group), new.columns(columns.models))
        changes.apply(columns)

    def tables(self) -> Mapping[str, ColumnTable]:
        return {"recorded": self._columns.numbers.table, "decisions": self._columns.table}

    def summary(self) -> Mapping[str, object]:
        return msgspec.to_builtins(self.count(DecisionSelection()))  # type: ignore[no-any-return]

    def frozen(self) -> "DecisionIndex":
        """Return the index as it is now, for a view that waits for something else before it is finished."""
        frozen = DecisionIndex()
        frozen._columns = self._columns.frozen()
        frozen._lists = self._lists.of_frozen(frozen._columns)
        return frozen

    def __len__(self) -> int:
        return len(self._columns.table)

    def names(self) -> dict[str, set[str]]:
        """Return the agents, categories, projects, features, tags and clusters of all decisions."""
        groups = self._columns.groups
        return {
            "agent": {agent_of(source) for source in groups.values("source") if source is not None},
            "category": {name for name in groups.values("category") if name is not None},
            "project": {name for name in groups.values("project") if name is not None},
            "feature": {name for name in groups.values("feature") if name is not None},
            "tag": self._columns.tagsets.tags,
            "cluster": set(self._columns.numbers.clusters.texts),
        }

    def count_names(self) -> dict[str, list[tuple[str, int]]]:
        """Return the agents, categories, projects, features, tags and models of all decisions, each with a number.

        A tag has the number of different sets of tags with it, another name that of decisions. No decision is read.
        """
        columns = self._columns
        by_fields = columns.by_fields.table.sum(axis=1)
        counted: dict[str, list[tuple[str, int]]] = {}
        for parameter, field in _NAMED.items():
            values, codes = columns.groups.values(field), columns.groups.codes(field)
            numbers = np.bincount(codes, by_fields, len(values)).astype(np.int64).tolist()
            counted[parameter] = [(name, n) for name, n in zip(values, numbers, strict=True) if name is not None]
        by_model = self._lists.count_codes("model", len(columns.models.texts) + 1).tolist()
        return {
            **counted,
            "agent": [(agent_of(source), n) for source, n in counted["agent"]],
            "tag": columns.tagsets.count_tags(),
            "model": list(zip(columns.models.texts, by_model[NO_TEXT + 1 :], strict=True)),
        }

    @property
    def models(self) -> Sequence[str]:
        """The names of the models of all decisions, joined by `join_names`."""
        return list(self._columns.models.texts)

    def page(
        self,
        selection: DecisionSelection,
        order: Order,
        offset: int,
        limit: int,
        among: RowsWithWords | None = None,
    ) -> Rows:
        """Return how many decisions pass a filter, and the row numbers of one page of them.

        With `among`, only decisions that have some words pass.
        """
        return self._lists.page(selection, order, offset, limit, among)

    def page_among(self, rows: RowNumbers, selection: DecisionSelection, order: Order, offset: int, limit: int) -> Rows:
        """Return the same of the decisions in some rows, which ascend."""
        kept = rows[self.passing(rows, selection)]
        return Rows(len(kept), self._lists.sort(kept, order)[offset : offset + limit])

    def total(self, selection: DecisionSelection) -> int:
        """Return the number of decisions that pass a filter."""
        return self._lists.total(selection)

    def find(self, selection: DecisionSelection) -> RowNumbers:
        """Return the row numbers of all decisions that pass a filter, the oldest first."""
        return self._lists.find(selection)

    def passing(self, rows: RowNumbers, selection: DecisionSelection) -> npt.NDArray[np.bool_]:
        """Return which of some decisions pass a filter."""
        return self._lists.passing(rows, selection)

    def positions(self, rows: RowNumbers) -> list[int]:
        """Return the positions at which the decisions in `rows` were recorded. The engine names their streams."""
        return self._columns.numbers.positions(rows)

    def pull_requests(self, rows: RowNumbers) -> dict[int, int]:
        """Return the pull requests of the decisions in `rows` that state one, by row number."""
        stating = self._with_flag(rows, HAS_PR)
        return dict(zip(stating.tolist(), self._columns.take("pr", stating).tolist(), strict=True))

    def review_times(self, rows: RowNumbers) -> dict[int, datetime]:
        """Return the review dates of the decisions in `rows` that have one, by row number."""
        dated = self._with_flag(rows, DATED)
        return dict(zip(dated.tolist(), map(moment_of, self._columns.take("due_us", dated).tolist()), strict=True))

    def _with_flag(self, rows: RowNumbers, flag: int) -> RowNumbers:
        stated: npt.NDArray[np.bool_] = self._columns.take("flags", rows) & np.uint8(flag) != 0
        return rows[stated]

    def shared_patterns(self, rows: RowNumbers, limit: int, least: int = 2) -> tuple[int, list[RowNumbers]]:
        """Return the patterns of the decisions in `rows` as `group_patterns` finds them."""
        digests = self._columns.take("pattern", rows)
        return group_patterns(digests[digests != 0], rows[digests != 0], limit, least)

    def rows_by_category(self, rows: RowNumbers) -> list[tuple[str, RowNumbers]]:
        """Return the row numbers in `rows` of each category, by its name; without decisions that have none."""
        values = self._columns.groups.values("category")
        names = sorted(name for name in values if name is not None)
        ranks = np.full(len(values), len(names), dtype=np.uint32)
        ranks[[values[name] for name in names]] = np.arange(len(names))
        places = row_numbers_by_group(ranks[self._columns.take_codes("category", rows)], len(names))
        return [(name, rows[group]) for name, group in zip(names, places, strict=True) if len(group)]

    def categories(self, rows: RowNumbers) -> list[str]:
        """Return the categories of the decisions in `rows`."""
        return [name for name, _ in self.rows_by_category(rows)]

    def count_levels(self, selection: DecisionSelection, now: datetime) -> LevelCounts:
        """Count the decisions that pass a filter by their compaction level."""
        return count_levels(self._columns, selection, now)

    def count(self, selection: DecisionSelection) -> DecisionCounts:
        """Count the decisions that pass a filter by category, stakes, status, agent, day (UTC) and tag."""
        return count_decisions(self._columns, selection)

    def count_by_agent(self) -> dict[str, dict[Status, int]]:
        """Return the number of decisions with each status of every agent, at any time."""
        sources, counts = self._columns.groups.values("source"), self._columns.by_fields.table
        by_source = np.zeros((len(sources), len(STATUSES)), np.int64)
        np.add.at(by_source, self._columns.groups.codes("source"), counts)
        rows = zip(sources, by_source.tolist(), strict=True)
        return {agent_of(source or ""): dict(zip(STATUSES, row, strict=True)) for source, row in rows}


class _NewRows:
    """The decisions that a slice records."""

    def __init__(self) -> None:
        self.group = array("I")
        self.tags = array("I")
        self.confidence = array("d")
        self.models: list[str | None] = []
        self.patterns: list[tuple[int, int]] = []
        """Place among the new rows, and digest of the pattern, of the decisions that state one. The others likewise."""
        self.prs: list[tuple[int, int]] = []
        self.dues: list[tuple[int, int]] = []

    def state(self, data: DecisionRecorded) -> None:
        """Note what few decisions state, of the last of the new rows."""
        place = len(self.group) - 1
        if data.pattern:
            self.patterns.append((place, pattern_digest(data.pattern)))
        if data.pr is not None:
            self.prs.append((place, data.pr))
        if data.review_by is not None:
            self.dues.append((place, microseconds(data.review_by)))

    def columns(self, models: StatedTexts) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of the new rows that have other values than zeros."""
        columns: dict[str, npt.NDArray[Any]] = {
            "group": as_array(self.group, np.uint32),
            "tags": as_array(self.tags, np.uint32),
            "confidence": as_array(self.confidence, np.float64),
            "model": models.numbers_of(self.models),
        }
        for name, stated, kind, flag in (
            ("pattern", self.patterns, np.uint64, 0),
            ("pr", self.prs, np.uint64, HAS_PR),
            ("due_us", self.dues, np.int64, DATED),
        ):
            if stated:
                places = [place for place, _ in stated]
                columns[name] = np.zeros(len(self.group), kind)
                columns[name][places] = np.array([value for _, value in stated], kind)
                if flag:
                    columns.setdefault("flags", np.zeros(len(self.group), np.uint8))[places] |= np.uint8(flag)
        return columns


class _Changes:
    """What a slice changes in rows, which may be among its own; the latest change of a row last."""

    def __init__(self) -> None:
        self.reviewed = array("q")
        self.outcome = bytearray()
        """The outcome of each of the reviews."""
        self.retracted: list[int] = []
        self.preserved: dict[int, bool] = {}
        self.confidence: list[tuple[int, float]] = []
        """Row number and new value, as of the other columns that amendments change."""
        self.tags: list[tuple[int, int]] = []
        self.patterns: list[tuple[int, int]] = []

    def amend(self, row: int, data: DecisionAmended, tagsets: TagSets) -> None:
        """Note what an amendment changes in a row."""
        if data.confidence is not None:
            self.confidence.append((row, data.confidence))
        if data.tags is not None:
            self.tags.append((row, tagsets.number(data.tags)))
        if data.pattern is not None:
            self.patterns.append((row, pattern_digest(data.pattern) if data.pattern else 0))

    def apply(self, columns: IndexColumns) -> None:
        """Change the columns. Errors: IndexError, for a decision that was not recorded."""
        table = columns.table
        for name, changed, kind in (
            ("confidence", self.confidence, np.float64), ("tags", self.tags, np.uint32),
            ("pattern", self.patterns, np.uint64),
        ):  # fmt: skip
            if changed:
                rows = np.array([row for row, _ in changed], dtype=np.int64)
                table.put(name, rows, np.array([value for _, value in changed], kind))
        if self.preserved:
            stated = np.array(list(self.preserved.values()), dtype=bool)
            _put_flag(table, np.array(list(self.preserved), dtype=np.int64), PRESERVED, stated)
        self._change_statuses(columns)

    def _change_statuses(self, columns: IndexColumns) -> None:
        if not self.reviewed and not self.retracted:
            return
        reviewed, retracted = as_array(self.reviewed, np.int64), np.array(self.retracted, dtype=np.int64)
        rows = np.unique(np.concatenate([reviewed, retracted]))
        before = columns.take_statuses(rows)
        columns.table.put("outcome", reviewed, as_array(self.outcome, np.uint8))
        _put_flag(columns.table, retracted, RETRACTED, np.ones(len(retracted), dtype=bool))
        columns.move(rows, before)


def _put_flag(table: ColumnTable, rows: RowNumbers, flag: int, stated: npt.NDArray[np.bool_]) -> None:
    others = table.take("flags", rows) & np.uint8(~flag & 0xFF)
    table.put("flags", rows, others | np.where(stated, np.uint8(flag), np.uint8(0)))


def pattern_digest(pattern: str) -> int:
    """Return a number 1..2**64-1 for a pattern. Two patterns have the same one with probability 2**-64."""
    return int.from_bytes(blake2b(pattern.encode("utf-8", "surrogatepass"), digest_size=8).digest()) or 1


def group_patterns(
    digests: npt.NDArray[np.uint64], rows: RowNumbers, limit: int, least: int
) -> tuple[int, list[RowNumbers]]:
    """Count the patterns that at least `least` decisions have, given the digest and the row number of each decision.

    Return that count, and the row numbers of the decisions of each of the `limit` most frequent patterns.
    """
    order = np.argsort(digests, kind="stable")
    rows = rows[order]
    starts, counts = split_runs(digests[order])
    shared = np.flatnonzero(counts >= least)
    ranked = shared[np.lexsort((rows[starts[shared]], -counts[shared]))][:limit]
    return len(shared), [rows[starts[number] : starts[number] + counts[number]] for number in ranked]
