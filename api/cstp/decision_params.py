"""The parameters of cstp.recordDecision."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import structs

from api.cstp.answer_names import without_none
from api.cstp.params_schema import DecisionName, ParameterError, ParamsSchema, check_errors
from api.cstp.tolerance import tolerate
from api.cstp.tracked_calls import stated_deliberation
from api.service.decision_writer import DecisionRequest
from api.service.link_target import LinkTarget, weight_of_distance
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


OPTIONS: ParamsSchema[RecordOptions] = ParamsSchema(RecordOptions)


def check_params(params: Mapping[str, Any]) -> tuple[DecisionRequest, RecordOptions]:
    """Return what some parameters ask for, before anything is written. Errors: RpcError, InvalidEvent."""
    stated, errors = stated_deliberation(params), list[ParameterError]()
    values, option_values = DECISION.convert(stated, errors), OPTIONS.convert(stated, errors)
    review_after = _parse_span(option_values.get("review_in"), OPTIONS.spelling("review_in", stated), errors)
    check_errors(errors)
    options = RecordOptions(**option_values)
    if options.project_context is not None:
        values = {**without_none(structs.asdict(options.project_context)), **values}
    names = OPTIONS.spelling("embedding", params), OPTIONS.spelling("embedding_model", params)
    request = DecisionRequest(
        decision=DecisionRecorded(**values),
        event_id=options.idempotency_key,
        question=options.question,
        embedding=embedding_to_record(options.embedding, options.embedding_model, names=names),
        related=tuple(LinkTarget(one.id, weight_of_distance(one.distance), one.summary) for one in options.related_to),
        review_after=review_after,
    )
    return request, options


def _parse_span(text: str | None, field: str, errors: list[ParameterError]) -> timedelta | None:
    """Return the span of a text such as `7d`, `2w` or `1m`. A wrong one is added to `errors`."""
    if text is None:
        return None
    match = _duration.fullmatch(text.lower())
    if match is None:
        errors.append(ParameterError(field, f"must be days, weeks or months, such as 7d, 2w or 1m, got {text!r}"))
        return None
    if text != text.lower():
        tolerate(field, text.lower())
    return timedelta(days=int(match[1]) * _unit_days[match[2]])
