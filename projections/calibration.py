"""The calibration view: is it as good as it thinks it is?"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal, Self

import msgspec
import numpy as np

from events.decision import DecisionAmended, DecisionAsked, DecisionRecorded, DecisionReviewed
from events.envelope import Fact, agent_of, source_of
from events.payload import Payload
from projections.advice import Recommendation, insufficient, recommend
from projections.cells import Cells, History, Range, Table
from projections.columns import Shared
from projections.decisions import Decisions
from projections.figures import BUCKETS, Bucket, Figures, Spread, Verdict, bucket_of, buckets, figures, spread
from projections.projection import Projection

GroupBy = Literal["confidence_bucket", "category", "stakes", "agent", "project", "feature"]
GROUPINGS: tuple[GroupBy, ...] = ("confidence_bucket", "category", "stakes", "agent", "project", "feature")

MIN_DECISIONS = 5
"""Reviewed decisions below which there are no figures, unless asked otherwise."""

_place: Mapping[str, int] = {"agent": 0, "category": 1, "stakes": 2, "project": 3, "feature": 4}


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to count. The range is that of the decisions' own times."""

    agent: str | None = None
    category: str | None = None
    stakes: str | None = None
    project: str | None = None
    feature: str | None = None
    range: Range = Range()

    def wants(self) -> Callable[[Shared], bool]:
        """Whether a group of decisions passes, the range apart."""
        named = (
            None if self.agent is None else source_of(self.agent),
            self.category,
            self.stakes,
            self.project,
            self.feature,
        )
        terms = [(place, value) for place, value in enumerate(named) if value is not None]
        return lambda shared: all(shared[place] == value for place, value in terms)


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one value of a grouping; None where fewer than `min_decisions` are reviewed."""

    group: str | None
    brier_score: float | None = None
    accuracy: float | None = None
    mean_confidence: float | None = None
    gap: float | None = None
    interpretation: Verdict | None = None
    reviewed: int
    total: int


class CalibrationView(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question of calibration, unrounded."""

    overall: Figures | None
    groups: list[Group]
    buckets: list[Bucket]
    recommendations: list[Recommendation]
    confidence_stats: Spread | None


class Calibration(Projection):
    """Counts of outcomes by group and stated confidence; the confidence is that in force before the first review."""

    name: ClassVar[str] = "calibration"
    version: ClassVar[int] = 2
    reads: ClassVar[tuple[type[Payload], ...]] = (DecisionRecorded, DecisionAmended, DecisionAsked, DecisionReviewed)

    def __init__(self, cells: Cells | None = None) -> None:
        self._cells = cells if cells is not None else Cells()

    def fold(self, events: Sequence[Fact]) -> None:
        self._cells.fold(events)

    def join(self, family: Sequence[Projection]) -> None:
        for other in family:
            if isinstance(other, Decisions) and other.index == self._cells.index:
                self._cells.index = other.index

    def shares_index_with(self, decisions: Decisions) -> bool:
        """Whether one dictionary of names serves both."""
        return self._cells.index is decisions.index

    def encode(self) -> bytes:
        return self._cells.encode()

    @classmethod
    def decode(cls, state: bytes) -> Self:
        return cls(Cells.decode(state))

    def summary(self) -> Mapping[str, object]:
        return msgspec.to_builtins(self.view(Filter()))  # type: ignore[no-any-return]

    def history(self, wanted: Filter) -> History:
        """The reviewed decisions that pass a filter and state a confidence, in the order in which they were made."""
        return self._cells.history(wanted.wants(), wanted.range)

    def view(
        self, wanted: Filter, group_by: GroupBy = "confidence_bucket", min_decisions: int = MIN_DECISIONS
    ) -> CalibrationView:
        """The figures of the decisions that pass a filter, as a whole, by group and by bucket.

        `overall` and the figures of a group are None below `min_decisions` reviewed decisions.
        """
        table = self._cells.select(wanted.wants(), wanted.range)
        overall = figures(table.confidence, table.counts)
        found = list(buckets(table.confidence, table.counts))
        spreads = spread(table.confidence, table.counts)
        reviewed = overall.reviewed if overall is not None else 0
        if overall is None or reviewed < min_decisions:
            overall, advice = None, [insufficient(reviewed, min_decisions)]
        else:
            advice = list(recommend(overall, found, spreads))
        return CalibrationView(
            overall=overall,
            groups=_groups(table, group_by, min_decisions),
            buckets=found,
            recommendations=advice,
            confidence_stats=spreads,
        )


def _groups(table: Table, group_by: GroupBy, min_decisions: int) -> list[Group]:
    """One row a value, in the order of buckets, or of names with the unnamed last."""
    names: list[str | None]
    if group_by == "confidence_bucket":
        numbers = bucket_of(table.confidence)
        names = [name for name, _, _ in BUCKETS]
    else:
        place = _place[group_by]
        values = [group[place] for group in table.groups]
        names = sorted(set(values), key=lambda name: (name is None, name or ""))
        order = {name: number for number, name in enumerate(names)}
        of_group = np.array([order[value] for value in values], dtype=np.intp)
        numbers = of_group[table.group] if len(of_group) else np.array([], dtype=np.intp)
    rows = []
    for number, name in enumerate(names):
        inside = numbers == number
        if inside.any():
            label = agent_of(name) if group_by == "agent" and name is not None else name
            rows.append(_row(label, table, inside, min_decisions))
    return rows


def _row(name: str | None, table: Table, inside: np.typing.NDArray[np.bool_], min_decisions: int) -> Group:
    counts = table.counts[inside]
    found = figures(table.confidence[inside], counts)
    reviewed, total = found.reviewed if found is not None else 0, int(counts.sum())
    if found is None or reviewed < min_decisions:
        return Group(group=name, reviewed=reviewed, total=total)
    return Group(
        group=name,
        brier_score=found.brier_score,
        accuracy=found.accuracy,
        mean_confidence=found.mean_confidence,
        gap=found.gap,
        interpretation=found.interpretation,
        reviewed=reviewed,
        total=total,
    )
