"""The parameters of cstp.recordDecision."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import structs

from api.cstp.params_schema import DecisionName, ParameterError, ParamsSchema, check_errors
from api.cstp.tolerance import tolerate
from api.cstp.tracked_calls import stated_deliberation
from api.service.link_target import LinkTarget, weight_of_distance
from api.service.retrieval import SuppliedEmbedding
from api.service.supplied_vector import embedding_to_record
from events.decision import Bridge, DecisionRecorded, Reason
from events.envelope import EventId
from events.limits import ITEMS_MAX
from events.payload import Count, Label, StreamName
from events.vector import Numbers

Category = Literal["architecture", "process", "integration", "tooling", "security"]

_unit_days = {"d": 1, "w": 7, "m": 30}
_duration = re.compile(r"([0-9]{1,4})([dwm])", re.ASCII)

REASON: ParamsSchema[Reason] = ParamsSchema(Reason, defaults={"type": "analysis"})
"""A reason; the protocol's default is the type analysis."""

BRIDGE: ParamsSchema[Bridge] = ParamsSchema(Bridge, aliases={"function": ("function", "purpose")})
"""A bridge; `purpose` is an alias of `function`."""

DECISION: ParamsSchema[DecisionRecorded] = ParamsSchema(
    DecisionRecorded,
    types={"category": Category},
    without=("decision_id", "review_by"),
    inner={"reasons": REASON, "bridge": BRIDGE},
)
"""A decision. The protocol's defaults of category and stakes are not stored: answers of CSTP show them."""


class _ProjectContext(msgspec.Struct, frozen=True, kw_only=True):
    """The project context as one object, which some clients send. The parameters beside it take precedence."""

    project: Label | None = None
    feature: Label | None = None
    pr: Count | None = None
    file: str | None = None
    line: Count | None = None
    commit: str | None = None


class _Related(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier decision that this one relates to, its summary, and its distance in meaning."""

    id: DecisionName
    summary: str | None = None
    distance: Annotated[float, msgspec.Meta(ge=0)] | None = None


class RecordOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters that are not fields of the decision."""

    review_in: Annotated[str, msgspec.Meta(max_length=16)] | None = None
    project_context: _ProjectContext | None = None
    idempotency_key: EventId | None = None
    agent_id: Label | None = None
    decision_id: Label | None = None
    question: Label | None = None
    related_to: Annotated[tuple[_Related, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    check_id: StreamName | None = None
    embedding: Numbers | None = None
    embedding_model: Label | None = None


class RecordRequest(NamedTuple):
    """The decision, the options, the decisions to link it to, and its vector."""

    decision: DecisionRecorded
    options: RecordOptions
    targets: list[LinkTarget]
    embedding: SuppliedEmbedding | None


OPTIONS: ParamsSchema[RecordOptions] = ParamsSchema(RecordOptions)


def check_params(params: Mapping[str, Any]) -> RecordRequest:
    """Return what some parameters ask for, before anything is written. Errors: RpcError, InvalidEvent."""
    decision, options = _decode(stated_deliberation(params))
    names = OPTIONS.spelling("embedding", params), OPTIONS.spelling("embedding_model", params)
    embedding = embedding_to_record(options.embedding, options.embedding_model, names=names)
    targets = [LinkTarget(one.id, weight_of_distance(one.distance), one.summary) for one in options.related_to]
    return RecordRequest(decision, options, targets, embedding)


def _decode(params: Mapping[str, Any]) -> tuple[DecisionRecorded, RecordOptions]:
    errors: list[ParameterError] = []
    values = DECISION.convert(params, errors)
    option_values = OPTIONS.convert(params, errors)
    if (text := option_values.get("review_in")) is not None:
        option_values["review_in"] = _parse_span(text, OPTIONS.spelling("review_in", params), errors)
    check_errors(errors)
    options = RecordOptions(**option_values)
    if options.project_context is not None:
        for name, value in structs.asdict(options.project_context).items():
            if value is not None:
                values.setdefault(name, value)
    return DecisionRecorded(**values), options


def _parse_span(text: str, field: str, errors: list[ParameterError]) -> str:
    """Return a span such as `7d` in lower case. A wrong one is added to `errors`."""
    span = text.lower()
    if _duration.fullmatch(span) is None:
        errors.append(ParameterError(field, f"must be days, weeks or months, such as 7d, 2w or 1m, got {text!r}"))
    elif span != text:
        tolerate(field, span)
    return span


def with_review_date(decision: DecisionRecorded, review_in: str | None, now: datetime) -> DecisionRecorded:
    """Set the review date: days, weeks or months of 30 days from now."""
    if review_in is None:
        return decision
    match = _duration.fullmatch(review_in)
    assert match is not None, "review_in was checked when it was decoded"
    return structs.replace(decision, review_by=now + timedelta(days=int(match[1]) * _unit_days[match[2]]))
