"""Several accounts of one decision to one. The first is the fuller; what it lacks comes from the others.

Where two say otherwise of a field, the one that changed later counts, and the contradiction is noted. CSTP keeps one
review a decision; two places with different ones give two, in the order in which they were made, so that the later
counts and the earlier is not lost.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import structs

from api.importers.cstp.report import APART, ReportBuilder, SourceConflict, quoted
from api.importers.cstp.source_decision import SourceDecision, SourceReview

NEAR = timedelta(seconds=60)
"""CSTP takes the time once for each place it writes to: times so near are one time."""

FILLED_IN = {"confidence": 0.0, "stakes": "medium"}
"""What CSTP's store says where a decision file says nothing."""

NEVER = datetime.min.replace(tzinfo=UTC)
"""Before every time; what has none is the older."""


def join(accounts: Iterable[SourceDecision], notes: ReportBuilder) -> list[SourceDecision]:
    """One account a decision, the earliest decision first."""
    joined: dict[str, SourceDecision] = {}
    for account in accounts:
        first = joined.get(account.id)
        if first is None:
            joined[account.id] = account
        elif same(first, account):
            _add(first, account, notes)
        else:
            must_be = f"an id for one decision: {first.files[0]} has it for another"
            notes.lose(account.files[0], "id", account.id, must_be, "decision", account.id)
    return sorted(joined.values(), key=lambda account: (account.time is None, account.time or NEVER, account.id))


def same(one: SourceDecision, other: SourceDecision) -> bool:
    """Whether two accounts are of one decision: no other agent's, and of the same words or the same time."""
    if one.agent is not None and other.agent is not None and one.agent != other.agent:
        return False
    return one.values["decision"] == other.values["decision"] or at_once(one.time, other.time)


def near(one: datetime | None, other: datetime | None) -> bool:
    """Whether two times are one, as far as is known."""
    return one is None or other is None or abs(one - other) <= NEAR


def at_once(one: datetime | None, other: datetime | None) -> bool:
    """Whether two times are known to be one."""
    return one is not None and other is not None and near(one, other)


def alike(one: object, other: object) -> bool:
    """Whether two values say the same; the order of texts, which a store does not keep, says nothing."""
    if isinstance(one, tuple) and isinstance(other, tuple) and all(isinstance(item, str) for item in (*one, *other)):
        return set(one) == set(other)
    return one == other


def _add(account: SourceDecision, further: SourceDecision, notes: ReportBuilder) -> None:
    """Put what a further account of a decision says into the first."""
    newer = (further.changed or NEVER) > (account.changed or NEVER)
    places = account.files[0], further.files[0]
    says = dict(further.values)
    if "yaml" in account.stored and "sqlite" in further.stored:
        for field, filler in FILLED_IN.items():
            if field not in account.values and says.get(field) == filler:
                del says[field]
    joined = _Joined(account.id, places, newer, notes)
    account.values = joined.fields(account.values, says)
    account.reviews = _reviews(account.reviews, further.reviews, joined)
    notes.doubtful[APART] += not near(account.time, further.time)
    account.agent = account.agent or further.agent
    account.time = account.time or further.time
    account.changed = max((time for time in (account.changed, further.changed) if time is not None), default=None)
    account.files.append(further.files[0])
    account.stored |= further.stored


class _Joined:
    """The joining of two places' values, the second counting where it is newer."""

    def __init__(self, decision_id: str, places: tuple[str, str], newer: bool, notes: ReportBuilder) -> None:
        self._id = decision_id
        self._places = places
        self.newer = newer
        self._notes = notes

    def fields(self, one: dict[str, Any], other: dict[str, Any], path: str = "") -> dict[str, Any]:
        values = dict(one)
        for name, value in other.items():
            values[name] = self._one(values[name], value, f"{path}{name}") if name in values else value
        return values

    def contradict(self, field: str, one: object, other: object, *, other_counts: bool) -> None:
        """Note two values, of which one counts."""
        pairs = [(one, self._places[0]), (other, self._places[1])]
        (taken, taken_from), (left, left_from) = reversed(pairs) if other_counts else pairs
        self._notes.contradictions.append(
            SourceConflict(
                decision_id=self._id,
                field=field,
                taken=quoted(_plain(taken)),
                taken_from=taken_from,
                other=quoted(_plain(left)),
                other_from=left_from,
            )
        )

    def _one(self, one: object, other: object, path: str) -> object:
        if isinstance(one, msgspec.Struct) and type(one) is type(other):
            return type(one)(**self.fields(said(one), said(other), f"{path}."))
        if alike(one, other):
            return one
        self.contradict(path, one, other, other_counts=self.newer)
        return other if self.newer else one


def said(struct: msgspec.Struct) -> dict[str, Any]:
    """The fields of a struct that say something."""
    fields = ((name, getattr(struct, name)) for name in struct.__struct_fields__)
    return {name: value for name, value in fields if value is not None and value != ()}


def _plain(value: object) -> object:
    return msgspec.to_builtins(value)


def _reviews(ones: list[SourceReview], others: list[SourceReview], joined: _Joined) -> list[SourceReview]:
    """The reviews of two places, oldest first; one that both have stands there once, with all that either says."""
    reviews = list(ones)
    for other in others:
        place = next((number for number, one in enumerate(reviews) if same_review(one, other)), None)
        if place is not None:
            reviews[place] = _review(reviews[place], other, joined)
        elif not reviews:
            reviews.append(other)
        else:
            last = reviews[-1]
            later = (other.time or NEVER) > (last.time or NEVER)
            outcomes = last.values["outcome"], other.values["outcome"]
            if outcomes[0] != outcomes[1]:
                joined.contradict("outcome", *outcomes, other_counts=later)
            else:
                joined.contradict("reviewed_at", last.time, other.time, other_counts=later)
            reviews.insert(len(reviews) if later else 0, other)
    return sorted(reviews, key=lambda review: review.time or NEVER)


def _review(one: SourceReview, other: SourceReview, joined: _Joined) -> SourceReview:
    values = joined.fields(one.values, other.values, "review.")
    return structs.replace(one, values=values, time=one.time or other.time, agent=one.agent or other.agent)


def same_review(one: SourceReview, other: SourceReview) -> bool:
    """Whether two places tell of one review: the same outcome at one time."""
    return one.values["outcome"] == other.values["outcome"] and near(one.time, other.time)
