"""Convert a decision to events: all of it for a new decision, otherwise only what the ledger does not have.

The ids of events are digests of their content, so that an import that was interrupted, or runs twice at once, writes
nothing twice. Values that the ledger lacks become an amendment, if amendments have the field. Values that differ are
amended only if the source changed after the ledger recorded them. Later changes in the ledger are kept.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from api.importers.cstp.coerce import to_time
from api.importers.cstp.report import CstpImportResult
from api.importers.cstp.source_decision import NEVER, STORE_DEFAULTS, SourceDecision, SourceReview, stated_fields
from api.importers.cstp.source_equality import (
    equal_values,
    maybe_same_time,
    same_decision,
    same_review,
)
from api.importers.values import InvalidValue
from events.decision import DecisionAmended, DecisionPreserved, DecisionRecorded, DecisionReviewed, DecisionThought
from events.envelope import ANONYMOUS, Draft, source_of, timestamp
from events.limits import LINE_BYTES_MAX
from events.payload import Payload
from events.registry import VOCABULARY
from projections.decisions.decision_state import DecisionState

DATA_BYTES_MAX = LINE_BYTES_MAX - 1_535
"""The most bytes of an event's data; the rest of its line may need the others."""

_NAME_BYTES = 24
"""The most bytes of a field's name with its punctuation."""

ID_CHARS = 32
"""Characters of the digest in an event's id."""

LEDGER = "the ledger"
"""How a report names the ledger as a source."""

_AMENDABLE = frozenset(DecisionAmended.__struct_fields__) - {"decision_id"}
_encode = msgspec.json.Encoder().encode


class LedgerState(NamedTuple):
    """A decision in the ledger, and when the ledger recorded the newest statement about it."""

    decision: DecisionState
    stated_at: datetime


def decision_events(
    decision: SourceDecision, ledger_state: LedgerState | None, report: CstpImportResult
) -> list[Draft] | None:
    """Return the events that the ledger needs for a decision, in order; None if the decision was left out."""
    refusal = None
    if ledger_state is not None and not _is_same(decision, ledger_state.decision):
        refusal = f"an id for one decision: {LEDGER} has it for another"
    elif ledger_state is not None and ledger_state.decision.retracted is not None:
        refusal = f"a decision that is not retracted: {LEDGER} has retracted this one"
    if refusal is not None:
        report.add_loss(decision.files[0], "id", decision.id, refusal, left_out="decision", decision_id=decision.id)
        return None
    for review in decision.reviews:
        _shorten(decision, review.values, "outcome", frozenset(), report)
    if _size(decision.values["decision"]) > DATA_BYTES_MAX:
        _lose_long(decision, "decision", decision.values["decision"], report)
        return None
    amended = _shorten(decision, decision.values, "decision", _AMENDABLE, report)
    if ledger_state is not None:
        return _LedgerUpdate(decision, ledger_state, report).events()
    opening = {name: value for name, value in decision.values.items() if name not in amended}
    return [
        _event(decision, DecisionRecorded, opening, decision.agent, decision.time),
        *(
            _event(decision, DecisionAmended, {name: decision.values[name]}, decision.agent, decision.time)
            for name in amended
        ),
        *_review_events(decision, decision.reviews),
        *([_preserved(decision)] if decision.preserve else ()),
    ]


def _is_same(decision: SourceDecision, state: DecisionState) -> bool:
    texts = {entry.data.decision for entry in state.history if isinstance(entry.data, DecisionRecorded)}
    agent = None if state.agent == ANONYMOUS else state.agent
    return same_decision(decision, agent, texts | {state.decision.decision}, state.recorded_at)


def _size(value: object) -> int:
    """Return the bytes of a value in JSON, with its name."""
    return len(_encode(value)) + _NAME_BYTES


def _shorten(
    decision: SourceDecision, values: dict[str, Any], required: str, amendable: frozenset[str], report: CstpImportResult
) -> list[str]:
    """Remove the longest values until the others fit into one event.

    Values that fit into an amendment of their own stay in `values`; return their names.
    """
    sizes = {name: _size(value) for name, value in values.items()}
    size_bytes = sum(sizes.values())
    amended: list[str] = []
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if size_bytes <= DATA_BYTES_MAX:
            break
        if name == required:
            continue
        size_bytes -= sizes[name]
        if name in amendable and sizes[name] <= DATA_BYTES_MAX:
            amended.append(name)
        else:
            _lose_long(decision, name, values.pop(name), report)
    return amended


def _lose_long(decision: SourceDecision, field: str, value: object, report: CstpImportResult) -> None:
    allowed = f"at most {DATA_BYTES_MAX:,} bytes with the rest of its event"
    size = f"{len(_encode(value)):,} bytes"
    report.add_loss(decision.files[0], field, size, allowed, decision_id=decision.id)


def _event(
    decision: SourceDecision, payload: type[Payload], values: dict[str, Any], agent: str | None, time: datetime | None
) -> Draft:
    data = payload(decision_id=decision.id, **values)
    return identified_draft(data, agent, time, decision.id if payload is DecisionRecorded else None)


def identified_draft(data: Payload, agent: str | None, time: datetime | None, identity: str | None = None) -> Draft:
    """Return an event whose id is the digest of its content, or of another `identity`."""
    when = timestamp(time) if time is not None else ""
    content = (
        f"{type(data).__name__} {agent} {when} ".encode() + _encode(data) if identity is None else identity.encode()
    )
    event_id = f"cstp-{sha256(content).hexdigest()[:ID_CHARS]}"
    return VOCABULARY.draft_of(data, id=event_id, source=source_of(agent or ANONYMOUS), time=time)


def _review_events(decision: SourceDecision, reviews: Iterable[SourceReview]) -> list[Draft]:
    return [_event(decision, DecisionReviewed, review.values, review.agent, review.time) for review in reviews]


def _preserved(decision: SourceDecision) -> Draft:
    return _event(decision, DecisionPreserved, {"preserve": True}, decision.agent, decision.changed)


class _LedgerUpdate:
    """Finds what a decision in the ledger does not have of the same decision in the sources."""

    def __init__(self, decision: SourceDecision, ledger_state: LedgerState, report: CstpImportResult) -> None:
        self._decision = decision
        self._state = ledger_state.decision
        self._report = report
        self._statements = [
            entry.data for entry in self._state.history if isinstance(entry.data, DecisionRecorded | DecisionAmended)
        ]
        self._newer = decision.changed is not None and decision.changed > ledger_state.stated_at

    def events(self) -> list[Draft]:
        decision = self._decision
        if decision.agent is not None and self._state.agent != decision.agent:
            self._lose_late("recorded_by", decision.agent)
        thoughts = list(self._thoughts())
        amendments = self._amendments(self._changes())
        reviews = list(self._reviews())
        review_events = _review_events(decision, reviews)
        # If the review was the last change of the store, the amendment came before it, and its confidence is used.
        if reviews and not maybe_same_time(decision.changed, reviews[0].time):
            return [*thoughts, *review_events, *amendments, *self._preserve()]
        return [*thoughts, *amendments, *review_events, *self._preserve()]

    def _preserve(self) -> list[Draft]:
        """Return the event of a decision that is to be preserved, unless the ledger has ever said whether it is."""
        said = {entry.data.preserve for entry in self._state.history if isinstance(entry.data, DecisionPreserved)}
        if said == {False} and self._decision.preserve:
            self._add_conflict("preserve", "false", "true")
        return [_preserved(self._decision)] if self._decision.preserve and not said else []

    def _amendments(self, changes: dict[str, Any]) -> list[Draft]:
        """Return one amendment with all changes, or one for each if they do not fit on a line."""
        fits = sum(map(_size, changes.values())) <= DATA_BYTES_MAX
        parts = [changes] if fits else [{name: value} for name, value in changes.items()]
        decision = self._decision
        return [_event(decision, DecisionAmended, part, decision.agent, decision.changed) for part in parts if part]

    def _changes(self) -> dict[str, Any]:
        """Return the fields for an amendment; report the differences that cannot be amended."""
        stored = stated_fields(self._state.decision)
        changes = {}
        for name, value in self._decision.values.items():
            only_in_store = name not in stored and self._decision.stored == {"sqlite"}
            if only_in_store and STORE_DEFAULTS.get(name) == value:
                continue
            differences = list(_differences(stored.get(name), value, name))
            if not differences or self._was_stated(name, value):
                continue
            missing = all(current is None for _, current, _ in differences)
            if name in _AMENDABLE and (missing or self._newer):
                changes[name] = _overlay(stored.get(name), value)
                continue
            for path, current, new in differences:
                if current is None:
                    self._lose_late(path, new)
                else:
                    self._add_conflict(path, current, new)
        return changes

    def _was_stated(self, name: str, value: object) -> bool:
        """Whether the ledger recorded this value before and changed it since: then the ledger's value is used."""
        earlier = (getattr(statement, name, None) for statement in self._statements[:-1])
        return any(stated is not None and not list(_differences(stated, value, name)) for stated in earlier)

    def _thoughts(self) -> Iterator[Draft]:
        """Yield steps that were added to the deliberation: CSTP appends thoughts on a recorded decision there."""
        stored, new = self._state.decision.deliberation, self._decision.values.get("deliberation")
        if stored is None or new is None or new.steps[: len(stored.steps)] != stored.steps:
            return
        added_steps = new.steps[len(stored.steps) :]
        for step in added_steps:
            if not step.thought or step.thought in self._state.thoughts:
                continue
            try:
                time = to_time(step.timestamp) if step.timestamp is not None else self._decision.changed
            except InvalidValue:
                time = self._decision.changed
            yield _event(self._decision, DecisionThought, {"text": step.thought}, self._decision.agent, time)
        if added_steps:
            replaced = msgspec.structs.replace(new, steps=stored.steps, inputs=stored.inputs)
            self._decision.values["deliberation"] = replaced

    def _reviews(self) -> Iterator[SourceReview]:
        """Yield reviews that the ledger does not have, or has with fewer fields."""
        ledger_reviews = [
            SourceReview(
                values={name: value for name, value in stated_fields(entry.data).items() if name != "decision_id"},
                time=entry.time,
                agent=None if entry.agent == ANONYMOUS else entry.agent,
            )
            for entry in self._state.history
            if isinstance(entry.data, DecisionReviewed)
        ]
        for review in self._decision.reviews:
            same = next((stored for stored in reversed(ledger_reviews) if same_review(stored, review)), None)
            new: SourceReview | None = review
            if same is not None:
                completed = self._complete(same, review)
                new = completed if same is ledger_reviews[-1] else None
            elif ledger_reviews and (review.time or NEVER) <= max(stored.time or NEVER for stored in ledger_reviews):
                self._add_conflict("outcome", ledger_reviews[-1].values["outcome"], review.values["outcome"])
                new = None
            if new is not None:
                ledger_reviews.append(new)
                yield new

    def _complete(self, stored: SourceReview, review: SourceReview) -> SourceReview | None:
        """Return a review with the fields of both; None if the ledger's has them all."""
        for name, value in review.values.items():
            if name in stored.values and not equal_values(stored.values[name], value):
                self._add_conflict(f"review.{name}", stored.values[name], value)
        adds_reviewer = stored.agent is None and review.agent is not None
        if not adds_reviewer and review.values.keys() <= stored.values.keys():
            return None
        values = {**review.values, **stored.values}
        return SourceReview(values=values, time=review.time or stored.time, agent=review.agent or stored.agent)

    def _lose_late(self, field: str, value: object) -> None:
        allowed = "known when its decision is first recorded: import files and store together"
        file, decision_id = self._decision.files[0], self._decision.id
        self._report.add_loss(file, field, msgspec.to_builtins(value), allowed, decision_id=decision_id)

    def _add_conflict(self, field: str, stored: object, new: object) -> None:
        self._report.add_conflict(self._decision.id, field, (stored, LEDGER), (new, self._decision.files[0]))


def _differences(current: object, new: object, path: str) -> Iterator[tuple[str, object, object]]:
    """Yield the differences of a value from the current one: path, current value (None if missing), new value."""
    if isinstance(current, msgspec.Struct) and type(current) is type(new):
        current_fields = stated_fields(current)
        for name, value in stated_fields(new).items():
            yield from _differences(current_fields.get(name), value, f"{path}.{name}")
    elif current is None or not equal_values(current, new):
        yield path, current, new


def _overlay(current: object, new: object) -> object:
    """Return the new value; fields that it lacks are added from the current one."""
    if isinstance(current, msgspec.Struct) and type(current) is type(new):
        return type(new)(**{**stated_fields(current), **stated_fields(new)})
    return new
