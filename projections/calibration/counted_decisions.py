"""Decisions at one moment, read from their columns on any thread: reviewed ones, dated ones, or a row for each."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import RowNumbers
from projections.calibration.calibration_filter import KeyFilter
from projections.calibration.cells import Cells
from projections.calibration.cluster_rows import AlikeCells, ClusterRows, count_alike, join
from projections.calibration.count_table import CATEGORY_FIELD
from projections.calibration.counted_columns import COLUMNS_COUNT, COUNTS_WIDTH, OPEN, CountedColumns, Places
from projections.calibration.dependence import NewestReviews
from projections.calibration.kept_clusters import KeptClusters, KeptOlder, OlderClusters, ReadRows, ViewClusters
from projections.calibration.kept_groups import KEPT_FILTERS_MAX, Held, KeptGroups
from projections.calibration.named_clusters import NO_REVIEWS, NamedReviews, OrderedReviews
from projections.calibration.reviewed_decisions import DatedDecisions, ReviewedDecisions
from projections.calibration.span_counts import NEWEST_GROUPS
from projections.column_table import ColumnTable
from projections.outcome_codes import OUTCOME_VALUES, OUTCOMES_COUNT, UNREVIEWED
from projections.query_check import Check, no_check

_NUMBERS = np.arange(COUNTS_WIDTH)
_DUE = (_NUMBERS < OUTCOMES_COUNT) | (_NUMBERS == OPEN)
_REVIEWED = (_NUMBERS < OUTCOMES_COUNT) & (_NUMBERS != UNREVIEWED)


class DecisionRows(msgspec.Struct, frozen=True):
    """Selected decisions as arrays of equal length: row number, stated confidence (NaN: none), outcome by number."""

    number: npt.NDArray[np.intp]
    confidence: npt.NDArray[np.float64]
    outcome: npt.NDArray[np.uint8]


QuestionKind = tuple[KeyFilter, tuple[int, ...]]
"""A filter, and the fields in which reviews of clusters that are counted together are alike."""


class CountedDecisions(NamedTuple):
    """The columns of decisions at one moment, and a filter of them. Later folding does not change what it returns.

    `within` is a mask of groups that decisions must be in, too; None: any. `kept` has what was found of clusters.
    """

    cells: Cells
    columns: CountedColumns
    key_filter: KeyFilter
    since_us: int
    until_us: int
    questions: list[str]
    clusters: list[str]
    kept: dict[QuestionKind, KeptClusters]
    within: npt.NDArray[np.bool_] | None = None

    def history(self, check: Check = no_check, *, asked: bool = True) -> ReviewedDecisions:
        """Return the reviewed decisions that are due and state a confidence, in the order in which they were made.

        Questions and clusters are only read if they are `asked` for. Otherwise no decision has one.
        """
        cells, recorded, counted = self.cells, self.columns.recorded, self.columns.counted
        rows = self._places(_REVIEWED, check, stated=True)
        time_us = rows.take(recorded, "time_us")
        ascending = bool((time_us[1:] >= time_us[:-1]).all())
        order = None if ascending else np.argsort(time_us, kind="stable")
        check()

        def column(table: ColumnTable, name: str) -> npt.NDArray[Any]:
            values = rows.take(table, name)
            return values if order is None else values[order]

        def numbers(table: ColumnTable, name: str) -> npt.NDArray[np.int32]:
            if not asked:
                return np.broadcast_to(np.int32(-1), len(time_us))
            found: npt.NDArray[np.int32] = column(table, name).astype(np.int32)
            return np.subtract(found, 1, out=found)

        cell = column(counted, "cell")
        check()
        made_us = time_us if order is None else time_us[order]
        settled = self.columns.maturity.is_settled(cell, made_us, column(counted, "due_us"))
        return ReviewedDecisions(
            groups=[key[:-1] for key in cells.groups],
            models=[key[-1] for key in cells.groups],
            questions=self.questions,
            clusters=self.clusters,
            time_us=made_us,
            confidence=cells.confidence[cell],
            outcome=column(counted, "outcome"),
            group=cells.group[cell],
            question=numbers(counted, "question"),
            cluster=numbers(recorded, "cluster"),
            settled=None if settled.all() else settled,
        )

    def newest(self, reviews: int, check: Check = no_check) -> "NewestReviews":
        """Return the newest reviews with a stated confidence, in the order in which their decisions were made."""
        rows = self._places(_REVIEWED, check, stated=True, newest=reviews)
        cell, outcome = (rows.take(self.columns.counted, name)[-reviews:] for name in ("cell", "outcome"))
        time_us, cluster = (rows.take(self.columns.recorded, name)[-reviews:] for name in ("time_us", "cluster"))
        order = np.argsort(time_us, kind="stable")
        cell, time_us = cell[order].astype(np.intp), time_us[order]
        difference = OUTCOME_VALUES[outcome[order]] - self.cells.confidence[cell]
        return NewestReviews(difference, cell, cluster[order].astype(np.int64) - 1, time_us)

    def named(self, check: Check = no_check) -> NamedReviews:
        """Return the reviews of named clusters, in the order of their clusters."""
        if not self.clusters:
            return NO_REVIEWS
        parts = []
        for group, places in self.columns.within(self.since_us, self.until_us):
            check()
            parts.append(self._cluster_rows(group, places))
        return as_reviews(self.cells, join(parts).in_order())

    def view_clusters(self, alike: AlikeCells, check: Check = no_check) -> ViewClusters:
        """Return the reviews of named clusters for a view. They may be one row if they are `alike`.

        What is found of a whole group of rows is kept, and what follows for clusters without newer reviews. Nothing is
        kept of decisions that must be `within` some groups: the filter does not name these.
        """
        if not self.clusters:
            return ViewClusters(NO_REVIEWS, None)
        if self.within is not None:
            return ViewClusters(self.named(check), None)
        kept = self._kept_clusters(alike)
        parts, held = list[ReadRows](), list[Held[ClusterRows] | None]()
        for group, places in self.columns.within(self.since_us, self.until_us):
            check()
            whole = self._held_rows(group, alike, kept.groups) if isinstance(places, slice) else None
            if whole is not None and whole.read is not None:
                held.append(whole)
                parts.append(whole.read)
            else:
                held.append(None)
                parts.append(partial(self._cluster_rows, group, places))
        older_groups = self.columns.counted.groups - NEWEST_GROUPS
        known = [one for one in held[:-NEWEST_GROUPS] if one is not None]
        if not known or len(known) < older_groups:  # some are not whole, or have too many different reviews
            return ViewClusters(as_reviews(self.cells, _join_read(parts, check).in_order()), None)
        newest = _join_read(parts[-NEWEST_GROUPS:], check)
        first = int(newest.cluster.min(initial=len(self.clusters) + 1))
        older = kept.older
        if older is None or older.first != first or len(older.held) != len(known) or not older.begins(first, known):
            older = kept.older = self._find_older(older, first, known, alike)
        return ViewClusters(as_reviews(self.cells, join([older.rest, newest]).in_order()), older.clusters)

    def _find_older(
        self, before: KeptOlder | None, first: int, held: Sequence[Held[ClusterRows]], alike: AlikeCells
    ) -> KeptOlder:
        """Return what follows from older groups of rows; what was found before is used if only newer ones are added."""
        rows = [one.read for one in held if one.read is not None]
        read = partial(read_older, self.cells, rows, first)
        if before is not None and before.begins(first, held):
            added = join([before.rest, *(read_rows() for read_rows in rows[len(before.held) :])])
            if int(added.cluster.min(initial=first)) >= before.first:  # else an older cluster has more reviews
                more = as_reviews(self.cells, added.take(added.cluster < first).in_order())
                clusters = before.clusters.with_more(read, more, alike)
                return KeptOlder(held, first, clusters, added.take(added.cluster >= first))
        parts = (read_rows() for read_rows in rows)
        rest = join([part.take(part.cluster >= first) for part in parts])
        return KeptOlder(held, first, OlderClusters(read), rest)

    def _kept_clusters(self, alike: AlikeCells) -> KeptClusters:
        """Return what is kept for this kind of question; of filters, for the newest few."""
        found = self.kept.setdefault((self.key_filter, alike.fields), KeptClusters())
        kinds = list(self.kept)
        filters = list(dict.fromkeys(one for one, _ in kinds if any(value is not None for value in one)))
        old = set(filters[:-KEPT_FILTERS_MAX])
        for kind in kinds:
            if kind[0] in old:
                self.kept.pop(kind, None)
        return found

    def _held_rows(self, group: int, alike: AlikeCells, kept: KeptGroups[ClusterRows]) -> Held[ClusterRows]:
        """Return what is kept of a whole group of rows."""
        now_us, state = self.columns.maturity.now_us, self.columns.state(group)  # clusters never change
        held = kept.get(group, state, now_us)
        if held is None:
            counted = count_alike(self._cluster_rows(group, slice(None)), alike)
            held = kept.put(group, state, now_us, self.columns.next_due(group), counted)
        return held

    def _cluster_rows(self, group: int, places: RowNumbers | slice) -> ClusterRows:
        """Return the reviews of named clusters in a group of rows."""
        columns = self.columns
        some = columns.narrowed(group, places, self._cells(stated=True), _REVIEWED)
        cluster = columns.recorded.chunk("cluster", group)[some]
        due_us = columns.maturity.due_us(group, some)
        made_us = columns.recorded.chunk("time_us", group)[some]
        return ClusterRows(
            columns.counted.chunk("cell", group)[some],
            columns.counted.chunk("outcome", group)[some],
            cluster,
            np.where(due_us > 0, due_us, made_us),
            np.ones(len(cluster), np.uint32),
        ).take(cluster > 0)

    def in_order_of_due(self, check: Check = no_check) -> OrderedReviews:
        """Return the reviews with a stated confidence in the order in which their decisions were due."""
        rows = self._places(_REVIEWED, check, stated=True)
        cell, outcome = (rows.take(self.columns.counted, name) for name in ("cell", "outcome"))
        made_us, cluster = (rows.take(self.columns.recorded, name) for name in ("time_us", "cluster"))
        due_us = rows.due_us(self.columns.maturity)
        check()
        order = np.argsort(np.where(due_us > 0, due_us, made_us), kind="stable")
        del due_us, made_us
        cell = cell[order]
        values = self.cells.confidence[cell], OUTCOME_VALUES[outcome[order]]
        return OrderedReviews(cell, *values, cluster[order].astype(np.int32) - np.int32(1))

    def dated(self, check: Check = no_check) -> DatedDecisions:
        """Return the decisions that are due and have a stated confidence, reviewed or not."""
        cells, rows = self.cells, self._places(_DUE, check, stated=True)
        return DatedDecisions(
            categories=list(cells.values[CATEGORY_FIELD].numbers),
            cell_category=cells.columns[CATEGORY_FIELD][cells.group],
            cell_confidence=cells.confidence,
            cell=rows.take(self.columns.counted, "cell"),
            outcome=rows.take(self.columns.counted, "outcome"),
            time_us=rows.take(self.columns.recorded, "time_us"),
        )

    def stated(self, check: Check = no_check) -> Places:
        """Return the places of decisions with a stated confidence, due or not."""
        return self._places(_NUMBERS < COLUMNS_COUNT, check, stated=True)

    def rows(self, check: Check = no_check, *, waiting: bool = False) -> DecisionRows:
        """Return a row for each decision that is due; with `waiting`, also for others, as if without a review."""
        counted, maturity = self.columns.counted, self.columns.maturity
        rows = self._places(_NUMBERS < COLUMNS_COUNT if waiting else _DUE, check, stated=False)
        confidence, outcome = self.cells.confidence[rows.take(counted, "cell")], rows.take(counted, "outcome")
        if waiting:
            outcome = np.where(rows.due_us(maturity) > maturity.now_us, np.uint8(UNREVIEWED), outcome)
        return DecisionRows(rows.numbers(counted), confidence, outcome)

    def _places(
        self, counts: npt.NDArray[np.bool_], check: Check, *, stated: bool, newest: int | None = None
    ) -> Places:
        """Return the rows in one of some counts; with `stated`, only those with a stated confidence."""
        return self.columns.places(self._cells(stated=stated), counts, self.since_us, self.until_us, check, newest)

    def _cells(self, *, stated: bool) -> npt.NDArray[np.bool_]:
        """Return a mask of the cells that pass the filter; with `stated`, only those with a stated confidence."""
        matching = self.cells.matching_groups(self.key_filter)
        chosen = (matching if self.within is None else matching & self.within)[self.cells.group]
        return chosen & ~np.isnan(self.cells.confidence) if stated else chosen


def as_reviews(cells: Cells, rows: ClusterRows) -> NamedReviews:
    """Return rows that are in order, as reviews."""
    levels, level = cells.levels.numbered
    n, outcome = rows.n.astype(np.float64), OUTCOME_VALUES[rows.outcome]
    return NamedReviews.of(rows.cell, levels, level[rows.cell], outcome, rows.cluster, n)


def _join_read(rows: Sequence[ReadRows], check: Check) -> ClusterRows:
    """Read rows, and return them one after another."""
    parts = []
    for read in rows:
        check()
        parts.append(read())
    return join(parts)


def read_older(cells: Cells, rows: Sequence[ReadRows], first: int) -> NamedReviews:
    """Return the reviews of the clusters before one."""
    parts = (read() for read in rows)
    return as_reviews(cells, join([part.take(part.cluster < first) for part in parts]).in_order())
