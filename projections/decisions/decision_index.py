"""The decisions view: which decisions there are, found by what they are about.

The state is an index: flat columns, one place a decision, some 40 bytes and its name. A decision's texts stay in the
log, where its stream is read and folded (`standing.py`) when it is shown.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, ClassVar, Literal, Self

import msgspec
import numpy as np
import numpy.typing as npt

from events.decision import DecisionAmended, DecisionRecorded, DecisionReviewed
from events.envelope import EventFacts, agent_of, source_of
from events.payload import Payload
from ledger import microseconds
from projections.columns import GroupKey, as_array, microseconds_column, pack, pack_names, unpack_names
from projections.outcomes import OUTCOMES, UNREVIEWED
from projections.projection import Projection
from projections.time_range import TimeRange

SortField = Literal["created_at", "confidence", "category", "stakes", "status"]
Status = Literal["pending", "reviewed"]
Places = npt.NDArray[np.intp]

NO_TAGS = 0
"""Number of the empty set of tags: most decisions have none."""

DAY_US = 86_400_000_000
STAKES = ("low", "medium", "high", "critical")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAN = float("nan")
_outcome = {name: number for number, name in enumerate(OUTCOMES)}
_stakes_rank = {name: rank for rank, name in enumerate(STAKES)}


class DecisionSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to find. `tags`, several `stakes` and several `status` are met by any one of them.

    A decision that states no confidence lies in no range of confidence. `compacted_before` leaves out what was decided
    before that moment and is reviewed. `due_before` finds those whose review was to come before that moment, `dated`
    those that say, or do not say, when it should.
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
    confidence_min: float | None = None
    confidence_max: float | None = None
    range: TimeRange = TimeRange()
    compacted_before: datetime | None = None
    due_before: datetime | None = None
    dated: bool | None = None


class DecisionCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many decisions there are, by what they are about. None as a name: not stated."""

    total: int
    by_category: dict[str, int]
    by_stakes: dict[str, int]
    by_status: dict[str, int]
    by_agent: dict[str, int]
    by_day: list[tuple[str, int]]
    top_tags: list[tuple[str, int]]


class DecisionIndex(Projection):
    """An index of decisions in the order in which they were recorded."""

    name: ClassVar[str] = "decisions"
    version: ClassVar[int] = 3
    reads: ClassVar[tuple[type[Payload], ...]] = (DecisionRecorded, DecisionAmended, DecisionReviewed)

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        """Stream to place. Another that numbers decisions in the same order may share it."""
        self._subjects: list[str] = []
        self._shared = array("I")
        self._tags = array("I")
        self._confidence = array("d")
        self._time_us = array("q")
        self._outcome = bytearray()
        self._prs = array("Q")
        """Place and pull request, one after the other, of the decisions that name one: few do."""
        self._dues = array("q")
        """Place and moment at which to review, one after the other, of the decisions that name one."""
        self._patterns = array("Q")
        """A digest of the pattern; 0 where there is none."""
        self._shareds: dict[GroupKey, int] = {}
        self._tagsets: dict[tuple[str, ...], int] = {(): NO_TAGS}

    def fold(self, events: Sequence[EventFacts]) -> None:
        index, subjects, shareds, tagsets = self.index, self._subjects, self._shareds, self._tagsets
        shared, tags, confidence, outcome = self._shared, self._tags, self._confidence, self._outcome
        patterns, size = self._patterns, len(subjects)
        times: list[str] = []
        for event in events:
            data = event.data
            if type(data) is DecisionRecorded:
                subject = event.subject
                index[subject] = size
                size += 1
                subjects.append(subject)
                about = (event.source, data.category, data.stakes, data.project, data.feature)
                number = shareds.get(about)
                if number is None:
                    number = shareds[about] = len(shareds)
                shared.append(number)
                tags.append(tagsets.setdefault(data.tags, len(tagsets)) if data.tags else NO_TAGS)
                confidence.append(_NAN if data.confidence is None else data.confidence)
                outcome.append(0)
                times.append(event.time)
                patterns.append(_digest(data.pattern) if data.pattern else 0)
                if data.pr is not None:
                    self._prs.extend((size - 1, data.pr))
                if data.review_by is not None:
                    self._dues.extend((size - 1, microseconds(data.review_by)))
            elif type(data) is DecisionReviewed:
                outcome[index[event.subject]] = _outcome[data.outcome]
            elif type(data) is DecisionAmended:
                self._amend(index[event.subject], data)
        self._time_us.frombytes(microseconds_column(times))

    def _amend(self, place: int, data: DecisionAmended) -> None:
        if data.confidence is not None:
            self._confidence[place] = data.confidence
        if data.tags is not None:
            self._tags[place] = self._tagsets.setdefault(data.tags, len(self._tagsets))
        if data.pattern is not None:
            self._patterns[place] = _digest(data.pattern) if data.pattern else 0

    def encode(self) -> bytes:
        return pack(
            {
                "index": pack_names(self.index),
                "shared": self._shared.tobytes(),
                "tags": self._tags.tobytes(),
                "confidence": self._confidence.tobytes(),
                "time_us": self._time_us.tobytes(),
                "outcome": bytes(self._outcome),
                "prs": self._prs.tobytes(),
                "dues": self._dues.tobytes(),
                "patterns": self._patterns.tobytes(),
                "shareds": list(self._shareds),
                "tagsets": list(self._tagsets),
            }
        )

    @classmethod
    def decode(cls, state: bytes) -> Self:
        parts = msgspec.msgpack.decode(state, type=_Parts)
        made = cls()
        made.index = unpack_names(parts.index)
        made._subjects = list(made.index)
        for name in ("shared", "tags", "confidence", "time_us", "prs", "dues", "patterns"):
            getattr(made, f"_{name}").frombytes(getattr(parts, name))
        made._outcome.extend(parts.outcome)
        made._shareds = {shared: number for number, shared in enumerate(parts.shareds)}
        made._tagsets = {tags: number for number, tags in enumerate(parts.tagsets)}
        lengths = {len(made.index), len(made._shared), len(made._confidence), len(made._time_us), len(made._patterns)}
        assert lengths == {len(made._outcome)}, "columns of unlike length"
        return made

    def summary(self) -> Mapping[str, object]:
        return msgspec.to_builtins(self.count(self.find(DecisionSelection())))  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self._outcome)

    def has(self, decision_id: str) -> bool:
        """Whether a decision of exactly this id is in the log."""
        return f"decision/{decision_id}" in self.index

    def matching(self, prefix: str, most: int = 2) -> list[str]:
        """Up to `most` decision ids that begin with a prefix, the oldest first."""
        found = []
        for subject in self.index:
            if subject.startswith(prefix, len("decision/")):
                found.append(subject.removeprefix("decision/"))
                if len(found) == most:
                    break
        return found

    def find(self, wanted: DecisionSelection) -> Places:
        """The places of the decisions that fit, the oldest first."""
        keep_shared = np.array([_fits(wanted, shared) for shared in self._shareds], dtype=bool)
        keep = keep_shared[as_array(self._shared, np.uint32)]
        outcome = as_array(self._outcome, np.uint8)
        if wanted.status is not None:
            pending = outcome == UNREVIEWED
            keep &= (pending & ("pending" in wanted.status)) | (~pending & ("reviewed" in wanted.status))
        if wanted.outcome is not None:
            keep &= outcome == _outcome.get(wanted.outcome, len(OUTCOMES))
        if wanted.tags:
            any_tag = np.array([not set(wanted.tags).isdisjoint(tags) for tags in self._tagsets], dtype=bool)
            keep &= any_tag[as_array(self._tags, np.uint32)]
        if wanted.pr is not None:
            places, prs = as_array(self._prs, np.uint64).reshape(-1, 2).T
            keep &= _among(places[prs == wanted.pr], len(keep))
        confidence = as_array(self._confidence, np.float64)
        if wanted.confidence_min is not None:
            keep &= confidence >= wanted.confidence_min
        if wanted.confidence_max is not None:
            keep &= confidence <= wanted.confidence_max
        return np.flatnonzero(self._within(wanted, keep))

    def _within(self, wanted: DecisionSelection, keep: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Those of them that fit in time."""
        time_us = as_array(self._time_us, np.int64)
        if wanted.range.since is not None:
            keep &= time_us >= microseconds(wanted.range.since)
        if wanted.range.until is not None:
            keep &= time_us <= microseconds(wanted.range.until)
        if wanted.compacted_before is not None:
            old = time_us < microseconds(wanted.compacted_before)
            keep &= ~(old & (as_array(self._outcome, np.uint8) != UNREVIEWED))
        places, dues = as_array(self._dues, np.int64).reshape(-1, 2).T
        if wanted.due_before is not None:
            keep &= _among(places[dues < microseconds(wanted.due_before)], len(keep))
        if wanted.dated is not None:
            keep &= _among(places, len(keep)) == wanted.dated
        return keep

    def order(self, places: Places, sort: SortField, *, descending: bool) -> Places:
        """Places sorted by a field, ties by age; a missing value stands last either way."""
        keys = self._sort_keys(sort)[places]
        missing = np.isnan(keys)
        ranked = -keys if descending else keys
        ranked[missing] = 0
        age = -places if descending else places
        return places[np.lexsort((age, ranked, missing))]

    def _sort_keys(self, sort: SortField) -> npt.NDArray[np.float64] | npt.NDArray[np.int64]:
        """What each decision is sorted by, NaN where it has none. Times stay whole: a float rounds those after 2255."""
        if sort == "created_at":
            return as_array(self._time_us, np.int64)
        if sort == "confidence":
            return as_array(self._confidence, np.float64)
        if sort == "status":
            return np.not_equal(as_array(self._outcome, np.uint8), UNREVIEWED).astype(np.int64)
        if sort == "stakes":
            ranks = [_stakes_rank.get(shared[2] or "", float("nan")) for shared in self._shareds]
        else:
            names = {name: rank for rank, name in enumerate(sorted({shared[1] or "" for shared in self._shareds}))}
            ranks = [float("nan") if shared[1] is None else names[shared[1]] for shared in self._shareds]
        return np.array(ranks, dtype=np.float64)[as_array(self._shared, np.uint32)]

    def subjects(self, places: Places) -> list[str]:
        """The streams of some decisions."""
        return [self._subjects[place] for place in places.tolist()]

    def recorded_within(self, places: Places, since: datetime) -> int:
        """How many of some decisions were made at or after a moment."""
        return int((as_array(self._time_us, np.int64)[places] >= microseconds(since)).sum())

    def pull_requests(self, places: Places) -> dict[int, int]:
        """Those of some decisions that name a pull request, by place."""
        named, prs = as_array(self._prs, np.uint64).reshape(-1, 2).T
        kept = np.isin(named, places.astype(np.uint64))
        return dict(zip(named[kept].tolist(), prs[kept].tolist(), strict=True))

    def dues(self, places: Places) -> dict[int, datetime]:
        """When those of some decisions that say so were to be reviewed, by place."""
        named, dues = as_array(self._dues, np.int64).reshape(-1, 2).T
        kept = np.isin(named, places)
        moments = (_EPOCH + timedelta(microseconds=due) for due in dues[kept].tolist())
        return dict(zip(named[kept].tolist(), moments, strict=True))

    def shared_patterns(self, places: Places, most: int) -> tuple[int, list[Places]]:
        """How many patterns several of some decisions name, and who names each of the `most` that are named most."""
        digests = as_array(self._patterns, np.uint64)[places]
        named = places[digests != 0]
        digests = digests[digests != 0]
        order = np.argsort(digests, kind="stable")
        named, digests = named[order], digests[order]
        starts = np.flatnonzero(np.concatenate([np.ones(len(digests[:1]), bool), digests[1:] != digests[:-1]]))
        counts = np.diff(np.append(starts, len(digests)))
        several = np.flatnonzero(counts > 1)
        ranked = several[np.lexsort((named[starts[several]], -counts[several]))][:most]
        return len(several), [named[starts[one] : starts[one] + counts[one]] for one in ranked]

    def count(self, places: Places) -> DecisionCounts:
        """Counts of some decisions by category, stakes, status, agent, day (UTC, newest first) and tag."""
        shared = np.bincount(as_array(self._shared, np.uint32)[places], minlength=len(self._shareds))
        weighted = [(key, int(n)) for key, n in zip(self._shareds, shared, strict=True) if n]
        reviewed = int((as_array(self._outcome, np.uint8)[places] != UNREVIEWED).sum())
        days = as_array(self._time_us, np.int64)[places] // DAY_US
        by_day = zip(*np.unique(days, return_counts=True), strict=True)
        statuses = {"pending": len(places) - reviewed, "reviewed": reviewed}
        return DecisionCounts(
            total=len(places),
            by_category=_tally((key[1], n) for key, n in weighted),
            by_stakes=_tally((key[2], n) for key, n in weighted),
            by_status={name: n for name, n in statuses.items() if n},
            by_agent=_tally((agent_of(key[0]), n) for key, n in weighted),
            by_day=[(_day(int(day)), int(n)) for day, n in reversed(list(by_day))],
            top_tags=self._count_tags(places),
        )

    def _count_tags(self, places: Places) -> list[tuple[str, int]]:
        tagsets = np.bincount(as_array(self._tags, np.uint32)[places], minlength=len(self._tagsets))
        tally: Counter[str] = Counter()
        for tags, n in zip(self._tagsets, tagsets, strict=True):
            for tag in set(tags):
                tally[tag] += int(n)
        return sorted(((tag, n) for tag, n in tally.items() if n), key=lambda item: (-item[1], item[0]))


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
    shareds: list[GroupKey]
    tagsets: list[tuple[str, ...]]


def _fits(wanted: DecisionSelection, shared: GroupKey) -> bool:
    source = None if wanted.agent is None else source_of(wanted.agent)
    if isinstance(wanted.stakes, tuple) and shared[2] not in wanted.stakes:
        return False
    stakes = wanted.stakes if isinstance(wanted.stakes, str) else None
    terms = zip((source, wanted.category, stakes, wanted.project, wanted.feature), shared, strict=True)
    return all(value is None or value == found for value, found in terms)


def _among(places: npt.NDArray[Any], size: int) -> npt.NDArray[np.bool_]:
    """Of so many decisions, whether each is at one of some places."""
    found = np.zeros(size, dtype=bool)
    found[places.astype(np.intp)] = True
    return found


def _digest(pattern: str) -> int:
    """A number for a pattern, 1..2**64-1: two patterns share one with a chance of one in 2**64."""
    return int.from_bytes(blake2b(pattern.encode("utf-8", "surrogatepass"), digest_size=8).digest()) or 1


def _tally(pairs: Iterable[tuple[str | None, int]]) -> dict[str, int]:
    """Sums by name, those without one left out, the largest first."""
    tally: Counter[str] = Counter()
    for name, n in pairs:
        if name is not None:
            tally[name] += n
    return dict(sorted(tally.items(), key=lambda item: (-item[1], item[0])))


def _day(days: int) -> str:
    return datetime.fromtimestamp(days * 86_400, UTC).date().isoformat()
