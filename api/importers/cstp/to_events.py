"""Convert a decision to events: all of it for a new decision, otherwise only what the ledger does not have.

The ids of events are digests of their content, so that an import that was interrupted, or runs twice at once, writes
nothing twice. Values that the ledger lacks become an amendment, if amendments have the field. Values that differ are
amended only if the source changed after the ledger recorded them. Later changes in the ledger are kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from api.auth import ANONYMOUS
from api.importers.cstp.coerce import CoercionError, to_time
from api.importers.cstp.merge import (
    FILLED_IN,
    NEVER,
    equal_values,
    known_same_time,
    maybe_same_time,
    same_review,
    stated_fields,
)
from api.importers.cstp.report import ReportBuilder
from api.importers.cstp.source_decision import SourceDecision, SourceReview
from events.decision import DecisionAmended, DecisionRecorded, DecisionReviewed, DecisionThought
from events.envelope import Draft, source_of, timestamp
from events.limits import LINE_BYTES_MAX
from events.payload import Payload
from events.registry import VOCABULARY
from projections.decisions.decision_state import DecisionState

DATA_BYTES_MAX = LINE_BYTES_MAX - 1_535
"""The most bytes of an event's data; the rest of its line may need the others."""

_NAME_BYTES = 24
"""The most bytes of a field's name with its punctuation."""

LEDGER = "the ledger"
"""How a report names the ledger as a source."""

_AMENDABLE = frozenset(DecisionAmended.__struct_fields__) - {"decision_id"}
_encode = msgspec.json.Encoder().encode
_draft = {kind.payload: kind.draft for kind in VOCABULARY.kinds.values()}


class SizedDraft(NamedTuple):
    """A draft, and the size of its data in bytes."""

    draft: Draft
    size_bytes: int


class LedgerState(NamedTuple):
    """A decision in the ledger, and when the ledger recorded the newest statement about it."""

    decision: DecisionState
    stated_at: datetime


def decision_events(
    decision: SourceDecision, held: LedgerState | None, notes: ReportBuilder
) -> list[SizedDraft] | None:
    """Return the events that the ledger needs for a decision, in order; None if the decision was left out."""
    if held is not None and not _is_same(decision, held.decision):
        allowed = f"an id for one decision: {LEDGER} has it for another"
        notes.lose(decision.files[0], "id", decision.id, allowed, "decision", decision.id)
        return None
    amended = _shorten(decision, notes)
    if amended is None:
        return None
    if held is not None:
        return _Update(decision, held, notes).events()
    opening = {name: value for name, value in decision.values.items() if name not in amended}
    return [
        _event(decision, DecisionRecorded, opening, decision.agent, decision.time),
        *(
            _event(decision, DecisionAmended, {name: decision.values[name]}, decision.agent, decision.time)
            for name in amended
        ),
        *_review_events(decision, decision.reviews),
    ]


def _is_same(decision: SourceDecision, held: DecisionState) -> bool:
    if decision.agent is not None and held.agent not in {decision.agent, ANONYMOUS}:
        return False
    texts = {entry.data.decision for entry in held.history if isinstance(entry.data, DecisionRecorded)}
    texts.add(held.decision.decision)
    return decision.values["decision"] in texts or known_same_time(decision.time, held.recorded_at)


def _sizes(values: Mapping[str, Any]) -> dict[str, int]:
    """Return the bytes of each value as JSON, with its name."""
    return {name: len(_encode(value)) + _NAME_BYTES for name, value in values.items()}


def _shorten(decision: SourceDecision, notes: ReportBuilder) -> list[str] | None:
    """Remove values that no event can hold; None, with a note, if the decision's text is too long.

    Returns the names of values that do not fit into the opening event, and become amendments.
    """
    for review in decision.reviews:
        review.values = _fit(decision, review.values, "outcome", [], notes)
    if _sizes(decision.values)["decision"] > DATA_BYTES_MAX:
        _lose_long(decision, "decision", decision.values["decision"], notes)
        return None
    amended: list[str] = []
    decision.values = _fit(decision, decision.values, "decision", amended, notes)
    return amended


def _fit(
    decision: SourceDecision, values: dict[str, Any], required: str, amended: list[str], notes: ReportBuilder
) -> dict[str, Any]:
    """Remove the longest values until the rest fits into one event; add those that fit an amendment to `amended`."""
    sizes = _sizes(values)
    size_bytes, kept = sum(sizes.values()), dict(values)
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if size_bytes <= DATA_BYTES_MAX:
            break
        if name == required:
            continue
        size_bytes -= sizes[name]
        if required == "decision" and name in _AMENDABLE and sizes[name] <= DATA_BYTES_MAX:
            amended.append(name)
        else:
            _lose_long(decision, name, values[name], notes)
            del kept[name]
    return kept


def _lose_long(decision: SourceDecision, field: str, value: object, notes: ReportBuilder) -> None:
    allowed = f"at most {DATA_BYTES_MAX:,} bytes with the rest of its event"
    notes.lose(decision.files[0], field, f"{len(_encode(value)):,} bytes", allowed, None, decision.id)


def _event(
    decision: SourceDecision, payload: type[Payload], values: dict[str, Any], agent: str | None, time: datetime | None
) -> SizedDraft:
    data = payload(decision_id=decision.id, **values)
    content = _encode(data)
    if payload is DecisionRecorded:
        identity = decision.id.encode()
    else:
        when = timestamp(time) if time is not None else ""
        identity = f"{payload.__name__} {agent} {when} ".encode() + content
    name = sha256(identity).hexdigest()[:32]
    source = source_of(agent if agent is not None else ANONYMOUS)
    return SizedDraft(_draft[payload](id=f"cstp-{name}", source=source, time=time, data=data), len(content))


def _review_events(decision: SourceDecision, reviews: Iterable[SourceReview]) -> list[SizedDraft]:
    return [_event(decision, DecisionReviewed, one.values, one.agent, one.time) for one in reviews]


class _Update:
    """Finds what the ledger does not have of a decision."""

    def __init__(self, decision: SourceDecision, held: LedgerState, notes: ReportBuilder) -> None:
        self._decision = decision
        self._held = held.decision
        self._notes = notes
        self._stated = [
            entry for entry in self._held.history if isinstance(entry.data, DecisionRecorded | DecisionAmended)
        ]
        self._newer = decision.changed is not None and decision.changed > held.stated_at

    def events(self) -> list[SizedDraft]:
        decision = self._decision
        if decision.agent is not None and self._held.agent != decision.agent:
            self._lose_late("recorded_by", decision.agent)
        thoughts = list(self._thoughts())
        amendments = self._amendments(self._changes())
        reviews = list(self._reviews())
        review_events = _review_events(decision, reviews)
        # If the review was the last change of the store, the amendment came before it, and its confidence counts.
        if reviews and not maybe_same_time(decision.changed, reviews[0].time):
            return [*thoughts, *review_events, *amendments]
        return [*thoughts, *amendments, *review_events]

    def _amendments(self, changes: dict[str, Any]) -> list[SizedDraft]:
        """Return one amendment with all changes, or one for each if they do not fit on a line."""
        whole = sum(_sizes(changes).values()) <= DATA_BYTES_MAX
        parts = [changes] if whole else [{name: value} for name, value in changes.items()]
        decision = self._decision
        return [_event(decision, DecisionAmended, part, decision.agent, decision.changed) for part in parts if part]

    def _changes(self) -> dict[str, Any]:
        """Return the fields for an amendment; note the differences that cannot be amended."""
        have = stated_fields(self._held.decision)
        changes = {}
        for name, value in self._decision.values.items():
            if name not in have and self._decision.stored == {"sqlite"} and FILLED_IN.get(name) == value:
                continue
            differences = list(_differences(have.get(name), value, name))
            if not differences or self._was_stated(name, value):
                continue
            missing = all(current is None for _, current, _ in differences)
            if name in _AMENDABLE and (missing or self._newer):
                changes[name] = _overlay(have.get(name), value)
                continue
            for path, current, one in differences:
                if current is None:
                    self._lose_late(path, one)
                else:
                    self._conflict(path, current, one)
        return changes

    def _was_stated(self, name: str, value: object) -> bool:
        """Whether the ledger recorded this value before and changed it since: then the ledger is right."""
        earlier = (getattr(entry.data, name, None) for entry in self._stated[:-1])
        return any(one is not None and not list(_differences(one, value, name)) for one in earlier)

    def _thoughts(self) -> Iterator[SizedDraft]:
        """Yield steps that were added to the deliberation: CSTP appends thoughts on a recorded decision there."""
        ours, theirs = self._held.decision.deliberation, self._decision.values.get("deliberation")
        if ours is None or theirs is None or theirs.steps[: len(ours.steps)] != ours.steps:
            return
        added = theirs.steps[len(ours.steps) :]
        for step in added:
            if not step.thought or step.thought in self._held.thoughts:
                continue
            try:
                time = to_time(step.timestamp) if step.timestamp is not None else self._decision.changed
            except CoercionError:
                time = self._decision.changed
            yield _event(self._decision, DecisionThought, {"text": step.thought}, self._decision.agent, time)
        if added:
            kept = {"steps": ours.steps, "inputs": ours.inputs}
            self._decision.values["deliberation"] = msgspec.structs.replace(theirs, **kept)

    def _reviews(self) -> Iterator[SourceReview]:
        """Yield reviews that the ledger does not have, or has with fewer fields."""
        known = [
            SourceReview(
                values={name: value for name, value in stated_fields(entry.data).items() if name != "decision_id"},
                time=entry.time,
                agent=None if entry.agent == ANONYMOUS else entry.agent,
            )
            for entry in self._held.history
            if isinstance(entry.data, DecisionReviewed)
        ]
        for review in self._decision.reviews:
            twin = next((one for one in reversed(known) if same_review(one, review)), None)
            new: SourceReview | None = review
            if twin is not None:
                completed = self._completed(twin, review)
                new = completed if twin is known[-1] else None
            elif known and (review.time or NEVER) <= max(one.time or NEVER for one in known):
                self._conflict("outcome", known[-1].values["outcome"], review.values["outcome"])
                new = None
            if new is not None:
                known.append(new)
                yield new

    def _completed(self, known: SourceReview, review: SourceReview) -> SourceReview | None:
        """Return a review with the fields of both; None if the ledger's has them all."""
        for name in known.values.keys() & review.values.keys():
            if not equal_values(known.values[name], review.values[name]):
                self._conflict(f"review.{name}", known.values[name], review.values[name])
        adds_reviewer = known.agent is None and review.agent is not None
        if not adds_reviewer and review.values.keys() <= known.values.keys():
            return None
        return SourceReview(
            values={**review.values, **known.values}, time=review.time or known.time, agent=review.agent or known.agent
        )

    def _lose_late(self, field: str, value: object) -> None:
        allowed = "known when its decision is first recorded: import files and store together"
        decision = self._decision
        self._notes.lose(decision.files[0], field, msgspec.to_builtins(value), allowed, None, decision.id)

    def _conflict(self, field: str, ours: object, theirs: object) -> None:
        self._notes.conflict(self._decision.id, field, (ours, LEDGER), (theirs, self._decision.files[0]))


def _differences(current: object, value: object, path: str) -> Iterator[tuple[str, object, object]]:
    """Yield the differences of a value from the current one: path, current value (None if missing), new value."""
    if isinstance(current, msgspec.Struct) and type(current) is type(value):
        have = stated_fields(current)
        for name, one in stated_fields(value).items():
            yield from _differences(have.get(name), one, f"{path}.{name}")
    elif current is None or not equal_values(current, value):
        yield path, current, value


def _overlay(current: object, value: object) -> object:
    """Return a value with the fields of the current one that it lacks."""
    if isinstance(current, msgspec.Struct) and type(current) is type(value):
        return type(value)(**{**stated_fields(current), **stated_fields(value)})
    return value
