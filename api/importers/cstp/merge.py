"""Merge what the files and stores of an installation state of one decision.

The first source is the most complete one; the others add the fields that it does not have. If two sources state
different values, the value of the source that changed later is used, and the conflict is reported. CSTP keeps one
review of each decision. If two sources have different reviews, both are kept, in order of time.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from api.importers.cstp.report import OTHER_TIME, CstpImportResult
from api.importers.cstp.source_decision import NEVER, STORE_DEFAULTS, SourceDecision, SourceReview, stated_fields
from api.importers.cstp.source_equality import (
    equal_values,
    maybe_same_time,
    same_decision,
    same_review,
)


def merge_decisions(decisions: Iterable[SourceDecision], report: CstpImportResult) -> list[SourceDecision]:
    """Return one decision for each id, ordered by time."""
    merged: dict[str, SourceDecision] = {}
    for decision in decisions:
        first = merged.setdefault(decision.id, decision)
        if first is decision:
            continue
        if same_decision(decision, first.agent, {first.values["decision"]}, first.time):
            _merge(first, decision, report)
        else:
            allowed = f"an id for one decision: {first.files[0]} has it for another"
            report.add_loss(decision.files[0], "id", decision.id, allowed, left_out="decision", decision_id=decision.id)
    return sorted(merged.values(), key=lambda decision: (decision.time is None, decision.time or NEVER, decision.id))


def _merge(decision: SourceDecision, addition: SourceDecision, report: CstpImportResult) -> None:
    """Add to a decision what another source states of it."""
    newer = (addition.changed or NEVER) > (decision.changed or NEVER)
    added_values = dict(addition.values)
    if "yaml" in decision.stored and "sqlite" in addition.stored:
        for field, default in STORE_DEFAULTS.items():
            if field not in decision.values and added_values.get(field) == default:
                del added_values[field]
    known = {link.key for link in decision.related}
    decision.related += [link for link in addition.related if link.key not in known]
    merge = _Merge(decision.id, decision.files[0], addition.files[0], newer, report)
    decision.values = merge.fields(decision.values, added_values)
    decision.reviews = merge.reviews(decision.reviews, addition.reviews)
    if not maybe_same_time(decision.time, addition.time):
        report.doubtful[OTHER_TIME] += 1
    decision.agent = decision.agent or addition.agent
    decision.time = decision.time or addition.time
    decision.changed = max(filter(None, (decision.changed, addition.changed)), default=None)
    decision.files.append(addition.files[0])
    decision.stored |= addition.stored
    decision.preserve |= addition.preserve


class _Merge(NamedTuple):
    """Merges the values of two sources. The second source changed later if it is `newer`."""

    id: str
    first_file: str
    second_file: str
    newer: bool
    report: CstpImportResult

    def fields(self, first: dict[str, Any], second: dict[str, Any], path: str = "") -> dict[str, Any]:
        """Return the fields of both sources."""
        shared = {name: self._value(first[name], second[name], path + name) for name in second if name in first}
        return {**first, **second, **shared}

    def _value(self, first: object, second: object, path: str) -> object:
        if isinstance(first, msgspec.Struct) and type(first) is type(second):
            return type(first)(**self.fields(stated_fields(first), stated_fields(second), f"{path}."))
        if equal_values(first, second):
            return first
        self._add_conflict(path, first, second, take_second=self.newer)
        return second if self.newer else first

    def _add_conflict(self, field: str, first: object, second: object, *, take_second: bool) -> None:
        pair = (first, self.first_file), (second, self.second_file)
        self.report.add_conflict(self.id, field, *(reversed(pair) if take_second else pair))

    def reviews(self, first: list[SourceReview], second: list[SourceReview]) -> list[SourceReview]:
        """Return the reviews of both sources, oldest first. A review that both have gets the values of both."""
        reviews = list(first)
        for added in second:
            index = next((index for index, review in enumerate(reviews) if same_review(review, added)), None)
            if index is None:
                self._add_review(reviews, added)
                continue
            review = reviews[index]
            values = self.fields(review.values, added.values, "review.")
            reviews[index] = structs.replace(
                review, values=values, time=review.time or added.time, agent=review.agent or added.agent
            )
        return sorted(reviews, key=lambda review: review.time or NEVER)

    def _add_review(self, reviews: list[SourceReview], added: SourceReview) -> None:
        """Add a review that the first source does not have; report it as a conflict with the latest one."""
        if not reviews:
            reviews.append(added)
            return
        last = reviews[-1]
        later = (added.time or NEVER) > (last.time or NEVER)
        outcomes = last.values["outcome"], added.values["outcome"]
        if outcomes[0] != outcomes[1]:
            self._add_conflict("outcome", *outcomes, take_second=later)
        else:
            self._add_conflict("reviewed_at", last.time, added.time, take_second=later)
        reviews.insert(len(reviews) if later else 0, added)
