"""cstp.recordDecision: record a decision."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import structs

from api.cstp.params_schema import DecisionName, ParameterError, ParamsSchema, check_errors, tolerate
from api.cstp.tracked_calls import deliberates, stated_deliberation
from api.principal import Principal
from api.service.agent_calls import record_decision as recorder
from api.service.agent_calls.answer_names import without_none
from api.service.agent_calls.record_decision import SPAN, Category, Recording, RecordOptions, Related
from api.service.ledger import LedgerService
from events.decision import Bridge, DecisionRecorded, Reason
from events.payload import Count, Label

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


class _Options(RecordOptions, frozen=True, kw_only=True):
    project_context: _ProjectContext | None = None


RELATED: ParamsSchema[Related] = ParamsSchema(Related, types={"id": DecisionName})
OPTIONS: ParamsSchema[_Options] = ParamsSchema(
    _Options,
    inner={"related_to": RELATED},
)


def parse_recording(caller: Principal, params: Mapping[str, Any]) -> Recording:
    """Return what to record, before anything is written. Errors: RpcError, InvalidEvent, Forbidden."""
    auto = deliberates(caller, params, or_object=True)
    stated, errors = stated_deliberation(params), list[ParameterError]()
    values, option_values = DECISION.convert(stated, errors), OPTIONS.convert(stated, errors)
    _check_span(option_values.get("review_in"), OPTIONS.spelling("review_in", stated), errors)
    check_errors(errors)
    options = _Options(**option_values)
    if options.project_context is not None:
        values = {**without_none(structs.asdict(options.project_context)), **values}
    names = OPTIONS.spelling("embedding", params), OPTIONS.spelling("embedding_model", params)
    request = options.request(DecisionRecorded(**values), names)
    return Recording(request, options, auto, OPTIONS.spelling("decision_id", params))


def _check_span(text: str | None, field: str, errors: list[ParameterError]) -> None:
    """Check a span such as `7d`, `2w` or `1m`. A wrong one is added to `errors`."""
    if text is None:
        return
    if SPAN.fullmatch(text) is None:
        errors.append(ParameterError(field, f"must be days, weeks or months, such as 7d, 2w or 1m, got {text!r}"))
    elif text != text.lower():
        tolerate(field, text.lower())


async def record_decision(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> dict[str, object]:
    """Record a decision, with its pending thoughts (recordThought) as the last steps of its deliberation.

    `"deliberation": "auto"`, or a token made so, asks for automatic deliberation.
    """
    return await recorder.record_decision(ledger, caller, parse_recording(caller, params))
