"""The evidence behind the verdicts of a calibration view: of all its decisions, and of each of its groups."""

from collections.abc import Hashable, Mapping
from typing import Final, NamedTuple

import numpy as np

from projections.calibration.cell_groups import GroupBy, number_groups
from projections.calibration.evidence_trace import (
    Grouping,
    StakesKept,
    count_new_reviews,
    estimate_dependence,
    evidence_of,
    trace_stakes,
)
from projections.calibration.first_reviews import ReviewOrder
from projections.calibration.gap_evidence import NO_ORDER, ReviewEvidence
from projections.calibration.outcome_counts import CountSelection, KeyFilter
from projections.query_check import Check
from projections.time_range import TimeRange

GROUPS_FOLLOWED_MAX: Final = 5_000
"""With more groups their evidence is that at present, from counts."""


class ViewEvidence(NamedTuple):
    """The evidence of all decisions of a view, and of its groups by name."""

    overall: ReviewEvidence = NO_ORDER
    groups: Mapping[str | None, ReviewEvidence] = {}

    def of(self, name: str | None) -> ReviewEvidence:
        """Return the evidence of a group."""
        return self.groups.get(name, NO_ORDER)


class EvidenceQuery(NamedTuple):
    """What is needed to compute the evidence of a view on any thread.

    In a range of time the evidence is not followed from review to review: it is that at present, from counts. Only
    dependence is estimated.
    """

    selection: CountSelection
    order: ReviewOrder
    kept: StakesKept
    key_filter: KeyFilter
    when: TimeRange
    group_by: GroupBy

    @property
    def new_reviews(self) -> int:
        """The number of reviews to read, in all groupings."""
        if self.when.bounded:
            return 0
        return sum(count_new_reviews(self.order, self.kept, self._key(grouping)) for grouping in (None, self.group_by))

    def compute(self, check: Check) -> ViewEvidence:
        """Compute the evidence. The first time takes some tenths of a second for a million reviews."""
        selected = self.selection.matching[self.selection.group] & ~np.isnan(self.selection.confidence)
        bounds_us = self.when.bounds_us()
        whole = Grouping(np.where(selected, 0, -1), 1, *bounds_us)
        overall = self._evidence(whole, None, {None: 0}, check)[None]
        check()
        numbers, names = number_groups(self.selection, self.group_by)
        names = dict(names)
        if len(names) > GROUPS_FOLLOWED_MAX:
            return ViewEvidence(overall)
        parts = Grouping(np.where(selected, numbers, -1), len(names), *bounds_us)
        return ViewEvidence(overall, self._evidence(parts, self.group_by, names, check))

    def _key(self, group_by: GroupBy | None) -> Hashable:
        return self.key_filter, group_by

    def _evidence(
        self, grouping: Grouping, group_by: GroupBy | None, names: Mapping[str | None, int], check: Check
    ) -> dict[str | None, ReviewEvidence]:
        dependence = estimate_dependence(self.order, grouping, check)
        if self.when.bounded:
            return {name: ReviewEvidence(None, dependence.get(number)) for name, number in names.items()}
        stakes = trace_stakes(self.order, grouping, self.kept, self._key(group_by), check)
        return {
            name: ReviewEvidence(evidence_of(stakes, number), dependence.get(number)) for name, number in names.items()
        }
