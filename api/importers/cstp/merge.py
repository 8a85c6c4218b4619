"""Merge what several sources state of one decision. The first source is the most complete; others fill its gaps.

If two sources state different values, the one that changed later counts, and the conflict is noted. CSTP keeps one
review for each decision. Two sources with different reviews give two, in order of time: the later one counts, and the
earlier one is not lost.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from api.importers.cstp.report import OTHER_TIME, ReportBuilder
from api.importers.cstp.source_decision import SourceDecision, SourceReview

SAME_TIME = timedelta(seconds=60)
"""CSTP reads the clock once for each place that it writes to: times this close are the same time."""

FILLED_IN = {"confidence": 0.0, "stakes": "medium"}
"""Values that CSTP's store has where a decision file has none."""

NEVER = datetime.min.replace(tzinfo=UTC)
"""Before every time: a source without a time is the older one."""


def merge_decisions(decisions: Iterable[SourceDecision], notes: ReportBuilder) -> list[SourceDecision]:
    """Return one decision for each id, ordered by time."""
    merged: dict[str, SourceDecision] = {}
    for decision in decisions:
        first = merged.setdefault(decision.id, decision)
        if first is decision:
            continue
        if same_decision(first, decision):
            _merge(first, decision, notes)
        else:
            allowed = f"an id for one decision: {first.files[0]} has it for another"
            notes.lose(decision.files[0], "id", decision.id, allowed, "decision", decision.id)
    return sorted(merged.values(), key=lambda one: (one.time is None, one.time or NEVER, one.id))


def same_decision(one: SourceDecision, other: SourceDecision) -> bool:
    """Whether two sources describe the same decision: no different agents, and the same text or the same time."""
    if one.agent is not None and other.agent is not None and one.agent != other.agent:
        return False
    return one.values["decision"] == other.values["decision"] or known_same_time(one.time, other.time)


def maybe_same_time(one: datetime | None, other: datetime | None) -> bool:
    """Whether two times are the same, or one is unknown."""
    return one is None or other is None or abs(one - other) <= SAME_TIME


def known_same_time(one: datetime | None, other: datetime | None) -> bool:
    """Whether two times are known to be the same."""
    return one is not None and other is not None and maybe_same_time(one, other)


def same_review(one: SourceReview, other: SourceReview) -> bool:
    """Whether two sources describe the same review: the same outcome at the same time."""
    return one.values["outcome"] == other.values["outcome"] and maybe_same_time(one.time, other.time)


def equal_values(one: object, other: object) -> bool:
    """Whether two values are equal; the order of texts in a list does not count, because a store loses it."""
    if isinstance(one, tuple) and isinstance(other, tuple) and all(isinstance(item, str) for item in (*one, *other)):
        return set(one) == set(other)
    return one == other


def stated_fields(struct: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a struct that have a value."""
    fields = ((name, getattr(struct, name)) for name in struct.__struct_fields__)
    return {name: value for name, value in fields if value is not None and value != ()}


def _merge(decision: SourceDecision, other: SourceDecision, notes: ReportBuilder) -> None:
    """Add to a decision what another source states of it."""
    newer = (other.changed or NEVER) > (decision.changed or NEVER)
    values = dict(other.values)
    if "yaml" in decision.stored and "sqlite" in other.stored:
        for field, filler in FILLED_IN.items():
            if field not in decision.values and values.get(field) == filler:
                del values[field]
    merge = _Merge(decision.id, decision.files[0], other.files[0], newer, notes)
    decision.values = merge.fields(decision.values, values)
    decision.reviews = merge.reviews(decision.reviews, other.reviews)
    notes.doubtful[OTHER_TIME] += not maybe_same_time(decision.time, other.time)
    decision.agent = decision.agent or other.agent
    decision.time = decision.time or other.time
    decision.changed = max((time for time in (decision.changed, other.changed) if time is not None), default=None)
    decision.files.append(other.files[0])
    decision.stored |= other.stored


class _Merge(NamedTuple):
    """Merges the values of two sources; the second one counts if it is `newer`."""

    id: str
    file: str
    other_file: str
    newer: bool
    notes: ReportBuilder

    def fields(self, one: dict[str, Any], other: dict[str, Any], path: str = "") -> dict[str, Any]:
        both = {name: self._value(one[name], other[name], path + name) for name in other if name in one}
        return {**one, **other, **both}

    def _value(self, one: object, other: object, path: str) -> object:
        if isinstance(one, msgspec.Struct) and type(one) is type(other):
            return type(one)(**self.fields(stated_fields(one), stated_fields(other), f"{path}."))
        if equal_values(one, other):
            return one
        self._conflict(path, one, other, other_counts=self.newer)
        return other if self.newer else one

    def _conflict(self, field: str, one: object, other: object, *, other_counts: bool) -> None:
        pair = (one, self.file), (other, self.other_file)
        self.notes.conflict(self.id, field, *(reversed(pair) if other_counts else pair))

    def reviews(self, ones: list[SourceReview], others: list[SourceReview]) -> list[SourceReview]:
        """Return the reviews of two sources, oldest first; the same review only once, with the values of both."""
        reviews = list(ones)
        for other in others:
            place = next((number for number, one in enumerate(reviews) if same_review(one, other)), None)
            if place is not None:
                one = reviews[place]
                values = self.fields(one.values, other.values, "review.")
                reviews[place] = structs.replace(
                    one, values=values, time=one.time or other.time, agent=one.agent or other.agent
                )
                continue
            later = True
            if reviews:
                last = reviews[-1]
                later = (other.time or NEVER) > (last.time or NEVER)
                outcomes = last.values["outcome"], other.values["outcome"]
                if outcomes[0] != outcomes[1]:
                    self._conflict("outcome", *outcomes, other_counts=later)
                else:
                    self._conflict("reviewed_at", last.time, other.time, other_counts=later)
            reviews.insert(len(reviews) if later else 0, other)
        return sorted(reviews, key=lambda review: review.time or NEVER)
