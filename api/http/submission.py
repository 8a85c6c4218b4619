"""Routes that record something: their bodies, and how they answer."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec
from starlette.responses import Response

from api.http.media_types import JSON
from api.http.operation import HttpOperation, json_answer
from api.http.request import Call, json_response, read_json
from api.principal import Scope
from api.service.operation import Link
from api.service.store import Submission
from events.envelope import EventId, Source

_Data = TypeVar("_Data")


class Post(msgspec.Struct, Generic[_Data], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to record."""

    data: _Data
    """What the client states."""
    id: EventId | None = None
    """The id of the event. The same data with the same id are a retry."""
    source: Source | None = None
    """The agent or person, as /agents/NAME; by default the agent of the token."""
    prefix: bool = False
    """Whether ids in data may be unambiguous prefixes; this needs the scope `read`."""


def recording(
    path: str,
    body: type[msgspec.Struct],
    answer: type[msgspec.Struct],
    made: str,
    retry: str,
    *,
    scopes: tuple[Scope, ...] = ("append",),
    errors: tuple[int, ...] = (404, 409, 413, 422, 507),
    decision: str | None = None,
) -> HttpOperation:
    """Declare a POST that records its body: what 201 and 200 mean. `decision` is the field that names the decision."""
    links: Mapping[str, Link] = {}
    if decision is not None:
        links = {"decision": Link("get_decision", "decision_id", f"$response.body#/{decision}")}
    return HttpOperation(
        "POST",
        path,
        scopes=scopes,
        body={JSON: body},
        answers={200: json_answer(retry, answer), 201: json_answer(made, answer)},
        errors=errors,
        links=links,
    )


async def record_post(call: Call, shape: type[Post[_Data]], kind: Submission[_Data, Any]) -> Response:
    """Record the body of a request: 201; 200 for a retry. Errors: those of `read_json` and of `kind`."""
    body = await read_json(call.request, shape)
    recorded = await kind.record(
        call.ledger, call.caller, body.data, event_id=body.id, source=body.source, prefix=body.prefix
    )
    return json_response(recorded, 200 if recorded.duplicate else 201)
