"""The evidence behind the verdicts of a calibration view: of all its decisions, and of each of its groups."""

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from msgspec import structs

from projections.arrays import RowNumbers
from projections.calibration.cell_groups import GroupBy, number_groups
from projections.calibration.cells import Cells, KeyFilter
from projections.calibration.cluster_intervals import compute_cluster_intervals
from projections.calibration.cluster_sums import ClusterSums
from projections.calibration.count_table import CountSelection
from projections.calibration.dependence import estimate_dependence, newest_reviews
from projections.calibration.evidence_trace import Grouping, count_new_reviews, follow_reviews, trace_stakes
from projections.calibration.first_reviews import BLOCK_REVIEWS, ReviewOrder
from projections.calibration.gap_evidence import NO_ORDER, Dependence, ReviewEvidence
from projections.calibration.stakes import SelectionKey, Stakes, StakesKept, evidence_of
from projections.query_check import Check
from projections.stats.intervals import Interval
from projections.time_range import TimeRange

GROUPS_FOLLOWED_MAX: Final = 5_000
"""With more groups their evidence is that at present, from counts."""

VIEWS_KEPT_MAX: Final = 64
"""Views whose evidence is kept until the next review."""

ROW_GROUPINGS: Final[tuple[GroupBy, ...]] = ("confidence_bucket", "category")
"""The rows with verdicts in every view. They are followed where decisions name clusters: counts do not tell these."""


class GroupEvidence(NamedTuple):
    """The evidence of groups by name. `stakes` is None if it is not followed from review to review."""

    numbers: Mapping[str | None, int] = MappingProxyType({})
    stakes: Stakes | None = None
    dependence: Mapping[int, Dependence] = MappingProxyType({})
    intervals: Mapping[int, Interval] = MappingProxyType({})

    def columns(self, names: Sequence[str | None]) -> RowNumbers:
        """Return the columns of the stakes of groups; -1 for those that are not followed, or have no review."""
        if self.stakes is None:
            return np.full(len(names), -1, dtype=np.intp)
        columns = np.array([self.numbers.get(name, -1) for name in names], dtype=np.intp)
        columns[columns >= len(self.stakes.reviewed)] = -1
        columns[self.stakes.reviewed[columns] == 0] = -1
        return columns

    def of(self, name: str | None) -> ReviewEvidence:
        """Return the evidence of a group."""
        number = self.numbers.get(name)
        if number is None:
            return NO_ORDER
        gap = None if self.stakes is None else evidence_of(self.stakes, number)
        if gap is not None and number in self.intervals:
            gap = structs.replace(gap, interval=self.intervals[number])
        return ReviewEvidence(gap, self.dependence.get(number))


NOT_FOLLOWED: Final = GroupEvidence()


class ViewEvidence(NamedTuple):
    """The evidence of all decisions of a view, and of its groups by grouping."""

    overall: ReviewEvidence = NO_ORDER
    groupings: Mapping[GroupBy, GroupEvidence] = MappingProxyType({})

    def by(self, group_by: GroupBy) -> GroupEvidence:
        """Return the evidence of the groups of a grouping."""
        return self.groupings.get(group_by, NOT_FOLLOWED)


def _key_of_all(group_by: GroupBy | None) -> SelectionKey:
    """Return the key of a grouping of all decisions."""
    return SelectionKey((None, None, None, None, None), group_by)


class EvidenceKept:
    """The stakes of selections, and the evidence of the views that were computed last. Threads share it."""

    def __init__(self) -> None:
        self.stakes = StakesKept(frozenset(map(_key_of_all, (None, *ROW_GROUPINGS))))
        self._views: dict[Hashable, tuple[int, int, ViewEvidence]] = {}

    def view(self, key: Hashable, order: ReviewOrder) -> ViewEvidence | None:
        """Return the evidence under a key if no review or retraction came since."""
        kept = self._views.get(key)
        return kept[2] if kept is not None and kept[:2] == (order.size, order.retractions) else None

    def keep_view(self, key: Hashable, order: ReviewOrder, view: ViewEvidence) -> None:
        """Keep evidence that was computed from an order."""
        self._views.pop(key, None)
        self._views[key] = order.size, order.retractions, view
        for oldest in list(self._views)[:-VIEWS_KEPT_MAX]:
            self._views.pop(oldest, None)

    def stale(self, order: ReviewOrder) -> list[SelectionKey]:
        """Return the keys of stakes to be renewed: of the view without a filter, and of others that lack a block."""
        always = [_key_of_all(one) for one in (None, *(ROW_GROUPINGS if order.clustered else ROW_GROUPINGS[:1]))]
        behind = [key for key in always if self.stakes.get(key, order).size < order.size]
        return behind + [key for key in self.stakes.lagging(order, BLOCK_REVIEWS) if key not in always]

    def renew(self, keys: Sequence[SelectionKey], cells: Cells, order: ReviewOrder, check: Check) -> None:
        """Continue stakes up to the last review of an order."""
        for key in keys:
            check()
            selected = cells.matching_groups(key.key_filter)[cells.group] & ~np.isnan(cells.confidence)
            grouping = Grouping(np.where(selected, 0, -1), 1, *TimeRange().bounds_us())
            if key.group_by is not None:
                numbers, names = number_groups(cells, cells.values, key.group_by)
                if len(names) > GROUPS_FOLLOWED_MAX:
                    continue
                grouping = grouping._replace(group=np.where(selected, numbers, -1), groups=len(names))
            self.stakes.renew(key, follow_reviews(self.stakes.get(key, order), order, grouping, check))


class EvidenceQuery(NamedTuple):
    """What is needed to compute the evidence of a view on any thread.

    In a range of time the evidence is not followed from review to review, unless decisions name clusters: it is that at
    present, from counts. Only dependence is estimated.
    """

    selection: CountSelection
    order: ReviewOrder
    kept: EvidenceKept
    key_filter: KeyFilter
    when: TimeRange
    group_by: GroupBy

    @property
    def new_reviews(self) -> int:
        """The number of reviews to read, in all groupings."""
        if self.when.bounded:
            return self.order.size if self.order.clustered else 0
        groupings = (None, *self._groupings())
        return sum(count_new_reviews(self.order, self.kept.stakes, self._key(one)) for one in groupings)

    def compute(self, check: Check) -> ViewEvidence:
        """Compute the evidence. The first time takes some tenths of a second for a million reviews."""
        key = self._key(self.group_by), self.when
        found = self.kept.view(key, self.order)
        if found is None:
            found = self._compute(check)
            self.kept.keep_view(key, self.order, found)
        return found

    def _groupings(self) -> tuple[GroupBy, ...]:
        """Return the groupings to follow."""
        return tuple(dict.fromkeys((self.group_by, *(ROW_GROUPINGS if self.order.clustered else ()))))

    def _key(self, group_by: GroupBy | None) -> SelectionKey:
        """Return what tells a grouping of the selection from others."""
        if group_by != "model":
            return SelectionKey(self.key_filter, group_by)
        numbers, names = number_groups(self.selection.cells, self.selection.values, group_by)
        return SelectionKey(self.key_filter, group_by, (tuple(names), numbers.tobytes()))

    def _compute(self, check: Check) -> ViewEvidence:
        selected = self.selection.chosen
        whole = Grouping(np.where(selected, 0, -1), 1, *self.when.bounds_us())
        newest = newest_reviews(self.order, whole, check)
        dependence = estimate_dependence(newest, np.zeros(len(newest.cell), dtype=np.intp))
        overall = self._follow(whole, None, {None: 0}, dependence, check).of(None)
        groupings = {}
        for group_by in self._groupings():
            check()
            numbers, names = number_groups(self.selection.cells, self.selection.values, group_by)
            if len(names) <= GROUPS_FOLLOWED_MAX:
                parts = whole._replace(group=np.where(selected, numbers, -1), groups=len(names))
                groupings[group_by] = self._follow(
                    parts, group_by, names, estimate_dependence(newest, numbers[newest.cell]), check
                )
        return ViewEvidence(overall, groupings)

    def _follow(
        self,
        grouping: Grouping,
        group_by: GroupBy | None,
        names: Mapping[str | None, int],
        dependence: Mapping[int, Dependence],
        check: Check,
    ) -> GroupEvidence:
        if self.when.bounded and not self.order.clustered:
            return GroupEvidence(dict(names), None, dependence)
        kept = StakesKept() if self.when.bounded else self.kept.stakes
        stakes = trace_stakes(self.order, grouping, kept, self._key(group_by), check)
        intervals = compute_cluster_intervals(self.order, grouping, stakes, check)
        without_open = stakes._replace(open=ClusterSums.empty(0))
        return GroupEvidence(dict(names), without_open, dependence, intervals)
