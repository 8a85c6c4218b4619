"""What the verdicts of a calibration view need besides counts: named clusters and dependence, by group."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from projections.arrays import RowNumbers
from projections.calibration.cell_groups import alike_cells, number_groups
from projections.calibration.count_table import CATEGORY_FIELD, CountSelection
from projections.calibration.counted_decisions import CountedDecisions
from projections.calibration.dependence import DEPENDENCE_REVIEWS, estimate_dependence
from projections.calibration.gap_evidence import NO_ORDER, ReviewEvidence
from projections.calibration.kept_clusters import ViewClusters
from projections.calibration.named_clusters import ClusterPart
from projections.calibration.words import GroupBy
from projections.query_check import Check
from tallystick.shapes.dependence import Dependence

ROW_GROUPINGS: Final[tuple[GroupBy, ...]] = ("confidence_bucket", "category")
"""The rows with verdicts in every view."""


class GroupEvidence(NamedTuple):
    """The named clusters and the dependence of groups, by the number of a group's name."""

    numbers: Mapping[str | None, int] = MappingProxyType({})
    clusters: Mapping[int, ClusterPart] = MappingProxyType({})
    dependence: Mapping[int, Dependence] = MappingProxyType({})

    def of(self, name: str | None) -> ReviewEvidence:
        """Return the evidence of a group."""
        number = self.numbers.get(name)
        if number is None:
            return NO_ORDER
        return ReviewEvidence(self.clusters.get(number), self.dependence.get(number))


COUNTS_ALONE: Final = GroupEvidence()


class ViewEvidence(NamedTuple):
    """The evidence of all decisions of a view, and of its groups by grouping."""

    overall: ReviewEvidence = NO_ORDER
    groupings: Mapping[GroupBy, GroupEvidence] = MappingProxyType({})

    def by(self, group_by: GroupBy) -> GroupEvidence:
        """Return the evidence of the groups of a grouping."""
        return self.groupings.get(group_by, COUNTS_ALONE)


NO_EVIDENCE: Final = ViewEvidence()
"""Verdicts rest on counts alone."""


def find_evidence(
    selection: CountSelection, decisions: CountedDecisions, group_by: GroupBy, check: Check
) -> ViewEvidence:
    """Read the named clusters and the newest reviews of the decisions of a selection."""
    cells, values = selection.cells, selection.values
    newest = decisions.newest(DEPENDENCE_REVIEWS, check)
    category = cells.columns[CATEGORY_FIELD][cells.group[newest.cell]]
    clusters: dict[tuple[int, ...], ViewClusters] = {}

    def find(one: GroupBy | None, group: RowNumbers, numbers: Mapping[str | None, int]) -> GroupEvidence:
        check()
        alike = alike_cells(cells, one)
        if alike.fields not in clusters:
            clusters[alike.fields] = decisions.view_clusters(alike, check)
        named = clusters[alike.fields].by_group(one, group, check)
        return GroupEvidence(numbers, named, estimate_dependence(newest, group[newest.cell], category))

    overall = find(None, np.zeros(len(cells), dtype=np.intp), {None: 0})
    groupings: dict[GroupBy, GroupEvidence] = {}
    for one in dict.fromkeys((group_by, *(ROW_GROUPINGS if overall.clusters else ()))):
        groupings[one] = find(one, *number_groups(cells, values, one))
    return ViewEvidence(overall.of(None), groupings)
