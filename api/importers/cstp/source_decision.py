"""Read a decision as one source states it: its fields as our events have them, its review, and its last change."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from api.auth import is_valid_agent
from api.importers.cstp.coerce import Coercion, CoercionError, to_text, to_time
from api.importers.cstp.report import ReportBuilder
from events.decision import DecisionRecorded, DecisionReviewed
from events.limits import STREAM_ID_CHARS_MAX
from events.payload import STREAM_ID_PATTERN

_RECORDED = frozenset(DecisionRecorded.__struct_fields__) - {"decision_id", "decision"}
_REVIEWED = {
    "outcome": ("outcome",),
    "actual_result": ("actual_result", "outcome_result"),
    "lessons": ("lessons", "outcome_lessons"),
    "notes": ("review_notes", "outcome_notes", "attribution_reason"),
    "affected_kpis": ("affected_kpis",),
}
"""The fields of a review, each with the names that CSTP has had for it; the first that has a value counts."""
_AGENT = ("recorded_by", "agent_id")
_TIME = ("date", "created_at")
_READ_HERE = {
    "id", "decision", "summary", "status", "reviewed_at", "reviewed_by", "updated_at", *_AGENT, *_TIME,
    *(name for names in _REVIEWED.values() for name in names),
}  # fmt: skip
_PENDING = "pending"
_STATUSES = (_PENDING, "reviewed")

_stream_id = re.compile(STREAM_ID_PATTERN)
_Value = TypeVar("_Value")


class SourceReview(msgspec.Struct, kw_only=True):
    """One review: its fields, its time and its reviewer, as far as they are known."""

    values: dict[str, Any]
    time: datetime | None = None
    agent: str | None = None


class SourceDecision(msgspec.Struct, kw_only=True):
    """A decision as one source, or several merged ones, state it. Missing values are unknown.

    `changed` is the last change of the source, as far as it is known. `files` are the sources, the most complete first.
    """

    id: str
    files: list[str]
    stored: frozenset[str]
    agent: str | None
    time: datetime | None
    changed: datetime | None
    values: dict[str, Any]
    reviews: list[SourceReview]


def read_decision(
    given: Mapping[str, Any], decision_id: object, file: str, stored: str, notes: ReportBuilder
) -> SourceDecision | None:
    """Read the decision in a file or row; None, with a note, if it is unusable.

    `stored` is `yaml` or `sqlite`. Every value that does not fit, and every field that no event has, is noted.
    """
    if not isinstance(decision_id, str) or not _is_stream_id(decision_id):
        allowed = f"1..{STREAM_ID_CHARS_MAX} of letters, digits, '.', '_' and '-'"
        notes.lose(file, "id", decision_id, allowed, "decision")
        return None
    coercion = Coercion(notes, file, decision_id)
    recorded = {name: given[name] for name in _RECORDED if name in given}
    recorded["decision"] = given.get("decision") or given.get("summary")
    if isinstance(recorded.get("tags"), str):
        recorded["tags"] = [tag.strip() for tag in recorded["tags"].split(",") if tag.strip()]
    values = coercion.fields(DecisionRecorded, recorded)
    if values is None:
        return None
    agent = _convert_first(given, _AGENT[:1] if given.get(_AGENT[0]) not in (None, "") else _AGENT, _agent, coercion)
    time = _convert_first(given, _TIME, to_time, coercion)
    reviews = _read_reviews(given, coercion)
    for name, value in given.items():
        if value is not None and value != [] and name not in _RECORDED and name not in _READ_HERE:
            notes.no_place[name] += 1
    if given.get("summary") and given.get("decision") and given["summary"] != given["decision"]:
        notes.no_place["summary"] += 1
    return SourceDecision(
        id=decision_id,
        files=[file],
        stored=frozenset({stored}),
        agent=agent,
        time=time,
        changed=_convert_first(given, ("updated_at",), to_time, coercion),
        values=values,
        reviews=reviews,
    )


def _is_stream_id(text: str) -> bool:
    return len(text) <= STREAM_ID_CHARS_MAX and _stream_id.fullmatch(text) is not None


def _convert_first(
    given: Mapping[str, Any], names: tuple[str, ...], convert: Callable[[object], _Value], coercion: Coercion
) -> _Value | None:
    """Return the first of some fields that has a value of the right kind; note the values that do not fit."""
    for name in names:
        value = given.get(name)
        if value in (None, ""):
            continue
        try:
            return convert(value)
        except CoercionError as error:
            coercion.lose(name, value, str(error))
    return None


def _agent(value: object) -> str:
    agent = to_text(value)
    if not is_valid_agent(agent):
        raise CoercionError("1..64 letters, digits and ._:@/+-, beginning with a letter or digit")
    return agent


def _read_reviews(given: Mapping[str, Any], coercion: Coercion) -> list[SourceReview]:
    """Return the stored review in a list; none if the decision is pending, or the outcome is missing or unusable."""
    values: dict[str, Any] = {}
    for field, names in _REVIEWED.items():
        found = next((given[name] for name in names if given.get(name) not in (None, "")), None)
        if found is not None:
            values[field] = found
    status = given.get("status")
    if status not in (None, "", *_STATUSES):
        coercion.lose("status", status, f"one of {{{', '.join(_STATUSES)}}}")
    if "outcome" not in values and status == "reviewed":
        coercion.lose("outcome", None, "an outcome, as the status is 'reviewed'", "review")
    elif status == _PENDING or "outcome" not in values:
        for field, value in values.items():
            coercion.lose(field, value, "in a decision that is reviewed", "review")
    else:
        reviewed = coercion.fields(DecisionReviewed, values, whole="review", without=frozenset({"decision_id"}))
        time = _convert_first(given, ("reviewed_at",), to_time, coercion)
        agent = _convert_first(given, ("reviewed_by",), _agent, coercion)
        return [SourceReview(values=reviewed, time=time, agent=agent)] if reviewed is not None else []
    return []
