"""Routes of projections: their list, the state of one, and the circuit breakers."""

from starlette.responses import Response

from api.http.operation import HttpOperation, json_answer
from api.http.request import Call, json_response
from api.service.operation import Link
from api.service.projections import ProjectionList, list_projections


@HttpOperation(
    method="GET",
    path="/projections",
    answers={200: json_answer("Every projection, with the position up to which it is folded.", ProjectionList)},
    links={"projection": Link("get_projection", "name", "$response.body#/projections/0/name")},
)
async def get_projections(call: Call) -> Response:
    """List every projection."""
    return json_response(ProjectionList(await list_projections(call.ledger)))
