"""What one place says of one decision: its fields as the vocabulary holds them, its review, and when it was changed."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from api.auth import is_valid_agent
from api.importers.cstp.coerce import Coercion, CoercionError, moment, text
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
"""Field of a review to the names CSTP has had for it, the first that is there counting."""
_AGENT = ("recorded_by", "agent_id")
_TIME = ("date", "created_at")
_READ_HERE = {
    "id", "decision", "summary", "status", "reviewed_at", "reviewed_by", "updated_at", *_AGENT, *_TIME,
    *(name for names in _REVIEWED.values() for name in names),
}  # fmt: skip
_PENDING = "pending"
_STATUSES = (_PENDING, "reviewed")

Mapped = Mapping[str, Any]

_stream_id = re.compile(STREAM_ID_PATTERN)


class SourceReview(msgspec.Struct, kw_only=True):
    """One review: what it says, when it was made and by whom, where that is known."""

    values: dict[str, Any]
    time: datetime | None = None
    agent: str | None = None


class SourceDecision(msgspec.Struct, kw_only=True):
    """What one place, or several that were joined, says of a decision. Absent values are not known.

    `changed` is when the place last changed, the nearest that is known; `files` are the places, the fullest first.
    """

    id: str
    files: list[str]
    stored: frozenset[str]
    agent: str | None
    time: datetime | None
    changed: datetime | None
    values: dict[str, Any]
    reviews: list[SourceReview]


def account_of(
    given: Mapped, decision_id: object, file: str, stored: str, notes: ReportBuilder
) -> SourceDecision | None:
    """A decision out of what a file or a row says; None, and noted, where there is none in it.

    `stored` is `yaml` or `sqlite`. Every value that does not fit and every field without a place is noted.
    """
    known = _id_of(decision_id, file, notes)
    if known is None:
        return None
    fitting = Coercion(notes, file, known)
    said = {name: given[name] for name in _RECORDED if name in given}
    said["decision"] = given.get("decision") or given.get("summary")
    if isinstance(said.get("tags"), str):
        said["tags"] = [tag.strip() for tag in said["tags"].split(",") if tag.strip()]
    values = fitting.fields(DecisionRecorded, said)
    if values is None:
        return None
    agent = _agent_of(given, _AGENT, fitting)
    time = _time_of(given, _TIME, fitting)
    reviews = _reviews_of(given, fitting)
    for name, value in given.items():
        if value is not None and value != [] and name not in _RECORDED and name not in _READ_HERE:
            notes.no_place[name] += 1
    if given.get("summary") and given.get("decision") and given["summary"] != given["decision"]:
        notes.no_place["summary"] += 1
    return SourceDecision(
        id=known,
        files=[file],
        stored=frozenset({stored}),
        agent=agent,
        time=time,
        changed=_time_of(given, ("updated_at",), fitting),
        values=values,
        reviews=reviews,
    )


def _id_of(value: object, file: str, notes: ReportBuilder) -> str | None:
    known = value if isinstance(value, str) else ""
    if len(known) <= STREAM_ID_CHARS_MAX and _stream_id.fullmatch(known) is not None:
        return known
    notes.lose(file, "id", value, f"1..{STREAM_ID_CHARS_MAX} of letters, digits, '.', '_' and '-'", "decision")
    return None


def _first(given: Mapped, names: tuple[str, ...]) -> tuple[str, Any]:
    """The first of some names that says something, and what."""
    return next(((name, value) for name in names if (value := given.get(name)) not in (None, "")), (names[0], None))


def _agent_of(given: Mapped, names: tuple[str, ...], fitting: Coercion) -> str | None:
    name, value = _first(given, names)
    if value is None:
        return None
    try:
        agent = text(value)
    except CoercionError as unfit:
        fitting.lose(name, value, str(unfit))
        return None
    if not is_valid_agent(agent):
        fitting.lose(name, value, "1..64 letters, digits and ._:@/+-, beginning with a letter or digit")
        return None
    return agent


def _time_of(given: Mapped, names: tuple[str, ...], fitting: Coercion) -> datetime | None:
    for name in names:
        value = given.get(name)
        if value in (None, ""):
            continue
        try:
            return moment(value)
        except CoercionError as unfit:
            fitting.lose(name, value, str(unfit))
    return None


def _reviews_of(given: Mapped, fitting: Coercion) -> list[SourceReview]:
    """The review that is stored, in a list; none where the decision is pending or its outcome is not one."""
    said = {field: value for field, names in _REVIEWED.items() if (value := _first(given, names)[1]) is not None}
    status = given.get("status")
    if status not in (None, "", *_STATUSES):
        fitting.lose("status", status, f"one of {{{', '.join(_STATUSES)}}}")
    if "outcome" not in said and status == "reviewed":
        fitting.lose("outcome", None, "an outcome, as the status is 'reviewed'", "review")
    elif status == _PENDING or "outcome" not in said:
        for field, value in said.items():
            fitting.lose(field, value, "in a decision that is reviewed", "review")
    else:
        values = fitting.fields(DecisionReviewed, said, whole="review", without=frozenset({"decision_id"}))
        time = _time_of(given, ("reviewed_at",), fitting)
        agent = _agent_of(given, ("reviewed_by",), fitting)
        return [SourceReview(values=values, time=time, agent=agent)] if values is not None else []
    return []
