"""The route of all that happened under one correlation id."""

from starlette.responses import Response

from api.http.operation import HttpOperation, json_answer
from api.http.request import Call, json_response
from api.parameters import text_parameter
from api.service.event_params import AFTER, AS_OF, LIMIT
from api.service.related_events import RelatedEvents, find_related
from ledger.errors import InvalidQuery

CORRELATION_ID = text_parameter(
    "correlationid", "The correlation id.", {"type": "string", "minLength": 1}, required=True
)


@HttpOperation(
    method="GET",
    path="/related",
    heavy=True,
    query=(CORRELATION_ID, AFTER, LIMIT, AS_OF),
    answers={200: json_answer("What happened under the correlation id.", RelatedEvents)},
)
async def get_related(call: Call) -> Response:
    """Show all that happened under one correlation id.

    It joins the decisions with their reviews, the scores of evaluations and of probes, and lists every event.
    """
    correlationid = CORRELATION_ID.find(call.parameters)
    if correlationid is None:
        raise InvalidQuery("correlationid", "it is missing.", "Name a correlation id.")
    after, limit = AFTER.read(call.parameters), LIMIT.read(call.parameters)
    return json_response(await find_related(await call.view(), correlationid, after, limit))
