"""The decisions projection: an index to find, sort and count decisions by their fields.

The state is columnar: one row for each decision, about 40 bytes and its name. Rows are numbered from 0 in the order in
which decisions were recorded. A decision's texts are not in the state: to show a decision, its stream is read and
folded (`decision_state.py`).
"""

from array import array
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar, Literal, Self, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from events.decision import DecisionAmended, DecisionPreserved, DecisionRecorded, DecisionRetracted, DecisionReviewed
from events.envelope import EventFacts, agent_of, source_of
from events.model_names import join_names
from events.payload import Payload
from ledger import microseconds, moment_of
from projections.arrays import Ints, RowNumbers, mask_of, row_numbers_by_group, sum_by_name
from projections.columns import (
    GroupKey,
    as_array,
    microseconds_column,
    names_by_field,
    names_starting_with,
    pack,
    pack_names,
    unpack_names,
)
from projections.decisions.compaction import Level, LevelFilter, count_levels, level_numbers
from projections.decisions.days import DAY_S, day_name
from projections.decisions.decision_counts import DecisionCounts, count_tags
from projections.decisions.pattern_digest import group_patterns, pattern_digest
from projections.decisions.stated_texts import StatedTexts
from projections.outcome_codes import OUTCOME_NUMBERS, OUTCOMES_COUNT, UNREVIEWED
from projections.projection import Projection
from projections.time_range import TimeRange

SortField = Literal["created_at", "confidence", "category", "stakes", "status"]
Status = Literal["pending", "reviewed", "retracted"]
STATUSES: tuple[Status, ...] = get_args(Status)

NO_TAGS = 0
"""The number of the empty set of tags, which most decisions have."""

DAY_US = DAY_S * 1_000_000
STAKES = ("low", "medium", "high", "critical")

_NAN = float("nan")
_stakes_rank = {name: rank for rank, name in enumerate(STAKES)}


class DecisionSelection(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of decisions. If several `tags`, `stakes` or `status` are given, one of them must match.

    Retracted decisions pass only a filter with the status `retracted`.
    A bound of confidence excludes decisions without a confidence. `due_before` selects decisions whose review date is
    before that time, `dated` those with (True) or without (False) a review date, `preserved` those that are to be
    preserved or not. `models` are names of models as `join_names` joins them; one of them must match.
    """

    agent: str | None = None
    category: str | None = None
    stakes: str | tuple[str, ...] | None = None
    project: str | None = None
    feature: str | None = None
    status: Status | tuple[Status, ...] | None = None
    outcome: str | None = None
    tags: tuple[str, ...] = ()
    pr: int | None = None
    cluster: str | None = None
    models: frozenset[str] | None = None
    confidence_min: float | None = None
    confidence_max: float | None = None
    range: TimeRange = TimeRange()
    compaction: LevelFilter | None = None
    preserved: bool | None = None
    due_before: datetime | None = None
    dated: bool | None = None


class DecisionIndex(Projection):
    """An index of decisions, in the order in which they were recorded."""

    name: ClassVar[str] = "decisions"
    version: ClassVar[int] = 6
    reads: ClassVar[tuple[type[Payload], ...]] = (
        DecisionRecorded, DecisionAmended, DecisionPreserved, DecisionReviewed, DecisionRetracted,
    )  # fmt: skip

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        """Row number by stream. Other projections that number decisions in the same order may share it."""
        self._subjects: list[str] = []
        self._group = array("I")
        self._tags = array("I")
        self._confidence = array("d")
        self._time_us = array("q")
        self._outcome = bytearray()
        self._prs = array("Q")
        """Alternating row number and pull request of the few decisions that state one."""
        self._dues = array("q")
        """Alternating row number and review date, in microseconds, of the decisions that state one."""
        self._patterns = array("Q")
        """A digest of the decision's pattern; 0 without one."""
        self._retracted = array("I")
        """The row numbers of retracted decisions."""
        self._preserved: dict[int, bool] = {}
        """The latest statement whether a decision is to be preserved, by row number."""
        self._clusters = StatedTexts()
        self._models = StatedTexts()
        """The names of the model, joined by `join_names`."""
        self._groups: dict[GroupKey, int] = {}
        self._tagsets: dict[tuple[str, ...], int] = {(): NO_TAGS}

    def fold(self, events: Sequence[EventFacts]) -> None:
        index, subjects, groups, tagsets = self.index, self._subjects, self._groups, self._tagsets
        group, tags, confidence, outcome = self._group, self._tags, self._confidence, self._outcome
        patterns, first = self._patterns, len(subjects)
        size = first
        times: list[str] = []
        clusters: list[str | None] = []
        models: list[str | None] = []
        for event in events:
            data = event.data
            if type(data) is DecisionRecorded:
                subject = event.subject
                index[subject] = size
                size += 1
                subjects.append(subject)
                group_key = (event.source, data.category, data.stakes, data.project, data.feature)
                number = groups.get(group_key)
                if number is None:
                    number = groups[group_key] = len(groups)
                group.append(number)
                tags.append(tagsets.setdefault(data.tags, len(tagsets)) if data.tags else NO_TAGS)
                confidence.append(_NAN if data.confidence is None else data.confidence)
                outcome.append(UNREVIEWED)
                times.append(event.time)
                patterns.append(pattern_digest(data.pattern) if data.pattern else 0)
                clusters.append(data.cluster)
                model, reported = data.model, data.reported_model
                models.append(model if reported is None else join_names(model, reported))
                if data.pr is not None:
                    self._prs.extend((size - 1, data.pr))
                if data.review_by is not None:
                    self._dues.extend((size - 1, microseconds(data.review_by)))
            elif type(data) is DecisionReviewed:
                outcome[index[event.subject]] = OUTCOME_NUMBERS[data.outcome]
            elif type(data) is DecisionAmended:
                self._amend(index[event.subject], data)
            elif type(data) is DecisionRetracted:
                self._retracted.append(index[event.subject])
            elif type(data) is DecisionPreserved:
                self._preserved[index[event.subject]] = data.preserve
        self._time_us.frombytes(microseconds_column(times))
        self._clusters.extend(first, clusters)
        self._models.extend(first, models)

    def _amend(self, row: int, data: DecisionAmended) -> None:
        if data.confidence is not None:
            self._confidence[row] = data.confidence
        if data.tags is not None:
            self._tags[row] = self._tagsets.setdefault(data.tags, len(self._tagsets))
        if data.pattern is not None:
            self._patterns[row] = pattern_digest(data.pattern) if data.pattern else 0

    def encode(self) -> bytes:
        return pack(
            {
                "index": pack_names(self.index),
                "shared": self._group.tobytes(),
                "tags": self._tags.tobytes(),
                "confidence": self._confidence.tobytes(),
                "time_us": self._time_us.tobytes(),
                "outcome": bytes(self._outcome),
                "prs": self._prs.tobytes(),
                "dues": self._dues.tobytes(),
                "patterns": self._patterns.tobytes(),
                "retracted": self._retracted.tobytes(),
                "preserved": self._preserved,
                "clusters": self._clusters.parts(),
                "models": self._models.parts(),
                "shareds": list(self._groups),
                "tagsets": list(self._tagsets),
            }
        )

    @classmethod
    def decode(cls, state: bytes) -> Self:
        parts = msgspec.msgpack.decode(state, type=_Parts)
        new = cls()
        new.index = unpack_names(parts.index)
        new._subjects = list(new.index)
        new._group.frombytes(parts.shared)
        for name in ("tags", "confidence", "time_us", "prs", "dues", "patterns", "retracted"):
            getattr(new, f"_{name}").frombytes(getattr(parts, name))
        new._outcome.extend(parts.outcome)
        new._preserved = parts.preserved
        new._clusters = StatedTexts.from_parts(*parts.clusters)
        new._models = StatedTexts.from_parts(*parts.models)
        new._groups = {group: number for number, group in enumerate(parts.shareds)}
        new._tagsets = {tags: number for number, tags in enumerate(parts.tagsets)}
        columns = (new._group, new._tags, new._confidence, new._time_us, new._outcome, new._patterns)
        assert {len(new.index)} == {len(column) for column in columns}, "columns of unlike length"
        return new

    def summary(self) -> Mapping[str, object]:
        return msgspec.to_builtins(self.count(self.find(DecisionSelection())))  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self._outcome)

    def has(self, decision_id: str) -> bool:
        """Tell whether a decision with exactly this id exists."""
        return f"decision/{decision_id}" in self.index

    def ids_starting_with(self, prefix: str, limit: int = 2) -> list[str]:
        """Return up to `limit` decision ids that start with a prefix, the oldest first."""
        subjects = names_starting_with(self.index, f"decision/{prefix}", limit)
        return [subject.removeprefix("decision/") for subject in subjects]

    def names(self) -> dict[str, set[str]]:
        """Return the agents, categories, projects, features, tags and clusters of all decisions."""
        tags = {tag for tags in self._tagsets for tag in tags}
        return {**names_by_field(self._groups), "tag": tags, "cluster": set(self._clusters.texts)}

    @property
    def models(self) -> Sequence[str]:
        """The names of the models of all decisions, joined by `join_names`."""
        return list(self._models.texts)

    def find(self, selection: DecisionSelection) -> RowNumbers:
        """Return the row numbers of the decisions that pass a filter, the oldest first."""
        group_matches = np.array([_matches(selection, group) for group in self._groups], dtype=bool)
        keep = group_matches[as_array(self._group, np.uint32)]
        outcome = as_array(self._outcome, np.uint8)
        keep &= self._with_status(("pending", "reviewed") if selection.status is None else selection.status)
        if selection.outcome is not None:
            keep &= outcome == OUTCOME_NUMBERS.get(selection.outcome, OUTCOMES_COUNT)
        if selection.tags:
            any_tag = np.array([not set(selection.tags).isdisjoint(tags) for tags in self._tagsets], dtype=bool)
            keep &= any_tag[as_array(self._tags, np.uint32)]
        if selection.pr is not None:
            rows, prs = as_array(self._prs, np.uint64).reshape(-1, 2).T
            keep &= mask_of(rows[prs == selection.pr], len(keep))
        if selection.cluster is not None:
            keep &= mask_of(self._clusters.rows({selection.cluster}), len(keep))
        if selection.models is not None:
            keep &= mask_of(self._models.rows(selection.models), len(keep))
        confidence = as_array(self._confidence, np.float64)
        if selection.confidence_min is not None:
            keep &= confidence >= selection.confidence_min
        if selection.confidence_max is not None:
            keep &= confidence <= selection.confidence_max
        return np.flatnonzero(self._filter_times(selection, keep))

    def _with_status(self, status: Status | Sequence[Status]) -> npt.NDArray[np.bool_]:
        """Return a mask of the decisions with one of some statuses."""
        wanted = np.array([name in status for name in STATUSES])
        matches: npt.NDArray[np.bool_] = wanted[self._statuses()]
        return matches

    def _statuses(self) -> npt.NDArray[np.int64]:
        """Return each decision's status, as an index into STATUSES."""
        statuses = np.not_equal(as_array(self._outcome, np.uint8), UNREVIEWED).astype(np.int64)
        statuses[as_array(self._retracted, np.uint32)] = STATUSES.index("retracted")
        return statuses

    def _filter_times(self, selection: DecisionSelection, keep: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Narrow a mask to the decisions that pass the filters of time."""
        time_us = as_array(self._time_us, np.int64)
        keep &= selection.range.contains(time_us)
        if selection.compaction is not None:
            keep &= selection.compaction.matches(self._levels(selection.compaction.now))
        if selection.preserved is not None:
            keep &= self._preserved_mask() == selection.preserved
        rows, dues = as_array(self._dues, np.int64).reshape(-1, 2).T
        if selection.due_before is not None:
            keep &= mask_of(rows[dues < microseconds(selection.due_before)], len(keep))
        if selection.dated is not None:
            keep &= mask_of(rows, len(keep)) == selection.dated
        return keep

    def _preserved_mask(self) -> npt.NDArray[np.bool_]:
        rows = [row for row, preserve in self._preserved.items() if preserve]
        return mask_of(np.array(rows, dtype=np.intp), len(self))

    def _levels(self, now: datetime) -> Ints:
        """Return each decision's compaction level, as an index into LEVELS."""
        exempt = self._preserved_mask() | (as_array(self._outcome, np.uint8) == UNREVIEWED)
        return level_numbers(as_array(self._time_us, np.int64), exempt, now)

    def sort_places(self, rows: RowNumbers, sort: SortField, *, descending: bool) -> RowNumbers:
        """Return row numbers sorted by a field, ties by age. Missing values come last in both directions."""
        keys = self._sort_keys(sort)[rows]
        missing = np.isnan(keys)
        ranked = -keys if descending else keys
        ranked[missing] = 0
        age = -rows if descending else rows
        return rows[np.lexsort((age, ranked, missing))]

    def _sort_keys(self, sort: SortField) -> npt.NDArray[np.float64] | npt.NDArray[np.int64]:
        """Return each decision's sort key, NaN if missing. Times are integers: a float rounds times after 2255."""
        if sort == "created_at":
            return as_array(self._time_us, np.int64)
        if sort == "confidence":
            return as_array(self._confidence, np.float64)
        if sort == "status":
            return self._statuses()
        if sort == "stakes":
            ranks = [_stakes_rank.get(group[2] or "", float("nan")) for group in self._groups]
        else:
            names = {name: rank for rank, name in enumerate(sorted({group[1] or "" for group in self._groups}))}
            ranks = [float("nan") if group[1] is None else names[group[1]] for group in self._groups]
        return np.array(ranks, dtype=np.float64)[as_array(self._group, np.uint32)]

    def subjects(self, rows: RowNumbers) -> list[str]:
        """Return the streams of the decisions in `rows`."""
        return [self._subjects[row] for row in rows.tolist()]

    def recorded_within(self, rows: RowNumbers, since: datetime) -> int:
        """Count the decisions in `rows` that were made at or after a time."""
        return int((as_array(self._time_us, np.int64)[rows] >= microseconds(since)).sum())

    def pull_requests(self, rows: RowNumbers) -> dict[int, int]:
        """Return the pull requests of the decisions in `rows` that state one, by row number."""
        pr_rows, prs = as_array(self._prs, np.uint64).reshape(-1, 2).T
        selected = np.isin(pr_rows, rows.astype(np.uint64))
        return dict(zip(pr_rows[selected].tolist(), prs[selected].tolist(), strict=True))

    def review_times(self, rows: RowNumbers) -> dict[int, datetime]:
        """Return the review dates of the decisions in `rows` that have one, by row number."""
        due_rows, dues = as_array(self._dues, np.int64).reshape(-1, 2).T
        selected = np.isin(due_rows, rows)
        return dict(zip(due_rows[selected].tolist(), map(moment_of, dues[selected].tolist()), strict=True))

    def shared_patterns(self, rows: RowNumbers, limit: int, least: int = 2) -> tuple[int, list[RowNumbers]]:
        """Return the patterns of the decisions in `rows` as `group_patterns` finds them."""
        return group_patterns(as_array(self._patterns, np.uint64), rows, limit, least)

    def rows_by_category(self, rows: RowNumbers) -> list[tuple[str, RowNumbers]]:
        """Return the row numbers in `rows` of each category, by its name; without decisions that have none."""
        names = sorted({key[1] for key in self._groups if key[1] is not None})
        numbers: dict[str | None, int] = {name: number for number, name in enumerate(names)}
        by_group = np.array([numbers.get(key[1], len(names)) for key in self._groups], dtype=np.uint32)
        places = row_numbers_by_group(by_group[as_array(self._group, np.uint32)[rows]], len(names))
        return [(name, rows[group]) for name, group in zip(names, places, strict=True) if len(group)]

    def count_levels(self, rows: RowNumbers, now: datetime) -> dict[Level, int]:
        """Count the decisions in `rows` by their compaction level."""
        return count_levels(self._levels(now)[rows])

    def count(self, rows: RowNumbers) -> DecisionCounts:
        """Count the decisions in `rows` by category, stakes, status, agent, day (UTC, newest first) and tag."""
        by_group = np.bincount(as_array(self._group, np.uint32)[rows], minlength=len(self._groups))
        weighted = [(key, int(n)) for key, n in zip(self._groups, by_group, strict=True) if n]
        days = as_array(self._time_us, np.int64)[rows] // DAY_US
        by_day = zip(*np.unique(days, return_counts=True), strict=True)
        statuses = zip(STATUSES, np.bincount(self._statuses()[rows], minlength=len(STATUSES)).tolist(), strict=True)
        return DecisionCounts(
            total=len(rows),
            by_category=sum_by_name((key[1], n) for key, n in weighted),
            by_stakes=sum_by_name((key[2], n) for key, n in weighted),
            by_status={name: n for name, n in statuses if n},
            by_agent=sum_by_name((agent_of(key[0]), n) for key, n in weighted),
            by_day=[(day_name(int(day)), int(n)) for day, n in reversed(list(by_day))],
            top_tags=count_tags(self._tagsets, as_array(self._tags, np.uint32)[rows]),
        )


class _Parts(msgspec.Struct):
    index: bytes
    shared: bytes
    tags: bytes
    confidence: bytes
    time_us: bytes
    outcome: bytes
    prs: bytes
    dues: bytes
    patterns: bytes
    retracted: bytes
    preserved: dict[int, bool]
    clusters: tuple[bytes, bytes, list[str]]
    models: tuple[bytes, bytes, list[str]]
    shareds: list[GroupKey]
    tagsets: list[tuple[str, ...]]


def _matches(selection: DecisionSelection, group: GroupKey) -> bool:
    source = None if selection.agent is None else source_of(selection.agent)
    if isinstance(selection.stakes, tuple) and group[2] not in selection.stakes:
        return False
    stakes = selection.stakes if isinstance(selection.stakes, str) else None
    required = (source, selection.category, stakes, selection.project, selection.feature)
    return all(value is None or value == actual for value, actual in zip(required, group, strict=True))
