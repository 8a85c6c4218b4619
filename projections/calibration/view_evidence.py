"""The evidence behind the verdicts of a calibration view: of all its decisions, and of each of its groups."""

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from projections.calibration.cell_groups import GroupBy, number_groups
from projections.calibration.evidence_trace import (
    Grouping,
    StakesKept,
    count_new_reviews,
    estimate_dependence,
    evidence_of,
    newest_reviews,
    trace_stakes,
)
from projections.calibration.first_reviews import ReviewOrder
from projections.calibration.gap_evidence import NO_ORDER, Dependence, ReviewEvidence
from projections.calibration.outcome_counts import CountSelection, KeyFilter
from projections.query_check import Check
from projections.time_range import TimeRange

GROUPS_FOLLOWED_MAX: Final = 5_000
"""With more groups their evidence is that at present, from counts."""

VIEWS_KEPT_MAX: Final = 64
"""Views whose evidence is kept until the next review."""


class ViewEvidence(NamedTuple):
    """The evidence of all decisions of a view, and of its groups by name."""

    overall: ReviewEvidence = NO_ORDER
    groups: Mapping[str | None, ReviewEvidence] = MappingProxyType({})

    def of(self, name: str | None) -> ReviewEvidence:
        """Return the evidence of a group."""
        return self.groups.get(name, NO_ORDER)


class EvidenceKept:
    """The stakes of selections, and the evidence of the views that were computed last. Threads share it."""

    def __init__(self) -> None:
        self.stakes = StakesKept()
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


class EvidenceQuery(NamedTuple):
    """What is needed to compute the evidence of a view on any thread.

    In a range of time the evidence is not followed from review to review: it is that at present, from counts. Only
    dependence is estimated.
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
            return 0
        groupings: tuple[GroupBy | None, ...] = (None, self.group_by)
        return sum(count_new_reviews(self.order, self.kept.stakes, (self.key_filter, one)) for one in groupings)

    def compute(self, check: Check) -> ViewEvidence:
        """Compute the evidence. The first time takes some tenths of a second for a million reviews."""
        key = self.key_filter, self.group_by
        found = None if self.when.bounded else self.kept.view(key, self.order)
        if found is None:
            found = self._compute(check)
            if not self.when.bounded:
                self.kept.keep_view(key, self.order, found)
        return found

    def _compute(self, check: Check) -> ViewEvidence:
        selected = self.selection.matching[self.selection.group] & ~np.isnan(self.selection.confidence)
        numbers, names = number_groups(self.selection, self.group_by)
        names = {name: number for name, number in list(names.items()) if len(names) <= GROUPS_FOLLOWED_MAX}
        bounds_us = self.when.bounds_us()
        whole = Grouping(np.where(selected, 0, -1), 1, *bounds_us)
        parts = Grouping(np.where(selected, numbers, -1), len(names), *bounds_us)
        difference, group = newest_reviews(self.order, parts, check)
        dependence = estimate_dependence(difference, np.zeros_like(group))
        overall = self._evidence(whole, None, {None: 0}, dependence, check)[None]
        check()
        if not names:
            return ViewEvidence(overall)
        dependence = estimate_dependence(difference, group)
        return ViewEvidence(overall, self._evidence(parts, self.group_by, names, dependence, check))

    def _evidence(
        self,
        grouping: Grouping,
        group_by: GroupBy | None,
        names: Mapping[str | None, int],
        dependence: Mapping[int, Dependence],
        check: Check,
    ) -> dict[str | None, ReviewEvidence]:
        if self.when.bounded:
            return {name: ReviewEvidence(None, dependence.get(number)) for name, number in names.items()}
        stakes = trace_stakes(self.order, grouping, self.kept.stakes, (self.key_filter, group_by), check)
        return {
            name: ReviewEvidence(evidence_of(stakes, number), dependence.get(number)) for name, number in names.items()
        }
