"""Read a decision as one source states it: its fields as our events have them, its review, and its last change."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from api.importers.cstp.coerce import Coercion, to_text, to_time
from api.importers.cstp.report import CstpImportResult
from api.importers.cstp.source_links import SourceLink, read_related
from api.importers.values import InvalidValue, parse_agent, parse_stream_id
from events.decision import DecisionPreserved, DecisionRecorded, DecisionReviewed

_RECORDED = frozenset(DecisionRecorded.__struct_fields__) - {"decision_id", "decision"}
_REVIEWED = {
    "outcome": ("outcome",),
    "actual_result": ("actual_result", "outcome_result", "result"),
    "lessons": ("lessons", "outcome_lessons"),
    "notes": ("review_notes", "outcome_notes", "attribution_reason"),
    "affected_kpis": ("affected_kpis",),
}
"""The fields of a review, each with the names that CSTP has had for it; the first one with a value is used."""
_AGENT = ("recorded_by", "agent_id")
_TIME = ("date", "created_at")
_READ_HERE = {
    "id", "decision", "summary", "related_to", "preserve", "status", "reviewed_at", "reviewed_by", "updated_at",
    *_AGENT, *_TIME,
    *(name for names in _REVIEWED.values() for name in names),
}  # fmt: skip
_PENDING = "pending"
_STATUSES = (_PENDING, "reviewed")

_Value = TypeVar("_Value")

STORE_DEFAULTS = {"confidence": 0.0, "stakes": "medium"}
"""Values that CSTP's store writes for fields that have no value."""

NEVER = datetime.min.replace(tzinfo=UTC)
"""Before every time: a source without a time is the older one."""


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
    related: list[SourceLink]
    preserve: bool = False


def stated_fields(struct: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a struct that have a value."""
    fields = ((name, getattr(struct, name)) for name in struct.__struct_fields__)
    return {name: value for name, value in fields if value is not None and value != ()}


def read_decision(
    source: Mapping[str, Any], decision_id: object, file: str, stored: str, report: CstpImportResult
) -> SourceDecision | None:
    """Read the decision in a file or row; None if it is unusable.

    `stored` is `yaml` or `sqlite`. Every value that does not fit, and every field that no event has, is reported.
    """
    try:
        decision_id = parse_stream_id(decision_id if isinstance(decision_id, str) else "")
    except InvalidValue as error:
        report.add_loss(file, "id", decision_id, str(error), left_out="decision")
        return None
    coercion = Coercion(report, file, decision_id)
    recorded = {name: value for name, value in source.items() if name in _RECORDED}
    recorded["decision"] = source.get("decision") or source.get("summary")
    if isinstance(recorded.get("tags"), str):
        recorded["tags"] = [tag.strip() for tag in recorded["tags"].split(",") if tag.strip()]
    values = coercion.fields(DecisionRecorded, recorded)
    if values is None:
        return None
    agent_names = _AGENT if source.get(_AGENT[0]) in (None, "") else _AGENT[:1]
    decision = SourceDecision(
        id=decision_id,
        files=[file],
        stored=frozenset({stored}),
        agent=_convert_first(source, agent_names, _to_agent, coercion),
        time=_convert_first(source, _TIME, to_time, coercion),
        values=values,
        reviews=_read_reviews(source, coercion),
        preserve=_read_preserve(source, coercion),
        related=read_related(source.get("related_to"), decision_id, file, coercion),
        changed=_convert_first(source, ("updated_at",), to_time, coercion),
    )
    for name, value in source.items():
        if value not in (None, []) and name not in _RECORDED and name not in _READ_HERE:
            coercion.add_no_place(name, value)
    if source.get("summary") and source.get("decision") and source["summary"] != source["decision"]:
        report.no_place["summary"] += 1
    return decision


def _convert_first(
    source: Mapping[str, Any], names: tuple[str, ...], convert: Callable[[object], _Value], coercion: Coercion
) -> _Value | None:
    """Return the first of some fields that has a value of the right kind; report the values that do not fit."""
    for name in names:
        value = source.get(name)
        if value in (None, ""):
            continue
        try:
            return convert(value)
        except InvalidValue as error:
            coercion.add_loss(name, value, str(error))
    return None


def _read_preserve(source: Mapping[str, Any], coercion: Coercion) -> bool:
    """Return whether a decision is marked to be preserved. A value that is neither true nor false is reported."""
    value = source.get("preserve")
    if value in (None, ""):
        return False
    stated = {"preserve": bool(value) if value in (0, 1) else value}
    fields = coercion.fields(DecisionPreserved, stated, left_out="preserve", except_for=frozenset({"decision_id"}))
    return fields is not None and bool(fields["preserve"])


def _to_agent(value: object) -> str:
    return parse_agent(to_text(value))


def _read_reviews(source: Mapping[str, Any], coercion: Coercion) -> list[SourceReview]:
    """Return the stored review in a list; none if the decision is pending, or the outcome is missing or unusable."""
    values: dict[str, Any] = {}
    for field, names in _REVIEWED.items():
        stated = [name for name in names if source.get(name) not in (None, "")]
        if stated:
            values[field] = source[stated[0]]
        for name in stated[1:]:
            if source[name] != source[stated[0]]:
                coercion.add_loss(name, source[name], f"the same as {stated[0]}, which counts")
    status = source.get("status")
    if status not in (None, "", *_STATUSES):
        coercion.add_loss("status", status, f"one of {{{', '.join(_STATUSES)}}}")
    if "outcome" not in values and status == "reviewed":
        coercion.add_loss("outcome", None, "an outcome, as the status is 'reviewed'", "review")
        return []
    if status == _PENDING or "outcome" not in values:
        for field, value in values.items():
            coercion.add_loss(field, value, "in a decision that is reviewed", "review")
        return []
    reviewed = coercion.fields(DecisionReviewed, values, left_out="review", except_for=frozenset({"decision_id"}))
    time = _convert_first(source, ("reviewed_at",), to_time, coercion)
    agent = _convert_first(source, ("reviewed_by",), _to_agent, coercion)
    return [] if reviewed is None else [SourceReview(values=reviewed, time=time, agent=agent)]
