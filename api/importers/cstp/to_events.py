"""From an account to events: all of it for a decision the ledger does not have, else only what is new.

The ids of events are digests of what they say, so that a takeover that was cut off, or runs twice at once, writes
nothing twice. What a decision in the ledger lacks is added by an amendment, where amendments have the field; what it
says otherwise is amended only where the account changed after the ledger was told. What the ledger learned since stays.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from api.auth import ANONYMOUS
from api.importers.cstp.coerce import CoercionError, moment
from api.importers.cstp.merge import FILLED_IN, NEVER, alike, at_once, near, said, same_review
from api.importers.cstp.report import ReportBuilder, SourceConflict, quoted
from api.importers.cstp.source_decision import SourceDecision, SourceReview
from events.decision import DecisionAmended, DecisionRecorded, DecisionReviewed, DecisionThought
from events.envelope import Draft, source_of, timestamp
from events.limits import LINE_BYTES_MAX
from events.payload import Payload
from events.registry import VOCABULARY
from projections.decisions.decision_state import DecisionState, HistoryEntry

DATA_BYTES_MAX = LINE_BYTES_MAX - 1_535
"""Bytes of an event's data: what the rest of its line may need is left over."""

_NAME_BYTES = 24
"""Bytes of a field's name with what stands around it, at most."""

LEDGER = "the ledger"
"""How a report names what was there before."""

_AMENDABLE = frozenset(DecisionAmended.__struct_fields__) - {"decision_id"}
_encode = msgspec.json.Encoder().encode
_draft = {kind.payload: kind.draft for kind in VOCABULARY.kinds.values()}


class DecisionEvents(NamedTuple):
    """A draft, and the size of its data in bytes."""

    draft: Draft
    size_bytes: int


class LedgerState(NamedTuple):
    """A decision as the ledger holds it, and when the ledger learned the newest of what is stated of it."""

    standing: DecisionState
    stated_at: datetime


def tell(account: SourceDecision, held: LedgerState | None, notes: ReportBuilder) -> list[DecisionEvents] | None:
    """The events that a decision needs, in order, none where the ledger has all of it; None where it is left out."""
    teller = _Teller(account, notes)
    if held is not None and not _is_same(account, held.standing):
        must_be = f"an id for one decision: {LEDGER} has it for another"
        notes.lose(account.files[0], "id", account.id, must_be, "decision", account.id)
        return None
    apart = teller.shorten()
    if apart is None:
        return None
    if held is not None:
        return _Further(account, held, teller, notes).events()
    opening = {name: value for name, value in account.values.items() if name not in apart}
    opened = teller.event(DecisionRecorded, opening, account.agent, account.time)
    amended = (teller.event(DecisionAmended, one, account.agent, account.time) for one in _each(account.values, apart))
    return [opened, *amended, *teller.reviews(account.reviews)]


def _is_same(account: SourceDecision, standing: DecisionState) -> bool:
    if account.agent is not None and standing.agent not in {account.agent, ANONYMOUS}:
        return False
    words = {entry.data.decision for entry in standing.history if isinstance(entry.data, DecisionRecorded)}
    words.add(standing.decision.decision)
    return account.values["decision"] in words or at_once(account.time, standing.recorded_at)


def _sizes(values: Mapping[str, Any]) -> dict[str, int]:
    """Bytes of each value as JSON, with its name."""
    return {name: len(_encode(value)) + _NAME_BYTES for name, value in values.items()}


def _each(values: Mapping[str, Any], names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Some values, each for itself."""
    return ({name: values[name]} for name in names)


class _Teller:
    """Makes the events of one decision, within the limits of a line."""

    def __init__(self, account: SourceDecision, notes: ReportBuilder) -> None:
        self._account = account
        self._notes = notes

    def shorten(self) -> list[str] | None:
        """Take from the account what no event can hold; None, and noted, where that is the decision itself.

        The values that are named are too many for the opening event, and go into amendments.
        """
        account = self._account
        for review in account.reviews:
            review.values = self._shortened(review.values, "outcome", [])
        if _sizes(account.values)["decision"] > DATA_BYTES_MAX:
            self._lose("decision", account.values["decision"], "decision")
            return None
        apart: list[str] = []
        account.values = self._shortened(account.values, "decision", apart)
        return apart

    def _shortened(self, values: dict[str, Any], needed: str, apart: list[str]) -> dict[str, Any]:
        """The values of one event: the longest go until the rest fits, into `apart` where amendments can hold them."""
        sizes = _sizes(values)
        size_bytes, kept = sum(sizes.values()), dict(values)
        for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
            if size_bytes <= DATA_BYTES_MAX:
                break
            if name == needed:
                continue
            size_bytes -= sizes[name]
            if needed == "decision" and name in _AMENDABLE and sizes[name] <= DATA_BYTES_MAX:
                apart.append(name)
            else:
                self._lose(name, values[name], name)
                del kept[name]
        return kept

    def event(
        self, payload: type[Payload], values: dict[str, Any], agent: str | None, time: datetime | None
    ) -> DecisionEvents:
        """An event that says what is known, by whoever is known."""
        data = payload(decision_id=self._account.id, **values)
        content = _encode(data)
        told = f"{payload.__name__} {agent} {timestamp(time) if time is not None else ''} ".encode() + content
        opens = payload is DecisionRecorded
        name = sha256(self._account.id.encode() if opens else told).hexdigest()[:32]
        source = source_of(agent if agent is not None else ANONYMOUS)
        return DecisionEvents(_draft[payload](id=f"cstp-{name}", source=source, time=time, data=data), len(content))

    def amendments(self, changes: dict[str, Any]) -> list[DecisionEvents]:
        """One amendment with all changes; one for each, where a line cannot hold them."""
        account = self._account
        parts = [changes] if sum(_sizes(changes).values()) <= DATA_BYTES_MAX else _each(changes, changes)
        return [self.event(DecisionAmended, part, account.agent, account.changed) for part in parts if part]

    def reviews(self, reviews: list[SourceReview]) -> list[DecisionEvents]:
        return [self.event(DecisionReviewed, one.values, one.agent, one.time) for one in reviews]

    def _lose(self, field: str, value: object, left_out: str) -> None:
        account = self._account
        must_be = f"at most {DATA_BYTES_MAX:,} bytes with the rest of its event"
        self._notes.lose(account.files[0], field, f"{len(_encode(value)):,} bytes", must_be, left_out, account.id)


class _Further:
    """What an account says of a decision in the ledger that the ledger does not."""

    def __init__(self, account: SourceDecision, held: LedgerState, teller: _Teller, notes: ReportBuilder) -> None:
        self._account = account
        self._standing = standing = held.standing
        self._teller = teller
        self._notes = notes
        self._stated = [
            entry for entry in standing.history if isinstance(entry.data, DecisionRecorded | DecisionAmended)
        ]
        self._younger = account.changed is not None and account.changed > held.stated_at

    def events(self) -> list[DecisionEvents]:
        account = self._account
        if account.agent is not None and self._standing.agent != account.agent:
            self._late("recorded_by", account.agent)
        thoughts = list(self._thoughts())
        amendments = self._teller.amendments(self._changes())
        new = list(self._reviews())
        reviews = self._teller.reviews(new)
        # A store that was last changed by its review was amended before it: the new confidence is the one that counts.
        if new and not near(account.changed, new[0].time):
            return [*thoughts, *reviews, *amendments]
        return [*thoughts, *amendments, *reviews]

    def _changes(self) -> dict[str, Any]:
        """Fields that an amendment brings up to date. What cannot be brought is noted."""
        have = said(self._standing.decision)
        changes = {}
        for name, value in self._account.values.items():
            if name not in have and self._account.stored == {"sqlite"} and FILLED_IN.get(name) == value:
                continue
            differing = list(_differing(have.get(name), value, name))
            if not differing or self._was_said(name, value):
                continue
            absent = all(current is None for _, current, _ in differing)
            if name in _AMENDABLE and (absent or self._younger):
                changes[name] = _joined(have.get(name), value)
                continue
            for path, current, one in differing:
                if current is None:
                    self._late(path, one)
                else:
                    self._contradict(path, current, one)
        return changes

    def _was_said(self, name: str, value: object) -> bool:
        """Whether the ledger said so before: then it knows better by now."""
        earlier = (getattr(entry.data, name, None) for entry in self._stated[:-1])
        return any(one is not None and not list(_differing(one, value, name)) for one in earlier)

    def _thoughts(self) -> Iterator[DecisionEvents]:
        """Steps that were added to the deliberation since: CSTP puts a thought on a recorded decision there."""
        ours, theirs = self._standing.decision.deliberation, self._account.values.get("deliberation")
        if ours is None or theirs is None or theirs.steps[: len(ours.steps)] != ours.steps:
            return
        added = theirs.steps[len(ours.steps) :]
        for step in added:
            if not step.thought or step.thought in self._standing.thoughts:
                continue
            try:
                time = moment(step.timestamp) if step.timestamp is not None else self._account.changed
            except CoercionError:
                time = self._account.changed
            yield self._teller.event(DecisionThought, {"text": step.thought}, self._account.agent, time)
        if added:
            kept = {"steps": ours.steps, "inputs": ours.inputs}
            self._account.values["deliberation"] = msgspec.structs.replace(theirs, **kept)

    def _reviews(self) -> Iterator[SourceReview]:
        """Reviews that the ledger does not have, and one that it has with less in it."""
        known = [_verdict(entry) for entry in self._standing.history if isinstance(entry.data, DecisionReviewed)]
        for review in self._account.reviews:
            twin = next((one for one in reversed(known) if same_review(one, review)), None)
            if twin is not None:
                if (fuller := self._fuller(twin, review)) is not None and twin is known[-1]:
                    known.append(fuller)
                    yield fuller
            elif known and (review.time or NEVER) <= max(one.time or NEVER for one in known):
                self._contradict("outcome", known[-1].values["outcome"], review.values["outcome"])
            else:
                known.append(review)
                yield review

    def _fuller(self, twin: SourceReview, review: SourceReview) -> SourceReview | None:
        """The review with all that both say; None where the ledger's says as much."""
        for name in twin.values.keys() & review.values.keys():
            if not alike(twin.values[name], review.values[name]):
                self._contradict(f"review.{name}", twin.values[name], review.values[name])
        knows_reviewer = twin.agent is None and review.agent is not None
        if not knows_reviewer and review.values.keys() <= twin.values.keys():
            return None
        return SourceReview(
            values={**review.values, **twin.values}, time=review.time or twin.time, agent=review.agent or twin.agent
        )

    def _late(self, field: str, value: object) -> None:
        must_be = "known when its decision is first recorded: take files and store over together"
        account = self._account
        self._notes.lose(account.files[0], field, msgspec.to_builtins(value), must_be, None, account.id)

    def _contradict(self, field: str, ours: object, theirs: object) -> None:
        self._notes.contradictions.append(
            SourceConflict(
                decision_id=self._account.id,
                field=field,
                taken=quoted(msgspec.to_builtins(ours)),
                taken_from=LEDGER,
                other=quoted(msgspec.to_builtins(theirs)),
                other_from=self._account.files[0],
            )
        )


def _verdict(entry: HistoryEntry) -> SourceReview:
    values = said(entry.data)
    del values["decision_id"]
    return SourceReview(values=values, time=entry.time, agent=None if entry.agent == ANONYMOUS else entry.agent)


def _differing(current: object, value: object, path: str) -> Iterator[tuple[str, object, object]]:
    """Where a value says what the current one does not: the path, what stands there (None for nothing), the value."""
    if isinstance(current, msgspec.Struct) and type(current) is type(value):
        have = said(current)
        for name, one in said(value).items():
            yield from _differing(have.get(name), one, f"{path}.{name}")
    elif current is None or not alike(current, value):
        yield path, current, value


def _joined(current: object, value: object) -> object:
    """A value over the current one, which stays where the value says nothing."""
    if isinstance(current, msgspec.Struct) and type(current) is type(value):
        return type(value)(**{**said(current), **said(value)})
    return value
