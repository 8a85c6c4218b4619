"""Builds the events that the client posts, and encodes them."""

import math
import numbers
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, cast

import msgspec

from tallystick.errors import InvalidArgument
from tallystick.fields import AmendFields, DecisionFields, EventFields, LinkFields, ReviewFields, ThoughtFields
from tallystick.ids import derived_event_id, new_event_id, new_stream_id, recorded_event_id
from tallystick.results import ThoughtEvent

Draft = dict[str, Any]
"""One event as it is posted: `id`, `type`, `data`, and the other attributes that are given."""

NEW_FIELDS = frozenset({"cluster", "model", "reported_model"})
"""The fields of a decision that only version 2 of its event has. An older server still accepts a decision without."""

_ENVELOPE = frozenset(EventFields.__annotations__)


class Drafts:
    """Makes the events of one agent. Without an agent, the server names the source: the token's agent."""

    def __init__(self, agent: str | None) -> None:
        self._source = None if agent is None else f"/agents/{agent}"

    def record(self, decision: str, fields: DecisionFields) -> list[Draft]:
        """Return the event of a decision, then those that adopt its thoughts and name the question it answers."""
        envelope, data = _split(fields)
        thoughts, question = data.pop("thoughts", None) or (), data.pop("question", None)
        test = data.pop("test", None)
        given_id = data.pop("decision_id", None)
        decision_id = given_id if given_id is not None else new_stream_id()
        event_id = envelope.get("id") or (recorded_event_id(decision_id) if given_id is not None else new_event_id())
        envelope["id"] = event_id
        if thoughts:
            data["deliberation"] = _add_steps(data.get("deliberation"), thoughts)
        kind = "decision.recorded.v1" if NEW_FIELDS.isdisjoint(data) else "decision.recorded.v2"
        drafts = [self._draft(kind, envelope, {**data, "decision_id": decision_id, "decision": decision})]
        shared = {name: value for name, value in envelope.items() if name not in {"id", "expectedversion"}}
        for thought in thoughts:
            if isinstance(thought, ThoughtEvent) and thought.thought_id is not None:
                adoption = {"thought_id": thought.thought_id, "decision_id": decision_id}
                attributes = {**shared, "id": derived_event_id(event_id, "adopted", thought.thought_id)}
                drafts.append(self._draft("thought.adopted.v1", attributes, adoption))
        if test is not None:
            attributes = {**shared, "id": derived_event_id(event_id, "tested")}
            drafts.append(
                self._draft("decision.test_stated.v1", attributes, {"decision_id": decision_id, "rule": test})
            )
        if question is not None:
            attributes = {**shared, "id": derived_event_id(event_id, "asked")}
            drafts.append(
                self._draft("decision.asked.v1", attributes, {"decision_id": decision_id, "question": question})
            )
        return drafts

    def amend(self, decision_id: str, fields: AmendFields) -> Draft:
        """Return the event that changes a decision."""
        envelope, data = _split(fields)
        return self._draft("decision.amended.v1", envelope, {"decision_id": decision_id, **data})

    def review(self, decision_id: str, outcome: str, fields: ReviewFields) -> Draft:
        """Return the event that reviews a decision."""
        envelope, data = _split(fields)
        return self._draft("decision.reviewed.v1", envelope, {"decision_id": decision_id, "outcome": outcome, **data})

    def retract(self, decision_id: str, reason: str, fields: EventFields) -> Draft:
        """Return the event that withdraws a decision."""
        envelope, _ = _split(fields)
        return self._draft("decision.retracted.v1", envelope, {"decision_id": decision_id, "reason": reason})

    def think(self, text: str, fields: ThoughtFields) -> Draft:
        """Return the event of a thought: on the recorded decision if `decision_id` is given, otherwise before one."""
        envelope, data = _split(fields)
        if "decision_id" in data:
            return self._draft("decision.thought.v1", envelope, {**data, "text": text})
        given_id = data.get("thought_id")
        thought_id = given_id if given_id is not None else new_stream_id()
        if given_id is not None and "id" not in envelope:
            envelope["id"] = f"thought/{thought_id}/recorded"
        return self._draft("thought.recorded.v1", envelope, {**data, "thought_id": thought_id, "text": text})

    def link(self, decision_id: str, other_id: str, edge_type: str, fields: LinkFields) -> Draft:
        """Return the body that links two decisions."""
        envelope, data = _split(fields)
        link = {"source_id": decision_id, "target_id": other_id, "edge_type": edge_type, **data}
        return self.given({**envelope, "data": link})

    def given(self, event: Mapping[str, Any]) -> Draft:
        """Return an event that the caller wrote; add an id and a source if it has none."""
        draft = {"id": new_event_id(), **event}
        if self._source is not None:
            draft.setdefault("source", self._source)
        return draft

    def _draft(self, kind: str, envelope: Mapping[str, Any], data: Mapping[str, Any]) -> Draft:
        return self.given({"type": kind, **envelope, "data": data})


_lone_surrogate = re.compile("[\ud800-\udfff]")
_encoder = msgspec.json.Encoder(decimal_format="number")


def encode_json(value: object) -> bytes:
    """Encode a value as JSON. Numbers of other libraries, such as numpy, become plain ones. Errors: InvalidArgument."""
    try:
        plain = msgspec.to_builtins(value, builtin_types=(Decimal, datetime), enc_hook=_plain)
        _check_values(plain, "")
        return _encoder.encode(plain)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"A value cannot be written as JSON: {error}.", "Nothing was sent.") from None


def _split(fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split arguments into envelope attributes and payload fields, without those that are None."""
    given = {name: value for name, value in fields.items() if value is not None}
    envelope = {name: value for name, value in given.items() if name in _ENVELOPE}
    data = {name: value for name, value in given.items() if name not in _ENVELOPE}
    if "event_id" in envelope:
        envelope["id"] = envelope.pop("event_id")
    for times, name in ((envelope, "time"), (data, "review_by")):
        if name in times:
            times[name] = instant_text(name, times[name])
    return envelope, data


def instant_text(name: str, moment: object) -> object:
    """Return a time as RFC 3339 text in UTC; text stays as it is. Errors: InvalidArgument, for one without a zone."""
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise InvalidArgument(
                f"{name}: {moment.isoformat()} has no zone.",
                "Give a time with a zone, such as datetime.now(UTC), or local.astimezone(). Nothing was sent.",
                field=name,
            )
        return moment.astimezone(UTC).isoformat()
    if isinstance(moment, date):
        return f"{moment.isoformat()}T00:00:00Z"
    return moment


def _add_steps(given: Mapping[str, Any] | None, thoughts: Sequence[ThoughtEvent | str]) -> dict[str, Any]:
    """Return a deliberation with thoughts as its last steps. They have no times, so that a retry sends the same."""
    deliberation = dict(given or {})
    steps = list(cast(Sequence[Any], deliberation.get("steps") or ()))
    for thought in thoughts:
        text = thought.text if isinstance(thought, ThoughtEvent) else thought
        steps.append({"step": len(steps) + 1, "thought": text, "type": "reasoning"})
    return {**deliberation, "steps": steps}


def _plain(value: object) -> object:
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _check_values(value: object, path: str) -> None:
    """Raise InvalidArgument for a number that JSON cannot represent, a time without a zone, and half a character."""
    if isinstance(value, datetime):
        instant_text(path.lstrip("."), value)
    if isinstance(value, str) and _lone_surrogate.search(value):
        field = path.lstrip(".")
        detail = f"{field}: must be Unicode text, without half of a surrogate pair."
        advice = "Send both halves of the character, or U+FFFD in its place. Nothing was sent."
        raise InvalidArgument(detail, advice, field=field)
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        field = path.lstrip(".")
        raise InvalidArgument(f"{field}: {value!r} is not a number.", "Nothing was sent.", field=field)
    if isinstance(value, dict):
        for name, inner in value.items():
            _check_values(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check_values(inner, f"{path}[{index}]")
